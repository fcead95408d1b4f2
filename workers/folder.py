"""The folder: folds a slice of the log; what the actor, and the watcher without Redis, both call."""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from foldlog import composition
from foldlog.errors import FoldlogError
from foldlog.events.log import Log
from foldlog.projections import engine
from foldlog.projections.engine import Folded, Limits
from foldlog.projections.hindsight.generations import Generations
from foldlog.projections.hindsight.projection import HindsightProjection
from foldlog.settings import Settings
from foldlog.workers.doorbell import Doorbell

logger = logging.getLogger(__name__)

#: Seconds for which one message stays with a log that is being written to, and with one that falls silent.
STAY_SECONDS: Final = 2.0
QUIET_SECONDS: Final = 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class Folder:
    """Folds one log into its index."""

    settings: Settings
    log: Log
    projection: HindsightProjection
    generations: Generations
    #: Set when the process is to stop: no further page is begun.
    stopping: threading.Event

    def fold_while_written(self, bell: Doorbell) -> bool:
        """Fold for one message, and what is written meanwhile; say whether a slice was not enough.

        While it stays nobody rings: a stream of appends would be a stream of messages. Raises
        QueueUnavailable when the bell cannot be held: whoever watches folds on.
        """
        leave_at = time.monotonic() + STAY_SECONDS
        while True:
            began = time.monotonic()
            done = self.fold_slice()
            if done is None or done.outcome == engine.BUSY:
                # Cleared now, the bell would be rung again at once: what failed, and what somebody else
                # does, is looked at again when it has gone silent by itself.
                return False
            if done.outcome != engine.CAUGHT_UP or time.monotonic() > leave_at:
                break
            bell.hold()
            # Half of the time is left to others, as small pages cost.
            rest = min(time.monotonic() - began, QUIET_SECONDS)
            if self.stopping.wait(rest) or not self._more_comes(done.position):
                break
        # Before the last look: what is written from now on rings again.
        bell.clear()
        last = done
        if done.outcome == engine.CAUGHT_UP and self.log.head() > done.position:
            last = self.fold_slice() or done
        return last.outcome == engine.OUT_OF_TIME

    def _more_comes(self, position: int) -> bool:
        """Wait a little for the log to go on after a position."""
        quiet_at = time.monotonic() + QUIET_SECONDS
        while self.log.head() == position:
            if time.monotonic() > quiet_at or self.stopping.wait(self.settings.poll_ms / 1000):
                return False
        return True

    def fold_slice(self) -> Folded | None:
        """Fold for one slice of time; None when it failed: the failure is noted with the index."""
        limits = composition.limits(self.settings, seconds=self.settings.slice_ms / 1000)
        try:
            done = engine.run_once(self.log, self.projection, limits, stop=self.stopping.is_set)
        except FoldlogError as error:
            if self.stopping.is_set():
                logger.info("a page was broken off; the next worker folds it", extra={"action": "fold_cut"})
                return None
            logger.warning("fold failed", extra={"action": "fold_failed", "error": str(error)})
            return None
        if done.events:
            logger.debug(
                "folded", extra={"action": "folded", "events": done.events, "position": done.position}
            )
            self._fold_kept(limits)
        return done

    def _fold_kept(self, limits: Limits) -> None:
        """Fold the generations that were replaced, so that going back to one is a single step."""
        try:
            for generation_id in self.generations.kept():
                kept = self.generations.projection(generation_id)
                engine.run_once(self.log, kept, limits, stop=self.stopping.is_set)
        except FoldlogError as error:
            # Nobody asks it anything; its own turn comes again with the next event.
            logger.warning(
                "a former generation was not folded", extra={"action": "kept_failed", "error": str(error)}
            )

    def drop_old(self) -> None:
        """Drop the generations that were replaced long enough ago."""
        before = datetime.now(UTC) - timedelta(milliseconds=self.settings.keep_retired_ms)
        try:
            dropped = self.generations.drop_old(before)
        except FoldlogError as error:
            # They take room, nothing else; the next look is soon.
            logger.warning("no generation dropped", extra={"action": "drop_failed", "error": str(error)})
            return
        for number in dropped:
            logger.info("generation dropped", extra={"action": "generation_dropped", "generation": number})
