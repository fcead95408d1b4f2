"""`foldlog search`: memories that hold the words asked for, from the log alone."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING

from foldlog.cli import options, output
from foldlog.cli.note import STATUSES
from foldlog.cli.parser import add_command

if TYPE_CHECKING:
    from foldlog.cli.parser import Commands
    from foldlog.projections.local.search import Found


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(commands, "search", "find memories by their words, in the log alone")
    parser.add_argument("query", metavar="QUERY", help="words; all of them, or where none has all, any")
    parser.add_argument(
        "namespaces", metavar="NS", nargs="*", help="as in user:alice; without it the whole log"
    )
    parser.add_argument(
        "--namespace-kind",
        choices=("workflow", "agent", "user", "global"),
        help="all namespaces of this kind",
    )
    parser.add_argument(
        "--kind",
        action="append",
        default=[],
        dest="kinds",
        choices=options.KINDS,
        help="only these; may be repeated",
    )
    options.add_tag_filters(parser)
    parser.add_argument("--note-kind", metavar="KIND", help="only notes saved with this kind")
    parser.add_argument(
        "--status", choices=(*STATUSES, "any"), default="accepted", help="of notes; accepted unless given"
    )
    parser.add_argument(
        "--superseded", action="store_true", help="also notes that an accepted note supersedes"
    )
    options.add_limit(parser, "at most so many; 20 unless given")
    options.add_common(parser)
    parser.set_defaults(handler=run)


def run(args: Namespace) -> int:
    """Print what was found, best first."""
    options.warn_of_namespaces(*args.namespaces)
    where = options.where(args)
    with options.memory(args) as memory:
        found = memory.search(
            args.query,
            args.namespaces,
            namespace_kind=args.namespace_kind,
            kinds=args.kinds,
            tags=args.tags,
            tags_match=args.match,
            where=where,
            note_kind=args.note_kind,
            status=args.status,
            include_superseded=args.superseded,
            limit=20 if args.limit is None else args.limit,
        )
    if args.json:
        for item in found:
            output.record(item.as_dict())
    else:
        output.table(("score", "kind", "namespace", "id", "text"), map(_cells, found))
    return 0


def _cells(found: Found) -> list[str]:
    item = found.item
    return [f"{found.score:.4g}", found.kind, item.namespace, item.name, item.text]
