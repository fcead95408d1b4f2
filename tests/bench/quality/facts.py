"""Writing a corpus as facts."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from itertools import islice

from foldlog.memory import Memory

#: Facts in one transaction.
BATCH = 1000

#: When all of them happened. A day is searched for like any word: another one would give other figures.
AT = datetime(2026, 1, 1, tzinfo=UTC)


def write_facts(memory: Memory, facts: Iterable[tuple[str, str, str]]) -> None:
    """Write (namespace, key, value), many in one transaction."""
    waiting = iter(facts)
    while batch := list(islice(waiting, BATCH)):
        with memory.batch():
            for namespace, key, value in batch:
                memory.facts.set(namespace, key, value, occurred_at=AT)
