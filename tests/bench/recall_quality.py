"""How well recall finds what it should, on four public question sets, without a language model.

Each set is written into a temporary log, folded into an embedded Postgres (or a temporary database on the
server that FOLDLOG_DATABASE_URL names), and asked with all channels, with some, and from the log alone.
Run by `make bench`; exits 1 when a figure is below its bar. The data are not part of the project: a set
whose files are absent is not measured.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
from dataclasses import replace
from pathlib import Path

from quality import locomo, passages, report, timeqa
from quality.measuring import Measured, measure, temporary_settings
from quality.question_set import QuestionSet

REPOSITORY = Path(__file__).parents[2]

SETS = {item.name: item for item in (locomo.SET, passages.MUSIQUE, passages.HOTPOTQA, timeqa.SET)}


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument(
        "--data", type=Path, default=REPOSITORY / "../shared/data", help="the folder with the question sets"
    )
    parser.add_argument("--set", nargs="+", choices=SETS, default=list(SETS), help="measure only these")
    parser.add_argument("--json", action="store_true", help="print one JSON document, at the end")
    return parser.parse_args()


def present(question_set: QuestionSet, data: Path) -> bool:
    """Say whether a set's files are there; print which are not."""
    absent = [name for name in question_set.files if not (data / name).is_file()]
    if absent:
        print(
            f"{question_set.name}: not measured, since {data} has no {' and no '.join(absent)}; "
            "name the folder of the data with --data",
            file=sys.stderr,
        )
    return not absent


def run(sets: list[QuestionSet], data: Path, as_json: bool) -> list[Measured]:
    """Measure the sets one by one; each is reported as soon as it is measured."""
    found = []
    with temporary_settings() as settings:
        for item in sets:
            folder = settings.log.parent
            own = replace(settings, log=folder / f"{item.name}.db", name=f"bench_{item.name}")
            measured = measure(item, data, own)
            found.append(measured)
            if not as_json:
                print("\n".join(report.lines(measured)), flush=True)
    return found


def main() -> int:
    """Run the benchmark."""
    # What is temporary goes also when the benchmark is told to stop.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    given = arguments()
    sets = [SETS[name] for name in given.set if present(SETS[name], given.data)]
    found = run(sets, given.data, given.json) if sets else []
    if given.json:
        print(json.dumps([report.as_dict(item) for item in found], indent=2))
    below = [
        f"{item.set.name} {bar.row} recall@{bar.depth}"
        for item in found
        for bar in item.set.bars
        if not report.met(item, bar)
    ]
    if found and not given.json:
        print(f"\nbelow the bar: {', '.join(below)}" if below else "\nall bars are met")
    return 1 if below else 0


if __name__ == "__main__":
    sys.exit(main())
