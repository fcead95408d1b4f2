"""`foldlog diff`: what memory said at one point, and not at another."""

from __future__ import annotations

from argparse import Namespace
from itertools import islice
from typing import TYPE_CHECKING, Final

from foldlog.cli import options, output
from foldlog.cli.parser import add_command

if TYPE_CHECKING:
    from foldlog.cli.parser import Commands
    from foldlog.memory.diff import Difference
    from foldlog.memory.standing import Item

#: As in foldlog.memory.diff, which is not imported for a parser; a test compares them.
KINDS: Final = ("fact", "thread", "message", "note", "retained", "primer")


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(commands, "diff", "show what was created, changed, hidden or reappeared in between")
    parser.add_argument("first", type=options.point, metavar="A", help=options.POINT)
    parser.add_argument(
        "second", type=options.point, metavar="B", nargs="?", help="the same; now unless given"
    )
    options.add_clock(parser, "an instant is meant ")
    parser.add_argument("--namespace", metavar="NS", help="only of this namespace")
    parser.add_argument(
        "--kind", action="append", default=[], dest="kinds", choices=KINDS, help="only these; may be repeated"
    )
    options.add_limit(parser)
    options.add_common(parser)
    parser.set_defaults(handler=run)


def run(args: Namespace) -> int:
    """Print the differences."""
    if args.namespace is not None:
        options.warn_of_namespaces(args.namespace)
    with options.memory(args) as memory:
        found = memory.diff(
            args.first,
            args.second,
            clock=args.clock or options.CLOCKS[0],
            namespace=args.namespace,
            kinds=args.kinds,
        )
        columns = ("change", "kind", "namespace", "id", "what")
        output.items(args, columns, islice(found, args.limit), _cells)
    return 0


def _cells(found: Difference) -> list[str]:
    return [found.change, found.kind, found.namespace, found.name, _what(found)]


def _what(found: Difference) -> str:
    """Return what changed and why; for a reader the text, not what is around it."""
    before = None if found.before is None else _text(found.before)
    after = None if found.after is None else _text(found.after)
    if before is None:
        reason = "" if found.why is None else f" (was {found.why})"
        return f"{after}{reason}"
    if after is None:
        return f"{found.why}: {before}"
    return f"{before} -> {after}" if before != after else f"{after} (its tags, time or place)"


def _text(item: Item) -> str:
    from foldlog.events.encoding import encode
    from foldlog.projections.local.facts import Fact
    from foldlog.projections.local.threads import Thread

    if isinstance(item, Thread):
        return item.title or "-"
    return encode(item.value) if isinstance(item, Fact) else item.text
