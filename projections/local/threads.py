"""Threads and their messages, in the order of the log."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from foldlog.events.encoding import decode, encode, instant
from foldlog.events.event import Event
from foldlog.events.provenance import Provenance, provenance
from foldlog.events.types import MessageSaved, MessagesDeleted, ThreadCreated
from foldlog.names import FIRST_SUMMARY, MAX_ORDINAL, memory_id, memory_range
from foldlog.projections import document
from foldlog.projections.local import memories

_THREAD: Final = """
    stream_id, thread_id, namespace, title, created_at, updated_at, last_ordinal, messages, metadata
"""
_INSERT_THREAD: Final = f"INSERT INTO foldlog_threads ({_THREAD}) VALUES (?, ?, ?, ?, ?, ?, 0, 0, ?)"
_DELETE_THREAD: Final = "DELETE FROM foldlog_threads WHERE stream_id = ?"
_DELETE_MESSAGES: Final = "DELETE FROM foldlog_messages WHERE memory_id >= ? AND memory_id < ?"
_COUNT: Final = """
    UPDATE foldlog_threads SET updated_at = max(updated_at, ?), last_ordinal = max(last_ordinal, ?),
        messages = messages + ? WHERE stream_id = ?
"""
_GET_THREAD: Final = f"SELECT {_THREAD} FROM foldlog_threads WHERE thread_id = ?"
_THREAD_OF_STREAM: Final = f"SELECT {_THREAD} FROM foldlog_threads WHERE stream_id = ?"
_LIST_THREADS: Final = f"""
    SELECT {_THREAD} FROM foldlog_threads WHERE (?1 IS NULL OR namespace = ?1) AND stream_id > ?2
    ORDER BY stream_id LIMIT ?3
"""

_MESSAGE: Final = """
    m.memory_id, m.message_id, m.role, m.author, m.content, m.tags, m.created_at, m.updated_at, m.metadata,
    m.hidden_by
"""
_UPSERT_MESSAGE: Final = """
    INSERT INTO foldlog_messages (memory_id, message_id, role, author, content, tags, created_at,
        updated_at, metadata)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (memory_id) DO UPDATE SET role = excluded.role, author = excluded.author,
        content = excluded.content, tags = excluded.tags, updated_at = excluded.updated_at,
        metadata = excluded.metadata
"""
_DELETE_MESSAGE: Final = "DELETE FROM foldlog_messages WHERE memory_id = ? RETURNING hidden_by"
_RELEASE: Final = "SELECT memory_id FROM foldlog_messages WHERE message_id = ? AND memory_id <> ?"
_OF_THREAD: Final = """
    SELECT memory_id FROM foldlog_messages WHERE memory_id > ? AND memory_id < ? AND message_id IN ({marks})
"""
# `kind` is written out: only so does SQLite use the partial index of ids.
_EVER: Final = "SELECT namespace FROM foldlog_streams WHERE kind = 'thread' AND name = ?"
_EXISTS: Final = "SELECT 1 FROM foldlog_messages WHERE memory_id = ?"
_GET_MESSAGE: Final = f"""
    SELECT {_MESSAGE}, t.thread_id, t.namespace FROM foldlog_messages m
    JOIN foldlog_threads t ON t.stream_id = m.memory_id >> {MAX_ORDINAL.bit_length()}
