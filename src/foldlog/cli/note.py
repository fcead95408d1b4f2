"""`foldlog note`: notes that never change, and supersede one another."""

from __future__ import annotations

import re
from argparse import ArgumentTypeError, Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from foldlog.cli import options, output, paging
from foldlog.cli.parser import add_command, add_noun

if TYPE_CHECKING:
    from foldlog.cli.parser import Commands, Parser
    from foldlog.projections.local.notes import Note

#: As in foldlog.projections.local.notes, which is not imported for a parser; a test compares them.
STATUSES: Final = ("pending", "accepted", "rejected")

#: How an error names a keyword argument that would allow what it refuses.
_ALLOW: Final = re.compile(r"pass (allow_\w+)=True")

#: Of a list of notes.
COLUMNS: Final = ("note", "written", "status", "kind", "author", "body")

#: The status that each verb leads to.
VERDICTS: Final = {"accept": "accepted", "reject": "rejected"}


def add(commands: Commands) -> None:
    """Add the noun and its verbs."""
    verbs = add_noun(commands, "note", "texts that never change, and supersede one another")
    _add_save(verbs)
    for verb, status in VERDICTS.items():
        parser = add_command(verbs, verb, f"make a note {status}; one that is so already is left alone")
        parser.add_argument("id", metavar="ID")
        parser.add_argument("--reason", metavar="TEXT", help="why; it stays in the history")
        if verb == "accept":
            _add_fork(parser)
        options.add_by(parser)
        options.add_common(parser)
        parser.set_defaults(handler=run)
    get = add_command(verbs, "get", "print a note, whatever its status")
    heads = add_command(verbs, "heads", "print the notes that stand in a note's place now")
    for parser in (get, heads):
        parser.add_argument("id", metavar="ID")
    listing = add_command(verbs, "list", "list the notes of a namespace, the oldest first")
    listing.add_argument("namespace", metavar="NS")
    listing.add_argument(
        "--status", choices=(*STATUSES, "any"), default="accepted", help="accepted unless given"
    )
    listing.add_argument(
        "--superseded", action="store_true", help="also those that an accepted note supersedes"
    )
    listing.add_argument("--kind", metavar="KIND", help="only of this kind")
    options.add_limit(listing)
    for parser in (get, heads, listing):
        options.add_as_of(parser)
        options.add_common(parser)
        parser.set_defaults(handler=run)


def _add_save(verbs: Commands) -> None:
    parser = add_command(verbs, "save", "save a note; the same id and body again changes nothing")
    parser.add_argument("namespace", metavar="NS", help="as in user:alice")
    parser.add_argument("body", metavar="BODY")
    parser.add_argument("--id", metavar="ID", help="the note's id; without it a new one")
    parser.add_argument("--kind", metavar="KIND", help="a word of yours, such as decision")
    parser.add_argument("--author", metavar="WHO", help="who wrote it")
    parser.add_argument("--status", choices=STATUSES, default="accepted", help="accepted unless given")
    parser.add_argument(
        "--supersedes",
        action="append",
        default=[],
        metavar="ID",
        help="a note that it replaces; may be repeated",
    )
    parser.add_argument(
        "--allow-missing", action="store_true", help="also when a note that it replaces does not exist yet"
    )
    parser.add_argument(
        "--allow-other-namespace", action="store_true", help="also when it replaces another namespace's"
    )
    parser.add_argument(
        "--relates",
        action="append",
        default=[],
        type=_relation,
        metavar="KIND:ENTITY",
        help="what it says of something by name, as owns:payments-api; may be repeated",
    )
    _add_fork(parser)
    options.add_tags(parser, "a label to find it by; may be repeated")
    options.add_by(parser)
    options.add_common(parser)
    parser.set_defaults(handler=run)


def _relation(text: str) -> tuple[str, str]:
    """Read `owns:payments-api`; the name may have colons, the kind has none."""
    kind, colon, entity = text.partition(":")
    if not (kind and colon and entity):
        raise ArgumentTypeError(f"must be a kind and a name, as in owns:payments-api, not {text!r}")
    return kind, entity


def _add_fork(parser: Parser) -> None:
    parser.add_argument(
        "--allow-fork", action="store_true", help="also when another accepted note supersedes the same one"
    )


def run(args: Namespace) -> int:
    """Run the verb."""
    verbs = {
        "save": _save,
        "accept": _judge,
        "reject": _judge,
        "get": _get,
        "heads": _heads,
        "list": _list,
    }
    return verbs[args.verb](args)


@contextmanager
def _way_out() -> Iterator[None]:
    """Say in a conflict's message the way out that the command line has."""
    from foldlog.errors import Conflict

    try:
        yield
    except Conflict as error:
        raise Conflict(_ALLOW.sub(_option, str(error))) from error


def _option(found: re.Match[str]) -> str:
    return f"add --{found[1].replace('_', '-')}"


def _save(args: Namespace) -> int:
    with options.memory(args, create=True) as memory, _way_out():
        found = memory.notes.save(
            args.namespace,
            args.body,
            note_id=args.id,
            kind=args.kind,
            author=args.author,
            tags=args.tags,
            status=args.status,
            supersedes=args.supersedes,
            relates=args.relates,
            allow_fork=args.allow_fork,
            allow_missing=args.allow_missing,
            allow_other_namespace=args.allow_other_namespace,
        )
    output.receipt(args, "note", found)
    return 0


def _judge(args: Namespace) -> int:
    with options.memory(args) as memory, _way_out():
        found = memory.notes.set_status(
            args.id,
            VERDICTS[args.verb],
            reason=args.reason,
            # Rejecting forks nothing.
            allow_fork=args.verb == "accept" and args.allow_fork,
        )
    output.receipt(args, "note", found)
    return 0


def _get(args: Namespace) -> int:
    from foldlog.cli import wording
    from foldlog.errors import UnknownNote

    with options.memory(args) as memory:
        view = options.view(memory, args)
        found = view.notes.get(args.id)
        if found is None:
            raise UnknownNote(args.id, as_of=args.as_of)
        relates = view.notes.relates(args.id)
    if args.json:
        output.record(found.as_dict() | {"relates": [item._asdict() for item in relates]})
        return 0
    output.pairs(
        [
            ("note", found.note_id),
            ("namespace", found.namespace),
            ("kind", found.kind or "-"),
            ("author", found.author or "-"),
            ("status", found.status),
            ("tags", ", ".join(found.tags) or "-"),
            ("relates", ", ".join(f"{item.kind}:{item.entity}" for item in relates) or "-"),
            ("written", wording.when(found.created_at)),
            ("supersedes", ", ".join(found.supersedes) or "-"),
            ("superseded by", ", ".join(found.superseded_by) or "-"),
        ]
    )
    output.text(f"\n{found.body}")
    return 0


def _heads(args: Namespace) -> int:
    with options.memory(args) as memory:
        output.items(args, COLUMNS, options.view(memory, args).notes.heads(args.id), _cells)
    return 0


def _list(args: Namespace) -> int:
    options.warn_of_namespaces(args.namespace)
    with options.memory(args) as memory:
        view = options.view(memory, args)
        found = paging.every(
            lambda after, size: view.notes.list(
                args.namespace,
                status=args.status,
                kind=args.kind,
                include_superseded=args.superseded,
                after=after,
                limit=size,
            ),
            lambda note: note.memory_id,
            0,
            args.limit,
        )
        output.items(args, COLUMNS, found, _cells)
    return 0


def _cells(note: Note) -> list[str]:
    from foldlog.cli import wording

    written = wording.when(note.created_at)
    return [note.note_id, written, note.status, note.kind or "-", note.author or "-", note.text]
