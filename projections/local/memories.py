"""The register of current memories: one row each, whatever its kind.

`touched` is the last position that changed a memory's content or visibility, from whatever stream:
a hit of an index with another position is out of date. Expiry is a condition of every read.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, TypeVar

from foldlog.names import memory_range
from foldlog.projections.document import Document
from foldlog.projections.local import text

Item = TypeVar("Item")

#: Most parameters of one statement; older SQLite libraries allow 999.
CHUNK: Final = 900

_UPSERT: Final = """
    INSERT INTO foldlog_memories (memory_id, kind, namespace, position, touched, expires_at, visible)
    VALUES (?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (memory_id) DO UPDATE SET position = excluded.position, touched = excluded.touched,
        expires_at = excluded.expires_at, visible = excluded.visible
"""
_DELETE: Final = "DELETE FROM foldlog_memories WHERE memory_id = ?"
_IN_RANGE: Final = "SELECT memory_id FROM foldlog_memories WHERE memory_id >= ? AND memory_id < ?"
_TOUCH: Final = "UPDATE foldlog_memories SET touched = ?, visible = ? WHERE memory_id = ?"
_OWN_CHANGE: Final = "UPDATE foldlog_memories SET position = ? WHERE memory_id = ?"
_VISIBLE: Final = "SELECT visible FROM foldlog_memories WHERE memory_id = ?"
_CURRENT: Final = """
    SELECT memory_id, touched FROM foldlog_memories
    WHERE visible AND (expires_at IS NULL OR expires_at >= ?) AND memory_id IN ({marks})
"""
_REGISTER: Final = "SELECT memory_id, kind, position FROM foldlog_memories WHERE memory_id IN ({marks})"
_BETWEEN: Final = """
    SELECT memory_id, kind, namespace, position, touched, expires_at, visible
    FROM foldlog_memories WHERE memory_id > ? AND memory_id <= ? ORDER BY memory_id
"""


class Unsearched(sqlite3.Connection):
    """A connection to a read model without full text: finding words costs as much as all the rest."""


def put(connection: sqlite3.Connection, document: Document, visible: bool = True) -> None:
    """Register a memory's new content, and the words it is found by."""
    connection.execute(
        _UPSERT,
        (document.memory_id, document.kind, document.namespace, document.position, document.position,
         document.expires_at, visible),
    )  # fmt: skip
    if not isinstance(connection, Unsearched):
        text.put(connection, document, visible)


def remove(connection: sqlite3.Connection, memory: int) -> None:
    """Forget a memory that was deleted."""
    connection.execute(_DELETE, (memory,))
    if not isinstance(connection, Unsearched):
        text.remove(connection, memory)


def remove_stream(connection: sqlite3.Connection, stream_id: int) -> None:
    """Forget all memories of a stream."""
    for (memory,) in connection.execute(_IN_RANGE, memory_range(stream_id)).fetchall():
        remove(connection, memory)


def touch(connection: sqlite3.Connection, memory: int, position: int, visible: bool) -> None:
    """Note that an event, perhaps of another stream, decided anew whether a memory is visible."""
    row = connection.execute(_VISIBLE, (memory,)).fetchone()
    connection.execute(_TOUCH, (position, visible, memory))
    if row is not None and bool(row[0]) != visible and not isinstance(connection, Unsearched):
        text.set_visible(connection, memory, visible)


def change(connection: sqlite3.Connection, memory: int, position: int) -> None:
    """Note that an event of the memory's own stream changed it."""
    connection.execute(_OWN_CHANGE, (position, memory))


def current(connection: sqlite3.Connection, memories: Iterable[int], now: int) -> dict[int, int]:
    """Return `touched` of those memories that may be shown at `now` (UTC ms)."""
    found: dict[int, int] = {}
    for chunk in chunks(list(memories)):
        marks = ",".join("?" * len(chunk))
        found.update(connection.execute(_CURRENT.format(marks=marks), (now, *chunk)))
    return found


def register(connection: sqlite3.Connection, memories: Iterable[int]) -> dict[int, tuple[str, int]]:
    """Return (kind, position of its last own event) of each memory."""
    found: dict[int, tuple[str, int]] = {}
    for chunk in chunks(list(memories)):
        marks = ",".join("?" * len(chunk))
        rows = connection.execute(_REGISTER.format(marks=marks), chunk)
        found.update((memory, (kind, position)) for memory, kind, position in rows)
    return found


def chunks(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    """Cut a list to what one statement can take."""
    for start in range(0, len(items), CHUNK):
        yield items[start : start + CHUNK]


def between(
    connection: sqlite3.Connection, after: int, last: int
) -> Iterator[tuple[int, str, str, int, int, int | None, int]]:
    """Yield rows in the order of memory ids, after one id and up to another, to compare an index with."""
    yield from connection.execute(_BETWEEN, (after, last))
