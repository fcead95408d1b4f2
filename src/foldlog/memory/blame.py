"""Blame: who wrote what an item says, from what, what else that run wrote, and who was given it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from foldlog.events import reader
from foldlog.events.event import Event
from foldlog.events.log import Log
from foldlog.events.types import (
    ContentRetained,
    FactSet,
    MessageSaved,
    MessagesSummarized,
    NoteSaved,
    PrimerSet,
)
from foldlog.memory.history import Histories, History
from foldlog.memory.servings import Serving, Servings, memory_of

#: Events and servings that are shown, unless more are asked for.
LIMIT: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Blame:
    """What is known of how an item came about, and where it went."""

    #: `fact`, `message`, `note`, `retained` or `primer`.
    kind: str
    namespace: str
    #: The fact's key, the primer's name, or the id of the others.
    name: str
    #: The event that gave it what it says, or said last: with who, when, and the position.
    written: Event
    #: What that run had been given before, the newest first: what it may have been written from.
    given: list[Serving]
    #: What else that run wrote, in order; `also_wrote_more` says whether there is more (see `run`).
    also_wrote: list[Event]
    also_wrote_more: bool
    #: Who was given it, the newest first; `served_more` says whether there is more (see Servings).
    served: list[Serving]
    served_more: bool

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {
            "kind": self.kind,
            "namespace": self.namespace,
            "name": self.name,
            "written": self.written.as_dict(),
            "given": [serving.as_dict() for serving in self.given],
            "also_wrote": [event.as_dict() for event in self.also_wrote],
            "also_wrote_more": self.also_wrote_more,
            "served": [serving.as_dict() for serving in self.served],
            "served_more": self.served_more,
        }


class Blames:
    """Look up who wrote an item; of a deleted or superseded one too. Raises NotFound for what never was."""

    def __init__(self, log: Log, histories: Histories, servings: Servings) -> None:
        self._log = log
        self._histories = histories
        self._servings = servings

    def fact(self, namespace: str, key: str, *, limit: int = LIMIT) -> Blame:
        """Return who set a fact's value, the last one it had."""
        return self._of(self._histories.fact(namespace, key), limit)

    def message(self, message_id: str, *, limit: int = LIMIT) -> Blame:
        """Return who said a message, in its last version."""
        return self._of(self._histories.message(message_id), limit)

    def note(self, note_id: str, *, limit: int = LIMIT) -> Blame:
        """Return who wrote a note."""
        return self._of(self._histories.stream_of_note(note_id), limit)

    def retained(self, retained_id: str, *, limit: int = LIMIT) -> Blame:
        """Return who kept a text."""
        return self._of(self._histories.retained(retained_id), limit)

    def primer(self, namespace: str, name: str, *, limit: int = LIMIT) -> Blame:
        """Return who set a primer; to whom it was given is not recorded."""
        return self._of(self._histories.primer(namespace, name), limit)

    def run(self, run: str, *, after: int = 0, limit: int = 100) -> list[Event]:
        """Return what a run wrote, after a position."""
        return reader.of_run(self._log, run, after, limit)

    def _of(self, history: History, limit: int) -> Blame:
        contents = [event for event in history.events if _gives(event, history.name)]
        written = contents[-1]
        run = written.provenance.run
        # One more than is shown says whether there is more.
        also = self._also(run, written.position, limit + 1) if run else []
        served = self._servings.of_memories(_memories(contents), limit=limit + 1)
        return Blame(
            kind=history.kind,
            namespace=history.namespace,
            name=history.name,
            written=written,
            given=self._servings.of_run_before(run, written.position, limit=limit) if run else [],
            also_wrote=also[:limit],
            also_wrote_more=len(also) > limit,
            served=served[:limit],
            served_more=len(served) > limit,
        )

    def _also(self, run: str, position: int, limit: int) -> list[Event]:
        return [event for event in self.run(run, limit=limit + 1) if event.position != position][:limit]


def _gives(event: Event, name: str) -> bool:
    """Say whether an event gives an item its content; of a message others may hide it."""
    if isinstance(event.record, MessagesSummarized):
        return event.record.message_id == name
    return isinstance(event.record, FactSet | MessageSaved | NoteSaved | ContentRetained | PrimerSet)


def _memories(contents: Iterable[Event]) -> set[int]:
    return {memory_of(event) for event in contents}
