"""Notes: bodies that never change, and evolve by one note superseding others."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from sqlite3 import Connection
from typing import Any, Final

from foldlog.errors import (
    InvalidInput,
    InvalidTransition,
    NoteConflict,
    OtherNamespace,
    SelfSupersession,
    SupersessionConflict,
    SupersessionCycle,
    UnknownNote,
    UnknownTarget,
)
from foldlog.events.append import Appended, Transaction
from foldlog.events.encoding import check_not_blank, check_text
from foldlog.events.event import Event
from foldlog.events.provenance import Provenance
from foldlog.events.types import NoteSaved, NoteStatusChanged, Stream
from foldlog.memory.counters import NOTE_SAVES
from foldlog.memory.paging import check_limit
from foldlog.memory.relates import Relation, check_relates
from foldlog.memory.tags import check_tags, namespace_tags
from foldlog.memory.writer import Receipt, Writer, occurred
from foldlog.names import ORDINAL_BITS, check_name, check_names, check_namespace, new_id
from foldlog.projections.local import notes
from foldlog.projections.local.notes import ACCEPTED, PENDING, REJECTED, STATUSES, Note, Wanted

#: From which status to which; the same status again is no change.
TRANSITIONS: Final = {PENDING: {ACCEPTED, REJECTED}, ACCEPTED: {REJECTED}, REJECTED: {ACCEPTED}}


class Notes:
    """Save notes, change their status, and read them."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._log = writer.log

    def save(
        self,
        namespace: str,
        body: str,
        *,
        note_id: str | None = None,
        kind: str | None = None,
        author: str | None = None,
        tags: Iterable[str] = (),
        status: str = ACCEPTED,
        supersedes: Iterable[str] = (),
        relates: Iterable[tuple[str, str]] = (),
        sources: Iterable[str] = (),
        allow_fork: bool = False,
        allow_missing: bool = False,
        allow_other_namespace: bool = False,
        by: Provenance | None = None,
        occurred_at: datetime | None = None,
    ) -> Receipt:
        """Save a note; those it supersedes leave default reads while it is accepted.

        `relates` are pairs as ("owns", "payments-api"); `sources` are ids of what it was made from. An id
        that exists with an equal body, in whichever namespace, is `unchanged` with all its labels. Raises
        NoteConflict for another body; UnknownTarget unless `allow_missing`; OtherNamespace unless
        `allow_other_namespace`; SupersessionConflict unless `allow_fork`; and SelfSupersession or
        SupersessionCycle.
        """
        name = _name(note_id, "note_id") or new_id()
        stream = Stream(kind="note", namespace=check_namespace(namespace), name=name)
        record = NoteSaved(
            body=check_not_blank(body, "body"),
            status=_check_status(status),
            supersedes=check_names(supersedes, "supersedes"),
            relates=check_relates(relates),
            sources=check_names(sources, "sources"),
            **_labels(namespace, kind=kind, author=author, tags=tags),
        )
        at = occurred(occurred_at)

        def command(transaction: Transaction) -> Appended | None:
            if _is_saved(transaction, name, body):
                return None
            for target in record.supersedes:
                _check_target(transaction, stream, target, allow_missing, allow_other_namespace)
            if status == ACCEPTED and not allow_fork:
                _check_free(transaction, name, record.supersedes)
            return transaction.append(stream, record, by=by or self._writer.by, occurred_at=at)

        return self._writer.submit(name, command, NOTE_SAVES)

    def set_status(
        self,
        note_id: str,
        status: str,
        *,
        reason: str | None = None,
        allow_fork: bool = False,
        by: Provenance | None = None,
        occurred_at: datetime | None = None,
    ) -> Receipt:
        """Accept or reject a note; the status it has already is `unchanged`.

        Raises UnknownNote, InvalidTransition, or SupersessionConflict when it would be the second
        accepted superseder of a note, unless `allow_fork`.
        """
        check_name(note_id, "note_id")
        record = NoteStatusChanged(
            status=_check_status(status), reason=None if reason is None else check_text(reason, "reason")
        )
        at = occurred(occurred_at)

        def command(transaction: Transaction) -> Appended | None:
            found = notes.get(transaction.connection, note_id)
            if found is None:
                raise UnknownNote(note_id)
            if found.status == status:
                return None
            if status not in TRANSITIONS[found.status]:
                raise InvalidTransition(note_id, found.status, status)
            if status == ACCEPTED and not allow_fork:
                _check_free(transaction, note_id, notes.targets(transaction.connection, found.memory_id))
            stream = Stream(kind="note", namespace=found.namespace, name=note_id)
            return transaction.append(stream, record, by=by or self._writer.by, occurred_at=at)

        return self._writer.submit(note_id, command)

    def get(self, note_id: str) -> Note | None:
        """Return a note whatever its status, None when there is none."""
        with self._log.read() as connection:
            return notes.get(connection, note_id)

    def heads(self, note_id: str) -> list[Note]:
        """Return the notes that stand in a note's place now: itself, or what accepted notes made of it.

        One at the end of a chain, several after a fork, none while nothing of the chain is accepted.
        Any length costs one query. Raises UnknownNote.
        """
        with self._log.read() as connection:
            found = notes.heads(connection, note_id)
            if not found and notes.get(connection, note_id) is None:
                raise UnknownNote(note_id)
        return found

    def relates(self, note_id: str) -> list[Relation]:
        """Return what a note states about things by name; raises UnknownNote."""
        with self._log.read() as connection:
            found = notes.get(connection, note_id)
            if found is None:
                raise UnknownNote(note_id)
            return relations(connection, found)

    def list(
        self,
        namespace: str,
        *,
        status: str | Iterable[str] = ACCEPTED,
        kind: str | None = None,
        include_superseded: bool = False,
        after: int = 0,
        limit: int = 1000,
    ) -> list[Note]:
        """Return notes of a namespace in the order of the log, after a note's `memory_id`.

        `status` is one, several, or `any`; without `include_superseded` a note that an accepted
        one supersedes is left out. `kind` keeps those of one kind.
        """
        wanted = Wanted(statuses=check_statuses(status), include_superseded=include_superseded, kind=kind)
        check_limit(limit)
        with self._log.read() as connection:
            return notes.page(connection, namespace, wanted, after=after, limit=limit)


