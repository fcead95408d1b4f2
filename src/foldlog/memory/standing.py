"""Standing: could an item be seen at a point, as what, and if not, why not.

It can be seen when a default read returns it: a fact that is alive, a note that is accepted and superseded
by no accepted one, a message that no summary covers and that was not trimmed, anything else that is there.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from foldlog.events import past
from foldlog.events.event import Event
from foldlog.events.past import Point
from foldlog.events.types import (
    FactExpired,
    FactSet,
    MessageSaved,
    MessagesDeleted,
    MessagesSummarized,
    NoteSaved,
    NoteStatusChanged,
    RetainedDeleted,
    Stream,
    ThreadDeleted,
)
from foldlog.names import memory_id
from foldlog.projections.local import facts, notes, primers, private, retained, threads
from foldlog.projections.local.facts import Fact
from foldlog.projections.local.notes import ACCEPTED, Note
from foldlog.projections.local.primers import Primer
from foldlog.projections.local.retained import Retained
from foldlog.projections.local.threads import Message, Thread

Item = Fact | Thread | Message | Note | Retained | Primer

DELETED: Final = "deleted"
DELETED_WITH_THREAD: Final = "deleted with its thread"
EXPIRED: Final = "expired"
ERASED: Final = "erased"
TRIMMED: Final = "trimmed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How an item stood at a point."""

    #: `fact`, `thread`, `message`, `note`, `retained` or `primer`.
    kind: str
    namespace: str
    #: The fact's key, the primer's name, or the id of the others.
    name: str
    #: The item as a reader had it; None when it could not be seen.
    item: Item | None = None
    #: Why it could not be seen: `expired`, `rejected`, `superseded by ...`, ...; None when it could.
    why: str | None = None
    #: The accepted notes that superseded it.
    superseded_by: tuple[str, ...] = ()
    #: It could be seen at some time up to the point.
    was_seen: bool = True


def of_streams(
    log: sqlite3.Connection, streams: Sequence[int], beside: Iterable[int], point: Point
) -> dict[int, Standing]:
    """Return how the items of some streams stood, by stream; others did not exist.

    `beside` are the streams of the notes that supersede them.
    """
    seen = _Seen()
    positions = past.of_streams(log, {*streams, *beside}, point)
    with private.folded(log, seen.watch(past.events(log, positions))) as model:
        found = {stream: _of_stream(model, seen, stream, point.now) for stream in streams}
    return {stream: standing for stream, standing in found.items() if standing is not None}


def of_messages(
    log: sqlite3.Connection, names: Sequence[str], point: Point
) -> dict[tuple[str, int], Standing]:
    """Return how the messages of some ids stood, by the id and the thread's stream; others did not exist.

    An id that was used again in another thread is another message.
    """
    seen = _Seen()
    with private.folded(log, seen.watch(past.events(log, past.of_messages(log, names, point)))) as model:
        # Summaries of the threads are seen too: they may have hidden what was asked for.
        asked = frozenset(names)
        return {key: _of_message(model, seen, last) for key, last in seen.messages.items() if key[0] in asked}


class _Seen:
    """What the events say of what is no longer in the read model."""

    def __init__(self) -> None:
        #: The last event of each stream, and of each message that was saved in one.
        self.last: dict[int, Event] = {}
        self.messages: dict[tuple[str, int], Event] = {}
        #: Memories of messages that were deleted, streams of threads that were.
        self.deleted: set[int] = set()
        self.dropped: set[int] = set()
        #: Streams of facts that had a value, of notes that were accepted.
        self.shown: set[int] = set()
        #: Position -> id of the summary that was made there.
        self.summaries: dict[int, str] = {}

    def watch(self, events: Iterable[Event]) -> Iterator[Event]:
        """Yield the events on."""
        for event in events:
            self._see(event)
            yield event

    def _see(self, event: Event) -> None:
        record, stream = event.record, event.stream_id
        self.last[stream] = event
        if isinstance(record, MessageSaved | MessagesSummarized):
            self.messages[record.message_id, stream] = event
            if isinstance(record, MessagesSummarized):
                self.summaries[event.position] = record.message_id
        elif isinstance(record, MessagesDeleted):
            self.deleted.update(memory_id(stream, ordinal) for ordinal in record.ordinals)
        elif isinstance(record, ThreadDeleted):
            self.dropped.add(stream)
        elif isinstance(record, NoteSaved | NoteStatusChanged):
            if record.status == ACCEPTED:
                self.shown.add(stream)
        elif isinstance(record, FactSet) and not event.erased:
            self.shown.add(stream)


