"""The job ttl: facts whose time has passed leave the read model and the index.

No read shows an expired fact in any case; this only tidies. It costs what has expired, not what there is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from foldlog.events.provenance import Provenance
from foldlog.settings import Settings
from foldlog.workers.jobs.job import Result, Work

#: Facts that leave in one transaction.
BATCH: Final = 500

#: A clock that differs from Postgres' by more than that is not to be trusted with what it ends.
MAX_SKEW_MS: Final = 120_000

BY: Final = Provenance(actor="job:ttl")


class TtlJob:
    """Appends FactExpired for what has expired some minutes ago, in the version it saw."""

    name = "ttl"
    whole = False

    def __init__(self, settings: Settings, other_clock: Callable[[], int | None]) -> None:
        """`other_clock` returns Postgres' clock in UTC ms, None when it does not answer."""
        self.every_ms = settings.ttl_every_ms or None
        self._grace_ms = settings.ttl_grace_ms
        self._other_clock = other_clock

    def run(self, work: Work) -> Result:
        """Collect what is due, until there is nothing more or the run is to stop."""
        facts = work.memory.facts
        due = facts.expired(1, older_than_ms=self._grace_ms)
        if not due:
            return Result(counts={"expired": 0})
        other = self._other_clock()
        if other is not None and abs(other - work.now) > MAX_SKEW_MS:
            seconds = abs(other - work.now) // 1000
            reason = f"nothing was collected: this clock and Postgres' differ by {seconds} s; set them right"
            return Result(problems=[reason])
        if work.dry_run:
            return Result(counts={"expired": facts.count_expired(older_than_ms=self._grace_ms)})
        done = 0
        while not work.stop():
            found = facts.collect(BATCH, older_than_ms=self._grace_ms, by=BY)
            done += found
            work.progress(done)
            if found < BATCH:
                return Result(counts={"expired": done})
        return Result(counts={"expired": done}, more=True)