def relations(log: Connection, note: Note) -> list[Relation]:
    """Return what a note states about things by name, from its event: notes never change."""
    from foldlog.events import statements

    row = log.execute(statements.STREAM_EVENTS, (note.memory_id >> ORDINAL_BITS,)).fetchone()
    record = Event.from_row(row).record
    return [Relation(**item) for item in record.relates] if isinstance(record, NoteSaved) else []


def _is_saved(transaction: Transaction, name: str, body: str) -> bool:
    """Say whether a note of this id and body exists; raises NoteConflict for another body."""
    found = notes.get(transaction.connection, name)
    if found is not None and found.body != body:
        raise NoteConflict(name, found.namespace)
    return found is not None


def _labels(namespace: str, *, kind: str | None, author: str | None, tags: Iterable[str]) -> dict[str, Any]:
    return {
        "kind": _name(kind, "kind"),
        "author": _name(author, "author"),
        "tags": namespace_tags(namespace, check_tags(tags)),
    }


def _name(value: str | None, path: str) -> str | None:
    return None if value is None else check_name(value, path)


def _check_status(status: str) -> str:
    if status not in STATUSES:
        raise InvalidInput("status", f"must be one of {', '.join(STATUSES)}, not {status!r}")
    return status


def check_statuses(status: str | Iterable[str]) -> tuple[str, ...]:
    """Return the statuses that one, several, or `any` name; raises InvalidInput."""
    if isinstance(status, str):
        return STATUSES if status == "any" else (_check_status(status),)
    return tuple(_check_status(item) for item in status)


def _check_target(
    transaction: Transaction, note: Stream, target: str, missing: bool, elsewhere: bool
) -> None:
    if target == note.name:
        raise SelfSupersession(target)
    found = notes.get(transaction.connection, target)
    if found is None:
        if missing:
            return
        raise UnknownTarget(note.name, target)
    if found.namespace != note.namespace and not elsewhere:
        raise OtherNamespace(note.name, note.namespace, target, found.namespace)
    if notes.reaches(transaction.connection, target, note.name):
        raise SupersessionCycle(note.name, target)


def _check_free(transaction: Transaction, name: str, targets: Iterable[str]) -> None:
    for target in targets:
        winner = notes.winner(transaction.connection, target, name)
        if winner is not None:
            raise SupersessionConflict(target, winner)
