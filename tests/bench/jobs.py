"""What the jobs cost: collecting, trimming and summarising, each beside the same work done bare.

Made-up facts and threads are written into a temporary log. Run by `make bench-jobs`; `--short` takes a tenth
of them. Exits 1 when a bar is missed, which on a busy machine may be the machine's.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from foldlog import Memory, composition
from foldlog.projections.local.threads import Message
from foldlog.settings import Settings
from foldlog.workers.jobs.job import Result, Work
from foldlog.workers.jobs.limit import LimitJob
from foldlog.workers.jobs.summarize import SummarizeJob, spoken
from foldlog.workers.jobs.ttl import TtlJob
from foldlog.workers.models import registry as models
from foldlog.workers.tokens import registry as tokens

BATCH = 5_000

#: Milliseconds that a run of ttl may take when nothing is due, however many facts there are.
IDLE_MS = 1.0

#: Collecting a fact appends an event and takes rows away: at most so many times the setting of one.
COLLECT = 2.0

#: Trimming and summarising, beside counting, or the summarizer alone, and deleting as many messages.
LIMIT = 2.0
SUMMARIZE = 2.0

WORDS = (
    "deploy queue index alice invoice retry timeout blue green canary rollback ticket payment search".split()
)


@dataclass
class Clock:
    """The wall clock, and what it is moved by."""

    moved_ms: int = 0

    def __call__(self) -> int:
        return time.time_ns() // 1_000_000 + self.moved_ms


@dataclass(frozen=True)
class Line:
    """One measurement."""

    what: str
    figure: float
    unit: str
    bar: float | None

    @property
    def held(self) -> bool:
        return self.bar is None or self.figure <= self.bar

    def __str__(self) -> str:
        bar = "" if self.bar is None else f"  (bar {self.bar:g}{'' if self.held else ', MISSED'})"
        return f"{self.what:<58} {self.figure:10.3g} {self.unit}{bar}"


def timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


@contextmanager
def opened(folder: Path, name: str, clock: Clock) -> Iterator[Memory]:
    settings = Settings(log=folder / name, database_url="postgresql://nobody@/none?host=/nowhere")
    with composition.open_memory(settings=settings, clock=clock) as memory:
        yield memory


def run(job: TtlJob | LimitJob | SummarizeJob, memory: Memory) -> Result:
    """Run a job until there is nothing more to do."""
    result = job.run(Work(memory=memory, now=memory.log.clock()))
    assert not result.problems, result.problems
    return result


def write_facts(memory: Memory, count: int, stem: str, ttl: int | None) -> None:
    for first in range(0, count, BATCH):
        with memory.batch():
            for number in range(first, min(first + BATCH, count)):
                memory.facts.set(f"user:{number % 97}", f"{stem}{number}", {"n": number}, ttl=ttl)


def ttl(folder: Path, count: int, due: int) -> Iterator[Line]:
    """Measure the job ttl among `count` facts, with nothing and with `due` facts to collect."""
    clock = Clock()
    with opened(folder, "facts.db", clock) as memory:
        job = TtlJob(Settings(), lambda: None)
        write_facts(memory, count, "k", None)
        setting = timed(lambda: write_facts(memory, due, "brief", 1000))
        idle = median(timed(lambda: run(job, memory)) for _ in range(200)) * 1000
        yield Line(f"ttl, nothing due among {count:,} facts", idle, "ms", IDLE_MS)
        clock.moved_ms += 3_600_000
        seconds = timed(lambda: run(job, memory))
        assert memory.facts.count_expired() == 0
        yield Line(f"ttl, {due:,} due", due / seconds, "facts/s", None)
        yield Line("  beside setting as many", seconds / setting, "x", COLLECT)


def write_threads(memory: Memory, threads: int, messages: int) -> None:
    draw = random.Random(1)
    for number in range(threads):
        memory.threads.create("user:alice", thread_id=f"t{number}")
        with memory.batch():
            for place in range(messages):
                text = " ".join(draw.choices(WORDS, k=20)) + f" {number} {place}."
                role = "user" if place % 2 == 0 else "assistant"
                # Named, so that the same ones are deleted from the twin.
                memory.messages.save(f"t{number}", text, role=role, message_id=f"m{number}-{place}")


def threads(folder: Path, count: int, messages: int) -> Iterator[Line]:
    """Measure the jobs limit and summarize over `count` threads; a twin of the log takes the bare work."""
    given = Settings(thread_tokens=messages * 12, summarize_above=messages * 6, summary_tokens=200)
    counter = tokens.create(given)
    counter.count(["warm"])
    summarizer = models.create(given)
    names = [f"t{number}" for number in range(count)]
    with opened(folder, "threads.db", Clock()) as memory, opened(folder, "bare.db", Clock()) as bare:
        for each in (memory, bare):
            write_threads(each, count, messages)
        said = {name: memory.messages.list(name) for name in names}
        seconds = timed(lambda: run(LimitJob(given), memory))
        left = {name: memory.messages.list(name) for name in names}

        def count_and_delete() -> None:
            for name in names:
                counter.count([item.text for item in said[name]])
                delete(bare, name, gone(said[name], left[name]))

        yield Line(f"limit, {count:,} threads of {messages}", count / seconds, "threads/s", None)
        yield Line("  beside counting, and deleting as many", seconds / timed(count_and_delete), "x", LIMIT)
        seconds = timed(lambda: run(SummarizeJob(given), memory))
        kept = {name: memory.messages.list(name) for name in names}

        def summarize_and_delete() -> None:
            for name in names:
                old = gone(left[name], kept[name])
                messages = [spoken(item) for item in left[name] if item.message_id in old]
                made = summarizer.summarize(messages, budget=given.summary_tokens)
                delete(bare, name, old)
                bare.messages.save(name, made.text, role="system")

        yield Line(f"summarize (extractive), {count:,} threads", count / seconds, "threads/s", None)
        yield Line(
            "  beside the summarizer, and deleting", seconds / timed(summarize_and_delete), "x", SUMMARIZE
        )
        again = timed(lambda: run(LimitJob(given), memory)) + timed(lambda: run(SummarizeJob(given), memory))
        yield Line("both again, nothing to do", again, "s", None)


def delete(memory: Memory, name: str, messages: set[str]) -> None:
    """Delete messages that are there."""
    assert memory.messages.delete(name, messages).count == len(messages)


def gone(before: list[Message], after: list[Message]) -> set[str]:
    """Return the ids of the messages that are no longer shown."""
    return {item.message_id for item in before} - {item.message_id for item in after}


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--short", action="store_true", help="a tenth of the facts and threads")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    given = parser.parse_args()
    share = 10 if given.short else 1
    found: list[Line] = []
    with tempfile.TemporaryDirectory() as folder:
        for lines in (
            ttl(Path(folder), 1_000_000 // share, 10_000 // share),
            threads(Path(folder), 1_000 // share, 100),
        ):
            for line in lines:
                found.append(line)
                if not given.json:
                    print(line, flush=True)
    if given.json:
        print(json.dumps([{"what": x.what, "figure": x.figure, "unit": x.unit, "bar": x.bar} for x in found]))
    return 0 if all(line.held for line in found) else 1


if __name__ == "__main__":
    sys.exit(main())
