"""History: how a fact, thread, message or note came to say what it says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from foldlog.errors import NotFound
from foldlog.events import reader
from foldlog.events.event import Event
from foldlog.events.log import Log
from foldlog.events.types import MessageSaved, MessagesDeleted, Stream, ThreadCreated, ThreadDeleted
from foldlog.projections.local import notes, threads


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """One edge of a note's supersession graph."""

    #: `supersedes` or `superseded by`.
    relation: str
    note_id: str
    #: The other note's status now; None when it is not known.
    status: str | None
    body: str | None
    #: Steps away from the note asked for, from 1.
    depth: int
    #: The note one step nearer that it is tied to.
    via: str

    def as_dict(self) -> dict[str, Any]:
        """Return the edge as JSON."""
        return {
            "relation": self.relation,
            "note_id": self.note_id,
            "status": self.status,
            "body": self.body,
            "depth": self.depth,
            "via": self.via,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """Every event of one item, in order, and for a note its supersession graph."""

    kind: str
    namespace: str
    name: str
    events: list[Event]
    links: list[Link]

    def as_dict(self) -> dict[str, Any]:
        """Return the history as JSON."""
        return {
            "kind": self.kind,
            "namespace": self.namespace,
            "name": self.name,
            "events": [event.as_dict() for event in self.events],
            "links": [link.as_dict() for link in self.links],
        }


class Histories:
    """Look up the history of one item; deleted and superseded ones have theirs too."""

    def __init__(self, log: Log) -> None:
        self._log = log

    def fact(self, namespace: str, key: str) -> History:
        """Return the history of a fact; raises NotFound when there never was one."""
        return self._stream(Stream(kind="fact", namespace=namespace, name=key))

    def thread(self, thread_id: str) -> History:
        """Return the history of a thread with all its messages."""
        return self._stream(self._find("thread", thread_id))

    def note(self, note_id: str) -> History:
        """Return the history of a note, and the notes above and below it."""
        return self._stream(self._find("note", note_id), links=True)

    def message(self, message_id: str) -> History:
        """Return the history of a message: its versions, and what happened to its thread."""
        with self._log.read() as connection:
            found = threads.message(connection, message_id)
        thread_id = found.thread_id if found else self._thread_of_deleted(message_id)
        whole = self.thread(thread_id)
        ordinals = {
            event.record.ordinal
            for event in whole.events
            if isinstance(event.record, MessageSaved) and event.record.message_id == message_id
        }
        events = [event for event in whole.events if _concerns(event, ordinals)]
        return History(kind="message", namespace=whole.namespace, name=message_id, events=events, links=[])

    def _thread_of_deleted(self, message_id: str) -> str:
        for page in reader.pages(self._log):
            for event in page:
                if isinstance(event.record, MessageSaved) and event.record.message_id == message_id:
                    return event.stream.name
        raise NotFound(f"there is no message {message_id}, and there never was")

    def _find(self, kind: str, name: str) -> Stream:
        from foldlog.events import statements

        with self._log.read() as connection:
            row = connection.execute(statements.STREAM_OF_ID, (kind, name)).fetchone()
        if row is None:
            raise NotFound(f"there is no {kind} {name}, and there never was")
        return Stream(kind=kind, namespace=row[1], name=name)

    def _stream(self, stream: Stream, links: bool = False) -> History:
        from foldlog.events import statements

        key = (stream.namespace, stream.kind, stream.name)
        with self._log.read() as connection:
            row = connection.execute(statements.STREAM, key).fetchone()
            if row is None:
                raise NotFound(
                    f"there is no {stream.kind} {stream.name} in {stream.namespace}, and never was"
                )
            return History(
                kind=stream.kind,
                namespace=stream.namespace,
                name=stream.name,
                events=reader.of_stream(self._log, row[0]),
                links=list(_graph(connection, stream.name)) if links else [],
            )


def _concerns(event: Event, ordinals: set[int]) -> bool:
    record = event.record
    if isinstance(record, MessageSaved):
        return record.ordinal in ordinals
    if isinstance(record, MessagesDeleted):
        return not ordinals.isdisjoint(record.ordinals)
    return isinstance(record, ThreadCreated | ThreadDeleted)


def _graph(connection: Any, note_id: str) -> Iterator[Link]:
    """Yield the notes below and above a note, nearest first; each once, so a circle ends."""
    for relation in ("supersedes", "superseded by"):
        seen = {note_id}
        layer = [note_id]
        depth = 0
        while layer:
            depth += 1
            ties = {name: item for item in layer for name in _neighbours(connection, item, relation)}
            layer = [name for name in ties if name not in seen]
            seen.update(layer)
            for name in layer:
                found = notes.get(connection, name)
                yield Link(
                    relation=relation,
                    note_id=name,
                    status=found.status if found else None,
                    body=found.body if found else None,
                    depth=depth,
                    via=ties[name],
                )


def _neighbours(connection: Any, note_id: str, relation: str) -> list[str]:
    if relation == "superseded by":
        return [note.note_id for note in notes.superseders(connection, note_id)]
    found = notes.get(connection, note_id)
    return notes.targets(connection, found.memory_id) if found else []
