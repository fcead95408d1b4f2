"""Append: the one statement path by which anything gets into the log.

It runs inside a write transaction that took the lock first, so what it reads (ids, versions, the
last hash) cannot change before it commits. Outcomes: appended; already appended (same key, same
request: the first position); IdempotencyConflict; WrongExpectedVersion.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

from foldlog import metrics
from foldlog.errors import IdempotencyConflict, InvalidInput, WrongExpectedVersion
from foldlog.events import chain, statements
from foldlog.events.encoding import encode, request_digest
from foldlog.events.event import Event
from foldlog.events.provenance import NOBODY, Provenance
from foldlog.events.types import Record, Stream, carries_data
from foldlog.names import new_id_bytes

APPENDED: Final = "appended"
ALREADY_APPENDED: Final = "already appended"

#: Folds one event into the read model, in the transaction that appends it.
InlineFold = Callable[[sqlite3.Connection, Event], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request that may be repeated: its idempotency key, and what was asked for.

    `content` is the request as given (a ttl, not the instant it leads to), so that a repeat is
    recognised whatever the clock says.
    """

    namespace: str
    key: str
    content: Any

    def key_digest(self) -> bytes:
        """Return the digest under which the key is stored."""
        return sha256(f"{len(self.namespace)}:{self.namespace}{self.key}".encode()).digest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Appended:
    """Where an event stands in the log, and whether this append put it there."""

    position: int
    stream_id: int
    version: int
    #: `appended` or `already appended`.
    outcome: str
    #: How many things the event changes.
    count: int = 1


