"""Status: is everything written, and is it folded? Four signals, since lag alone lies.

The head is read from the log itself; lag is counted in events and in seconds of the oldest event that
is not folded; workers give signs of life; and a checkpoint that does not move while there is lag is a
stall, however small the lag.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from foldlog import composition
from foldlog.errors import Diverged, ProjectionError
from foldlog.events import statements
from foldlog.events.board import Board
from foldlog.events.encoding import instant
from foldlog.events.log import Log
from foldlog.settings import Settings

if TYPE_CHECKING:
    from foldlog.projections.hindsight.control import State

#: A worker that gave no sign of life for so long is not running.
WORKER_SECONDS: Final = 15

#: A job that nobody ran so long after it was due is reported.
OVERDUE_MS: Final = 300_000

#: A clock this far behind the log's last event is reported.
CLOCK_SKEW_MS: Final = 1000

OK: Final = "ok"
LAGGING: Final = "lagging"
STALLED: Final = "stalled"
DIVERGED: Final = "diverged"
#: Postgres cannot be used; nothing runs, or was ever set.
DOWN: Final = "down"
#: There is an index, and nothing was folded into it yet.
BUILDING: Final = "building"


@dataclass(frozen=True, slots=True, kw_only=True)
class LogStatus:
    """The log's file."""

    path: str
    log_id: str
    #: The last position; 0 for an empty log.
    head: int
    #: When the last event was recorded; None for an empty log.
    recorded_at: datetime | None
    #: Bytes of the file, and of its write-ahead log.
    size: int
    wal_size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexStatus:
    """The Hindsight index of the log."""

    #: `ok`, `building`, `lagging`, `stalled`, `diverged` or `down`.
    state: str
    generation: int | None = None
    position: int | None = None
    #: Events that are not folded, and the age of the oldest of them.
    lag_events: int | None = None
    lag_seconds: float | None = None
    #: When the checkpoint last moved.
    moved_at: datetime | None = None
    #: Failed folds since then, and why the last one failed.
    attempts: int = 0
    last_error: str | None = None
    #: Events that were set aside because they could not be folded.
    parked: int = 0
    #: What made its vectors; None for an index without vectors.
    embedder: str | None = None
    #: Texts that have no vector yet, and why the last one that failed did.
    unembedded: int = 0
    embedding_error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker:
    """A worker process that gave a sign of life."""

    worker_id: str
    seen_at: datetime
    #: What it cannot do at the moment, as reaching Redis; None when all is well.
    trouble: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What came of a job, and when it is due again."""

    name: str
    #: Who works on it at this moment; None: nobody.
    owner: str | None
    finished_at: datetime | None
    #: When it is due; None: only when asked for.
    next_run: datetime | None
    #: Why the last run failed; None when it did not.
    error: str | None
    #: What the last run that succeeded did, and what it found wrong.
    counts: dict[str, int]
    problems: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """Everything there is to say; `problems` says what is wrong and what to do."""

    log: LogStatus
    index: IndexStatus
    workers: list[Worker] = field(default_factory=list)
    jobs: list[Job] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @property
    def fine(self) -> bool:
        """Say whether nothing needs anybody's attention."""
        return not self.problems

    def as_dict(self) -> dict[str, Any]:
        """Return the status as JSON."""
        return {"fine": self.fine, **_plain(asdict(self))}


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value.isoformat() if isinstance(value, datetime) else value


def status(settings: Settings, log: Log) -> Status:
    """Look at the log, the index, the workers and the jobs; raises LogError when the log cannot be read."""
    problems: list[str] = []
    log_status = _log(log, problems)
    try:
        index, workers = _index(settings, log, log_status.head, problems)
    except ProjectionError as error:
        problems.append(str(error))
        state = DIVERGED if isinstance(error, Diverged) else DOWN
        index, workers = IndexStatus(state=state, last_error=str(error)), []
    jobs = _jobs(log, problems)
    return Status(log=log_status, index=index, workers=workers, jobs=jobs, problems=problems)


def _jobs(log: Log, problems: list[str]) -> list[Job]:
    now = log.clock()
    found = []
    for name, entry in Board(log, "status").entries().items():
        job = Job(
            name=name,
            owner=entry.lease_owner if entry.working(now) else None,
            finished_at=_instant(entry.finished_at),
            next_run=_instant(entry.next_run),
            error=entry.error,
            counts=entry.result.get("counts", {}),
            problems=entry.result.get("problems", []),
        )
        if job.error is not None:
            problems.append(f"the job {name} failed: {job.error}")
        problems += [f"the job {name} found: {item}" for item in job.problems]
        if entry.next_run is not None and now > entry.next_run + OVERDUE_MS and job.owner is None:
            due = instant(entry.next_run).isoformat(timespec="seconds")
            problems.append(
                f"the job {name} was due at {due}, and nobody ran it; run `foldlog up`, or a worker"
            )
        found.append(job)
    return found


