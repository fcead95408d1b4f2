"""The control schema: which logs, generations and workers there are, and how far each has folded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from psycopg import sql

from foldlog.projections.analysis import VERSION as ANALYSIS_VERSION
from foldlog.projections.hindsight.connection import Connection

#: Raised with every change of a generation's tables, or of what finds names; a test pins both to it.
LAYOUT: Final = 2

#: The control schema's newest revision; a test holds it against the tree `hindsight`.
SCHEMA_VERSION: Final = "0001"

_READY: Final = """
    SELECT (SELECT version_num FROM foldlog.alembic_version), l.name
    FROM foldlog.generations g JOIN foldlog.logs l USING (log_id)
    WHERE g.log_id = %s AND g.state = 'active'
"""

_GENERATION: Final = """
    generation_id, number, schema_name, layout, analysis, embedder, dimension, state, loaded_at, retired_at
"""
_ACTIVE: Final = f"SELECT {_GENERATION} FROM foldlog.generations WHERE log_id = %s AND state = 'active'"
_BY_ID: Final = f"SELECT {_GENERATION} FROM foldlog.generations WHERE generation_id = %s"
_LOG: Final = "SELECT log_id FROM foldlog.logs WHERE name = %s"
_ALL: Final = f"SELECT {_GENERATION} FROM foldlog.generations WHERE log_id = %s ORDER BY number"
_CHECKPOINT: Final = "SELECT position, hash FROM foldlog.checkpoints WHERE generation_id = %s"
_LOCK: Final = f"{_CHECKPOINT} FOR UPDATE SKIP LOCKED"
_MOVE: Final = """
    UPDATE foldlog.checkpoints SET position = %s, hash = %s, incarnation = %s, moved_at = %s,
        attempts = 0, last_error = NULL, failed_at = NULL, next_try = NULL
    WHERE generation_id = %s
"""
_FAILED: Final = """
    UPDATE foldlog.checkpoints SET attempts = attempts + 1, last_error = %s, failed_at = %s
    WHERE generation_id = %s
"""
_SEEN: Final = """
    INSERT INTO foldlog.workers (worker_id, log_id, started_at, seen_at, trouble)
    VALUES (%(worker)s, %(log)s, %(now)s, %(now)s, %(error)s)
    ON CONFLICT (worker_id) DO UPDATE SET seen_at = excluded.seen_at, trouble = excluded.trouble
"""
_FORGET_WORKERS: Final = "DELETE FROM foldlog.workers WHERE seen_at < %s"
_GONE: Final = "DELETE FROM foldlog.workers WHERE worker_id = %s"
_STATE: Final = """
    SELECT g.number, c.position, c.hash, c.moved_at, c.attempts, c.last_error, g.embedder,
        (SELECT count(*) FROM foldlog.parked p WHERE p.generation_id = g.generation_id)
    FROM foldlog.generations g JOIN foldlog.checkpoints c USING (generation_id)
    WHERE g.log_id = %s AND g.state = 'active'
"""
_WORKERS: Final = """
    SELECT worker_id, started_at, seen_at, trouble FROM foldlog.workers
    WHERE log_id = %s AND seen_at >= %s ORDER BY worker_id
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """What makes the vectors of a generation."""

    #: The embedder's fingerprint; None for an index without vectors.
    embedder: str | None
    dimension: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    """One complete build of the index."""

    generation_id: int
    #: 1 for the log's first.
    number: int
    schema_name: str
    #: Versions of its tables and of its words.
    layout: int
    analysis: int
    #: The fingerprint of what made its vectors, and their dimension; None without vectors.
    embedder: str | None
    dimension: int | None
    #: `building`, `verified`, `active` or `retired`.
    state: str
    #: When its indexes were made; until then it is only loaded, and cannot be searched.
    loaded_at: datetime | None
    #: When another one took its place; it is kept, and folded, for a while.
    retired_at: datetime | None

    @classmethod
    def from_row(cls, row: tuple[Any, ...]) -> Generation:
        """Return the generation of a row."""
        return cls(**dict(zip(_GENERATION.replace(",", " ").split(), row, strict=True)))

    @property
    def recipe(self) -> Recipe:
        """What makes its vectors."""
        return Recipe(embedder=self.embedder, dimension=self.dimension)

    @property
    def current(self) -> bool:
        """Say whether this code can fold into it and search it."""
        return self.layout == LAYOUT and self.analysis == ANALYSIS_VERSION


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """What the control schema says of a log's active generation."""

    number: int
    position: int
    hash: bytes
    moved_at: datetime
    attempts: int
    last_error: str | None
    embedder: str | None
    #: Events that were set aside.
    parked: int

    @classmethod
    def from_row(cls, row: tuple[Any, ...]) -> State:
        """Return the state of a row."""
        names = ("number", "position", "hash", "moved_at", "attempts", "last_error", "embedder", "parked")
        return cls(**dict(zip(names, row, strict=True)))


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerState:
    """The last sign of life of one worker process."""

    worker_id: str
    started_at: datetime
    seen_at: datetime
    #: What it cannot do at the moment, as reaching Redis; None when all is well.
    trouble: str | None