def _of_stream(model: sqlite3.Connection, seen: _Seen, stream_id: int, now: int) -> Standing | None:
    last = seen.last.get(stream_id)
    if last is None:
        return None
    stream = last.stream
    if stream.kind == "fact":
        return _of_fact(model, seen, last, now)
    if stream.kind == "note":
        return _of_note(model, last, stream_id in seen.shown)
    found: Item | None
    if stream.kind == "primer":
        found = primers.get(model, stream.namespace, stream.name)
    else:
        found = (retained if stream.kind == "retained" else threads).get(model, stream.name)
    if found is not None:
        return _standing(stream, found, None)
    return _standing(stream, None, _why_gone(last))


def _why_gone(last: Event) -> str:
    if isinstance(last.record, RetainedDeleted) and last.record.replaced_by is not None:
        return f"replaced by {last.record.replaced_by}"
    return ERASED if last.erased else DELETED


def _of_fact(model: sqlite3.Connection, seen: _Seen, last: Event, now: int) -> Standing:
    fact = facts.get(model, last.stream.namespace, last.stream.name, now)
    if fact is not None:
        return _standing(last.stream, fact, None)
    # An expired one is there until it is collected.
    if facts.by_memory(model, [memory_id(last.stream_id)]) or isinstance(last.record, FactExpired):
        why = EXPIRED
    else:
        why = ERASED if isinstance(last.record, FactSet) else DELETED
    return _standing(last.stream, None, why, was_seen=last.stream_id in seen.shown)


def _of_note(model: sqlite3.Connection, last: Event, was_seen: bool) -> Standing | None:
    note = notes.get(model, last.stream.name)
    if note is None:
        return None
    above = note.superseded_by
    why = why_hidden(note)
    return _standing(last.stream, None if why else note, why, superseded_by=above, was_seen=was_seen)


def why_hidden(note: Note) -> str | None:
    """Return why default reads do not show a note, None when they do."""
    if note.status != ACCEPTED:
        return note.status
    return f"superseded by {', '.join(note.superseded_by)}" if note.superseded_by else None


def _of_message(model: sqlite3.Connection, seen: _Seen, event: Event) -> Standing:
    assert isinstance(event.record, MessageSaved | MessagesSummarized)
    name = event.record.message_id
    stream = Stream(kind="message", namespace=event.stream.namespace, name=name)
    message = threads.message(model, name)
    if message is not None and message.thread_id == event.stream.name:
        if message.hidden_by is None:
            return _standing(stream, message, None)
        summary = seen.summaries.get(message.hidden_by)
        return _standing(stream, None, TRIMMED if summary is None else f"summarised by {summary}")
    if event.stream_id in seen.dropped:
        return _standing(stream, None, DELETED_WITH_THREAD)
    memory = memory_id(event.stream_id, event.record.ordinal)
    return _standing(stream, None, DELETED if memory in seen.deleted or not event.erased else ERASED)


def _standing(
    stream: Stream,
    item: Item | None,
    why: str | None,
    *,
    superseded_by: tuple[str, ...] = (),
    was_seen: bool = True,
) -> Standing:
    return Standing(
        kind=stream.kind,
        namespace=stream.namespace,
        name=stream.name,
        item=item,
        why=why,
        superseded_by=superseded_by,
        was_seen=was_seen,
    )
