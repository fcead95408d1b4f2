"""One event as it stands in the log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from foldlog.events.encoding import decode, instant
from foldlog.events.provenance import Provenance, provenance
from foldlog.events.types import Record, Stream, carries_data, upcast
from foldlog.names import id_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One immutable change of memory."""

    #: Global, commit-ordered number; never reused.
    position: int
    event_id: bytes
    stream_id: int
    #: Names are empty once they have been erased.
    stream: Stream
    #: Number inside the stream, from 1.
    version: int
    schema_version: int
    record: Record
    #: The payload was erased: the record's data fields have their defaults.
    erased: bool
    provenance: Provenance
    #: When it happened, and when it was written here; UTC ms.
    occurred_at: int
    recorded_at: int
    hash: bytes
    #: Bytes of links and payload, to bound pages by.
    size: int

    @property
    def type(self) -> str:
        """The event's type, as stored."""
        return type(self.record).__name__

    @classmethod
    def from_row(cls, row: tuple[Any, ...]) -> Self:
        """Return the event of a row of statements.PAGE; raises UnknownEventType."""
        (position, event_id, stream_id, kind, namespace, name, version, type_name, schema_version, links,
         metadata, occurred_at, recorded_at, hashed, data) = row  # fmt: skip
        record = upcast(position, type_name, schema_version, decode(links), decode(data) if data else {})
        return cls(
            position=position,
            event_id=event_id,
            stream_id=stream_id,
            stream=Stream(kind=kind, namespace=namespace or "", name=name or ""),
            version=version,
            schema_version=schema_version,
            record=record,
            erased=data is None and carries_data(type_name),
            provenance=provenance(metadata),
            occurred_at=occurred_at,
            recorded_at=recorded_at,
            hash=hashed,
            size=len(links) + len(data or ""),
        )

    def as_dict(self) -> dict[str, Any]:
        """Return everything in the event, as JSON."""
        links, data = self.record.parts()
        return {
            "position": self.position,
            "event_id": id_text(self.event_id),
            "type": self.type,
            "stream": {
                "kind": self.stream.kind,
                "namespace": self.stream.namespace,
                "name": self.stream.name,
            },
            "version": self.version,
            "schema_version": self.schema_version,
            "links": links,
            "data": None if self.erased else data,
            "provenance": self.provenance.as_dict(),
            "occurred_at": instant(self.occurred_at).isoformat(),
            "recorded_at": instant(self.recorded_at).isoformat(),
            "hash": self.hash.hex(),
        }
