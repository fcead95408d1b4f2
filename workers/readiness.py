"""Whether a worker can do its work, and how far it is: what `/readyz` says and `/metrics` shows."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import Final, Protocol

import redis

from foldlog import composition, status
from foldlog.errors import LogError, ProjectionError, QueueUnavailable
from foldlog.events.log import Log
from foldlog.metrics import Key
from foldlog.projections.hindsight.session import Session
from foldlog.settings import Settings
from foldlog.workers import doorbell
from foldlog.workers.doorbell import Doorbell
from foldlog.workers.queues import JOBS, NEED_LOG

#: Every state that an index can be in.
STATES: Final = (
    status.OK, status.BUILDING, status.LAGGING, status.STALLED, status.DIVERGED, status.DOWN,
)  # fmt: skip

#: The states in which a worker does nothing of use.
UNREADY: Final = (status.STALLED, status.DIVERGED, status.DOWN)

#: Seconds for which an answer is good, and for which one is waited.
FRESH_SECONDS: Final = 1.0
PATIENCE_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What one look at the stores showed."""

    #: Why the worker is not ready; empty when it is.
    reasons: list[str] = field(default_factory=list)
    gauges: dict[Key, float] = field(default_factory=dict)


class Looker(Protocol):
    """What looks at the stores."""

    def look(self) -> Look:
        """Look once; never raises."""
        ...  # pragma: no cover


class Stores:
    """Looks at the log, the index and the queue with connections of its own."""

    def __init__(self, settings: Settings, queues: frozenset[str]) -> None:
        self._settings = settings
        self._queues = queues
        self._log: Log | None = None
        self._session: Session | None = None
        self._redis: redis.Redis | None = None

    def look(self) -> Look:
        """Look once; whatever cannot be reached is a reason."""
        reasons: list[str] = []
        gauges: dict[Key, float] = {}
        try:
            if self._queues & NEED_LOG:
                self._look_at_index(reasons, gauges)
            else:
                # A host without the log: the index must know it.
                composition.log_id(self._settings, self._postgres())
        except (LogError, ProjectionError) as error:
            reasons.append(str(error))
        except OSError as error:
            reasons.append(f"the log cannot be looked at: {error}")
        try:
            self._ring()
        except QueueUnavailable as error:
            reasons.append(str(error))
        return Look(reasons=reasons, gauges=gauges)

    def _postgres(self) -> Session:
        if self._session is None:
            url = composition.database_url(self._settings)
            self._session = Session(url, timeout_ms=self._settings.connect_timeout_ms)
        return self._session

    def _look_at_index(self, reasons: list[str], gauges: dict[Key, float]) -> None:
        if self._log is None:
            self._log = composition.open_log(self._settings)
        found = status.status(self._settings, self._log)
        gauges |= _gauges(found)
        # Jobs run without an index.
        if found.index.state in UNREADY and self._queues != {JOBS}:
            # It has said why; whatever else is wrong does not keep a worker from working.
            reasons += found.problems or [f"the index is {found.index.state}"]

    def _ring(self) -> None:
        if self._redis is None:
            self._redis = doorbell.client(composition.redis_url(self._settings))
        Doorbell(self._redis, b"", "ready").check()


def _gauges(found: status.Status) -> dict[Key, float]:
    index = found.index
    values: dict[str, float | None] = {
        "log_position": found.log.head,
        "log_bytes": found.log.size + found.log.wal_size,
        "index_position": index.position,
        "lag_events": index.lag_events,
        "lag_seconds": index.lag_seconds,
        "failed_folds": index.attempts,
        "parked_events": index.parked,
        "unembedded_texts": index.unembedded,
        # Their signs of life are in Postgres.
        "workers": None if index.state == status.DOWN else len(found.workers),
    }
    gauges: dict[Key, float] = {(name, ()): value for name, value in values.items() if value is not None}
    for state in STATES:
        gauges["index_state", (("state", state),)] = float(state == index.state)
    return gauges


class Readiness:
    """Looks when somebody asks, at most once a second, and lets nobody wait for a store that hangs."""

    def __init__(self, stores: Looker) -> None:
        self._stores = stores
        self._changed = threading.Condition()
        self._looking = False
        self._last = Look(reasons=["not looked yet"])
        self._looked_at = 0.0

    def now(self) -> Look:
        """Return what the stores are like now."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        with self._changed:
            asked = time.monotonic()
            while self._looked_at < asked - FRESH_SECONDS:
                if not self._looking:
                    self._looking = True
                    threading.Thread(target=self._look, name="foldlog-look", daemon=True).start()
                if not self._changed.wait(deadline - time.monotonic()):
                    hangs = f"the stores did not answer within {PATIENCE_SECONDS:g} s"
                    return Look(reasons=[hangs], gauges={})
            return self._last

    def _look(self) -> None:
        found = Look(reasons=["the look at the stores failed; see the log"])
        try:
            found = self._stores.look()
        finally:
            with self._changed:
                self._last, self._looked_at, self._looking = found, time.monotonic(), False
                self._changed.notify_all()