def ready(connection: Connection, log_id: bytes, name: str) -> bool:
    """Say whether the schema is the newest and the log has an active generation under this name.

    Raises UndefinedTable when there is no control schema.
    """
    return connection.execute(_READY, (log_id,)).fetchone() == (SCHEMA_VERSION, name)


def log_id(connection: Connection, name: str) -> bytes | None:
    """Return the id of the log that the index knows under a short name."""
    row = connection.execute(_LOG, (name,)).fetchone()
    return bytes(row[0]) if row else None


def active(connection: Connection, log_id: bytes) -> Generation | None:
    """Return the generation that answers questions, None before the first fold."""
    row = connection.execute(_ACTIVE, (log_id,)).fetchone()
    return Generation.from_row(row) if row else None


def by_id(connection: Connection, generation_id: int) -> Generation | None:
    """Return a generation."""
    row = connection.execute(_BY_ID, (generation_id,)).fetchone()
    return Generation.from_row(row) if row else None


def every(connection: Connection, log_id: bytes) -> list[Generation]:
    """Return all generations of a log that still exist, the oldest first."""
    return [Generation.from_row(row) for row in connection.execute(_ALL, (log_id,)).fetchall()]


def use(connection: Connection, generation: Generation) -> None:
    """Let this transaction find the generation's tables by their bare names."""
    # LOCAL: behind a pooler the next transaction may be somebody else's.
    path = sql.SQL("SET LOCAL search_path TO {}, foldlog, public")
    connection.execute(path.format(sql.Identifier(generation.schema_name)))


def checkpoint(connection: Connection, generation_id: int) -> tuple[int, bytes] | None:
    """Return (position, hash) of a generation's checkpoint."""
    row: tuple[int, bytes] | None = connection.execute(_CHECKPOINT, (generation_id,)).fetchone()
    return row


def lock(connection: Connection, generation_id: int) -> tuple[int, bytes] | None:
    """Lock a checkpoint until the transaction ends; None when somebody else has it."""
    row: tuple[int, bytes] | None = connection.execute(_LOCK, (generation_id,)).fetchone()
    return row


def move(connection: Connection, generation_id: int, position: int, hashed: bytes, incarnation: int) -> None:
    """Move a checkpoint that this transaction has locked."""
    connection.execute(_MOVE, (position, hashed, incarnation, utc_now(), generation_id))


def failed(connection: Connection, generation_id: int, error: str) -> None:
    """Note why a fold failed, for status to show."""
    connection.execute(_FAILED, (error, utc_now(), generation_id))


def seen(connection: Connection, worker: str, log_id: bytes, trouble: str | None) -> None:
    """Note a worker's sign of life."""
    given: Mapping[str, Any] = {"worker": worker, "log": log_id, "now": utc_now(), "error": trouble}
    connection.execute(_SEEN, given)


def gone(connection: Connection, worker: str) -> None:
    """Note that a worker stopped."""
    connection.execute(_GONE, (worker,))


def forget_workers(connection: Connection, before: datetime) -> None:
    """Forget workers that gave no sign of life since an instant."""
    connection.execute(_FORGET_WORKERS, (before,))


def state(connection: Connection, log_id: bytes) -> State | None:
    """Return the state of the active generation, None before the first fold."""
    row = connection.execute(_STATE, (log_id,)).fetchone()
    return State.from_row(row) if row else None


def workers(connection: Connection, log_id: bytes, since: datetime) -> list[WorkerState]:
    """Return the workers that gave a sign of life since an instant."""
    rows = connection.execute(_WORKERS, (log_id, since)).fetchall()
    return [
        WorkerState(worker_id=worker, started_at=started, seen_at=seen_at, trouble=error)
        for worker, started, seen_at, error in rows
    ]


def utc_now() -> datetime:
    """Return the wall clock's now; the database's own clock is never asked."""
    return datetime.now(UTC)
