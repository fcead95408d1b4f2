"""`foldlog verify`: does the log still say what was written?"""

from __future__ import annotations

from argparse import Namespace
from itertools import islice
from typing import TYPE_CHECKING, Final

from foldlog.cli import options, output
from foldlog.cli.parser import add_command

if TYPE_CHECKING:
    from foldlog.cli.parser import Commands
    from foldlog.events.log import Log
    from foldlog.events.verification import Anchor, Report

#: The exit code when something is wrong.
FAULTY: Final = 1

#: Most differences of an index that are shown.
SHOWN: Final = 20


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(commands, "verify", "check the log's hash chain, and the index; exit 1 on faults")
    parser.add_argument(
        "--expect",
        metavar="POSITION:HASH",
        help="an anchor printed earlier: also shows a log that was rewritten as a whole",
    )
    parser.add_argument(
        "--index", action="store_true", help="also compare the index with the log, memory by memory"
    )
    options.add_common(parser)
    parser.set_defaults(handler=run)


def run(args: Namespace) -> int:
    """Verify the log and print the faults, and the anchor to keep."""
    from foldlog.events.verification import Anchor

    expect = None if args.expect is None else Anchor.parse(args.expect)
    with options.memory(args) as memory:
        report = _verify(memory.log, expect)
        differing = list(islice(memory.verify_index(), SHOWN + 1)) if args.index else []
    if args.json:
        output.record(_as_dict(report) | ({"index": differing[:SHOWN]} if args.index else {}))
    else:
        _show(report)
        if args.index:
            _show_index(differing)
    return 0 if report.ok and not differing else FAULTY


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


def _show_index(differing: list[str]) -> None:
    for item in differing[:SHOWN]:
        output.say(f"index: {item}")
    more = ", and more" if len(differing) > SHOWN else ""
    count = output.count(len(differing[:SHOWN]), "difference")
    verdict = f"{count}{more}; run `foldlog rebuild`" if differing else "what the log says"
    output.say(f"index: {verdict}")
