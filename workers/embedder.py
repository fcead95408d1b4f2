"""The embedder's worker: embeds what is due, for a slice of time; it needs Postgres, never the log's file."""

from __future__ import annotations

import logging
import threading
import time

from foldlog import composition
from foldlog.errors import ProjectionError
from foldlog.projections.hindsight.embedding import EmbeddingStage
from foldlog.projections.hindsight.session import Session
from foldlog.settings import Settings

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
        #: Why the last batch was not embedded; None when it was.
        self.trouble: str | None = None

    def _stages(self) -> list[EmbeddingStage]:
        return composition.stages(self._settings, self._log_id, self._session)

    def due(self) -> bool:
        """Say whether there is something to embed now; raises ProjectionError."""
        now = time.time_ns() // 1_000_000
        return any(stage.due(now) for stage in self._stages())

    def embed_slice(self) -> bool:
        """Embed for one slice of time; say whether there may be more.

        A failure is noted with the texts, which are tried again later, and for status.
        """
        deadline = time.monotonic() + self._settings.slice_ms / 1000
        try:
            for stage in self._stages():
                while stage.run_once().claimed:
                    if self._stopping.is_set() or time.monotonic() > deadline:
                        return True
                if stage.index_if_large():
                    logger.info("made the approximate index of the vectors", extra={"action": "index_made"})
        except ProjectionError as error:
            self.trouble = f"vectors are missing: {error}"
            logger.warning("not embedded: %s", error, extra={"action": "embedding_failed"})
            return False
        self.trouble = None
        return False
