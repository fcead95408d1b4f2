"""Asking: each question of the audit, in turn of a small and a large log, so that both see the same machine.

In a process of its own, whose memory is measured: `python -m auditing.asking SMALL RUNS LARGE RUNS COUNT`.
"""

from __future__ import annotations

import json
import random
import resource
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from auditing.building import MESSAGES, NOTES, THOUSAND, keys, namespace, opened
from foldlog import Memory
from foldlog.memory.as_of import Past

#: Asked before the clock runs: what is imported then is no part of an answer.
WARM_UP = 5


@dataclass(frozen=True, kw_only=True)
class Log:
    """An open log, and what to ask it about."""

    memory: Memory
    runs: int
    drawn: random.Random

    def run(self) -> int:
        """Return one of its runs."""
        return self.drawn.randrange(self.runs)

    def past(self) -> Past:
        """Return a view of some earlier position."""
        return self.memory.as_of(self.drawn.randint(1, self.memory.log.head()))

    def note(self) -> str:
        """Return the id of a note."""
        return f"n{self.run()}-{self.drawn.randrange(NOTES)}"

    def message(self) -> str:
        """Return the id of a message; two in a hundred are deleted."""
        return f"m{self.run()}-{self.drawn.randrange(MESSAGES)}"

    def fact(self) -> tuple[str, str]:
        """Return the namespace and key of a fact."""
        number = self.run()
        return namespace(number), self.drawn.choice(list(keys(number)))


def deleted(log: Log) -> object:
    """Ask for the history of a deleted message."""
    return log.memory.history.message(f"m{log.run()}-3")


def at_an_instant(log: Log) -> object:
    """Ask for a fact as of the instant of some event."""
    position = log.drawn.randint(1, log.memory.log.head())
    stamp = log.memory.as_of(position).instant
    return log.memory.as_of(stamp).facts.get(*log.fact())


def a_hundred_events(log: Log) -> object:
    """Ask what a hundred events changed."""
    first = log.drawn.randrange(log.memory.log.head() - 100)
    return list(log.memory.diff(first, first + 100))


#: What has a bar; then what is only shown.
ITEMS: dict[str, Callable[[Log], object]] = {
    "history of a fact": lambda log: log.memory.history.fact(*log.fact()),
    "history of a note": lambda log: log.memory.history.note(log.note()),
    "history of a message": lambda log: log.memory.history.message(log.message()),
    "history of a deleted message": deleted,
    "fact as of a position": lambda log: log.past().facts.get(*log.fact()),
    "note as of a position": lambda log: log.past().notes.get(log.note()),
    "message as of a position": lambda log: log.past().messages.get(log.message()),
    "fact as of an instant": at_an_instant,
    "blame of a fact": lambda log: log.memory.blame.fact(*log.fact()),
    "blame of a note": lambda log: log.memory.blame.note(log.note()),
    "blame of a message": lambda log: log.memory.blame.message(log.message()),
    "list of 1,000 notes": lambda log: log.memory.notes.list(THOUSAND),
    "thread of 100 messages": lambda log: log.memory.messages.list(f"t{log.run()}"),
}
SHOWN: dict[str, Callable[[Log], object]] = {
    "history of a thread": lambda log: log.memory.history.thread(f"t{log.run()}"),
    "thread as of now": lambda log: log.memory.as_of(log.memory.log.head()).messages.list(f"t{log.run()}"),
    "1,000 notes as of now": lambda log: log.memory.as_of(log.memory.log.head()).notes.list(THOUSAND),
    "servings of a run": lambda log: log.memory.servings.recent(run=f"run-{log.run()}"),
    "diff of 100 events": a_hundred_events,
}


def read_once(path: Path) -> None:
    """Have the system keep a file, as that of a log in use: foldlog is measured, not the disk."""
    with path.open("rb") as file:
        while file.read(1 << 20):
            pass


def ask(logs: list[Log], question: Callable[[Log], object], count: int) -> list[list[tuple[float, float]]]:
    """Return the milliseconds of each answer, by log: on the clock, and of the processor."""
    times: list[list[tuple[float, float]]] = [[] for _ in logs]
    for turn in range(WARM_UP + count):
        for place, log in enumerate(logs):
            began, worked = time.perf_counter(), time.thread_time()
            with suppress(LookupError):
                # What was not there yet at that position is an answer too.
                question(log)
            if turn >= WARM_UP:
                spent = time.perf_counter() - began, time.thread_time() - worked
                times[place].append((spent[0] * 1000, spent[1] * 1000))
    return times


def main() -> None:
    """Ask everything, and print the times and the most memory that this process had, in MB, as JSON."""
    *given, count = sys.argv[1:]
    pairs = list(zip(given[::2], given[1::2], strict=True))
    for path in given[::2]:
        read_once(Path(path))
    logs = [Log(memory=opened(Path(path)), runs=int(runs), drawn=random.Random(1)) for path, runs in pairs]
    found = {name: ask(logs, question, int(count)) for name, question in (ITEMS | SHOWN).items()}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"times": found, "peak_mb": peak}))


if __name__ == "__main__":
    main()
