"""What the log has already; a log that is not there yet has nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from foldlog.events import statements
from foldlog.events.append import Request
from foldlog.events.types import MessageSaved
from foldlog.imports.smithers.row import CORRELATION
from foldlog.projections.local import notes

if TYPE_CHECKING:
    from foldlog.memory import Memory
    from foldlog.projections.local.notes import Note
    from foldlog.projections.local.threads import Message, Thread


class Lookup:
    """Answers from the log alone, so that a preview and an import decide alike."""

    def __init__(self, memory: Memory | None) -> None:
        self._memory = memory
        #: The thread whose messages were asked for last, and the ids they ever had.
        self._ids: tuple[int, set[str]] = (0, set())

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Answer many questions in one read transaction."""
        if self._memory is None:
            yield
        else:
            with self._memory.log.read():
                yield

    def appended(self, namespace: str, key: str) -> bool:
        """Say whether a request with an idempotency key was written."""
        digest = Request(namespace=namespace, key=key, content=None).key_digest()
        return self._row(statements.IDEMPOTENCY, digest) is not None

    def last_write(self, namespace: str, key: str) -> int | None:
        """Return when a fact was last set or deleted, UTC ms; None when it never was."""
        stream = self._row(statements.STREAM, namespace, "fact", key)
        row = None if stream is None else self._row(statements.LAST_WRITE_OF_STREAM, stream[0])
        return None if row is None else int(row[0])

    def thread(self, thread_id: str) -> Thread | None:
        """Return a thread."""
        return None if self._memory is None else self._memory.threads.get(thread_id)

    def had_thread(self, thread_id: str) -> bool:
        """Say whether there ever was a thread of this id."""
        return self._row(statements.STREAM_OF_ID, "thread", thread_id) is not None

    def message(self, message_id: str) -> Message | None:
        """Return a message in its last version, shown or not."""
        if self._memory is None:
            return None
        return self._memory.messages.get(message_id, include_hidden=True)

    def was_deleted(self, thread: Thread, message_id: str) -> bool:
        """Say whether a message that a thread does not have was deleted from it."""
        if self._memory is None or thread.messages == thread.last_ordinal:
            return False
        if self._ids[0] != thread.stream_id:
            with self._memory.log.read() as connection:
                rows = connection.execute(statements.MESSAGE_IDS_OF_STREAM, (thread.stream_id,))
                self._ids = (thread.stream_id, {str(message) for (message,) in rows})
        return message_id in self._ids[1]

    def last_imported(self, message_id: str) -> MessageSaved | None:
        """Return the last version of a message that an import wrote."""
        if self._memory is None:
            return None
        for event in reversed(self._memory.history.message(message_id).events):
            if isinstance(event.record, MessageSaved) and event.provenance.correlation == CORRELATION:
                return event.record
        return None

    def note(self, note_id: str) -> Note | None:
        """Return a note, whatever its status."""
        return None if self._memory is None else self._memory.notes.get(note_id)

    def targets(self, note: Note) -> list[str]:
        """Return the ids of the notes that a note supersedes, known or not."""
        if self._memory is None:
            return []
        with self._memory.log.read() as connection:
            return notes.targets(connection, note.memory_id)

    def leads_back(self, target: str, note_id: str) -> bool:
        """Say whether a note supersedes another, directly or through others."""
        if self._memory is None:
            return False
        with self._memory.log.read() as connection:
            return notes.reaches(connection, target, note_id)

    def _row(self, statement: str, *given: object) -> tuple[Any, ...] | None:
        if self._memory is None:
            return None
        with self._memory.log.read() as connection:
            row: tuple[Any, ...] | None = connection.execute(statement, given).fetchone()
        return row
