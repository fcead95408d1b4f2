"""How quickly one item is explained in a log of a million events, beside the same in one of ten thousand.

Made-up runs are written into temporary logs; then history, memory as of a point, blame and the usual lists
are asked of both logs in turn. Times are on the clock; growth is that of processor time, which leaves out
what other programs take. Run by `make bench-audit`; `--short` takes a hundred thousand events. Exits 1 when
a bar is missed, which on a busy machine may be the machine's.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

from auditing.asking import ITEMS, SHOWN
from auditing.building import Built, build, opened, text, unhurried

TESTS = Path(__file__).parents[1]

SMALL = 10_000
#: Milliseconds within which 95 % are answered, and how much longer the large log may take.
ANSWER_MS = 20.0
GROWTH = 1.5
MEMORY_MB = 150.0

#: Notes of a namespace, batches that are then saved, notes of a batch, milliseconds of one note.
NOTES = (10_000, 100_000)
BATCHES = 50
BATCH = 100
NOTE_MS = 1.0

#: A search of two words in a namespace of NOTES[0].
SEARCHES = 200


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--events", type=int, default=1_000_000, help="of the large log (1000000)")
    parser.add_argument(
        "--short", action="store_true", help="100000 events, and notes in a namespace of 10000"
    )
    parser.add_argument("--count", type=int, default=300, help="answers of each kind (300)")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    return parser.parse_args()


def share(times: list[float], part: float) -> float:
    """Return the time within which a part of the answers came."""
    return sorted(times)[min(int(part * len(times)), len(times) - 1)]


def asked(logs: list[Built], count: int) -> dict[str, Any]:
    """Ask in a process of its own."""
    path = os.pathsep.join([str(TESTS), str(TESTS / "bench"), *sys.path[1:]])
    given = [str(part) for log in logs for part in (log.path, log.runs)]
    done = subprocess.run(
        [sys.executable, "-m", "auditing.asking", *given, str(count)],
        env=os.environ | {"PYTHONPATH": path},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def saving(folder: Path, notes: int) -> dict[str, list[float]]:
    """Return the milliseconds of a note in batches, and of a search, in a namespace of so many notes."""
    import random

    drawn = random.Random(notes)
    with opened(folder / f"notes-{notes}.db") as memory:
        unhurried(memory)
        for _ in range(0, notes, 1000):
            with memory.batch():
                for _ in range(1000):
                    memory.notes.save("agent:many", text(drawn))
    times = []
    # Opened anew, so that what is measured waits for the disk as it should.
    with opened(folder / f"notes-{notes}.db") as memory:
        for _ in range(BATCHES):
            bodies = [text(drawn) for _ in range(BATCH)]
            began = time.perf_counter()
            with memory.batch():
                for body in bodies:
                    memory.notes.save("agent:many", body)
            times.append((time.perf_counter() - began) * 1000 / BATCH)
        found = []
        for _ in range(SEARCHES if notes == NOTES[0] else 0):
            words = " ".join(text(drawn).split()[4:6])
            began = time.perf_counter()
            memory.search(words, "agent:many")
            found.append((time.perf_counter() - began) * 1000)
    return {f"a note in a batch, {notes:,} notes": times, f"search of two words, {notes:,} notes": found}


def verdicts(sizes: list[int], found: dict[str, Any]) -> Iterator[tuple[str, bool]]:
    """Yield each line about the two logs, and whether no bar is missed in it."""
    heads = [f"p50, p95 at {size:,}" for size in sizes]
    yield f"{'ms':<30}{heads[0]:>22}{heads[1]:>24}{'CPU p95':>18}{'x':>7}", True
    for name, logs in found["times"].items():
        clock = [share([item[0] for item in log], part) for log in logs for part in (0.5, 0.95)]
        work = [share([item[1] for item in log], 0.95) for log in logs]
        growth = work[1] / work[0]
        fine = name in SHOWN or (clock[3] < ANSWER_MS and growth < GROWTH)
        mark = "" if name in SHOWN else ("  met" if fine else "  MISSED")
        cells = f"{clock[0]:>11.2f}{clock[1]:>11.2f}{clock[2]:>13.2f}{clock[3]:>11.2f}"
        yield f"{name:<30}{cells}{work[0]:>9.2f}{work[1]:>9.2f}{growth:>7.2f}{mark}", fine
    fine = found["peak_mb"] < MEMORY_MB
    yield f"memory of the process: {found['peak_mb']:.0f} MB  {'met' if fine else 'MISSED'}", fine


def verdicts_of_notes(notes: dict[str, list[float]]) -> Iterator[tuple[str, bool]]:
    """Yield each line about a namespace of many notes, and whether no bar is missed in it."""
    for name, times in notes.items():
        if not times:
            yield f"{name}: not measured", True
            continue
        fine = share(times, 0.95) < ANSWER_MS if "search" in name else median(times) < NOTE_MS
        cells = f"p50 {median(times):.2f} ms, p95 {share(times, 0.95):.2f} ms"
        yield f"{name}: {cells}  {'met' if fine else 'MISSED'}", fine


def main() -> int:
    """Run the benchmark."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    given = arguments()
    events = 100_000 if given.short else given.events
    with tempfile.TemporaryDirectory(prefix="foldlog-audit-") as name:
        folder = Path(name)
        logs = []
        for size in (SMALL, events):
            began = time.perf_counter()
            logs.append(build(folder / f"{size}.db", size))
            seconds = time.perf_counter() - began
            print(f"wrote {logs[-1].events:,} events in {seconds:.0f} s", file=sys.stderr, flush=True)
        found = asked(logs, given.count)
        notes: dict[str, list[float]] = {}
        for count in NOTES[:1] if given.short else NOTES:
            notes |= saving(folder, count)
    report = [*verdicts([log.events for log in logs], found), *verdicts_of_notes(notes)]
    if given.json:
        print(json.dumps({"events": [log.events for log in logs], **found, "notes": notes}))
    else:
        print("\n".join(line for line, _ in report))
    return 0 if all(fine for _, fine in report) else 1


if __name__ == "__main__":
    assert ITEMS.keys().isdisjoint(SHOWN)
    sys.exit(main())
