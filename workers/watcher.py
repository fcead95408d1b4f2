"""The watcher: a thread of each worker process that looks at what is due and wakes whoever does it.

Writers never meet the queue: they only append. The watcher sends one message for whatever is new,
and when Redis is away it says so and has the work done in this process.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Sequence
from typing import Final, Protocol

from foldlog.errors import ProjectionError, QueueUnavailable
from foldlog.workers.doorbell import Doorbell
from foldlog.workers.lifeline import Lifeline
from foldlog.workers.pulse import Pulse

logger = logging.getLogger(__name__)

#: Seconds between two signs of life.
HEARTBEAT_SECONDS: Final = 3.0

#: Seconds until a loop that failed looks again.
BACKOFF_SECONDS: Final = 1.0

#: Most seconds between two pieces of work that are done without messages.
REST_SECONDS: Final = 0.3

#: Seconds for which a Redis that did not answer is not asked again: a black hole costs a second each time.
AWAY_SECONDS: Final = 2.0


class Duty(Protocol):
    """One kind of work that a worker looks out for."""

    @property
    def trouble(self) -> str | None:
        """What it cannot do at the moment; None when all is well."""
        ...  # pragma: no cover

    @property
    def blocked(self) -> str | None:
        """Why a worker is of no use as long as it cannot do this; None when it is of use."""
        ...  # pragma: no cover

    def look(self, now: float) -> None:
        """Wake whoever does the work, if there is any; `now` is the monotonic clock's, in seconds."""
        ...  # pragma: no cover

    def tidy(self) -> None:
        """Do what is due now and then; a Postgres that is away is no error."""
        ...  # pragma: no cover


class Signs(Protocol):
    """Where signs of life are kept."""

    def seen(self, worker: str, trouble: str | None) -> None:
        """Note a sign of life; raises ProjectionError."""
        ...  # pragma: no cover

    def gone(self, worker: str) -> None:
        """Note that a worker stopped; raises ProjectionError."""
        ...  # pragma: no cover


def worker_name() -> str:
    """Return the name of this process among all that work on a log."""
    return f"{socket.gethostname()}:{os.getpid()}"


class Watcher(threading.Thread):
    """Looks, and gives signs of life, until it is stopped."""

    def __init__(
        self,
        duties: Sequence[Duty],
        signs: Signs,
        bell: Doorbell,
        lifeline: Lifeline,
        pulse: Pulse,
        *,
        stopping: threading.Event,
        alarm: threading.Event,
        poll_seconds: float,
    ) -> None:
        """`alarm` is set by whoever finds the queue away."""
        super().__init__(name="foldlog-watcher", daemon=True)
        self._duties = duties
        self._signs = signs
        self._bell = bell
        self._lifeline = lifeline
        self._pulse = pulse
        self._stopping = stopping
        self._alarm = alarm
        self._poll_seconds = poll_seconds
        self._worker = worker_name()
        self._beat_at = 0.0
        #: The duties' trouble at the last sign of life, and what was told then.
        self._own: str | None = None
        self._told: str | None = None

    def run(self) -> None:
        """Look until the process is to stop."""
        while not self._stopping.wait(self._poll_seconds):
            try:
                self._look(time.monotonic())
            except Exception as error:
                # The loop must outlive whatever happens in one look, and status must show it.
                logger.exception("the watcher failed", extra={"action": "watcher_failed"})
                self._told = f"the watcher failed: {error}"
                self._sign()
                self._beat_at = 0.0
                self._stopping.wait(BACKOFF_SECONDS)
        try:
            self._signs.gone(self._worker)
        except ProjectionError as error:
            logger.info("left without a word", extra={"action": "goodbye_failed", "error": str(error)})

    def _look(self, now: float) -> None:
        # Before all that could fail: an orphan must end whatever state its stores are in.
        self._lifeline.check()
        self._pulse.beat(now, next((duty.blocked for duty in self._duties if duty.blocked), None))
        # First, since the first look makes the database ready for signs of life.
        for duty in self._duties:
            duty.look(now)
        # Trouble is told at once: status must not say that all is well for another heartbeat.
        alarmed = self._alarm.is_set() and self._told is None
        if now >= self._beat_at or alarmed or self._trouble() != self._own:
            self._beat_at = now + HEARTBEAT_SECONDS
            self._give_sign()

    def _trouble(self) -> str | None:
        found = [duty.trouble for duty in self._duties if duty.trouble]
        return "; ".join(dict.fromkeys(found)) or None

    def _give_sign(self) -> None:
        before = self._told
        self._own = self._told = self._trouble()
        self._alarm.clear()
        try:
            self._bell.check()
        except QueueUnavailable as error:
            self._told = f"{error}; it works by itself meanwhile"
        if self._told is not None and self._told != before:
            logger.warning("in trouble", extra={"action": "trouble", "trouble": self._told})
        elif self._told is None and before is not None:
            logger.info("out of trouble", extra={"action": "trouble_over"})
        if self._sign():
            for duty in self._duties:
                duty.tidy()

    def _sign(self) -> bool:
        """Give the sign of life; say whether it was taken."""
        try:
            self._signs.seen(self._worker, self._told)
        except ProjectionError as error:
            logger.warning("no sign of life given", extra={"action": "heartbeat_failed", "error": str(error)})
            return False
        return True


class Waker:
    """Rings a bell and sends a message, once for all watchers; without Redis the work is done here."""

    def __init__(
        self, bell: Doorbell, send: Callable[[], None], work: Callable[[], object], alarm: threading.Event
    ) -> None:
        self._bell = bell
        self._send = send
        self._work = work
        self._alarm = alarm
        self._ask_again_at = 0.0
        self._needed = threading.Event()
        self._stand_in: threading.Thread | None = None

    def wake(self) -> None:
        """Have the work done, by whoever takes the message; never waits for the work."""
        if time.monotonic() >= self._ask_again_at:
            try:
                if self._bell.ring():
                    self._send()
            except QueueUnavailable as error:
                logger.warning("no message sent", extra={"action": "ring_failed", "error": str(error)})
                self._ask_again_at = time.monotonic() + AWAY_SECONDS
                self._alarm.set()
            else:
                return
        self._needed.set()
        if self._stand_in is None:
            # Not the watcher itself: it would give no sign of life while it works.
            self._stand_in = threading.Thread(target=self._stand, name="foldlog-stand-in", daemon=True)
            self._stand_in.start()

    def _stand(self) -> None:
        while True:
            self._needed.wait()
            self._needed.clear()
            began = time.monotonic()
            try:
                self._work()
            except Exception:
                # As an actor's: it is logged, and the work is due again with the next look.
                logger.exception("the work failed", extra={"action": "work_failed"})
            # Half of the time is left to others, as with messages.
            time.sleep(min(time.monotonic() - began, REST_SECONDS))
