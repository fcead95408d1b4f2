"""Servings: who was given which memory, when, for which question, and how each of them stands today."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from foldlog.events import past
from foldlog.events.encoding import encode, instant
from foldlog.events.event import Event
from foldlog.events.provenance import Provenance, provenance
from foldlog.events.types import ContentRetained, FactSet, MessageSaved, MessagesSummarized
from foldlog.memory.standing import DELETED, ERASED, EXPIRED, TRIMMED, why_hidden
from foldlog.names import ORDINAL_BITS, memory_id
from foldlog.projections.document import FACT, MESSAGE, NOTE, fact_text, message_text, shown
from foldlog.projections.local import facts, memories, notes, threads

if TYPE_CHECKING:
    from foldlog.events.log import Log
    from foldlog.memory.recording import Recorder

#: What a memory that was given is today, if it can still be recalled; otherwise why it cannot.
AS_GIVEN: Final = "as given"
CHANGED: Final = "changed"

_COLUMNS: Final = "s.serving_id, s.served_at, s.head, s.status, s.query_digest, s.block_digest, s.metadata"
_LIST: Final = f"""
    SELECT {_COLUMNS} FROM foldlog_servings s WHERE s.serving_id < ? ORDER BY s.serving_id DESC LIMIT ?
"""
_OF_RUN: Final = f"""
    SELECT {_COLUMNS} FROM foldlog_servings s
    WHERE s.serving_id < ? AND s.run = ? ORDER BY s.serving_id DESC LIMIT ?
"""
_OF_RUN_BY: Final = f"""
    SELECT {_COLUMNS} FROM foldlog_servings s
    WHERE s.serving_id < ? AND s.run = ? AND s.head < ? ORDER BY s.serving_id DESC LIMIT ?
"""
_OF_MEMORY: Final = """
    SELECT serving_id FROM foldlog_served
    WHERE memory_id = ? AND serving_id < ? ORDER BY serving_id DESC LIMIT ?
"""
_NUMBERED: Final = f"""
    SELECT {_COLUMNS} FROM json_each(?) i CROSS JOIN foldlog_servings s ON s.serving_id = i.value
    ORDER BY s.serving_id DESC
"""
_SERVED: Final = """
    SELECT d.serving_id, d.memory_id, d.position, d.score FROM json_each(?) i
    CROSS JOIN foldlog_served d ON d.serving_id = i.value
    ORDER BY d.serving_id, d.score DESC, d.memory_id
