"""Current facts: the last value of every key that is alive."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import Any, Final

from foldlog.events.encoding import decode, encode, instant
from foldlog.events.event import Event
from foldlog.events.provenance import Provenance, provenance
from foldlog.events.types import FactSet
from foldlog.names import memory_id
from foldlog.projections import document
from foldlog.projections.local import memories

_ALIVE: Final = "(expires_at IS NULL OR expires_at >= ?)"
_COLUMNS: Final = """
    memory_id, namespace, key, value, tags, version, created_at, updated_at, expires_at, metadata,
    schema
"""
# A value set over one that had expired is a new fact: its creation is the new one. So it is where the
# event says when the fact was created.
_UPSERT: Final = f"""
    INSERT INTO foldlog_facts ({_COLUMNS})
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, coalesce(?11, ?7), ?7, ?8, ?9, ?10)
    ON CONFLICT (memory_id) DO UPDATE SET value = excluded.value, tags = excluded.tags,
        version = excluded.version, updated_at = excluded.updated_at,
        created_at = CASE WHEN ?11 IS NOT NULL OR expires_at < excluded.updated_at
            THEN excluded.created_at ELSE created_at END,
        expires_at = excluded.expires_at, metadata = excluded.metadata, schema = excluded.schema
"""
_DELETE: Final = "DELETE FROM foldlog_facts WHERE memory_id = ?"
_GET: Final = f"SELECT {_COLUMNS} FROM foldlog_facts WHERE namespace = ? AND key = ? AND {_ALIVE}"
_LIST: Final = f"""
    SELECT {_COLUMNS} FROM foldlog_facts WHERE namespace = ? AND key > ? AND {_ALIVE} ORDER BY key LIMIT ?
"""
# A row value, so that the index of (namespace, key) gives the order and the start.
_LIST_ALL: Final = f"""
    SELECT {_COLUMNS} FROM foldlog_facts WHERE (namespace, key) > (?, ?) AND {_ALIVE}
    ORDER BY namespace, key LIMIT ?
"""
# The register has the index on expires_at: the cost is that of what has expired.
_EXPIRED: Final = """
    SELECT f.namespace, f.key, f.version FROM foldlog_memories m CROSS JOIN foldlog_facts f USING (memory_id)
    WHERE m.expires_at < ? ORDER BY m.expires_at LIMIT ?
"""
_COUNT_EXPIRED: Final = "SELECT count(*) FROM foldlog_memories WHERE expires_at < ?"
_BY_MEMORY: Final = f"SELECT {_COLUMNS} FROM foldlog_facts WHERE memory_id IN ({{marks}})"


#: As `now`: before everything, so that nothing has expired.
BEFORE_ALL: Final = -(1 << 62)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A fact as it is now."""

    memory_id: int
    namespace: str
    key: str
    value: Any
    tags: tuple[str, ...]
    #: To be given back as `expected_version` for compare-and-set.
    version: int
    #: UTC ms.
    created_at: int
    updated_at: int
    #: Last millisecond at which it is alive; None: it does not expire.
    expires_at: int | None
    provenance: Provenance
    #: Fingerprint of the schema that the value was held against, None for none.
    schema: str | None = None

    @classmethod
    def from_row(cls, row: tuple[Any, ...]) -> Fact:
        """Return the fact of a row."""
        memory, namespace, key, value, tags, version, created, updated, expires, metadata, schema = row
        return cls(
            memory_id=memory,
            namespace=namespace,
            key=key,
            value=decode(value),
            tags=() if tags == "[]" else tuple(decode(tags)),
            version=version,
            created_at=created,
            updated_at=updated,
            expires_at=expires,
            provenance=provenance(metadata),
            schema=schema,
        )

    @property
    def name(self) -> str:
        """The key, under the name that all kinds have."""
        return self.key

    @property
    def text(self) -> str:
        """The fact as it is shown: key and value."""
        return document.fact_text(self.key, self.value)

    def as_dict(self) -> dict[str, Any]:
        """Return the fact as JSON."""
        return {
            "namespace": self.namespace,
            "key": self.key,
            "value": self.value,
            "tags": list(self.tags),
            "version": self.version,
            "created_at": instant(self.created_at).isoformat(),
            "updated_at": instant(self.updated_at).isoformat(),
            "expires_at": None if self.expires_at is None else instant(self.expires_at).isoformat(),
            "schema": self.schema,
            "provenance": self.provenance.as_dict(),
        }


def fold_set(connection: sqlite3.Connection, event: Event, record: FactSet) -> None:
    """A fact has a new value; an erased one is absent and does not fall back to the value before."""
    if event.erased:
        _forget(connection, memory_id(event.stream_id))
        return
    item = document.of_fact(event, record)
    connection.execute(
        _UPSERT,
        (item.memory_id, item.namespace, item.key, encode(record.value), encode(record.tags), event.version,
         event.occurred_at, record.expires_at, encode(event.provenance.as_dict()), record.schema,
         record.created_at),
    )  # fmt: skip
    memories.put(connection, item)


def fold_gone(connection: sqlite3.Connection, event: Event, record: object) -> None:
    """A fact was deleted, or collected after its time; a fact set since then would have refused that."""
    _forget(connection, memory_id(event.stream_id))


def _forget(connection: sqlite3.Connection, memory: int) -> None:
    connection.execute(_DELETE, (memory,))
    memories.remove(connection, memory)


def get(connection: sqlite3.Connection, namespace: str, key: str, now: int) -> Fact | None:
    """Return the fact if it is alive at `now` (UTC ms)."""
    row = connection.execute(_GET, (namespace, key, now)).fetchone()
    return Fact.from_row(row) if row else None


def page(connection: sqlite3.Connection, namespace: str, now: int, after: str, limit: int) -> list[Fact]:
    """Return facts alive at `now`, by key, after a key."""
    rows = connection.execute(_LIST, (namespace, after, now, limit))
    return [Fact.from_row(row) for row in rows]


def page_of_all(connection: sqlite3.Connection, now: int, after: tuple[str, str], limit: int) -> list[Fact]:
    """Return facts alive at `now` of every namespace, by namespace and key, after such a pair."""
    rows = connection.execute(_LIST_ALL, (*after, now, limit))
    return [Fact.from_row(row) for row in rows]


def expired(connection: sqlite3.Connection, now: int, limit: int) -> list[tuple[str, str, int]]:
    """Return (namespace, key, version) of facts whose time had passed at `now`, the longest gone first."""
    return connection.execute(_EXPIRED, (now, limit)).fetchall()


def count_expired(connection: sqlite3.Connection, now: int) -> int:
    """Return how many facts' time had passed at `now`."""
    count: int = connection.execute(_COUNT_EXPIRED, (now,)).fetchone()[0]
    return count


def by_memory(connection: sqlite3.Connection, ids: list[int]) -> list[Fact]:
    """Return the facts of these memory ids, expired or not."""
    found: list[Fact] = []
    for chunk in memories.chunks(ids):
        rows = connection.execute(_BY_MEMORY.format(marks=",".join("?" * len(chunk))), chunk)
        found += [Fact.from_row(row) for row in rows]
    return found
