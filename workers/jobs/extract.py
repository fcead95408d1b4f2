"""The job extract: notes are proposed from messages by a language model; a person or a rule accepts them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, Protocol

from foldlog.errors import ExtractionRefused, ModelUnavailable, NoteConflict
from foldlog.events.provenance import Provenance
from foldlog.memory.condensing import ID_DIGITS, digest
from foldlog.names import FIRST_SUMMARY
from foldlog.projections.local import cursors
from foldlog.settings import Settings
from foldlog.workers.jobs.job import Result, Work
from foldlog.workers.jobs.limit import SHOWN
from foldlog.workers.jobs.summarize import PATIENCE, spoken
from foldlog.workers.jobs.walk import Walk
from foldlog.workers.models import registry as models

if TYPE_CHECKING:
    from foldlog.projections.local.threads import Message, Thread
    from foldlog.workers.models.extraction import Proposed
    from foldlog.workers.models.transcript import Spoken


class Proposing(Protocol):
    """What proposes notes from messages."""

    def extract(self, messages: Sequence[Spoken]) -> list[Proposed]:
        """Return the notes; raises ModelError."""
        ...  # pragma: no cover


BY: Final = Provenance(actor="job:extract")

#: Messages that are read together.
PIECE: Final = 20


class ExtractJob:
    """Appends NoteSaved, `pending`, with the messages as sources; each message is read once."""

    name = "extract"
    whole = False

    def __init__(self, settings: Settings, extractor: Proposing | None = None) -> None:
        """`extractor` stands over the one that the settings name."""
        self.every_ms = settings.extract_every_ms or None
        self._settings = settings
        self._extractor = extractor

    def run(self, work: Work) -> Result:
        """Read what is new in every thread; one that fails does not stop the others.

        Raises SettingsError without a language model, ModelRefused and ModelUnavailable when it cannot be
        asked.
        """
        extractor = self._extractor or models.create_extractor(self._settings)
        walk = Walk(work, "extract", again=work.state.get("waiting", ()))
        waiting: list[int] = []
        proposed = failures = 0
        problems: list[str] = []
        for thread in walk:
            try:
                proposed += self._read(work, thread, extractor, waiting)
                failures = 0
            except (ExtractionRefused, ModelUnavailable) as error:
                problems.append(f"thread {thread.thread_id} was not read: {error}")
                waiting.append(thread.stream_id)
                failures += isinstance(error, ModelUnavailable)
                if failures == PATIENCE:
                    raise
        return Result(
            counts={"proposed": proposed},
            problems=problems[:SHOWN],
            more=not walk.finished,
            state=walk.state | {"waiting": waiting},
        )

    def _read(self, work: Work, thread: Thread, extractor: Proposing, waiting: list[int]) -> int:
        """Read a thread piece by piece; one with a rest that is not old enough yet waits."""
        quiet = work.now - thread.updated_at >= self._settings.extract_quiet_ms
        proposed = 0
        while not work.stop():
            with work.memory.log.read() as connection:
                after = cursors.get(connection, self.name, thread.stream_id)
            found = work.memory.messages.list(
                thread.thread_id, after=after, limit=2 * PIECE, include_hidden=True
            )
            piece = [item for item in found if item.ordinal < FIRST_SUMMARY][:PIECE]
            if not piece:
                return proposed
            if len(piece) < PIECE and not quiet:
                break
            if work.dry_run:
                return proposed + len(piece)
            proposed += self._propose(work, thread, piece, extractor)
            with work.memory.log.write() as transaction:
                cursors.put(transaction.connection, self.name, thread.stream_id, piece[-1].ordinal)
        waiting.append(thread.stream_id)
        return proposed

    def _propose(self, work: Work, thread: Thread, piece: Sequence[Message], extractor: Proposing) -> int:
        """Save what is proposed from some messages; nothing when that was done before a kill."""
        stem = f"extract-{digest(piece)[:ID_DIGITS]}"
        if work.memory.notes.get(f"{stem}-0") is not None:
            return 0
        notes = extractor.extract([spoken(item) for item in piece])
        try:
            with work.memory.batch():
                for number, note in enumerate(notes):
                    work.memory.notes.save(
                        thread.namespace,
                        note.body,
                        note_id=f"{stem}-{number}",
                        kind=note.kind,
                        status="pending",
                        sources=note.sources,
                        by=BY,
                    )
        except NoteConflict:
            # Another worker was quicker, and its model proposed something else.
            return 0
        return len(notes)
