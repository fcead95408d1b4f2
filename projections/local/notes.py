"""Notes and which of them supersede which.

A note is visible while it is accepted and no accepted note supersedes it. That is not transitive,
and it is reversible: rejecting the superseder brings its targets back.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from foldlog.events.encoding import decode, encode, instant
from foldlog.events.event import Event
from foldlog.events.provenance import Provenance, provenance
from foldlog.events.types import NoteSaved, NoteStatusChanged
from foldlog.names import ORDINAL_BITS, memory_id
from foldlog.projections import document
from foldlog.projections.local import memories

ACCEPTED: Final = "accepted"
PENDING: Final = "pending"
REJECTED: Final = "rejected"
STATUSES: Final = (PENDING, ACCEPTED, REJECTED)

# The links of a note, in the statement that reads it: a page of notes costs one query, not one each.
_COLUMNS: Final = """
    n.memory_id, n.note_id, n.namespace, n.kind, n.body, n.author, n.tags, n.status,
    n.status_changed_at, n.created_at, n.metadata,
    (SELECT json_group_array(s.target) FROM foldlog_supersessions s WHERE s.superseder = n.memory_id),
    (SELECT json_group_array(b.note_id) FROM foldlog_supersessions s
        JOIN foldlog_notes b ON b.memory_id = s.superseder
        WHERE s.target = n.note_id AND b.status = 'accepted')
"""
_INSERT: Final = """
    INSERT INTO foldlog_notes (memory_id, note_id, namespace, kind, body, author, tags, status,
        status_changed_at, created_at, metadata) VALUES (?, ?, ?, ?, ?, ?, ?, ?, NULL, ?, ?)
"""
_SET_STATUS: Final = "UPDATE foldlog_notes SET status = ?, status_changed_at = ? WHERE memory_id = ?"
_INSERT_EDGE: Final = "INSERT INTO foldlog_supersessions (target, superseder) VALUES (?, ?)"
_TARGETS: Final = "SELECT target FROM foldlog_supersessions WHERE superseder = ? ORDER BY target"
_SUPERSEDERS: Final = f"""
    SELECT {_COLUMNS} FROM foldlog_supersessions s JOIN foldlog_notes n ON n.memory_id = s.superseder
    WHERE s.target = ? ORDER BY n.memory_id
"""
_ACCEPTED_SUPERSEDER: Final = """
    SELECT b.note_id FROM foldlog_supersessions s JOIN foldlog_notes b ON b.memory_id = s.superseder
    WHERE s.target = ? AND b.status = 'accepted' AND b.note_id <> ? ORDER BY b.memory_id LIMIT 1
"""
_NOT_SUPERSEDED: Final = """
    NOT EXISTS (
        SELECT 1 FROM foldlog_supersessions s JOIN foldlog_notes b ON b.memory_id = s.superseder
        WHERE s.target = n.note_id AND b.status = 'accepted')
"""
_IS_VISIBLE: Final = f"n.status = 'accepted' AND {_NOT_SUPERSEDED}"
_VISIBILITY: Final = f"SELECT n.memory_id, {_IS_VISIBLE} FROM foldlog_notes n WHERE n.note_id = ?"
_GET: Final = f"SELECT {_COLUMNS} FROM foldlog_notes n WHERE n.note_id = ?"
_BY_MEMORY: Final = f"SELECT {_COLUMNS} FROM foldlog_notes n WHERE n.memory_id IN ({{marks}})"
_LIST: Final = f"""
    SELECT {_COLUMNS} FROM foldlog_notes n
    WHERE n.namespace = ? AND n.status IN ({{marks}}) {{filters}} AND n.memory_id > ?
    ORDER BY n.memory_id LIMIT ?
"""
# UNION, not UNION ALL: a cycle in an imported log must not walk for ever. Nothing leads to a note that
# nobody supersedes, as is every new one: then a long chain below the start is not walked at all.
_REACHES: Final = """
    WITH RECURSIVE reached (note_id) AS (
        SELECT ?1 WHERE ?1 = ?2 OR EXISTS (SELECT 1 FROM foldlog_supersessions WHERE target = ?2) UNION
        SELECT s.target FROM reached r JOIN foldlog_notes n ON n.note_id = r.note_id
        JOIN foldlog_supersessions s ON s.superseder = n.memory_id
    ) SELECT 1 FROM reached WHERE note_id = ?2
"""
_IS_TARGET: Final = "SELECT 1 FROM foldlog_supersessions WHERE target = ? LIMIT 1"
_HEADS: Final = f"""
    WITH RECURSIVE up (note_id) AS (
        SELECT ?1 UNION
        SELECT b.note_id FROM up u JOIN foldlog_supersessions s ON s.target = u.note_id
        JOIN foldlog_notes b ON b.memory_id = s.superseder AND b.status = 'accepted'
    ) SELECT {_COLUMNS} FROM up u JOIN foldlog_notes n ON n.note_id = u.note_id
    WHERE {_IS_VISIBLE} ORDER BY n.memory_id
