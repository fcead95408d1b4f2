"""Primers: named texts of a namespace that go into a block letter by letter."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from foldlog.events.encoding import encode, instant
from foldlog.events.event import Event
from foldlog.events.provenance import Provenance, provenance
from foldlog.events.types import PrimerSet

_COLUMNS: Final = "namespace, name, text, question, version, created_at, updated_at, metadata"
_UPSERT: Final = f"""
    INSERT INTO foldlog_primers (stream_id, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (stream_id) DO UPDATE SET text = excluded.text, question = excluded.question,
        version = excluded.version, updated_at = excluded.updated_at, metadata = excluded.metadata
"""
_DELETE: Final = "DELETE FROM foldlog_primers WHERE stream_id = ?"
_GET: Final = f"SELECT {_COLUMNS} FROM foldlog_primers WHERE namespace = ? AND name = ?"
_LIST: Final = f"""
    SELECT {_COLUMNS} FROM foldlog_primers WHERE namespace = ? AND name > ? ORDER BY name LIMIT ?
"""
_ASKING: Final = f"""
    SELECT {_COLUMNS} FROM foldlog_primers
    WHERE question IS NOT NULL AND (namespace, name) > (?, ?) ORDER BY namespace, name LIMIT ?
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Primer:
    """A primer as it is now."""

    namespace: str
    name: str
    text: str
    #: What the text answers, and a job asks anew; None: the text is a person's.
    question: str | None
    #: To be given back as `expected_version` for compare-and-set.
    version: int
    #: UTC ms.
    created_at: int
    updated_at: int
    provenance: Provenance

    @classmethod
    def from_row(cls, row: tuple[Any, ...]) -> Primer:
        """Return the primer of a row."""
        namespace, name, text, question, version, created, updated, metadata = row
        return cls(
            namespace=namespace,
            name=name,
            text=text,
            question=question,
            version=version,
            created_at=created,
            updated_at=updated,
            provenance=provenance(metadata),
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the primer as JSON."""
        return {
            "namespace": self.namespace,
            "name": self.name,
            "text": self.text,
            "question": self.question,
            "version": self.version,
            "created_at": instant(self.created_at).isoformat(),
            "updated_at": instant(self.updated_at).isoformat(),
            "provenance": self.provenance.as_dict(),
        }


def fold_set(connection: sqlite3.Connection, event: Event, record: PrimerSet) -> None:
    """A primer has a new text; an erased one is absent."""
    if event.erased:
        connection.execute(_DELETE, (event.stream_id,))
        return
    connection.execute(
        _UPSERT,
        (event.stream_id, event.stream.namespace, event.stream.name, record.text, record.question,
         event.version, event.occurred_at, event.occurred_at, encode(event.provenance.as_dict())),
    )  # fmt: skip


def fold_deleted(connection: sqlite3.Connection, event: Event, record: object) -> None:
    """A primer is gone."""
    connection.execute(_DELETE, (event.stream_id,))


def get(connection: sqlite3.Connection, namespace: str, name: str) -> Primer | None:
    """Return a primer."""
    row = connection.execute(_GET, (namespace, name)).fetchone()
    return Primer.from_row(row) if row else None


def page(connection: sqlite3.Connection, namespace: str, after: str, limit: int) -> list[Primer]:
    """Return primers of a namespace by name, after a name."""
    return [Primer.from_row(row) for row in connection.execute(_LIST, (namespace, after, limit))]


def wanted(
    connection: sqlite3.Connection, namespaces: Sequence[str], names: Sequence[str] | None, most: int
) -> list[Primer]:
    """Return the primers of some namespaces: those of the names, in their order, or all by name."""
    found: list[Primer] = []
    for namespace in namespaces:
        if names is None:
            found += page(connection, namespace, "", most)
        else:
            given = (get(connection, namespace, name) for name in names)
            found += [primer for primer in given if primer is not None]
    return found


def asking(connection: sqlite3.Connection, after: tuple[str, str], limit: int) -> list[Primer]:
    """Return the primers of all namespaces that answer a question, after a namespace and name."""
    return [Primer.from_row(row) for row in connection.execute(_ASKING, (*after, limit))]
