"""What messages count in tokens: counted by jobs, kept beside the read model, never part of an event."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from foldlog.events.encoding import decode
from foldlog.names import memory_range

#: Messages counted in one transaction.
PAGE: Final = 500

# A message of another version has another position.
_UNCOUNTED: Final = """
    SELECT m.memory_id, r.position, m.content FROM foldlog_messages m
    JOIN foldlog_memories r ON r.memory_id = m.memory_id
    LEFT JOIN foldlog_tokens t ON t.memory_id = m.memory_id AND t.tokenizer = ?
    WHERE m.memory_id >= ? AND m.memory_id < ? AND m.hidden_by IS NULL
        AND (t.position IS NULL OR t.position <> r.position)
    ORDER BY m.memory_id LIMIT ?
"""
_PUT: Final = """
    INSERT INTO foldlog_tokens (memory_id, tokenizer, position, tokens) VALUES (?, ?, ?, ?)
    ON CONFLICT (memory_id, tokenizer) DO UPDATE SET position = excluded.position, tokens = excluded.tokens
"""
_COUNTS: Final = """
    SELECT m.memory_id, t.tokens FROM foldlog_messages m
    JOIN foldlog_tokens t ON t.memory_id = m.memory_id AND t.tokenizer = ?
    WHERE m.memory_id >= ? AND m.memory_id < ? AND m.hidden_by IS NULL
"""
_CHANGED: Final = """
    SELECT DISTINCT memory_id >> 28 FROM foldlog_memories
    WHERE touched > ? AND touched <= ? AND kind = 'message' ORDER BY 1
"""


class Uncounted(NamedTuple):
    """A message whose tokens are not known yet."""

    memory_id: int
    position: int
    content: Any


def uncounted(connection: sqlite3.Connection, stream_id: int, tokenizer: str) -> list[Uncounted]:
    """Return the next messages of a thread that are shown and not counted in their present version."""
    rows = connection.execute(_UNCOUNTED, (tokenizer, *memory_range(stream_id), PAGE))
    return [Uncounted(memory, position, decode(content)) for memory, position, content in rows]


def put(connection: sqlite3.Connection, tokenizer: str, counts: Iterable[tuple[Uncounted, int]]) -> None:
    """Store what messages count."""
    connection.executemany(
        _PUT, [(item.memory_id, tokenizer, item.position, tokens) for item, tokens in counts]
    )


def counts(connection: sqlite3.Connection, stream_id: int, tokenizer: str) -> dict[int, int]:
    """Return the tokens of the messages of a thread that are shown, by memory id."""
    return dict(connection.execute(_COUNTS, (tokenizer, *memory_range(stream_id))))


def changed(connection: sqlite3.Connection, after: int, upto: int) -> list[int]:
    """Return the stream numbers of threads of which messages were touched after a position, up to another."""
    return [stream_id for (stream_id,) in connection.execute(_CHANGED, (after, upto))]
