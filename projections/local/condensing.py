"""Messages that leave a thread's default reads: trimmed to a budget, or replaced by a summary.

They stay in the read model, hidden, so that a summary is always made anew from what was said, never
from the summary before.
"""

from __future__ import annotations

import sqlite3
from typing import Any, Final

from foldlog.events.encoding import encode
from foldlog.events.event import Event
from foldlog.events.types import MessagesSummarized, MessagesTrimmed
from foldlog.names import MAX_ORDINAL, memory_id
from foldlog.projections import document
from foldlog.projections.local import memories, threads

#: The type of the one part that a summary's content has.
SUMMARY: Final = "summary"

_SHOWN: Final = "SELECT memory_id FROM foldlog_messages WHERE memory_id BETWEEN ? AND ? AND hidden_by IS NULL"
_HIDE: Final = "UPDATE foldlog_messages SET hidden_by = ? WHERE memory_id = ?"
_INSERT_SUMMARY: Final = """
    INSERT INTO foldlog_messages (memory_id, message_id, role, author, content, tags, created_at,
        updated_at, metadata) VALUES (?, ?, ?, NULL, ?, '[]', ?, ?, ?)
"""


def fold_trimmed(connection: sqlite3.Connection, event: Event, record: MessagesTrimmed) -> None:
    """Some messages are no longer shown."""
    for first, last in record.ranges:
        _hide(connection, event, first, last)


def fold_summarized(connection: sqlite3.Connection, event: Event, record: MessagesSummarized) -> None:
    """A summary is shown instead of messages, and of the summary before; an erased one is absent."""
    for first, last in record.ranges:
        _hide(connection, event, first, last)
    if record.replaces is not None:
        _hide(connection, event, record.replaces, record.replaces)
    if event.erased:
        return
    item = document.of_summary(event, record)
    connection.execute(
        _INSERT_SUMMARY,
        (item.memory_id, record.message_id, document.SYSTEM, encode(content(record)), event.occurred_at,
         event.occurred_at, encode(event.provenance.as_dict())),
    )  # fmt: skip
    threads.count(connection, event, record.ordinal, 1)
    memories.put(connection, item)


def content(record: MessagesSummarized) -> list[dict[str, Any]]:
    """Return a summary as the content of a message."""
    return [
        {
            "type": SUMMARY,
            "text": record.text,
            "covers": record.ranges,
            "digest": record.digest,
            "sources": record.sources,
        }
    ]


def shown(connection: sqlite3.Connection, stream_id: int, ranges: list[list[int]]) -> list[int]:
    """Return the ordinals in some ranges of a thread whose messages are shown."""
    return [
        memory & MAX_ORDINAL
        for first, last in ranges
        for (memory,) in connection.execute(_SHOWN, (memory_id(stream_id, first), memory_id(stream_id, last)))
    ]


def _hide(connection: sqlite3.Connection, event: Event, first: int, last: int) -> None:
    for ordinal in shown(connection, event.stream_id, [[first, last]]):
        memory = memory_id(event.stream_id, ordinal)
        connection.execute(_HIDE, (event.position, memory))
        memories.remove(connection, memory)
        threads.count(connection, event, 0, -1)
