"""Notes: bodies that never change, and evolve by one note superseding others."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Final

from foldlog.errors import (
    AlreadyExists,
    InvalidInput,
    InvalidSupersession,
    InvalidTransition,
    NotFound,
    SupersessionConflict,
)
from foldlog.events.append import Appended, Transaction
from foldlog.events.encoding import check_not_blank, check_text
from foldlog.events.event import Event
from foldlog.events.provenance import Provenance
from foldlog.events.types import NoteSaved, NoteStatusChanged, Stream
from foldlog.memory.relates import Relation, check_relates
from foldlog.memory.tags import check_tags
from foldlog.memory.writer import Receipt, Writer, occurred
from foldlog.names import ORDINAL_BITS, check_name, check_namespace, new_id
from foldlog.projections.local import notes
from foldlog.projections.local.notes import ACCEPTED, PENDING, REJECTED, STATUSES, Note

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
        allow_fork: bool = False,
        by: Provenance | None = None,
        occurred_at: datetime | None = None,
    ) -> Receipt:
        """Save a note; those it supersedes leave default reads while it is accepted.

        `relates` are pairs as ("owns", "payments-api"). An id that exists with an equal body is `unchanged`,
        with its links. Raises AlreadyExists for another body, NotFound, InvalidSupersession, and for a
        target that an accepted note supersedes already, unless `allow_fork`, SupersessionConflict.
        """
        name = new_id() if note_id is None else check_name(note_id, "note_id")
        stream = Stream(kind="note", namespace=check_namespace(namespace), name=name)
        record = NoteSaved(
            body=check_not_blank(body, "body"),
            kind=None if kind is None else check_name(kind, "kind"),
            author=None if author is None else check_name(author, "author"),
            tags=check_tags(tags),
            status=_check_status(status),
            supersedes=[check_name(target, "supersedes") for target in dict.fromkeys(supersedes)],
            relates=check_relates(relates),
        )
        at = occurred(occurred_at)

        def command(transaction: Transaction) -> Appended | None:
            found = notes.get(transaction.connection, name)
            if found is not None:
                if (found.namespace, found.body) == (namespace, body):
                    return None
                raise AlreadyExists(
                    f"note {name} exists with another body; notes never change: save a new one"
                )
            for target in record.supersedes:
                _check_target(transaction, name, namespace, target)
            if status == ACCEPTED and not allow_fork:
                _check_free(transaction, name, record.supersedes)
            return transaction.append(stream, record, by=by or self._writer.by, occurred_at=at)

        return self._writer.submit(name, command)

    def set_status(
        self,
        note_id: str,
        status: str,
        *,
        reason: str | None = None,
        allow_fork: bool = False,
        by: Provenance | None = None,
    ) -> Receipt:
        """Accept or reject a note; the status it has already is `unchanged`.

        Raises NotFound, InvalidTransition, or SupersessionConflict when it would be the second
        accepted superseder of a note, unless `allow_fork`.
        """
        check_name(note_id, "note_id")
        record = NoteStatusChanged(
            status=_check_status(status), reason=None if reason is None else check_text(reason, "reason")
        )

        def command(transaction: Transaction) -> Appended | None:
            found = notes.get(transaction.connection, note_id)
            if found is None:
                raise NotFound(f"there is no note {note_id}")
            if found.status == status:
                return None
            if status not in TRANSITIONS[found.status]:
                raise InvalidTransition(f"note {note_id} is {found.status}; it cannot become {status} again")
            if status == ACCEPTED and not allow_fork:
                _check_free(transaction, note_id, notes.targets(transaction.connection, found.memory_id))
            stream = Stream(kind="note", namespace=found.namespace, name=note_id)
            return transaction.append(stream, record, by=by or self._writer.by)

        return self._writer.submit(note_id, command)

    def get(self, note_id: str) -> Note | None:
        """Return a note whatever its status, None when there is none."""
        with self._log.read() as connection:
            return notes.get(connection, note_id)

    def relates(self, note_id: str) -> list[Relation]:
        """Return what a note states about things by name; raises NotFound."""
        from foldlog.events import statements

        with self._log.read() as connection:
            found = notes.get(connection, note_id)
            if found is None:
                raise NotFound(f"there is no note {note_id}")
            # The read model needs no copy: notes never change.
            row = connection.execute(statements.STREAM_EVENTS, (found.memory_id >> ORDINAL_BITS,)).fetchone()
        record = Event.from_row(row).record
        return [Relation(**item) for item in record.relates] if isinstance(record, NoteSaved) else []

    def list(
        self,
        namespace: str,
        *,
        status: str | Iterable[str] = ACCEPTED,
        include_superseded: bool = False,
        after: int = 0,
        limit: int = 1000,
    ) -> list[Note]:
        """Return notes of a namespace in the order of the log, after a note's `memory_id`.

        `status` is one, several, or `any`; without `include_superseded` a note that an accepted
        one supersedes is left out.
        """
        wanted = _statuses(status)
        with self._log.read() as connection:
            return notes.page(
                connection,
                namespace,
                statuses=wanted,
                include_superseded=include_superseded,
                after=after,
                limit=limit,
            )


def _check_status(status: str) -> str:
    if status not in STATUSES:
        raise InvalidInput("status", f"must be one of {', '.join(STATUSES)}, not {status!r}")
    return status


def _statuses(status: str | Iterable[str]) -> tuple[str, ...]:
    if isinstance(status, str):
        return STATUSES if status == "any" else (_check_status(status),)
    return tuple(_check_status(item) for item in status)


def _check_target(transaction: Transaction, name: str, namespace: str, target: str) -> None:
    if target == name:
        raise InvalidSupersession(f"note {name} cannot supersede itself")
    found = notes.get(transaction.connection, target)
    if found is None:
        raise NotFound(f"note {name} supersedes {target}, which does not exist")
    if found.namespace != namespace:
        raise InvalidSupersession(
            f"note {name} of {namespace} cannot supersede note {target} of {found.namespace}"
        )
    if notes.reaches(transaction.connection, target, name):
        raise InvalidSupersession(f"note {target} leads back to {name}: notes cannot supersede in a circle")


def _check_free(transaction: Transaction, name: str, targets: Iterable[str]) -> None:
    for target in targets:
        winner = notes.winner(transaction.connection, target, name)
        if winner is not None:
            raise SupersessionConflict(target, winner)
