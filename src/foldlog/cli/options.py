"""What commands share: their common options, the values these take, and the memory they open."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from foldlog.cli import output

if TYPE_CHECKING:
    from datetime import datetime

    from foldlog.cli.parser import Parser
    from foldlog.events.provenance import Provenance
    from foldlog.memory import Memory
    from foldlog.memory.as_of import Past
    from foldlog.settings import Settings

#: Largest number an option takes: SQLite's integers have 64 bits.
MAX_NUMBER: Final = 2**62

#: As in foldlog.projections.document, which is not imported for a parser; a test compares them.
KINDS: Final = ("fact", "message", "note", "retained")

#: As in foldlog.projections.condition, which is not imported for a parser; a test compares them.
MATCHES: Final = ("any", "all", "any_strict", "all_strict", "exact")

#: As in foldlog.events.past, which is not imported for a parser; a test compares them.
CLOCKS: Final = ("recorded", "occurred")

#: What stands for a point in the past.
POINT: Final = "a position of the log, or an instant with its zone, as 2026-03-02T10:00Z"

_UNITS: Final = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_DURATION: Final = re.compile(rf"([0-9]{{1,15}})({'|'.join(_UNITS)})")


def add_log(parser: Parser) -> None:
    """Add `--log`; it may stand before the command too, so neither place has a default."""
    parser.add_argument(
        "--log", type=Path, metavar="PATH", default=argparse.SUPPRESS, help="the log's file, over FOLDLOG_LOG"
    )


def add_http(parser: Parser) -> None:
    """Add the options of a command that tells its health by HTTP."""
    parser.add_argument(
        "--http-port",
        type=whole(0),
        metavar="PORT",
        help="tell health and numbers by HTTP there, over FOLDLOG_HTTP_PORT; 0: nowhere",
    )


def add_common(parser: Parser) -> None:
    """Add the options of every command that prints data."""
    add_log(parser)
    parser.add_argument(
        "--json",
        action="store_true",
        default=argparse.SUPPRESS,
        help="print JSON: one object for one thing, JSON Lines for lists",
    )


def add_limit(parser: Parser, text: str = "at most so many; without it all") -> None:
    """Add `--limit`."""
    parser.add_argument("--limit", type=whole(1), metavar="N", help=text)


def add_tags(parser: Parser, text: str = "a label to filter by; may be repeated") -> None:
    """Add `--tag`, which may be repeated."""
    parser.add_argument("--tag", action="append", default=[], dest="tags", metavar="TAG", help=text)


def add_tag_filters(parser: Parser) -> None:
    """Add what filters by tags."""
    add_tags(parser)
    parser.add_argument(
        "--match",
        choices=MATCHES,
        default="all_strict",
        help="how the tags match: all of them unless given; any and all take untagged memories too",
    )
    parser.add_argument(
        "--where",
        metavar="JSON",
        help="""a tree of tags with and, or, not, as in '{"not": {"tags": ["draft"]}}'""",
    )


def where(args: argparse.Namespace) -> Any:
    """Return the tree of `--where`, None without one; raises InvalidInput."""
    return None if args.where is None else _json(args.where, "where")


def json_object(text: str | None, path: str) -> dict[str, Any] | None:
    """Read a JSON object, None for none; raises InvalidInput."""
    if text is None:
        return None
    found = _json(text, path)
    if not isinstance(found, dict):
        from foldlog.errors import InvalidInput

        raise InvalidInput(path, f"must be a JSON object, not {text!r}")
    return found


def _json(text: str, path: str) -> Any:
    from foldlog.events.encoding import parse

    return parse(text, path)


def add_expect(parser: Parser, thing: str) -> None:
    """Add `--expect`: compare-and-set."""
    parser.add_argument(
        "--expect",
        type=whole(0),
        metavar="N",
        help=f"only if the {thing} has this version; 0: no such {thing}",
    )


def add_by(parser: Parser, does: str = "makes the change") -> None:
    """Add the options that say who makes a change, or asks, and from where."""
    group = parser.add_argument_group("on whose behalf")
    group.add_argument("--run", dest="by_run", metavar="RUN", help=f"the agent run that {does}")
    group.add_argument("--node", metavar="NODE", help="the node in the run")
    group.add_argument("--iteration", type=whole(0), metavar="N", help="the node's iteration, from 0")
    group.add_argument("--actor", metavar="WHO", help="the person, agent or job behind it")


def add_as_of(parser: Parser) -> None:
    """Add the options that say which point in the past is asked about."""
    group = parser.add_argument_group("as of a point in the past")
    group.add_argument("--as-of", type=point, metavar="POINT", help=f"as it was at {POINT}")
    add_clock(group, "with --as-of an instant: ")


def add_clock(parser: Parser | argparse._ArgumentGroup, when: str = "") -> None:
    """Add the option that says by which clock an instant is meant."""
    parser.add_argument(
        "--clock",
        choices=CLOCKS,
        help=f"{when}by when it was recorded here (unless given), or by when it occurred",
    )


def view(memory: Memory, args: argparse.Namespace) -> Memory | Past:
    """Return the memory to read from: today's, or as of the point that the options name."""
    if args.as_of is None:
        if args.clock is not None:
            from foldlog.cli.parser import Usage

            raise Usage("--clock says how an instant is meant; name one with --as-of")
        return memory
    return memory.as_of(args.as_of, clock=args.clock or CLOCKS[0])


