"""The watcher: a thread of each folding worker that looks at the log's head and wakes the fold.

Writers never meet the queue: they only append. The watcher sends one message for whatever is new,
and when Redis is away it says so and folds in its own thread.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
from collections.abc import Callable
from typing import Final

from foldlog.errors import ProjectionError, QueueUnavailable
from foldlog.workers.doorbell import Doorbell
from foldlog.workers.folder import Folder
from foldlog.workers.lifeline import Lifeline

logger = logging.getLogger(__name__)

#: Seconds between two signs of life.
HEARTBEAT_SECONDS: Final = 3.0

#: Seconds after which a message that changed nothing is sent again.
AGAIN_SECONDS: Final = 1.0

#: Seconds between two looks for generations to drop.
TIDY_SECONDS: Final = 60.0

#: Seconds until a Postgres that did not answer is asked again.
BACKOFF_SECONDS: Final = 1.0


class Watcher(threading.Thread):
    """Looks, rings, and gives signs of life until it is stopped."""

    def __init__(self, folder: Folder, bell: Doorbell, send: Callable[[], None], lifeline: Lifeline) -> None:
        super().__init__(name="foldlog-watcher", daemon=True)
        self._folder = folder
        self._bell = bell
        self._send = send
        self._lifeline = lifeline
        self._worker = f"{socket.gethostname()}:{os.getpid()}"
        self._poll = folder.settings.poll_ms / 1000
        #: How far the index had folded when last asked.
        self._folded = 0
        #: The head for which the bell was last rung, and when.
        self._rung_for = 0
        self._rung_at = 0.0
        self._ask_at = self._down_until = 0.0
        self._beat_at = self._tidy_at = 0.0
        self._trouble: str | None = None

    def run(self) -> None:
        """Look until the process is to stop."""
        while not self._folder.stopping.wait(self._poll):
            try:
                self._look()
            except Exception as error:
                # The loop must outlive whatever happens in one look; status shows the reason.
                logger.exception("the watcher failed", extra={"action": "watcher_failed"})
                self._trouble = f"the watcher failed: {error}"
                self._folder.stopping.wait(BACKOFF_SECONDS)
        self._say_goodbye()

    def _look(self) -> None:
        now = time.monotonic()
        if now >= self._beat_at:
            self._beat_at = now + HEARTBEAT_SECONDS
            self._lifeline.check()
            self._give_sign()
        head = self._folder.log.head()
        if head == self._folded or now < self._down_until:
            return
        if (head == self._rung_for or now >= self._ask_at) and not self._ask(head, now):
            return
        if head != self._rung_for or now >= self._rung_at + AGAIN_SECONDS:
            self._rung_for, self._rung_at = head, now
            self._wake()

    def _ask(self, head: int, now: float) -> bool:
        """Ask the index how far it is; say whether it answers and lacks events."""
        try:
            self._folded = self._folder.projection.checkpoint()
        except ProjectionError:
            # A fold could do nothing now, and its message would only be lost.
            self._down_until = now + BACKOFF_SECONDS
            return False
        self._ask_at = now + AGAIN_SECONDS
        return self._folded != head

    def _wake(self) -> None:
        """Ring and send, once for all watchers; without Redis fold here."""
        try:
            if self._bell.ring():
                self._send()
            self._set_trouble(None)
        except QueueUnavailable as error:
            self._set_trouble(f"{error}; it folds by itself meanwhile")
            self._folder.fold_slice()

    def _set_trouble(self, trouble: str | None) -> None:
        if trouble != self._trouble:
            self._trouble = trouble
            # Told at once: status must not say that all is well for another heartbeat.
            self._beat_at = 0.0

    def _give_sign(self) -> None:
        try:
            self._bell.check()
            self._trouble = None
        except QueueUnavailable as error:
            self._trouble = f"{error}; it folds by itself meanwhile"
        try:
            self._folder.projection.seen(self._worker, self._trouble)
            if time.monotonic() >= self._tidy_at:
                self._tidy_at = time.monotonic() + TIDY_SECONDS
                self._folder.drop_old()
        except ProjectionError as error:
            logger.warning("no sign of life given: %s", error, extra={"action": "heartbeat_failed"})

    def _say_goodbye(self) -> None:
        try:
            self._folder.projection.gone(self._worker)
        except ProjectionError as error:
            logger.info("left without a word: %s", error, extra={"action": "goodbye_failed"})
