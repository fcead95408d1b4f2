"""Verification: does the log still say what was written?

Neither SQLite's integrity check nor a count notices a flipped bit of a payload or a plain UPDATE;
the hash chain does. What an unanchored chain cannot show is an owner who rewrites all of it: compare
with an anchor (position and hash) kept elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from foldlog.errors import InvalidInput
from foldlog.events import chain, statements
from foldlog.events.log import Log

PAGE_ROWS = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchor:
    """A position and its hash, noted at some earlier time, best on another machine."""

    position: int
    hash: bytes

    def __str__(self) -> str:
        return f"{self.position}:{self.hash.hex()}"

    @classmethod
    def parse(cls, text: str) -> Anchor:
        """Read POSITION:HASH; raises InvalidInput."""
        number, _, digest = text.partition(":")
        try:
            position, hashed = int(number), bytes.fromhex(digest)
        except ValueError:
            raise InvalidInput("anchor", f"must be POSITION:HASH, not {text!r}") from None
        if position < 0 or len(hashed) != 32:
            raise InvalidInput("anchor", f"must be a position and 64 hexadecimal digits, not {text!r}")
        return cls(position=position, hash=hashed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One thing that is wrong, where, and in which stream."""

    position: int
    problem: str
    stream: str = ""


@dataclass(kw_only=True)
class Report:
    """What verification saw; faults are in order of position, the first of each stream."""

    events: int = 0
    erased: int = 0
    anchor: Anchor = field(default_factory=lambda: Anchor(position=0, hash=b""))
    faults: list[Fault] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Say whether nothing is wrong."""
        return not self.faults


def verify(
    log: Log, *, expect: Anchor | None = None, progress: Callable[[int], None] | None = None
) -> Report:
    """Check the chain, every digest, the versions of every stream, and the end of the log.

    Reads in short transactions, so writers go on meanwhile. `progress` is told the position.
    """
    walk = _Walk(log, expect)
    after = 0
    while rows := _rows(log, after):
        for row in rows:
            walk.check(row)
        after = rows[-1].position
        if progress is not None:
            progress(after)
    walk.finish()
    return walk.report


class _Row(NamedTuple):
    """One row of statements.CHAIN."""

    position: int
    event_id: bytes
    stream_id: int
    version: int
    type_name: str
    schema_version: int
    links: str
    metadata: str
    occurred_at: int
    recorded_at: int
    data_digest: bytes | None
    hash: bytes
    kind: str | None
    namespace: str | None
    name: str | None
    name_salt: bytes | None
    name_digest: bytes | None
    data: str | None
    salt: bytes | None

    def stream(self) -> str:
        return f"{self.kind} {self.namespace} {self.name}".encode(errors="replace").decode()


def _rows(log: Log, after: int) -> list[_Row]:
    with log.read() as connection:
        # A flipped bit can make a text that is no UTF-8: it is a fault to report, not an error to raise.
        connection.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
        try:
            return [_Row(*row) for row in connection.execute(statements.CHAIN, (after, PAGE_ROWS))]
        finally:
            connection.text_factory = str


class _Walk:
    """The state of one verification: the last hash, and the last version of every stream."""

    def __init__(self, log: Log, expect: Anchor | None) -> None:
        self.log = log
        self.expect = expect
        self.report = Report()
        self.previous = chain.genesis(log.meta.log_id)
        self.position = 0
        self.versions: dict[int, int] = {}
        self.faulty: set[int] = set()
        if expect is not None and expect.position == 0 and expect.hash != self.previous:
            self._fault(0, "the log's beginning differs from the anchor: this is another log")

    def check(self, row: _Row) -> None:
        """Check one event against the one before and against its own digests."""
        expected = chain.event_hash(
            self.previous,
            position=row.position,
            event_id=row.event_id,
            stream_id=row.stream_id,
            name_digest=row.name_digest or b"",
            version=row.version,
            type_name=row.type_name,
            schema_version=row.schema_version,
            links=row.links,
            metadata=row.metadata,
            occurred_at=row.occurred_at,
            recorded_at=row.recorded_at,
            data_digest=row.data_digest,
        )
        if row.hash != expected:
            self._fault(row.position, "the hash does not follow from the event before it", row)
        if row.name is not None and row.name_digest != chain.stream_digest(
            row.name_salt or b"", row.kind or "", row.namespace or "", row.name
        ):
            self._fault(row.position, "the stream's name was changed", row)
        self._check_payload(row)
        last = self.versions.get(row.stream_id, 0)
        if row.version != last + 1:
            self._fault(row.position, f"version {row.version} follows version {last}", row)
        self.versions[row.stream_id] = row.version
        self._check_anchor(row.position, row.hash)
        self.previous, self.position = row.hash, row.position
        self.report.events += 1

    def _check_payload(self, row: _Row) -> None:
        if row.data is None:
            self.report.erased += row.data_digest is not None
        elif row.data_digest != chain.payload_digest(row.salt or b"", row.data):
            self._fault(row.position, "the payload was changed", row)

    def _check_anchor(self, position: int, hashed: bytes) -> None:
        if self.expect is not None and position == self.expect.position and hashed != self.expect.hash:
            self._fault(position, "the hash differs from the anchor: the log was rewritten up to here")

    def finish(self) -> None:
        """Check what only the end can tell: a tail that was cut off, payloads of nothing."""
        with self.log.read() as connection:
            counter = connection.execute(statements.HEAD).fetchone()[0]
            orphans = connection.execute(statements.ORPHAN_PAYLOADS).fetchall()
            head = connection.execute(statements.HEAD_POSITION).fetchone()[0]
        if counter > head:
            self._fault(head + 1, f"the tail is missing: positions up to {counter} were given out")
        if self.expect is not None and self.expect.position > head:
            self._fault(head + 1, f"the log ends before the anchor at {self.expect.position}")
        for (position,) in orphans:
            self._fault(position, "a payload without its event")
        self.report.anchor = Anchor(position=self.position, hash=self.previous)

    def _fault(self, position: int, problem: str, row: _Row | None = None) -> None:
        # One fault a stream: what follows from it would only hide the others.
        if row is None:
            self.report.faults.append(Fault(position=position, problem=problem))
        elif row.stream_id not in self.faulty:
            self.faulty.add(row.stream_id)
            self.report.faults.append(Fault(position=position, problem=problem, stream=row.stream()))
