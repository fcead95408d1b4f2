"""`foldlog servings`: who was given which memory."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from typing import TYPE_CHECKING

from foldlog.cli import options, output, paging
from foldlog.cli.parser import add_command

if TYPE_CHECKING:
    from foldlog.cli.parser import Commands
    from foldlog.memory.servings import Served, Serving


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands, "servings", "list who was given which memory, the newest first, and how it stands today"
    )
    parser.add_argument("--run", dest="of_run", metavar="R", help="only what this run was given")
    options.add_limit(parser, "at most so many answers; without it all")
    options.add_common(parser)
    parser.set_defaults(handler=run)


def run(args: Namespace) -> int:
    """Print the servings: as JSON one line each, otherwise one line a memory."""
    with options.memory(args) as memory:
        found = paging.every(
            lambda before, size: memory.servings.recent(run=args.of_run, before=before, limit=size),
            lambda serving: serving.serving_id,
            options.MAX_NUMBER,
            args.limit,
        )
        if args.json:
            for serving in found:
                output.record(serving.as_dict())
        else:
            output.table(("served", "who", "kind", "id", "position", "today", "text"), _rows(found))
    return 0


def _rows(found: Iterator[Serving]) -> Iterator[list[str]]:
    for serving in found:
        for item in serving.memories:
            yield cells(serving, item)
        if not serving.memories:
            yield [*_asked(serving), "-", "-", "-", "-", "nothing was found"]


def cells(serving: Serving, item: Served) -> list[str]:
    """Return one memory of a serving as cells."""
    from foldlog.cli import wording

    return [
        *_asked(serving),
        item.kind,
        item.id or wording.ERASED,
        str(item.position),
        item.today,
        wording.ERASED if item.text is None else item.text,
    ]


def _asked(serving: Serving) -> list[str]:
    from foldlog.cli import wording

    return [wording.when(serving.served_at), wording.who(serving.provenance)]
