"""What a page of events does to the index: the last state of each memory, worked out without the database.

Folding many events to one row each is what makes a page quick; nothing here reads or writes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from foldlog.events.event import Event
from foldlog.events.types import (
    ContentRetained,
    FactDeleted,
    FactExpired,
    FactSet,
    MessageSaved,
    MessagesDeleted,
    MessagesSummarized,
    MessagesTrimmed,
    NoteSaved,
    NoteStatusChanged,
    PrimerDeleted,
    PrimerSet,
    Record,
    RetainedDeleted,
    ThreadCreated,
    ThreadDeleted,
)
from foldlog.names import memory_id, memory_range
from foldlog.projections import document
from foldlog.projections.document import Document


@dataclass(kw_only=True)
class Effects:
    """The sum of a page's events."""

    #: Memories with new content.
    documents: dict[int, Document] = field(default_factory=dict)
    #: Memories that are gone, and streams of which all are.
    removed: set[int] = field(default_factory=set)
    removed_streams: set[int] = field(default_factory=set)
    #: The status of a note, and the position that decided it.
    statuses: dict[int, tuple[str, int]] = field(default_factory=dict)
    #: Every status that a note was given: (memory id, position, when it happened in UTC ms, status).
    verdicts: list[tuple[int, int, int, str]] = field(default_factory=list)
    #: (id of the target, memory id of the superseder).
    edges: list[tuple[str, int]] = field(default_factory=list)
    #: Superseders whose targets must be looked at anew, and the position that says so.
    deciders: dict[int, int] = field(default_factory=dict)


def of(events: list[Event]) -> Effects:
    """Return the effects of a page, in the order of its events."""
    effects = Effects()
    for event in events:
        FOLDS[type(event.record)](effects, event, event.record)
    return effects


def _put(effects: Effects, event: Event, item: Document) -> None:
    if event.erased:
        _remove(effects, item.memory_id)
    else:
        effects.documents[item.memory_id] = item


def _remove(effects: Effects, memory: int) -> None:
    effects.documents.pop(memory, None)
    effects.removed.add(memory)


def _fact_set(effects: Effects, event: Event, record: FactSet) -> None:
    _put(effects, event, document.of_fact(event, record))


def _fact_gone(effects: Effects, event: Event, record: FactDeleted | FactExpired) -> None:
    _remove(effects, memory_id(event.stream_id))


def _nothing(effects: Effects, event: Event, record: Record) -> None:
    """An event that no memory shows."""


def _thread_deleted(effects: Effects, event: Event, record: ThreadDeleted) -> None:
    first, end = memory_range(event.stream_id)
    for memory in [memory for memory in effects.documents if first <= memory < end]:
        del effects.documents[memory]
    effects.removed_streams.add(event.stream_id)


def _message_saved(effects: Effects, event: Event, record: MessageSaved) -> None:
    _put(effects, event, document.of_message(event, record))


def _messages_deleted(effects: Effects, event: Event, record: MessagesDeleted) -> None:
    for ordinal in record.ordinals:
        _remove(effects, memory_id(event.stream_id, ordinal))


def _messages_trimmed(effects: Effects, event: Event, record: MessagesTrimmed) -> None:
    _hide(effects, event.stream_id, record.ranges)


def _messages_summarized(effects: Effects, event: Event, record: MessagesSummarized) -> None:
    _hide(effects, event.stream_id, record.ranges)
    if record.replaces is not None:
        _remove(effects, memory_id(event.stream_id, record.replaces))
    _put(effects, event, document.of_summary(event, record))


def _hide(effects: Effects, stream_id: int, ranges: list[list[int]]) -> None:
    for first, last in ranges:
        for ordinal in range(first, last + 1):
            _remove(effects, memory_id(stream_id, ordinal))


def _note_saved(effects: Effects, event: Event, record: NoteSaved) -> None:
    memory = memory_id(event.stream_id)
    _put(effects, event, document.of_note(event, record))
    _judge(effects, event, record.status)
    if record.supersedes:
        effects.edges += [(target, memory) for target in record.supersedes]
        effects.deciders[memory] = event.position


def _note_status(effects: Effects, event: Event, record: NoteStatusChanged) -> None:
    _judge(effects, event, record.status)
    effects.deciders[memory_id(event.stream_id)] = event.position


def _judge(effects: Effects, event: Event, status: str) -> None:
    memory = memory_id(event.stream_id)
    effects.statuses[memory] = (status, event.position)
    effects.verdicts.append((memory, event.position, event.occurred_at, status))


def _retained(effects: Effects, event: Event, record: ContentRetained) -> None:
    _put(effects, event, document.of_retained(event, record))


def _retained_deleted(effects: Effects, event: Event, record: RetainedDeleted) -> None:
    _remove(effects, memory_id(event.stream_id))


#: Which function folds which event.
FOLDS: Final[Mapping[type[Record], Callable[[Effects, Event, Any], None]]] = {
    FactSet: _fact_set,
    FactDeleted: _fact_gone,
    FactExpired: _fact_gone,
    ThreadCreated: _nothing,
    ThreadDeleted: _thread_deleted,
    MessageSaved: _message_saved,
    MessagesDeleted: _messages_deleted,
    MessagesTrimmed: _messages_trimmed,
    MessagesSummarized: _messages_summarized,
    NoteSaved: _note_saved,
    NoteStatusChanged: _note_status,
    PrimerSet: _nothing,
    PrimerDeleted: _nothing,
    ContentRetained: _retained,
    RetainedDeleted: _retained_deleted,
}