"""


# What a note supersedes, through any number of others; a target that is not in the log has no memory id.
_BELOW: Final = """
    WITH RECURSIVE below (note_id) AS (
        SELECT ? UNION
        SELECT s.target FROM below b JOIN foldlog_notes n ON n.note_id = b.note_id
        JOIN foldlog_supersessions s ON s.superseder = n.memory_id
    ) SELECT b.note_id, n.memory_id FROM below b LEFT JOIN foldlog_notes n ON n.note_id = b.note_id
"""
_ABOVE: Final = """
    WITH RECURSIVE above (note_id) AS (
        SELECT ? UNION
        SELECT n.note_id FROM above a JOIN foldlog_supersessions s ON s.target = a.note_id
        JOIN foldlog_notes n ON n.memory_id = s.superseder
    ) SELECT a.note_id, n.memory_id FROM above a JOIN foldlog_notes n ON n.note_id = a.note_id
"""
# By stream numbers, as a JSON array.
_SUPERSEDING_STREAMS: Final = f"""
    SELECT DISTINCT s.superseder >> {ORDINAL_BITS} FROM json_each(?) i
    CROSS JOIN foldlog_notes n ON n.memory_id = i.value << {ORDINAL_BITS}
    CROSS JOIN foldlog_supersessions s ON s.target = n.note_id
"""
_SUPERSEDED_STREAMS: Final = f"""
    SELECT DISTINCT n.memory_id >> {ORDINAL_BITS} FROM json_each(?) i
    CROSS JOIN foldlog_supersessions s ON s.superseder = i.value << {ORDINAL_BITS}
    CROSS JOIN foldlog_notes n ON n.note_id = s.target
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """A note as it is now; its body never changes."""

    memory_id: int
    note_id: str
    namespace: str
    kind: str | None
    body: str
    author: str | None
    tags: tuple[str, ...]
    #: `pending`, `accepted` or `rejected`.
    status: str
    #: UTC ms; None until the status changed for the first time.
    status_changed_at: int | None
    created_at: int
    provenance: Provenance
    #: Ids of the notes that it replaces while it is accepted.
    supersedes: tuple[str, ...]
    #: Ids of the accepted notes that replace it now.
    superseded_by: tuple[str, ...]

    @classmethod
    def from_row(cls, row: tuple[Any, ...]) -> Note:
        """Return the note of a row."""
        (memory, note_id, namespace, kind, body, author, tags, status, changed, created, metadata,
         supersedes, superseded_by) = row  # fmt: skip
        return cls(
            memory_id=memory,
            note_id=note_id,
            namespace=namespace,
            kind=kind,
            body=body,
            author=author,
            tags=() if tags == "[]" else tuple(decode(tags)),
            status=status,
            status_changed_at=changed,
            created_at=created,
            provenance=provenance(metadata),
            supersedes=() if supersedes == "[]" else tuple(decode(supersedes)),
            superseded_by=() if superseded_by == "[]" else tuple(decode(superseded_by)),
        )

    @property
    def name(self) -> str:
        """The id, under the name that all kinds have."""
        return self.note_id

    @property
    def visible(self) -> bool:
        """Say whether default reads and searches show it."""
        return self.status == ACCEPTED and not self.superseded_by

    @property
    def text(self) -> str:
        """The note as it is shown."""
        return document.shown(self.body)

    def as_dict(self) -> dict[str, Any]:
        """Return the note as JSON."""
        changed = self.status_changed_at
        return {
            "note_id": self.note_id,
            "namespace": self.namespace,
            "kind": self.kind,
            "body": self.body,
            "author": self.author,
            "tags": list(self.tags),
            "status": self.status,
            "status_changed_at": None if changed is None else instant(changed).isoformat(),
            "created_at": instant(self.created_at).isoformat(),
            "provenance": self.provenance.as_dict(),
            "supersedes": list(self.supersedes),
            "superseded_by": list(self.superseded_by),
        }


def fold_saved(connection: sqlite3.Connection, event: Event, record: NoteSaved) -> None:
    """A note exists; those it supersedes are looked at anew. An erased one keeps its links alone."""
    item = document.of_note(event, record)
    connection.execute(
        _INSERT,
        (item.memory_id, item.key, item.namespace, record.kind, record.body, record.author,
         encode(record.tags), record.status, event.occurred_at, encode(event.provenance.as_dict())),
    )  # fmt: skip
    for target in record.supersedes:
        connection.execute(_INSERT_EDGE, (target, item.memory_id))
    if not event.erased:
        visible = bool(connection.execute(_VISIBILITY, (item.key,)).fetchone()[1])
        memories.put(connection, item, visible)
    _touch(connection, record.supersedes, event.position)


