"""History: how a fact, thread, message or note came to say what it says."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from foldlog.errors import NotFound
from foldlog.events import past, statements
from foldlog.events.event import Event
from foldlog.events.log import Log
from foldlog.events.past import Point
from foldlog.events.types import (
    MessageSaved,
    MessagesDeleted,
    MessagesSummarized,
    MessagesTrimmed,
    Stream,
    ThreadCreated,
    ThreadDeleted,
)
from foldlog.memory import supersession
from foldlog.memory.supersession import Link, Node


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """Every event of one item, in order, and for a note its supersession graph."""

    kind: str
    namespace: str
    name: str
    events: list[Event]
    #: Of a note: what it supersedes and is superseded by, nearest first.
    links: list[Link] = field(default_factory=list)
    #: Of a note: itself and all notes around it, each with how it stood over time.
    notes: list[Node] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """Return the history as JSON."""
        return {
            "kind": self.kind,
            "namespace": self.namespace,
            "name": self.name,
            "events": [event.as_dict() for event in self.events],
            "links": [link.as_dict() for link in self.links],
            "notes": [node.as_dict() for node in self.notes],
        }


class Histories:
    """Look up the history of one item, up to now or to a point; of a deleted or superseded one too."""

    def __init__(self, log: Log, point: Point | None = None) -> None:
        self._log = log
        self._asked = point

    def fact(self, namespace: str, key: str) -> History:
        """Return the history of a fact; raises NotFound when there never was one."""
        return self._of(Stream(kind="fact", namespace=namespace, name=key))

    def primer(self, namespace: str, name: str) -> History:
        """Return the history of a primer."""
        return self._of(Stream(kind="primer", namespace=namespace, name=name))

    def retained(self, retained_id: str) -> History:
        """Return the history of a retained text."""
        return self._of(self._find("retained", retained_id))

    def thread(self, thread_id: str) -> History:
        """Return the history of a thread with all its messages."""
        return self._of(self._find("thread", thread_id))

    def note(self, note_id: str) -> History:
        """Return the history of a note, and the notes that supersede it or that it supersedes."""
        stream = self._find("note", note_id)
        point = self._point()
        with self._log.read() as connection:
            events = self._events(connection, stream, point)
            graph = supersession.graph(connection, note_id, point)
        return History(
            kind="note",
            namespace=stream.namespace,
            name=note_id,
            events=events,
            links=list(graph.links()),
            notes=list(graph.nodes.values()),
        )

    def stream_of_note(self, note_id: str) -> History:
        """Return a note's own events, without the notes around it."""
        return self._of(self._find("note", note_id))

    def message(self, message_id: str) -> History:
        """Return the history of a message or summary: its versions, what hid it, and its thread's beginning.

        An id that was used again after a deletion, perhaps in another thread: the last one that had it.
        """
        with self._log.read() as connection:
            positions = past.of_messages(connection, [message_id], self._point())
            events = list(past.events(connection, positions))
        versions = [event for event in events if _gives(event, message_id)]
        if not versions:
            raise NotFound(f"there is no message {message_id}{self._when()}")
        last = versions[-1]
        ordinals = {
            event.record.ordinal
            for event in versions
            if event.stream_id == last.stream_id
            and isinstance(event.record, MessageSaved | MessagesSummarized)
        }
        concern = _concerning(last.stream_id, ordinals)
        return History(
            kind="message",
            namespace=last.stream.namespace,
            name=message_id,
            events=[event for event in events if concern(event)],
        )

    def _point(self) -> Point:
        return self._asked or past.present(self._log)

    def _when(self) -> str:
        """Return what an error says of the time that was asked about."""
        return ", and there never was" if self._asked is None else f" as of {self._asked}"

    def _find(self, kind: str, name: str) -> Stream:
        with self._log.read() as connection:
            row = connection.execute(statements.STREAM_OF_ID, (kind, name)).fetchone()
        if row is None:
            raise NotFound(f"there is no {kind} {name}{self._when()}")
        return Stream(kind=kind, namespace=row[1], name=name)

    def _of(self, stream: Stream) -> History:
        with self._log.read() as connection:
            events = self._events(connection, stream, self._point())
        return History(kind=stream.kind, namespace=stream.namespace, name=stream.name, events=events)

    def _events(self, connection: sqlite3.Connection, stream: Stream, point: Point) -> list[Event]:
        key = (stream.namespace, stream.kind, stream.name)
        row = connection.execute(statements.STREAM, key).fetchone()
        positions = past.of_streams(connection, [row[0]], point) if row else []
        if not positions:
            where = f" in {stream.namespace}" if stream.kind in ("fact", "primer") else ""
            raise NotFound(f"there is no {stream.kind} {stream.name}{where}{self._when()}")
        return list(past.events(connection, positions))


def _gives(event: Event, message_id: str) -> bool:
    """Say whether an event gives a message or a summary its content."""
    record = event.record
    return isinstance(record, MessageSaved | MessagesSummarized) and record.message_id == message_id


def _concerning(stream_id: int, ordinals: set[int]) -> Callable[[Event], bool]:
    """Return what says whether an event of a thread concerns a message."""

    def concerns(event: Event) -> bool:
        record = event.record
        if event.stream_id != stream_id:
            return False
        if isinstance(record, MessageSaved):
            return record.ordinal in ordinals
        if isinstance(record, MessagesDeleted):
            return not ordinals.isdisjoint(record.ordinals)
        if isinstance(record, MessagesTrimmed):
            return _covers(record.ranges, ordinals)
        if isinstance(record, MessagesSummarized):
            return _covers(record.ranges, ordinals) or bool(ordinals & {record.ordinal, record.replaces})
        return isinstance(record, ThreadCreated | ThreadDeleted)

    return concerns


def _covers(ranges: list[list[int]], ordinals: set[int]) -> bool:
    return any(first <= ordinal <= last for first, last in ranges for ordinal in ordinals)
