"""`foldlog backfill`: fold the log into the index here and now, without workers."""

from __future__ import annotations

import time
from argparse import Namespace
from typing import TYPE_CHECKING

from foldlog.cli import options, output
from foldlog.cli.parser import add_command

if TYPE_CHECKING:
    from foldlog.cli.parser import Commands
    from foldlog.projections.engine import Folded


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(commands, "backfill", "fold the log into the index in this process, without Redis")
    options.add_common(parser)
    parser.set_defaults(handler=run)


def run(args: Namespace) -> int:
    """Fold up to the head; Ctrl-C leaves the index where the last page ended."""
    began = time.monotonic()
    reached: list[Folded] = []
    with options.memory(args) as memory:
        head = memory.log.head()
        with output.Progress("folding", "events", head) as progress:

            def moved(folded: Folded) -> None:
                reached[:] = [folded]
                progress.move(folded.position, folded.events)

            try:
                done = memory.catch_up(progress=moved)
            except KeyboardInterrupt:
                where = f"at position {reached[0].position}" if reached else "before the first page"
                output.warn(f"stopped {where} of {head}; `foldlog backfill` goes on from there")
                raise
    seconds = time.monotonic() - began
    if args.json:
        output.record(
            {
                "outcome": done.outcome,
                "events": done.events,
                "pages": done.pages,
                "position": done.position,
                "seconds": round(seconds, 3),
            }
        )
    else:
        events = output.count(done.events, "event")
        output.say(f"{done.outcome} at position {done.position}: {events} in {seconds:.1f} s")
    return 0
