"""The runner: takes a job's lease, runs it for a slice of time, and notes what came of it."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from foldlog import metrics
from foldlog.errors import FoldlogError, LogError, SettingsError
from foldlog.events.board import LEASE_MS, Board, retry_ms
from foldlog.workers.jobs.job import Job, Result, Work

if TYPE_CHECKING:
    from foldlog.memory import Memory

logger = logging.getLogger(__name__)

DONE: Final = "done"
FAILED: Final = "failed"
#: Another process has the job.
BUSY: Final = "busy"
#: Another process has just run it.
NOT_DUE: Final = "not due"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """How a run ended."""

    job: str
    #: `done`, `failed`, `busy` or `not due`.
    outcome: str
    result: Result | None = None
    error: str | None = None


class Runner:
    """Runs the jobs of one log, in one process; safe beside any number of others."""

    def __init__(
        self,
        memory: Memory,
        jobs: Mapping[str, Job],
        owner: str,
        *,
        slice_ms: int,
        stop: Callable[[], bool] = lambda: False,
    ) -> None:
        self._memory = memory
        self._jobs = jobs
        self._board = Board(memory.log, owner)
        self._slice_ms = slice_ms
        self._stop = stop
        #: The jobs that this process is at.
        self._running: set[str] = set()

    def due(self) -> list[str]:
        """Return the jobs that are to run now, and put those on the board that it does not know."""
        now = self._memory.log.clock()
        entries = self._board.entries()
        scheduled = {name: job.every_ms for name, job in self._jobs.items() if job.every_ms is not None}
        unknown = {
            name: now + every
            for name, every in scheduled.items()
            if name not in entries or entries[name].next_run is None
        }
        if unknown:
            self._board.schedule(unknown)
        return [
            name
            for name, every in scheduled.items()
            if name in entries and entries[name].due(now, every) and not entries[name].working(now)
        ]

    def run_due(self) -> list[Ran]:
        """Run every job that is due, one after the other."""
        return [self._run(self._jobs[name], only_due=self._jobs[name].every_ms) for name in self.due()]

    def run(
        self, name: str, *, dry_run: bool = False, progress: Callable[[int], None] = lambda done: None
    ) -> Ran:
        """Run one job now, to its end, due or not; a dry run takes no lease and notes nothing.

        Raises SettingsError for a job that is not scheduled and cannot run as it is set.
        """
        job = self._jobs[name]
        if dry_run:
            work = Work(memory=self._memory, now=self._memory.log.clock(), dry_run=True, progress=progress)
            return Ran(job=name, outcome=DONE, result=job.run(work))
        return self._run(job, progress=progress)

    def let_go(self) -> None:
        """Let others run at once what this process is at; for one that stops, and never raises.

        Whatever the run still does until the process ends, a second one does not do again.
        """
        for name in list(self._running):
            self._running.discard(name)
            # A log that is busy: then the job is free when its lease ends.
            with suppress(LogError):
                self._board.let_go(name)

    def _run(
        self,
        job: Job,
        *,
        only_due: int | None = None,
        progress: Callable[[int], None] = lambda done: None,
    ) -> Ran:
        entry = self._board.take(job.name, only_due=only_due)
        if entry is None:
            return Ran(job=job.name, outcome=BUSY if only_due is None else NOT_DUE)
        slice_ms = None if only_due is None or job.whole else self._slice_ms
        work = Work(
            memory=self._memory,
            now=self._memory.log.clock(),
            state=entry.result.get("state", {}),
            stop=_Lease(self._board, job.name, self._stop, slice_ms),
            progress=progress,
        )
        self._running.add(job.name)
        try:
            result = job.run(work)
        except Exception as error:
            if isinstance(error, SettingsError) and job.every_ms is None:
                # Nobody waits for it but whoever asked, and is told: status is not to show it for ever.
                self._board.withdraw(job.name)
                raise
            # Whatever a job meets, the others go on, and status shows it.
            return self._failed(job, error, entry.attempts)
        finally:
            self._running.discard(job.name)
        now = self._memory.log.clock()
        next_run = None if job.every_ms is None else now if result.more else now + job.every_ms
        self._board.done(job.name, result.as_dict() | {"state": dict(result.state)}, next_run)
        metrics.count("job_results", job=job.name, outcome=DONE)
        extra = {"action": "job_done", "job": job.name, "counts": dict(result.counts)}
        logger.info("job done", extra=extra)
        return Ran(job=job.name, outcome=DONE, result=result)

    def _failed(self, job: Job, error: Exception, attempts: int) -> Ran:
        reason = str(error) or type(error).__name__
        metrics.count("job_results", job=job.name, outcome=FAILED)
        extra = {"action": "job_failed", "job": job.name, "error": reason}
        if isinstance(error, FoldlogError):
            logger.warning("job failed", extra=extra)
        else:
            logger.error("job failed", exc_info=error, extra=extra)
        every = job.every_ms
        next_run = None if every is None else self._memory.log.clock() + retry_ms(attempts, every)
        self._board.failed(job.name, reason, next_run)
        return Ran(job=job.name, outcome=FAILED, error=reason)


class _Lease:
    """Says when a run is to stop, and keeps its lease meanwhile."""

    def __init__(self, board: Board, name: str, stop: Callable[[], bool], slice_ms: int | None) -> None:
        self._board = board
        self._name = name
        self._stop = stop
        self._ends = float("inf") if slice_ms is None else time.monotonic() + slice_ms / 1000
        self._kept = time.monotonic()

    def __call__(self) -> bool:
        now = time.monotonic()
        if self._stop() or now >= self._ends:
            return True
        if now - self._kept < LEASE_MS / 3000:
            return False
        self._kept = now
        # Lost: the clock jumped, or this process stood still; another one has the job now.
        return not self._board.keep(self._name)
