"""The embedder's worker: embeds what is due, for a slice of time; it needs Postgres, never the log's file."""

from __future__ import annotations

import logging
import threading
import time
from contextlib import suppress

from foldlog import composition
from foldlog.errors import ProjectionError
from foldlog.projections.hindsight.embedding import EmbeddingStage
from foldlog.projections.hindsight.session import Session
from foldlog.settings import Settings
from foldlog.workers.doorbell import Doorbell

logger = logging.getLogger(__name__)


class Embedder:
    """Embeds for all generations of one log."""

    def __init__(
        self, settings: Settings, log_id: bytes, session: Session, stopping: threading.Event
    ) -> None:
        self._settings = settings
        self._log_id = log_id
        self._session = session
        self._stopping = stopping
        #: The stages at work, one a thread.
        self._working: set[EmbeddingStage] = set()
        #: Why the last batch was not embedded; None when it was.
        self.trouble: str | None = None

    def _stages(self) -> list[EmbeddingStage]:
        return composition.stages(self._settings, self._log_id, self._session)

    def due(self) -> bool:
        """Say whether there is something to embed now; raises ProjectionError."""
        now = time.time_ns() // 1_000_000
        return any(stage.due(now) for stage in self._stages())

    def embed_after(self, bell: Doorbell) -> bool:
        """Embed for one message; say whether there may be more. Raises QueueUnavailable."""
        # Before anything is read: what is due from now on rings again.
        bell.clear()
        return self.embed_slice()

    def embed_slice(self) -> bool:
        """Embed for one slice of time; say whether there may be more.

        A failure is noted with the texts, which are tried again later, and for status.
        """
        deadline = time.monotonic() + self._settings.slice_ms / 1000
        try:
            for stage in self._stages():
                if not self._embed(stage, deadline):
                    return True
        except ProjectionError as error:
            if self._stopping.is_set():
                logger.info(
                    "texts were let go; the next worker embeds them", extra={"action": "embedding_cut"}
                )
                return False
            self.trouble = f"vectors are missing: {error}"
            logger.warning("not embedded", extra={"action": "embedding_failed", "error": str(error)})
            return False
        self.trouble = None
        return False

    def _embed(self, stage: EmbeddingStage, deadline: float) -> bool:
        """Embed what one generation lacks; say whether that came to the end in time."""
        self._working.add(stage)
        try:
            while stage.run_once().claimed:
                if self._stopping.is_set() or time.monotonic() > deadline:
                    return False
            if stage.index_if_large():
                logger.info("made the approximate index of the vectors", extra={"action": "index_made"})
        finally:
            self._working.discard(stage)
        return True

    def let_go(self) -> None:
        """Let others embed at once what this process still waits for; never raises."""
        for stage in list(self._working):
            # A Postgres that is away: then the texts are free when the claims end.
            with suppress(ProjectionError):
                stage.let_go()
