"""Retained content: texts that agents kept, each a unit of its own or of a document."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import Any, Final

from foldlog.events.encoding import decode, encode, instant
from foldlog.events.event import Event
from foldlog.events.provenance import Provenance, provenance
from foldlog.events.types import ContentRetained
from foldlog.names import memory_id
from foldlog.projections import document
from foldlog.projections.local import memories

_COLUMNS: Final = """
    memory_id, retained_id, namespace, document, content, tags, details, created_at, metadata
"""
_INSERT: Final = f"INSERT INTO foldlog_retained ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
_DELETE: Final = "DELETE FROM foldlog_retained WHERE memory_id = ?"
_GET: Final = f"SELECT {_COLUMNS} FROM foldlog_retained WHERE retained_id = ?"
_LIST: Final = f"""
    SELECT {_COLUMNS} FROM foldlog_retained WHERE namespace = ? AND memory_id > ?
    ORDER BY memory_id LIMIT ?
"""
_OF_DOCUMENT: Final = f"""
    SELECT {_COLUMNS} FROM foldlog_retained WHERE namespace = ? AND document = ? AND memory_id > ?
    ORDER BY memory_id LIMIT ?
"""
_BY_MEMORY: Final = f"SELECT {_COLUMNS} FROM foldlog_retained WHERE memory_id IN ({{marks}})"
# `kind` is written out: only so does SQLite use the partial index of ids.
_EVER: Final = "SELECT namespace FROM foldlog_streams WHERE kind = 'retained' AND name = ?"


@dataclass(frozen=True, slots=True, kw_only=True)
class Retained:
    """A retained text; it never changes."""

    memory_id: int
    retained_id: str
    namespace: str
    #: The document it is a unit of, None for one that stands alone.
    document: str | None
    content: str
    tags: tuple[str, ...]
    #: The caller's own.
    metadata: dict[str, Any]
    #: UTC ms.
    created_at: int
    provenance: Provenance

    @classmethod
    def from_row(cls, row: tuple[Any, ...]) -> Retained:
        """Return the text of a row."""
        memory, retained_id, namespace, document_id, content, tags, details, created, metadata = row
        return cls(
            memory_id=memory,
            retained_id=retained_id,
            namespace=namespace,
            document=document_id,
            content=content,
            tags=() if tags == "[]" else tuple(decode(tags)),
            metadata=decode(details),
            created_at=created,
            provenance=provenance(metadata),
        )

    @property
    def name(self) -> str:
        """The id, under the name that all kinds have."""
        return self.retained_id

    @property
    def text(self) -> str:
        """The content as it is shown."""
        return document.shown(self.content)

    def as_dict(self) -> dict[str, Any]:
        """Return the text as JSON."""
        return {
            "retained_id": self.retained_id,
            "namespace": self.namespace,
            "document": self.document,
            "content": self.content,
            "tags": list(self.tags),
            "metadata": self.metadata,
            "created_at": instant(self.created_at).isoformat(),
            "provenance": self.provenance.as_dict(),
        }


def fold_retained(connection: sqlite3.Connection, event: Event, record: ContentRetained) -> None:
    """A text was kept; an erased one is absent."""
    if event.erased:
        _forget(connection, memory_id(event.stream_id))
        return
    item = document.of_retained(event, record)
    connection.execute(
        _INSERT,
        (item.memory_id, item.key, item.namespace, record.document, record.content, encode(record.tags),
         encode(record.metadata), event.occurred_at, encode(event.provenance.as_dict())),
    )  # fmt: skip
    memories.put(connection, item)


def fold_deleted(connection: sqlite3.Connection, event: Event, record: object) -> None:
    """A text was deleted, or its document replaced."""
    _forget(connection, memory_id(event.stream_id))


def _forget(connection: sqlite3.Connection, memory: int) -> None:
    connection.execute(_DELETE, (memory,))
    memories.remove(connection, memory)


def get(connection: sqlite3.Connection, retained_id: str) -> Retained | None:
    """Return a text."""
    row = connection.execute(_GET, (retained_id,)).fetchone()
    return Retained.from_row(row) if row else None


def ever(connection: sqlite3.Connection, retained_id: str) -> str | None:
    """Return the namespace of a text that exists or existed, None when its id was never given."""
    row = connection.execute(_EVER, (retained_id,)).fetchone()
    return row[0] if row else None


def page(
    connection: sqlite3.Connection, namespace: str, document_id: str | None, after: int, limit: int
) -> list[Retained]:
    """Return texts of a namespace, or of one document of it, in the order of the log, after a memory id."""
    if document_id is None:
        rows = connection.execute(_LIST, (namespace, after, limit))
    else:
        rows = connection.execute(_OF_DOCUMENT, (namespace, document_id, after, limit))
    return [Retained.from_row(row) for row in rows]


def by_memory(connection: sqlite3.Connection, ids: list[int]) -> list[Retained]:
    """Return the texts of these memory ids."""
    found: list[Retained] = []
    for chunk in memories.chunks(ids):
        rows = connection.execute(_BY_MEMORY.format(marks=",".join("?" * len(chunk))), chunk)
        found += [Retained.from_row(row) for row in rows]
    return found
