"""Verification of an index: is it what the log says, memory by memory?"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from typing import Any, Final

from foldlog.events import statements
from foldlog.events.log import Log
from foldlog.names import ORDINAL_BITS
from foldlog.projections.document import FACT, KINDS, MESSAGE, NOTE, RETAINED
from foldlog.projections.index import IndexedMemory
from foldlog.projections.local import facts, memories, notes, retained, threads

#: Memories that are compared at a time.
PAGE_ROWS: Final = 2000

#: Returns the next memories of an index after an id, in the order of ids.
Reader = Callable[[int, int], list[IndexedMemory]]


def differences(log: Log, read: Reader, checkpoint: int) -> Iterator[str]:
    """Yield what is missing from the index, is in it too much, or differs; best with its checkpoint locked.

    Streams that were touched after the checkpoint are left out: the index cannot know of that yet.
    """
    after = 0
    while True:
        found = {row.memory_id: row for row in read(after, PAGE_ROWS)}
        last = max(found) if len(found) == PAGE_ROWS else 1 << 62
        with log.read() as local:
            expected = _of_log(local, after, last)
            for memory in sorted(found.keys() | expected.keys()):
                problem = _problem(local, expected.get(memory), found.get(memory), checkpoint)
                if problem is not None:
                    yield problem
        if len(found) < PAGE_ROWS:
            return
        after = last


def _problem(
    local: sqlite3.Connection, expected: IndexedMemory | None, found: IndexedMemory | None, checkpoint: int
) -> str | None:
    if expected is None:
        assert found is not None
        # Deleted since, or never there.
        since = local.execute(statements.LAST_OF_STREAM, (found.memory_id >> ORDINAL_BITS,)).fetchone()[0]
        return None if since > checkpoint else f"extra: {_name(found)}"
    if expected.touched > checkpoint:
        return None
    if found is None:
        return f"missing: {_name(expected)}"
    names = [
        name for name, one, other in zip(IndexedMemory._fields, expected, found, strict=True) if one != other
    ]
    return f"differs in {', '.join(names)}: {_name(expected)}" if names else None


def _name(row: IndexedMemory) -> str:
    return f"{row.kind} {row.key} of {row.namespace} (position {row.position})"


def _of_log(local: sqlite3.Connection, after: int, last: int) -> dict[int, IndexedMemory]:
    rows = list(memories.between(local, after, last))
    ids: dict[str, list[int]] = {kind: [] for kind in KINDS}
    for row in rows:
        ids[row[1]].append(row[0])
    texts: dict[int, tuple[Any, ...]] = {}
    for fact in facts.by_memory(local, ids[FACT]):
        texts[fact.memory_id] = (fact.key, None, list(fact.tags), fact.text)
    for item in threads.by_memory(local, ids[MESSAGE]):
        texts[item.memory_id] = (item.message_id, item.author or item.role, list(item.tags), item.text)
    for note in notes.by_memory(local, ids[NOTE]):
        texts[note.memory_id] = (note.note_id, note.author, list(note.tags), note.text)
    for unit in retained.by_memory(local, ids[RETAINED]):
        texts[unit.memory_id] = (unit.retained_id, None, list(unit.tags), unit.text)
    return {
        memory: IndexedMemory(
            memory, position, touched, bool(visible), expires_at, namespace, kind, *texts[memory]
        )
        for memory, kind, namespace, position, touched, expires_at, visible in rows
    }
