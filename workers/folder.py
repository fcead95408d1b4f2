"""The folder: folds a slice of the log; what the actor, and the watcher without Redis, both call."""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from foldlog import composition
from foldlog.errors import FoldlogError
from foldlog.events.log import Log
from foldlog.projections import engine
from foldlog.projections.engine import Folded, Limits
from foldlog.projections.hindsight.generations import Generations
from foldlog.projections.hindsight.projection import HindsightProjection
from foldlog.settings import Settings

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Folder:
    """Folds one log into its index."""

    settings: Settings
    log: Log
    projection: HindsightProjection
    generations: Generations
    #: Set when the process is to stop: no further page is begun.
    stopping: threading.Event

    def fold_slice(self) -> Folded | None:
        """Fold for one slice of time; None when it failed: the failure is noted with the index."""
        limits = composition.limits(self.settings, seconds=self.settings.slice_ms / 1000)
        try:
            done = engine.run_once(self.log, self.projection, limits, stop=self.stopping.is_set)
        except FoldlogError as error:
            logger.warning("fold failed: %s", error, extra={"action": "fold_failed"})
            return None
        if done.events:
            logger.debug("folded %d events, up to %d", done.events, done.position, extra={"action": "folded"})
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
            logger.warning("a former generation was not folded: %s", error, extra={"action": "kept_failed"})

    def drop_old(self) -> None:
        """Drop the generations that were replaced long enough ago."""
        before = datetime.now(UTC) - timedelta(milliseconds=self.settings.keep_retired_ms)
        try:
            dropped = self.generations.drop_old(before)
        except FoldlogError as error:
            # They take room, nothing else; the next look is soon.
            logger.warning("no generation dropped: %s", error, extra={"action": "drop_failed"})
            return
        for number in dropped:
            logger.info("dropped generation %d", number, extra={"action": "generation_dropped"})