def _instant(stamp: int | None) -> datetime | None:
    return None if stamp is None else instant(stamp)


def _log(log: Log, problems: list[str]) -> LogStatus:
    with log.read() as connection:
        head = connection.execute(statements.HEAD_POSITION).fetchone()[0]
        row = connection.execute(statements.RECORDED_AT, (head,)).fetchone()
    recorded = row[0] if row else None
    if recorded is not None and log.clock() < recorded - CLOCK_SKEW_MS:
        problems.append(
            f"the clock is behind the log's last event ({instant(recorded).isoformat()}); set it right: "
            "facts would expire late"
        )
    wal = log.path.with_name(log.path.name + "-wal")
    return LogStatus(
        path=str(log.path),
        log_id=log.meta.log_id.hex(),
        head=head,
        recorded_at=None if recorded is None else instant(recorded),
        size=log.path.stat().st_size,
        wal_size=wal.stat().st_size if wal.exists() else 0,
    )


def _index(settings: Settings, log: Log, head: int, problems: list[str]) -> tuple[IndexStatus, list[Worker]]:
    from foldlog.projections.hindsight.session import Session

    session = Session(composition.database_url(settings), timeout_ms=settings.connect_timeout_ms)
    try:
        target = composition.projection(settings, log, session)
        state, seen = target.state(datetime.now(UTC) - timedelta(seconds=WORKER_SECONDS))
        unembedded, embedding_error = target.unembedded() if state else (0, None)
    finally:
        session.close()
    workers = [Worker(worker_id=item.worker_id, seen_at=item.seen_at, trouble=item.trouble) for item in seen]
    problems += [f"worker {item.worker_id}: {item.trouble}" for item in workers if item.trouble]
    if state is None:
        problems.append("the index has folded nothing yet; run `foldlog up`, or `foldlog backfill`")
        return IndexStatus(state=BUILDING), workers
    lag = head - state.position
    lag_seconds = _age(log, state.position, head)
    same = log.hash_at(state.position) == state.hash
    name = _state(settings, state, lag, lag_seconds) if same else DIVERGED
    problems += _index_problems(name, lag, bool(workers), state.last_error)
    problems += _vector_problems(settings, state.embedder, unembedded, embedding_error)
    found = IndexStatus(
        state=name,
        generation=state.number,
        position=state.position,
        lag_events=lag,
        lag_seconds=lag_seconds,
        moved_at=state.moved_at,
        attempts=state.attempts,
        last_error=state.last_error,
        parked=state.parked,
        embedder=state.embedder,
        unembedded=unembedded,
        embedding_error=embedding_error,
    )
    return found, workers


def _vector_problems(
    settings: Settings, embedder: str | None, unembedded: int, error: str | None
) -> list[str]:
    found = []
    if unembedded and error:
        found.append(f"{unembedded} texts wait for their vectors, words find them meanwhile: {error}")
    wanted = composition.recipe(settings).embedder
    if wanted != embedder:
        found.append(
            f"the index's vectors were made by {embedder or 'nothing'}, the settings name "
            f"{wanted or 'none'}; run `foldlog rebuild`"
        )
    return found


def _age(log: Log, position: int, head: int) -> float:
    """Return the age of the oldest event after a position, in seconds."""
    if position >= head:
        return 0.0
    with log.read() as connection:
        first = connection.execute(statements.FIRST_AFTER, (position,)).fetchone()[0]
        recorded = connection.execute(statements.RECORDED_AT, (first,)).fetchone()[0]
    return float(max(0, log.clock() - recorded)) / 1000


def _state(settings: Settings, state: State, lag: int, lag_seconds: float) -> str:
    if lag <= 0:
        return OK
    still = (datetime.now(UTC) - state.moved_at).total_seconds()
    if min(still, lag_seconds) * 1000 > settings.stalled_ms:
        return STALLED
    return LAGGING


def _index_problems(name: str, lag: int, any_worker: bool, last_error: str | None) -> list[str]:
    found = []
    if name == DIVERGED:
        found.append(
            "the index was folded from another history than this log's; if the log was restored from a "
            "backup, run `foldlog rebuild`"
        )
    if lag > 0 and not any_worker:
        found.append(f"no worker is running, and {lag} events wait; run `foldlog up`, or `foldlog worker`")
    if name == STALLED and any_worker:
        found.append(f"folding stands still, and {lag} events wait; see the last error and the worker's log")
    if last_error and lag > 0:
        found.append(f"the last fold failed: {last_error}")
    return found
