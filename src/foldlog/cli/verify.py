"""`foldlog verify`: does the log still say what was written?"""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING, Final

from foldlog.cli import options, output
from foldlog.cli.parser import add_command

if TYPE_CHECKING:
    from foldlog.cli.parser import Commands
    from foldlog.events.log import Log
    from foldlog.events.verification import Anchor, Report

#: The exit code when something is wrong.
FAULTY: Final = 1


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(commands, "verify", "check the log's hash chain; exit 1 on faults")
    parser.add_argument(
        "--expect",
        metavar="POSITION:HASH",
        help="an anchor printed earlier: also shows a log that was rewritten as a whole",
    )
    options.add_common(parser)
    parser.set_defaults(handler=run)


def run(args: Namespace) -> int:
    """Verify the log and print the faults, and the anchor to keep."""
    from foldlog.events.verification import Anchor

    expect = None if args.expect is None else Anchor.parse(args.expect)
    with options.memory(args) as memory:
        report = _verify(memory.log, expect)
    if args.json:
        output.record(_as_dict(report))
    else:
        _show(report)
    return 0 if report.ok else FAULTY


def _verify(log: Log, expect: Anchor | None) -> Report:
    """Verify the log; a file that SQLite cannot read to its end is a fault, where the reading ended."""
    from foldlog.errors import LogCorrupt
    from foldlog.events.verification import Fault, Report, verify

    reached = 0
    try:
        with output.Progress("verifying", "events", log.head(), quiet=True) as progress:

            def moved(position: int) -> None:
                nonlocal reached
                reached = position
                progress.move(position, position)

            return verify(log, expect=expect, progress=moved)
    except LogCorrupt as error:
        return Report(events=reached, faults=[Fault(position=reached + 1, problem=str(error))])


def _as_dict(report: Report) -> dict[str, object]:
    return {
        "ok": report.ok,
        "events": report.events,
        "erased": report.erased,
        "anchor": str(report.anchor) if report.anchor.hash else None,
        "faults": [
            {"position": item.position, "problem": item.problem, "stream": item.stream}
            for item in report.faults
        ],
    }


def _show(report: Report) -> None:
    for item in report.faults:
        stream = f" ({item.stream})" if item.stream else ""
        output.say(f"fault at position {item.position}{stream}: {item.problem}")
    faults = output.count(len(report.faults), "fault")
    verdict = "intact" if report.ok else f"{faults}; restore the log from a backup"
    output.say(f"{output.count(report.events, 'event')}, {report.erased} erased: {verdict}")
    if report.anchor.hash:
        output.say(f"anchor {report.anchor}")
