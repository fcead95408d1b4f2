"""What a worker looks out for: events to fold, texts to embed, and jobs that are due."""

from __future__ import annotations

import time
from typing import Final

from foldlog.errors import ProjectionError
from foldlog.workers.embedder import Embedder
from foldlog.workers.folder import Folder
from foldlog.workers.jobs.runner import Runner
from foldlog.workers.watcher import Waker

#: Seconds after which a message that changed nothing is sent again.
AGAIN_SECONDS: Final = 1.0

#: Seconds until a Postgres that did not answer is asked again.
BACKOFF_SECONDS: Final = 1.0

#: Seconds between two looks for generations to drop.
TIDY_SECONDS: Final = 60.0

#: Seconds between two looks for texts to embed.
EMBED_SECONDS: Final = 0.25

#: Seconds between two messages for texts, while there are always some.
PAUSE_SECONDS: Final = 0.5

#: Seconds between two looks for jobs that are due.
JOBS_SECONDS: Final = 1.0


class FoldDuty:
    """Sees to it that the index reaches the log's head."""

    def __init__(self, folder: Folder, waker: Waker) -> None:
        self._folder = folder
        self._waker = waker
        #: How far the index had folded when last asked; before that the database is not even prepared.
        self._folded = -1
        #: The head for which the bell was last rung, and when.
        self._rung_for = 0
        self._rung_at = self._ask_at = self._down_until = self._tidy_at = 0.0
        #: Why the index cannot even be asked; why a fold failed stands beside the checkpoint.
        self.trouble: str | None = None

    @property
    def blocked(self) -> str | None:
        """The same: a worker that cannot fold is of no use."""
        return self.trouble

    def look(self, now: float) -> None:
        """Wake the fold when the log has more than the index."""
        head = self._folder.log.head()
        if head == self._folded or now < self._down_until:
            return
        if (head == self._rung_for or now >= self._ask_at) and not self._ask(head, now):
            return
        if head != self._rung_for or now >= self._rung_at + AGAIN_SECONDS:
            self._rung_for, self._rung_at = head, now
            self._waker.wake()

    def _ask(self, head: int, now: float) -> bool:
        """Ask the index how far it is; say whether it answers and lacks events."""
        try:
            self._folded = self._folder.projection.checkpoint()
        except ProjectionError as error:
            # A fold could do nothing now, and its message would only be lost.
            self._down_until = now + BACKOFF_SECONDS
            self.trouble = f"it cannot fold: {error}"
            return False
        self.trouble = None
        self._ask_at = now + AGAIN_SECONDS
        return self._folded != head

    def tidy(self) -> None:
        """Drop generations that were replaced long ago."""
        if time.monotonic() >= self._tidy_at:
            self._tidy_at = time.monotonic() + TIDY_SECONDS
            self._folder.drop_old()


class EmbedDuty:
    """Sees to it that every memory gets its vector."""

    def __init__(self, embedder: Embedder, waker: Waker) -> None:
        self._embedder = embedder
        self._waker = waker
        self._look_at = 0.0

    @property
    def trouble(self) -> str | None:
        """Why the last texts were not embedded."""
        return self._embedder.trouble

    @property
    def blocked(self) -> str | None:
        """Nothing: without vectors the rest goes on."""
        return None

    def look(self, now: float) -> None:
        """Wake the embedding when texts are due."""
        if now < self._look_at:
            return
        self._look_at = now + EMBED_SECONDS
        try:
            due = self._embedder.due()
        except ProjectionError:
            self._look_at = now + BACKOFF_SECONDS
            return
        if due:
            # What somebody embeds now is not due; until somebody does, the bell rings.
            self._waker.wake()
            self._look_at = now + PAUSE_SECONDS

    def tidy(self) -> None:
        """Nothing: what embeds also tidies, in its own thread."""


class JobDuty:
    """Sees to it that jobs run when they are due."""

    #: What a job met stands on the board of jobs.
    trouble: str | None = None
    blocked: str | None = None

    def __init__(self, runner: Runner, waker: Waker) -> None:
        self._runner = runner
        self._waker = waker
        self._look_at = 0.0

    def look(self, now: float) -> None:
        """Wake the jobs when one is due."""
        if now < self._look_at:
            return
        self._look_at = now + JOBS_SECONDS
        if self._runner.due():
            self._waker.wake()

    def tidy(self) -> None:
        """Nothing is left over."""