def point(text: str) -> int | datetime:
    """Read a position, or an instant in ISO 8601 with its zone."""
    if re.fullmatch(r"[0-9]{1,19}", text):
        return whole(0)(text)
    from datetime import datetime

    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be {POINT}, not {text!r}") from None
    if found.tzinfo is None:
        raise argparse.ArgumentTypeError(f"has no time zone; add Z for UTC, or an offset: {text!r}")
    return found


def whole(least: int) -> Callable[[str], int]:
    """Return a reader of whole numbers from `least` on."""

    def read(text: str) -> int:
        if not re.fullmatch(r"-?[0-9]{1,19}", text) or not least <= int(text) <= MAX_NUMBER:
            raise argparse.ArgumentTypeError(f"must be a whole number from {least}, not {text!r}")
        return int(text)

    return read


def duration(text: str) -> int:
    """Read `30d`, `2h`, `15m`, `20s` or `500ms` as milliseconds."""
    found = _DURATION.fullmatch(text)
    if found is None or int(found[1]) == 0:
        raise argparse.ArgumentTypeError(
            f"must be a number from 1 and one of {', '.join(_UNITS)}, as in 30d, not {text!r}"
        )
    return int(found[1]) * _UNITS[found[2]]


def settings(args: argparse.Namespace) -> Settings:
    """Read the settings; options stand over the others. Raises SettingsError."""
    from foldlog.settings import load

    return load(log=args.log, http_port=getattr(args, "http_port", None))


@contextmanager
def memory(args: argparse.Namespace, *, create: bool = False) -> Iterator[Memory]:
    """Open the memory on behalf of whoever the options name; raises LogError.

    Only a command that may begin a log creates it: for the others a wrong path is an error.
    """
    found = settings(args)
    by = provenance(args)
    if not create:
        require_log(found)
    from foldlog.composition import open_memory

    with open_memory(settings=found, by=by) as opened:
        yield opened


def require_log(settings: Settings) -> None:
    """Raise LogUnavailable unless there is a log; a database without one is left as it is."""
    from foldlog.errors import LogUnavailable
    from foldlog.events.log import schema_version

    if schema_version(settings.log, settings.busy_timeout_ms) is None:
        raise LogUnavailable(
            f"there is no log at {settings.log}; name another with --log or FOLDLOG_LOG, or begin one by "
            "writing to it"
        )


def provenance(args: argparse.Namespace) -> Provenance:
    """Return who makes the change; raises InvalidInput."""
    from foldlog.events.provenance import NOBODY, Provenance

    if "actor" not in args:
        return NOBODY
    return Provenance(run=args.by_run, node=args.node, iteration=args.iteration, actor=args.actor)


def warn_of_namespaces(*namespaces: str) -> None:
    """Warn when a namespace to read from is one that cannot be written to: most likely a slip."""
    from foldlog.errors import InvalidInput
    from foldlog.names import check_namespace

    for namespace in namespaces:
        try:
            check_namespace(namespace)
        except InvalidInput as error:
            output.warn(f"{error}; nothing is ever written there")