"""
_STREAMS: Final = """
    SELECT s.stream_id, s.kind, s.namespace, s.name FROM json_each(?) i
    CROSS JOIN foldlog_streams s ON s.stream_id = i.value
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """One memory of an answer, as it was given, and as it stands today."""

    memory_id: int
    #: `fact`, `message`, `note` or `retained`.
    kind: str
    #: Names are empty once they have been erased.
    namespace: str
    id: str
    #: The position it had last been changed at.
    position: int
    score: float
    #: What it said then; None when that has been erased.
    text: str | None
    #: `as given`, `changed`, `superseded by ...`, `rejected`, `pending`, `summarised by ...`, `trimmed`,
    #: `expired`, `deleted` or `erased`.
    today: str

    def as_dict(self) -> dict[str, Any]:
        """Return the memory as JSON."""
        return {
            "kind": self.kind,
            "namespace": self.namespace,
            "id": self.id,
            "position": self.position,
            "score": round(self.score, 6),
            "text": self.text,
            "today": self.today,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """One answer of a recall."""

    #: In the order in which they were recorded.
    serving_id: int
    #: UTC ms.
    served_at: int
    #: Everything up to this position was taken into account.
    head: int
    #: `ok`, `partial` or `degraded`.
    status: str
    #: SHA-256 of the question and of the block, in hexadecimal digits.
    query_digest: str
    block_digest: str
    #: On whose behalf it was asked.
    provenance: Provenance
    #: Best first.
    memories: list[Served]

    def as_dict(self) -> dict[str, Any]:
        """Return the serving as JSON."""
        return {
            "serving_id": self.serving_id,
            "served_at": instant(self.served_at).isoformat(),
            "head": self.head,
            "status": self.status,
            "query_digest": self.query_digest,
            "block_digest": self.block_digest,
            "provenance": self.provenance.as_dict(),
            "memories": [item.as_dict() for item in self.memories],
        }


class Servings:
    """Look up which memories were given to whom, the newest first.

    They are kept as long as FOLDLOG_KEEP_SERVINGS_MS says, and recorded as well as it goes: see `dropped`.
    """

    def __init__(self, log: Log, recorder: Recorder | None) -> None:
        self._log = log
        self._recorder = recorder

    @property
    def dropped(self) -> int:
        """How many answers this process gave and could not record."""
        return self._recorder.dropped if self._recorder else 0

    def flush(self, timeout: float = 2.0) -> bool:
        """Wait at most `timeout` seconds until all of this process are recorded; say whether they are."""
        return self._recorder.flush(timeout) if self._recorder else True

    def recent(self, *, run: str | None = None, before: int | None = None, limit: int = 100) -> list[Serving]:
        """Return servings, of one run or all, that are older than one with the number `before`."""
        first = (1 << 62) if before is None else before
        with self._log.read() as connection:
            if run is None:
                return self._read(connection, connection.execute(_LIST, (first, limit)))
            return self._read(connection, connection.execute(_OF_RUN, (first, run, limit)))

    def of_run_before(self, run: str, position: int, *, limit: int = 100) -> list[Serving]:
        """Return what a run had been given when it wrote the event at a position."""
        with self._log.read() as connection:
            rows = connection.execute(_OF_RUN_BY, (1 << 62, run, position, limit))
            return self._read(connection, rows)

    def of_memories(
        self, ids: Iterable[int], *, before: int | None = None, limit: int = 100
    ) -> list[Serving]:
        """Return servings of memories, each with these memories alone."""
        wanted = set(ids)
        first = (1 << 62) if before is None else before
        with self._log.read() as connection:
            # The newest of each memory: one that everybody is given has very many.
            found = [
                row for memory in wanted for row in connection.execute(_OF_MEMORY, (memory, first, limit))
            ]
            numbers = sorted({number for (number,) in found}, reverse=True)[:limit]
            return self._read(connection, connection.execute(_NUMBERED, (encode(numbers),)), wanted)

    def _read(
        self, connection: sqlite3.Connection, rows: Iterable[Any], wanted: set[int] | None = None
    ) -> list[Serving]:
        listed = list(rows)
        numbers = [row[0] for row in listed]
        served = connection.execute(_SERVED, (encode(numbers),)).fetchall()
        chosen = [row for row in served if wanted is None or row[1] in wanted]
        standing = _Standing(connection, chosen, self._log.clock())
        memories_of: dict[int, list[Served]] = {number: [] for number in numbers}
        for number, memory, position, score in chosen:
            memories_of[number].append(standing.of(memory, position, score))
        return [_serving(row, memories_of[row[0]]) for row in listed]


def _serving(row: tuple[Any, ...], served: Sequence[Served]) -> Serving:
    number, served_at, head, status, query, block, metadata = row
    return Serving(
        serving_id=number,
        served_at=served_at,
        head=head,
        status=status,
        query_digest=query.hex(),
        block_digest=block.hex(),
        provenance=provenance(metadata),
        memories=list(served),
    )


class _Standing:
    """What the log says of memories that were given: then, and today."""

    def __init__(self, connection: sqlite3.Connection, served: Sequence[tuple[Any, ...]], now: int) -> None:
        ids = sorted({row[1] for row in served})
        streams = sorted({memory >> ORDINAL_BITS for memory in ids})
        rows = connection.execute(_STREAMS, (encode(streams),))
        self._streams = {stream: names for stream, *names in rows}
        self._current = memories.current(connection, ids, now)
        self._register = memories.register(connection, ids)
        positions = sorted({row[2] for row in served})
        self._events = {event.position: event for event in past.events(connection, positions)}
        self._notes = {item.memory_id: item for item in notes.by_memory(connection, self._of(NOTE, ids))}
        self._expired = {item.memory_id for item in facts.by_memory(connection, self._of(FACT, ids))}
        messages = threads.by_memory(connection, self._of(MESSAGE, ids))
        self._hidden_by = {item.memory_id: item.hidden_by for item in messages if item.hidden_by}
        hidden = sorted(set(self._hidden_by.values()))
        self._hiding = {event.position: event.record for event in past.events(connection, hidden)}

    def _of(self, kind: str, ids: Sequence[int]) -> list[int]:
        return [memory for memory in ids if self._kind(memory) == kind]

    def _kind(self, memory: int) -> str:
        kind = self._streams[memory >> ORDINAL_BITS][0]
        return MESSAGE if kind == "thread" else str(kind)

    def of(self, memory: int, position: int, score: float) -> Served:
        """Return what is to be said of one memory."""
        event = self._events.get(position)
        _, namespace, name = self._streams[memory >> ORDINAL_BITS]
        if event is not None and isinstance(event.record, MessageSaved | MessagesSummarized):
            name = event.record.message_id
        return Served(
            memory_id=memory,
            kind=self._kind(memory),
            namespace=namespace or "",
            id=name or "",
            position=position,
            score=score,
            text=self._text(memory, event),
            today=self._today(memory, position, event),
        )

    def _text(self, memory: int, event: Event | None) -> str | None:
        if memory in self._notes:
            return self._notes[memory].text or None
        return None if event is None or event.erased else _text_of(event)

    def _today(self, memory: int, position: int, event: Event | None) -> str:
        note = self._notes.get(memory)
        if memory in self._current:
            # A note's body never changes: a later position is one of its status.
            return AS_GIVEN if note is not None or self._register[memory][1] == position else CHANGED
        if note is not None:
            return why_hidden(note) or ERASED
        if memory in self._hidden_by:
            hiding = self._hiding[self._hidden_by[memory]]
            return f"summarised by {hiding.message_id}" if isinstance(hiding, MessagesSummarized) else TRIMMED
        if memory in self._expired:
            return EXPIRED
        return ERASED if event is not None and event.erased else DELETED


def _text_of(event: Event) -> str | None:
    """Return the text that an event gives to a fact, a message or a retained text."""
    record = event.record
    if isinstance(record, FactSet):
        return fact_text(event.stream.name, record.value)
    if isinstance(record, MessageSaved):
        return message_text(record.content)
    if isinstance(record, MessagesSummarized):
        return shown(record.text)
    return shown(record.content) if isinstance(record, ContentRetained) else None


def memory_of(event: Event) -> int:
    """Return the memory that an event gives its content."""
    record = event.record
    ordinal = record.ordinal if isinstance(record, MessageSaved | MessagesSummarized) else 0
    return memory_id(event.stream_id, ordinal)
