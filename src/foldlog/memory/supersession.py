"""The supersession graph around a note: who supersedes whom, and how each note stood over time.

It is made from the events alone, so it is the same for today and for any point in the past.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from foldlog.events import past
from foldlog.events.encoding import instant
from foldlog.events.event import Event
from foldlog.events.past import Point
from foldlog.events.provenance import Provenance
from foldlog.events.types import NoteSaved, NoteStatusChanged
from foldlog.names import ORDINAL_BITS
from foldlog.projections.local import notes
from foldlog.projections.local.notes import ACCEPTED

BELOW: Final = "supersedes"
ABOVE: Final = "superseded by"


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """One step of a note's supersession graph, seen from the note asked for."""

    #: `supersedes` or `superseded by`.
    relation: str
    note_id: str
    #: The other note's status; None when it is not known.
    status: str | None
    body: str | None
    #: Steps away from the note asked for, from 1.
    depth: int
    #: The note one step nearer that it is tied to.
    via: str

    def as_dict(self) -> dict[str, Any]:
        """Return the step as JSON."""
        return {
            "relation": self.relation,
            "note_id": self.note_id,
            "status": self.status,
            "body": self.body,
            "depth": self.depth,
            "via": self.via,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One change of how a note stands: of its status, or of its visibility by another note."""

    position: int
    #: UTC ms.
    recorded_at: int
    status: str
    #: None for a note at the edge of the graph: what supersedes it was not asked for.
    visible: bool | None
    #: The other note that hid it or brought it back; None for a change of its own.
    because: str | None
    reason: str | None
    provenance: Provenance

    def as_dict(self) -> dict[str, Any]:
        """Return the change as JSON."""
        return {
            "position": self.position,
            "recorded_at": instant(self.recorded_at).isoformat(),
            "status": self.status,
            "visible": self.visible,
            "because": self.because,
            "reason": self.reason,
            "provenance": self.provenance.as_dict(),
        }


@dataclass(slots=True, kw_only=True)
class Node:
    """A note of the graph."""

    note_id: str
    #: None: it is not in the log.
    namespace: str | None = None
    #: None: not in the log, or erased.
    body: str | None = None
    #: Ids of the notes it supersedes while it is accepted.
    supersedes: list[str] = field(default_factory=list)
    #: How it stood, from the first on; empty when it is not in the log.
    changes: list[Change] = field(default_factory=list)

    @property
    def status(self) -> str | None:
        """Its status at the end."""
        return self.changes[-1].status if self.changes else None

    def as_dict(self) -> dict[str, Any]:
        """Return the note as JSON."""
        return {
            "note_id": self.note_id,
            "namespace": self.namespace,
            "body": self.body,
            "supersedes": self.supersedes,
            "changes": [change.as_dict() for change in self.changes],
        }


class Graph:
    """All that a note supersedes or is superseded by, and what else supersedes these."""

    def __init__(self, note_id: str) -> None:
        #: The note asked for.
        self.note_id = note_id
        #: In the order of the log; last those that are not in it.
        self.nodes: dict[str, Node] = {}
        #: Note -> those that supersede it.
        self.superseders: dict[str, list[str]] = {}

    def links(self) -> Iterator[Link]:
        """Yield the notes below and above the one asked for, nearest first; each once, so a circle ends."""
        for relation in (BELOW, ABOVE):
            seen = {self.note_id}
            layer = [self.note_id]
            depth = 0
            while layer:
                depth += 1
                ties = {name: item for item in layer for name in self._next(item, relation)}
                layer = [name for name in ties if name not in seen]
                seen.update(layer)
                for name in layer:
                    node = self.nodes[name]
                    yield Link(
                        relation=relation,
                        note_id=name,
                        status=node.status,
                        body=node.body,
                        depth=depth,
                        via=ties[name],
                    )

    def _next(self, note_id: str, relation: str) -> list[str]:
        if relation == ABOVE:
            return self.superseders.get(note_id, [])
        return self.nodes[note_id].supersedes if note_id in self.nodes else []


def graph(connection: sqlite3.Connection, note_id: str, point: Point) -> Graph:
    """Return the graph around a note as of a point; empty when the note was not there then."""
    # Edges are never removed: those of today are all there ever were.
    connected = notes.connected(connection, note_id)
    inner = {memory >> ORDINAL_BITS for memory in connected.values() if memory is not None}
    outer = notes.superseding_streams(connection, inner)
    building = _Building(note_id, connected)
    for event in past.events(connection, past.of_streams(connection, {*inner, *outer}, point)):
        building.add(event)
    return building.finish()


class _Building:
    """A graph that grows event by event."""

    def __init__(self, note_id: str, connected: Collection[str]) -> None:
        """`connected` are the notes asked for; others that supersede these are at the edge."""
        self._graph = Graph(note_id)
        self._connected = connected

    def add(self, event: Event) -> None:
        """Add what an event changed."""
        name, record = event.stream.name, event.record
        nodes = self._graph.nodes
        if isinstance(record, NoteSaved):
            body = None if event.erased else record.body
            nodes[name] = Node(
                note_id=name, namespace=event.stream.namespace, body=body, supersedes=record.supersedes
            )
            for target in record.supersedes:
                self._graph.superseders.setdefault(target, []).append(name)
            self._turn(event, name, record.status, None)
        elif isinstance(record, NoteStatusChanged) and name in nodes:
            self._turn(event, name, record.status, record.reason)

    def _turn(self, event: Event, name: str, status: str, reason: str | None) -> None:
        self._note(event, name, status, None, reason)
        for target in self._graph.nodes[name].supersedes:
            node = self._graph.nodes.get(target)
            if node is None or target not in self._connected:
                continue
            before = node.changes[-1]
            if self._visible(target, before.status) != before.visible:
                self._note(event, target, before.status, name, None)

    def _note(self, event: Event, name: str, status: str, because: str | None, reason: str | None) -> None:
        self._graph.nodes[name].changes.append(
            Change(
                position=event.position,
                recorded_at=event.recorded_at,
                status=status,
                visible=self._visible(name, status) if name in self._connected else None,
                because=because,
                reason=reason,
                provenance=event.provenance,
            )
        )

    def _visible(self, name: str, status: str) -> bool:
        above = self._graph.superseders.get(name, ())
        return status == ACCEPTED and not any(self._graph.nodes[item].status == ACCEPTED for item in above)

    def finish(self) -> Graph:
        """Add the notes that are named and not there, and return the graph."""
        graph = self._graph
        for node in list(graph.nodes.values()):
            for target in node.supersedes:
                # Else it is beside what was asked for: below a note above.
                if target not in graph.nodes and target in self._connected:
                    graph.nodes[target] = Node(note_id=target)
        for node in graph.nodes.values():
            node.supersedes = [target for target in node.supersedes if target in graph.nodes]
        return graph