"""
_BY_ID: Final = f"{_GET_MESSAGE} WHERE m.message_id = ?"
_BY_MEMORY: Final = f"{_GET_MESSAGE} WHERE m.memory_id IN ({{marks}})"
_TEXTS: Final = "SELECT memory_id, content FROM foldlog_messages WHERE memory_id IN ({marks})"
_RANGE: Final = f"{_GET_MESSAGE} WHERE m.memory_id > ? AND m.memory_id < ? {{shown}} ORDER BY m.memory_id"
_SHOWN: Final = "AND m.hidden_by IS NULL"


@dataclass(frozen=True, slots=True, kw_only=True)
class Thread:
    """A thread as it is now."""

    stream_id: int
    thread_id: str
    namespace: str
    title: str | None
    #: UTC ms; `updated_at` moves with every message.
    created_at: int
    updated_at: int
    #: The highest ordinal ever given to a message of it.
    last_ordinal: int
    #: How many messages it has now.
    messages: int
    provenance: Provenance

    @classmethod
    def from_row(cls, row: tuple[Any, ...]) -> Thread:
        """Return the thread of a row."""
        *values, metadata = row
        names = ("stream_id", "thread_id", "namespace", "title", "created_at", "updated_at",
                 "last_ordinal", "messages")  # fmt: skip
        return cls(**dict(zip(names, values, strict=True)), provenance=provenance(metadata))

    def as_dict(self) -> dict[str, Any]:
        """Return the thread as JSON."""
        return {
            "thread_id": self.thread_id,
            "namespace": self.namespace,
            "title": self.title,
            "messages": self.messages,
            "created_at": instant(self.created_at).isoformat(),
            "updated_at": instant(self.updated_at).isoformat(),
            "provenance": self.provenance.as_dict(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A message in its last version."""

    memory_id: int
    message_id: str
    thread_id: str
    namespace: str
    #: Place in the thread, from 1; deleted messages leave gaps, and summaries count from FIRST_SUMMARY.
    ordinal: int
    role: str
    author: str | None
    #: A string, or a list of parts.
    content: Any
    tags: tuple[str, ...]
    #: UTC ms; `created_at` is when it was said.
    created_at: int
    updated_at: int
    provenance: Provenance
    #: The position at which a summary took its place, or the thread's budget was kept; None: it is shown.
    hidden_by: int | None

    @classmethod
    def from_row(cls, row: tuple[Any, ...]) -> Message:
        """Return the message of a row."""
        (memory, message_id, role, author, content, tags, created, updated, metadata, hidden_by, thread_id,
         namespace) = row  # fmt: skip
        return cls(
            memory_id=memory,
            message_id=message_id,
            thread_id=thread_id,
            namespace=namespace,
            ordinal=memory & MAX_ORDINAL,
            role=role,
            author=author,
            content=decode(content),
            tags=() if tags == "[]" else tuple(decode(tags)),
            created_at=created,
            updated_at=updated,
            provenance=provenance(metadata),
            hidden_by=hidden_by,
        )

    @property
    def name(self) -> str:
        """The id, under the name that all kinds have."""
        return self.message_id

    @property
    def sealed(self) -> bool:
        """Say whether it cannot change any more: it is hidden, or is a summary."""
        return self.hidden_by is not None or self.ordinal >= FIRST_SUMMARY

    @property
    def place(self) -> int:
        """Where it stands among the messages: its ordinal, or of a summary the first one it covers."""
        if self.ordinal < FIRST_SUMMARY:
            return self.ordinal
        place: int = self.content[0]["covers"][0][0]
        return place

    @property
    def text(self) -> str:
        """The message's text; of parts, every string in them; of a summary, not what it covers."""
        if self.ordinal >= FIRST_SUMMARY:
            return document.shown(self.content[0]["text"])
        return document.message_text(self.content)

    def as_dict(self) -> dict[str, Any]:
        """Return the message as JSON."""
        return {
            "message_id": self.message_id,
            "thread_id": self.thread_id,
            "namespace": self.namespace,
            "ordinal": self.ordinal,
            "role": self.role,
            "author": self.author,
            "content": self.content,
            "tags": list(self.tags),
            "created_at": instant(self.created_at).isoformat(),
            "updated_at": instant(self.updated_at).isoformat(),
            "hidden_by": self.hidden_by,
            "provenance": self.provenance.as_dict(),
        }


def fold_created(connection: sqlite3.Connection, event: Event, record: ThreadCreated) -> None:
    """A thread begins."""
    connection.execute(
        _INSERT_THREAD,
        (event.stream_id, event.stream.name, event.stream.namespace, record.title, event.occurred_at,
         event.occurred_at, encode(event.provenance.as_dict())),
    )  # fmt: skip


def fold_deleted(connection: sqlite3.Connection, event: Event, record: object) -> None:
    """A thread is gone with all its messages."""
    connection.execute(_DELETE_THREAD, (event.stream_id,))
    connection.execute(_DELETE_MESSAGES, memory_range(event.stream_id))
    memories.remove_stream(connection, event.stream_id)


def fold_saved(connection: sqlite3.Connection, event: Event, record: MessageSaved) -> None:
    """A message was said, or said anew under the same id; an erased one is absent."""
    memory = memory_id(event.stream_id, record.ordinal)
    is_new = connection.execute(_EXISTS, (memory,)).fetchone() is None
    if event.erased:
        _forget(connection, event, memory)
        return
    item = document.of_message(event, record)
    connection.execute(
        _UPSERT_MESSAGE,
        (memory, record.message_id, record.role, record.author, encode(record.content), encode(record.tags),
         event.occurred_at, event.occurred_at, encode(event.provenance.as_dict())),
    )  # fmt: skip
    count(connection, event, record.ordinal, int(is_new))
    memories.put(connection, item)


def fold_messages_deleted(connection: sqlite3.Connection, event: Event, record: MessagesDeleted) -> None:
    """Some messages are gone; the places of the others do not change."""
    for ordinal in record.ordinals:
        _forget(connection, event, memory_id(event.stream_id, ordinal))


def release(connection: sqlite3.Connection, message_id: str, memory: int) -> None:
    """Forget the message that has an id now, if it is another one than that which gets the id."""
    for (former,) in connection.execute(_RELEASE, (message_id, memory)).fetchall():
        connection.execute(_DELETE_MESSAGE, (former,)).fetchall()
        memories.remove(connection, former)


def _forget(connection: sqlite3.Connection, event: Event, memory: int) -> None:
    row = connection.execute(_DELETE_MESSAGE, (memory,)).fetchone()
    # One that was hidden was not counted any more.
    count(connection, event, memory & MAX_ORDINAL, 0 if row is None or row[0] is not None else -1)
    memories.remove(connection, memory)


