"""The board of jobs in the log's file: who works on what until when, what came of it, when it is due again.

It is in the log's file, not in Postgres: jobs run while Postgres is down. These are records of work, not
events: nothing folds them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from foldlog.events.log import Log

#: How long a lease lasts unless it is kept: a worker that was killed blocks its job no longer.
LEASE_MS: Final = 60_000

#: After a failed run the next try comes after so long, then twice as long, up to the job's own interval.
FIRST_RETRY_MS: Final = 10_000

_COLUMNS: Final = """
    name, lease_owner, lease_until, next_run, started_at, finished_at, attempts, result, error
"""
_ROWS: Final = f"SELECT {_COLUMNS} FROM foldlog_jobs ORDER BY name"
_ROW: Final = f"SELECT {_COLUMNS} FROM foldlog_jobs WHERE name = ?"
_SCHEDULE: Final = """
    INSERT INTO foldlog_jobs (name, next_run) VALUES (:name, :next_run)
    ON CONFLICT (name) DO UPDATE SET next_run = excluded.next_run WHERE next_run IS NULL
"""
# A lease that ends later than any that is given now was given by a clock that was wrong.
_TAKE: Final = """
    UPDATE foldlog_jobs SET lease_owner = :owner, lease_until = :now + :lease, started_at = :now,
        attempts = attempts + 1
    WHERE name = :name AND (lease_until IS NULL OR lease_until < :now OR lease_until > :now + :lease)
"""
_KEEP: Final = (
    "UPDATE foldlog_jobs SET lease_until = :now + :lease WHERE name = :name AND lease_owner = :owner"
)
_DONE: Final = """
    UPDATE foldlog_jobs SET lease_owner = NULL, lease_until = NULL, finished_at = :now, next_run = :next_run,
        attempts = 0, result = :result, error = NULL
    WHERE name = :name AND lease_owner = :owner
"""
_FAILED: Final = """
    UPDATE foldlog_jobs SET lease_owner = NULL, lease_until = NULL, finished_at = :now, next_run = :next_run,
        error = :error
    WHERE name = :name AND lease_owner = :owner
"""
_LET_GO: Final = """
    UPDATE foldlog_jobs SET lease_owner = NULL, lease_until = NULL, attempts = max(attempts - 1, 0)
    WHERE name = :name AND lease_owner = :owner
"""

_WITHDRAW: Final = (
    "DELETE FROM foldlog_jobs WHERE name = :name AND lease_owner = :owner AND finished_at IS NULL"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What the board says of one job; instants are UTC ms."""

    name: str
    lease_owner: str | None
    lease_until: int | None
    next_run: int | None
    started_at: int | None
    finished_at: int | None
    #: Runs that were begun since the last one that succeeded.
    attempts: int
    #: What the last run that succeeded did, and what it left for the next.
    result: Mapping[str, Any]
    #: Why the last run failed; None when it did not.
    error: str | None

    def working(self, now: int) -> bool:
        """Say whether somebody has the job."""
        return self.lease_until is not None and now <= self.lease_until <= now + LEASE_MS

    def due(self, now: int, every_ms: int) -> bool:
        """Say whether the job is to run now; one that is due later than it ever would be was set wrongly."""
        return self.next_run is not None and not now < self.next_run <= now + every_ms


class Board:
    """The jobs of one log."""

    def __init__(self, log: Log, owner: str) -> None:
        """`owner` is the name of this process, unique among all that work on the log."""
        self._log = log
        self._owner = owner

    def entries(self) -> dict[str, Entry]:
        """Return what the board says, by job."""
        with self._log.read() as connection:
            return {row[0]: _entry(row) for row in connection.execute(_ROWS)}

    def schedule(self, due: Mapping[str, int]) -> None:
        """Set when jobs are due for the first time, UTC ms; what somebody else set stays."""
        with self._log.write() as transaction:
            transaction.connection.executemany(
                _SCHEDULE, [{"name": name, "next_run": at} for name, at in due.items()]
            )

    def take(self, name: str, *, only_due: int | None = None) -> Entry | None:
        """Take a job's lease; None when another process has it.

        With `only_due`, the job's interval in ms, also None when it is no longer due: another process was
        quicker.
        """
        now = self._log.clock()
        given = {"name": name, "owner": self._owner, "now": now, "lease": LEASE_MS}
        with self._log.write() as transaction:
            row = transaction.connection.execute(_ROW, (name,)).fetchone()
            if row is None:
                transaction.connection.execute(_SCHEDULE, {"name": name, "next_run": now})
            elif only_due is not None and not _entry(row).due(now, only_due):
                return None
            if not transaction.connection.execute(_TAKE, given).rowcount:
                return None
            return _entry(transaction.connection.execute(_ROW, (name,)).fetchone())

    def keep(self, name: str) -> bool:
        """Extend the lease; say whether it is still ours."""
        return self._change(_KEEP, name, lease=LEASE_MS)

    def let_go(self, name: str) -> bool:
        """Give up the lease of a run that came to no end, as if it had not begun; say whether it was ours."""
        return self._change(_LET_GO, name)

    def withdraw(self, name: str) -> bool:
        """Give up the lease of a run that could not begin, and forget a job that never ended a run."""
        return self._change(_WITHDRAW, name) or self.let_go(name)

    def done(self, name: str, result: Mapping[str, Any], next_run: int | None) -> bool:
        """Note what a run did, and when the next is due; say whether the lease was still ours."""
        return self._change(_DONE, name, result=json.dumps(result), next_run=next_run)

    def failed(self, name: str, error: str, next_run: int | None) -> bool:
        """Note why a run failed, and when the next is due; say whether the lease was still ours."""
        return self._change(_FAILED, name, error=error, next_run=next_run)

    def _change(self, statement: str, name: str, **given: object) -> bool:
        with self._log.write() as transaction:
            values = {"name": name, "owner": self._owner, "now": self._log.clock()} | given
            return transaction.connection.execute(statement, values).rowcount == 1


def retry_ms(attempts: int, every_ms: int) -> int:
    """Return after how long a job that failed so many times in a row is tried again."""
    return min(every_ms, FIRST_RETRY_MS << min(attempts - 1, 20))


def _entry(row: Iterable[Any]) -> Entry:
    name, owner, until, next_run, started, finished, attempts, result, error = row
    return Entry(
        name=name,
        lease_owner=owner,
        lease_until=until,
        next_run=next_run,
        started_at=started,
        finished_at=finished,
        attempts=attempts,
        result={} if result is None else json.loads(result),
        error=error,
    )