def fold_status(connection: sqlite3.Connection, event: Event, record: NoteStatusChanged) -> None:
    """A note's status changed; so may its visibility, and that of all it supersedes."""
    memory = memory_id(event.stream_id)
    connection.execute(_SET_STATUS, (record.status, event.occurred_at, memory))
    memories.change(connection, memory, event.position)
    targets = [target for (target,) in connection.execute(_TARGETS, (memory,)).fetchall()]
    _touch(connection, [event.stream.name, *targets], event.position)


def _touch(connection: sqlite3.Connection, notes: Iterable[str], position: int) -> None:
    for note_id in notes:
        row = connection.execute(_VISIBILITY, (note_id,)).fetchone()
        if row is not None:
            memories.touch(connection, row[0], position, bool(row[1]))


def get(connection: sqlite3.Connection, note_id: str) -> Note | None:
    """Return a note, whatever its status."""
    row = connection.execute(_GET, (note_id,)).fetchone()
    return Note.from_row(row) if row else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which notes of a namespace a list is to have."""

    statuses: Sequence[str]
    include_superseded: bool
    #: One of the callers' own kinds; None: all.
    kind: str | None = None


def page(
    connection: sqlite3.Connection, namespace: str, wanted: Wanted, *, after: int, limit: int
) -> list[Note]:
    """Return notes in the order of the log, after a memory id."""
    if not wanted.statuses:
        return []
    filters = "" if wanted.include_superseded else f"AND {_NOT_SUPERSEDED}"
    given = [namespace, *wanted.statuses]
    if wanted.kind is not None:
        filters += " AND n.kind = ?"
        given.append(wanted.kind)
    statement = _LIST.format(marks=",".join("?" * len(wanted.statuses)), filters=filters)
    return [Note.from_row(row) for row in connection.execute(statement, (*given, after, limit))]


def by_memory(connection: sqlite3.Connection, ids: list[int]) -> list[Note]:
    """Return the notes of these memory ids, visible or not."""
    found: list[Note] = []
    for chunk in memories.chunks(ids):
        rows = connection.execute(_BY_MEMORY.format(marks=",".join("?" * len(chunk))), chunk)
        found += [Note.from_row(row) for row in rows]
    return found


def targets(connection: sqlite3.Connection, memory: int) -> list[str]:
    """Return the ids of the notes that a note supersedes, known or not."""
    return [target for (target,) in connection.execute(_TARGETS, (memory,))]


def superseders(connection: sqlite3.Connection, note_id: str) -> list[Note]:
    """Return the notes that supersede a note, accepted or not."""
    return [Note.from_row(row) for row in connection.execute(_SUPERSEDERS, (note_id,))]


def heads(connection: sqlite3.Connection, note_id: str) -> list[Note]:
    """Return the visible notes that accepted supersessions lead to from a note, in one query."""
    return [Note.from_row(row) for row in connection.execute(_HEADS, (note_id,))]


def winner(connection: sqlite3.Connection, target: str, apart_from: str) -> str | None:
    """Return the id of an accepted note, other than one, that supersedes the target."""
    row = connection.execute(_ACCEPTED_SUPERSEDER, (target, apart_from)).fetchone()
    return row[0] if row else None


def reaches(connection: sqlite3.Connection, start: str, goal: str) -> bool:
    """Say whether `start` supersedes `goal`, directly or through others."""
    # A note that nobody names, as almost every new one, ends no chain: then none is walked.
    if connection.execute(_IS_TARGET, (goal,)).fetchone() is None:
        return False
    return connection.execute(_REACHES, (start, goal)).fetchone() is not None


def connected(connection: sqlite3.Connection, note_id: str) -> dict[str, int | None]:
    """Return the notes that a note supersedes or is superseded by, through any number of others.

    Note id -> memory id, None for one that is not in the log; the note itself is among them.
    """
    found: dict[str, int | None] = dict(connection.execute(_BELOW, (note_id,)))
    found.update(connection.execute(_ABOVE, (note_id,)))
    return found


def superseding_streams(connection: sqlite3.Connection, streams: Iterable[int]) -> list[int]:
    """Return the streams of all notes, accepted or not, that supersede notes of some streams."""
    return [stream for (stream,) in connection.execute(_SUPERSEDING_STREAMS, (encode(list(streams)),))]


def superseded_streams(connection: sqlite3.Connection, streams: Iterable[int]) -> list[int]:
    """Return the streams of all notes that the notes of some streams supersede, while accepted or not."""
    return [stream for (stream,) in connection.execute(_SUPERSEDED_STREAMS, (encode(list(streams)),))]
