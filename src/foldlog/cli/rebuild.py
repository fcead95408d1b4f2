"""`foldlog rebuild`: a new generation of the index beside the live one, while everything goes on."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING

from foldlog.cli import options, output
from foldlog.cli.parser import add_command

if TYPE_CHECKING:
    from foldlog.cli.parser import Commands
    from foldlog.projections.rebuild import Progress


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands, "rebuild", "build the index anew beside the live one, and switch when it equals the log"
    )
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument("--back", action="store_true", help="switch back to the generation before")
    choice.add_argument(
        "--take-over",
        action="store_true",
        help="first remove what another log, gone for good, left in the index under this log's name",
    )
    options.add_common(parser)
    parser.set_defaults(handler=run)


def run(args: Namespace) -> int:
    """Rebuild, or go back; Ctrl-C leaves a build that the next `foldlog rebuild` goes on with."""
    with options.memory(args) as memory:
        if args.back:
            number: int | None = memory.rebuild_back()
        else:
            with output.Progress("rebuilding", "events", memory.log.head()) as progress:

                def moved(step: Progress) -> None:
                    progress.move(step.position, step.position)

                try:
                    number = memory.rebuild(progress=moved, take_over=args.take_over)
                except KeyboardInterrupt:
                    output.warn("stopped; the live index was not touched, `foldlog rebuild` goes on")
                    raise
    if args.json:
        output.record({"generation": number})
    else:
        output.say(f"generation {number} answers now; `foldlog rebuild --back` returns to the one before")
    return 0