class Transaction:
    """One write transaction: it holds the log's write lock until it ends."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        *,
        now: int,
        genesis: bytes,
        fold: InlineFold,
        max_payload_bytes: int,
    ) -> None:
        self.connection = connection
        #: The instant of the whole transaction, UTC ms: one clock reading, taken under the lock.
        self.now = now
        self._fold = fold
        self._max_payload_bytes = max_payload_bytes
        position, last, recorded_at, min_writer = connection.execute(statements.HEAD).fetchone()
        #: The oldest format that may append.
        self.min_writer: int = min_writer
        self._position: int = position
        self._hash: bytes = last or genesis
        self._recorded_at: int = now if recorded_at is None else recorded_at
        #: How many events of each type were appended so far, and their bytes.
        self._appended: dict[str, int] = {}
        self._bytes = 0

    @property
    def position(self) -> int:
        """The last position given out, in this transaction or before it."""
        return self._position

    def stream_id(self, stream: Stream) -> int | None:
        """Return the stream's number, or None if nothing was ever appended to it."""
        found = self._find(stream)
        return found[0] if found else None

    def version(self, stream: Stream) -> int:
        """Return how many events the stream has."""
        found = self._find(stream)
        return self._version(found[0]) if found else 0

    def repeated(self, request: Request | None) -> Appended | None:
        """Return the first append of this request, if there was one.

        Raises IdempotencyConflict when the key was used for another request.
        """
        if request is None:
            return None
        row = self.connection.execute(statements.IDEMPOTENCY, (request.key_digest(),)).fetchone()
        if row is None:
            return None
        position, digest = row
        # An erased request has no digest left: its key still answers, whatever is asked now.
        if digest is not None and digest != request_digest(request.content):
            raise IdempotencyConflict(request.key, position)
        event = self.connection.execute(statements.EVENT_AT, (position,)).fetchone()
        return Appended(position=position, stream_id=event[2], version=event[6], outcome=ALREADY_APPENDED)

    def append(
        self,
        stream: Stream,
        record: Record,
        *,
        by: Provenance = NOBODY,
        request: Request | None = None,
        occurred_at: int | None = None,
        expected_version: int | None = None,
    ) -> Appended:
        """Append one event and fold it into the read model.

        Raises IdempotencyConflict, WrongExpectedVersion or InvalidInput; the caller's transaction
        must then be rolled back or go on without this event: nothing of it was written.
        """
        before = self.repeated(request)
        if before is not None:
            return before
        found = self._find(stream)
        version = self._version(found[0]) if found else 0
        if expected_version is not None and expected_version != version:
            raise WrongExpectedVersion(str(stream), expected_version, version)
        links, data = self._encode(record)
        stream_id, digest = found or self._new_stream(stream)
        draft = _Draft(
            stream=stream,
            stream_id=stream_id,
            name_digest=digest,
            version=version + 1,
            record=record,
            links=links,
            data=data,
            by=by,
            occurred_at=self.now if occurred_at is None else occurred_at,
        )
        event = self._insert(draft)
        if request is not None:
            self.connection.execute(
                statements.INSERT_IDEMPOTENCY,
                (request.key_digest(), event.position, request_digest(request.content)),
            )
        self._fold(self.connection, event)
        name = type(record).__name__
        self._appended[name] = self._appended.get(name, 0) + 1
        self._bytes += len(links.encode()) + len((data or "").encode())
        return Appended(position=event.position, stream_id=stream_id, version=event.version, outcome=APPENDED)

    def count(self) -> None:
        """Count what was appended; to be called when it is sure to stay."""
        for name, number in self._appended.items():
            metrics.count("appends", number, type=name)
        if self._appended:
            metrics.count("appended_bytes", self._bytes)

    def _find(self, stream: Stream) -> tuple[int, bytes] | None:
        key = (stream.namespace, stream.kind, stream.name)
        row: tuple[int, bytes] | None = self.connection.execute(statements.STREAM, key).fetchone()
        return row

    def _version(self, stream_id: int) -> int:
        version: int = self.connection.execute(statements.VERSION, (stream_id,)).fetchone()[0]
        return version

    def _new_stream(self, stream: Stream) -> tuple[int, bytes]:
        salt = chain.new_salt()
        digest = chain.stream_digest(salt, stream.kind, stream.namespace, stream.name)
        cursor = self.connection.execute(
            statements.INSERT_STREAM, (stream.kind, stream.namespace, stream.name, salt, digest)
        )
        assert cursor.lastrowid is not None
        return cursor.lastrowid, digest

    def _encode(self, record: Record) -> tuple[str, str | None]:
        links, data = record.parts()
        payload = encode(data) if carries_data(type(record).__name__) else None
        if payload is not None and len(payload) * 4 > self._max_payload_bytes:
            size = len(payload.encode())
            if size > self._max_payload_bytes:
                raise InvalidInput(
                    "payload",
                    f"is {size} bytes; at most {self._max_payload_bytes} are allowed "
                    "(FOLDLOG_MAX_PAYLOAD_BYTES)",
                )
        return encode(links), payload

    def _insert(self, draft: _Draft) -> Event:
        salt = chain.new_salt()
        position = self._position + 1
        columns: dict[str, Any] = {
            "position": position,
            "event_id": new_id_bytes(self.now),
            "stream_id": draft.stream_id,
            "version": draft.version,
            "type_name": type(draft.record).__name__,
            "schema_version": draft.record.schema_version,
            "links": draft.links,
            "metadata": encode(draft.by.as_dict()),
            "occurred_at": draft.occurred_at,
            "recorded_at": self.now,
            "data_digest": None if draft.data is None else chain.payload_digest(salt, draft.data),
        }
        hashed = chain.event_hash(self._hash, name_digest=draft.name_digest, **columns)
        execute = self.connection.execute
        execute(statements.INSERT_EVENT, (*columns.values(), hashed))
        if draft.data is not None:
            execute(statements.INSERT_PAYLOAD, (position, draft.data, salt))
        if draft.by.run is not None:
            execute(statements.INSERT_RUN, (draft.by.run, position))
        if self.now < self._recorded_at:
            execute(statements.INSERT_CLOCK_STEP, (position,))
        self._position, self._hash, self._recorded_at = position, hashed, self.now
        return draft.event(position, columns["event_id"], self.now, hashed)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Draft:
    """An event that is about to get its position."""

    stream: Stream
    stream_id: int
    name_digest: bytes
    version: int
    record: Record
    links: str
    data: str | None
    by: Provenance
    occurred_at: int

    def event(self, position: int, event_id: bytes, recorded_at: int, hashed: bytes) -> Event:
        return Event(
            position=position,
            event_id=event_id,
            stream_id=self.stream_id,
            stream=self.stream,
            version=self.version,
            schema_version=self.record.schema_version,
            record=self.record,
            erased=False,
            provenance=self.by,
            occurred_at=self.occurred_at,
            recorded_at=recorded_at,
            hash=hashed,
            size=len(self.links) + len(self.data or ""),
        )