def count(connection: sqlite3.Connection, event: Event, ordinal: int, change: int) -> None:
    """Note that a thread was changed, up to which place, and by how many messages it grew."""
    last = ordinal if ordinal < FIRST_SUMMARY else 0
    connection.execute(_COUNT, (event.recorded_at, last, change, event.stream_id))


def get(connection: sqlite3.Connection, thread_id: str) -> Thread | None:
    """Return a thread."""
    row = connection.execute(_GET_THREAD, (thread_id,)).fetchone()
    return Thread.from_row(row) if row else None


def by_stream(connection: sqlite3.Connection, stream_id: int) -> Thread | None:
    """Return the thread of a stream."""
    row = connection.execute(_THREAD_OF_STREAM, (stream_id,)).fetchone()
    return Thread.from_row(row) if row else None


def ever(connection: sqlite3.Connection, thread_id: str) -> str | None:
    """Return the namespace of a thread that exists or existed, None when its id was never given."""
    row = connection.execute(_EVER, (thread_id,)).fetchone()
    return row[0] if row else None


def page(connection: sqlite3.Connection, namespace: str | None, after: int, limit: int) -> list[Thread]:
    """Return threads in the order of their creation, after a stream number."""
    rows = connection.execute(_LIST_THREADS, (namespace, after, limit))
    return [Thread.from_row(row) for row in rows]


def message(connection: sqlite3.Connection, message_id: str) -> Message | None:
    """Return a message by its id."""
    row = connection.execute(_BY_ID, (message_id,)).fetchone()
    return Message.from_row(row) if row else None


def ordinals(connection: sqlite3.Connection, stream_id: int, message_ids: Sequence[str]) -> list[int]:
    """Return the places of those of the messages that a thread has, in order, each once."""
    found: set[int] = set()
    for chunk in memories.chunks(message_ids):
        statement = _OF_THREAD.format(marks=",".join("?" * len(chunk)))
        rows = connection.execute(statement, (*memory_range(stream_id), *chunk))
        found.update(memory & MAX_ORDINAL for (memory,) in rows)
    return sorted(found)


def messages(
    connection: sqlite3.Connection,
    stream_id: int,
    *,
    after: int,
    limit: int,
    latest: bool,
    include_hidden: bool = False,
) -> list[Message]:
    """Return messages of a thread in order, after an ordinal: the first `limit`, or the latest.

    A summary stands where the first message was that it covers.
    """
    statement = _RANGE.format(shown="" if include_hidden else _SHOWN)
    first, end = memory_id(stream_id, after), memory_id(stream_id, FIRST_SUMMARY)
    order = " DESC LIMIT ?" if latest else " LIMIT ?"
    rows = connection.execute(statement + order, (first, end, limit)).fetchall()
    found = [Message.from_row(row) for row in (reversed(rows) if latest else rows)]
    made = connection.execute(statement, (end - 1, memory_range(stream_id)[1])).fetchall()
    if not made:
        return found
    summaries = [Message.from_row(row) for row in made]
    merged = sorted(found + [item for item in summaries if item.place > after], key=_in_order)
    return merged[max(0, len(merged) - limit) :] if latest else merged[:limit]


def summary(connection: sqlite3.Connection, stream_id: int) -> Message | None:
    """Return the summary that is shown in a thread."""
    ends = memory_id(stream_id, FIRST_SUMMARY), memory_range(stream_id)[1]
    row = connection.execute(_RANGE.format(shown=_SHOWN), ends).fetchone()
    return Message.from_row(row) if row else None


def covered(connection: sqlite3.Connection, stream_id: int, ranges: list[list[int]]) -> list[Message]:
    """Return the messages in some ranges of ordinals, hidden or not, in order."""
    statement = _RANGE.format(shown="")
    return [
        Message.from_row(row)
        for first, last in ranges
        for row in connection.execute(
            statement, (memory_id(stream_id, first) - 1, memory_id(stream_id, last) + 1)
        )
    ]


def _in_order(message: Message) -> tuple[int, int]:
    # A summary goes before the messages that it covers, where those are asked for too.
    return message.place, -message.ordinal


def by_memory(connection: sqlite3.Connection, ids: list[int]) -> list[Message]:
    """Return the messages of these memory ids."""
    found: list[Message] = []
    for chunk in memories.chunks(ids):
        rows = connection.execute(_BY_MEMORY.format(marks=",".join("?" * len(chunk))), chunk)
        found += [Message.from_row(row) for row in rows]
    return found


def texts(connection: sqlite3.Connection, ids: list[int]) -> dict[int, str]:
    """Return the texts of messages, without the rest of them."""
    found: dict[int, str] = {}
    for chunk in memories.chunks(ids):
        rows = connection.execute(_TEXTS.format(marks=",".join("?" * len(chunk))), chunk)
        found |= {memory: document.message_text(decode(content)) for memory, content in rows}
    return found
