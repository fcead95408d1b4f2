"""Building a log: runs that each hold a conversation, set facts, write notes, and were given memories.

The same number of events gives the same items. Everything goes through the append path of the product, in
batches; only the disk is not waited for.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from scaling.words import COMMON, STOPS, word

from foldlog import Memory, Provenance, composition
from foldlog.events.encoding import encode
from foldlog.memory import recording
from foldlog.settings import Settings

#: Nothing answers here: the log is asked alone.
NO_SERVER = "postgresql://nobody@127.0.0.1:1/none"

MESSAGES = 100
FACTS = 12
NOTES = 10
#: What one run writes: a thread, its messages, two of them deleted, facts, notes.
RUN_EVENTS = 1 + MESSAGES + 1 + FACTS + NOTES

#: Runs of one transaction.
BATCH = 20

NAMESPACES = 500

#: Each key is set by so many runs of its namespace.
KEYS = 4 * FACTS

#: Answers that each run is given, and memories of one.
ANSWERS = 3
GIVEN = 8

THOUSAND = "agent:thousand"

VOCABULARY = 20_000
_WORDS = [word(rank) for rank in range(VOCABULARY)]
_RECENT = "SELECT memory_id, position FROM foldlog_memories WHERE touched > ? AND visible"


@dataclass(frozen=True, kw_only=True)
class Built:
    """A log, and how many runs are in it."""

    path: Path
    events: int
    runs: int


def opened(path: Path) -> Memory:
    """Open a log whose servings are written by this benchmark."""
    return composition.open_memory(settings=Settings(log=path, database_url=NO_SERVER, keep_servings_ms=0))


def unhurried(memory: Memory) -> None:
    """Let this thread's writes not wait for the disk."""
    with memory.log.write() as transaction:
        connection = transaction.connection
    connection.execute("PRAGMA synchronous = OFF")


def build(path: Path, events: int) -> Built:
    """Write a log of so many events, a namespace of a thousand notes in its middle."""
    runs = events // RUN_EVENTS
    drawn = random.Random(events)
    with opened(path) as memory:
        unhurried(memory)
        for start in range(0, runs, BATCH):
            before = memory.log.head()
            with memory.batch():
                for number in range(start, min(start + BATCH, runs)):
                    _run(memory, number, drawn)
            _serve(memory, before, range(start, min(start + BATCH, runs)), drawn)
            if start <= runs // 2 < start + BATCH:
                _thousand(memory, drawn)
        return Built(path=path, events=memory.log.head(), runs=runs)


def _run(memory: Memory, number: int, drawn: random.Random) -> None:
    by = memory_by(number)
    space = namespace(number)
    memory.threads.create(space, thread_id=f"t{number}", by=by)
    for place in range(MESSAGES):
        memory.messages.save(f"t{number}", text(drawn), message_id=f"m{number}-{place}", author="Ann", by=by)
    memory.messages.delete(f"t{number}", [f"m{number}-3", f"m{number}-4"], by=by)
    for key in keys(number):
        memory.facts.set(space, key, text(drawn), by=by)
    for place in range(NOTES):
        before = [f"n{number}-{place - 1}"] if place % 3 == 1 else []
        memory.notes.save(space, text(drawn), note_id=f"n{number}-{place}", supersedes=before, by=by)


def _thousand(memory: Memory, drawn: random.Random) -> None:
    for start in range(0, 1000, 100):
        with memory.batch():
            for place in range(start, start + 100):
                memory.notes.save(THOUSAND, text(drawn), note_id=f"thousand-{place}")


def _serve(memory: Memory, before: int, runs: range, drawn: random.Random) -> None:
    """Record what runs were given, by the statements of the product."""
    with memory.log.write() as transaction:
        given = transaction.connection.execute(_RECENT, (before,)).fetchall()
        rows = []
        for number in runs:
            for _ in range(ANSWERS):
                by = memory_by(number)
                served = [(*item, drawn.random()) for item in drawn.sample(given, GIVEN)]
                row = (transaction.now, before, "ok", bytes(32), bytes(32), by.run, encode(by.as_dict()))
                rows.append((row, served))
        recording._write(transaction.connection, rows)


def memory_by(number: int) -> Provenance:
    """Return who a run is."""
    return Provenance(run=f"run-{number}", node="plan", iteration=number % 3)


def namespace(number: int) -> str:
    """Return the namespace of a run."""
    return f"user:u{number % NAMESPACES}"


def keys(number: int) -> Iterator[str]:
    """Yield the keys that a run sets."""
    for place in range(FACTS):
        yield f"key-{(number // NAMESPACES * FACTS + place) % KEYS}"


def text(drawn: random.Random) -> str:
    """Return a dozen words, half of them common ones."""
    ranks = (*drawn.choices(range(STOPS, COMMON), k=6), *drawn.choices(range(COMMON, VOCABULARY), k=6))
    return " ".join(_WORDS[rank] for rank in ranks)
