"""The index as recall asks it: nothing of Postgres is imported, or reached, before the first question."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from foldlog.composition.servers import database_url
from foldlog.composition.wiring import embedder_of
from foldlog.events.log import Log
from foldlog.settings import Settings

if TYPE_CHECKING:
    from foldlog.projections.hindsight.search import HindsightIndex
    from foldlog.projections.hindsight.session import Session
    from foldlog.projections.index import Hop, IndexAnswer, Path, Query, Walk
    from foldlog.projections.scope import Scope


class LazyIndex:
    """The index as recall asks it; Postgres' driver is imported, and reached, with the first question."""

    def __init__(self, settings: Settings, log: Log) -> None:
        self._settings = settings
        self._log = log
        self._lock = threading.Lock()
        self._session: Session | None = None
        self._index: HindsightIndex | None = None
        # A question has a deadline, whatever time an embedding service may take for texts.
        wait = min(settings.embedding_timeout_ms, settings.recall_timeout_ms)
        self._embedders = partial(embedder_of, replace(settings, embedding_timeout_ms=wait))

    def session(self) -> Session:
        """Return connections to the index; raises IndexUnavailable when there is none."""
        with self._lock:
            return self._open()

    def _open(self) -> Session:
        if self._session is None:
            from foldlog.projections.hindsight.session import Session

            url = database_url(self._settings)
            self._session = Session(url, timeout_ms=self._settings.connect_timeout_ms)
        return self._session

    def search(self, query: Query, scope: Scope, *, now: int, limit: int) -> IndexAnswer:
        """Search the log's active generation."""
        return self._searcher().search(query, scope, now=now, limit=limit)

    def hop(self, seeds: Mapping[int, str], scope: Scope, *, now: int, limit: int) -> list[Hop]:
        """Follow the names in some texts, in the log's active generation."""
        return self._searcher().hop(seeds, scope, now=now, limit=limit)

    def walk(self, path: Path, *, now: int) -> Walk:
        """Walk through the graph of the log's active generation."""
        return self._searcher().walk(path, now=now)

    def _searcher(self) -> HindsightIndex:
        with self._lock:
            if self._index is None:
                from foldlog.projections.hindsight.search import HindsightIndex

                self._index = HindsightIndex(
                    self._open(),
                    self._log.meta.log_id,
                    self._embedders,
                    timeout_ms=self._settings.recall_timeout_ms,
                )
            return self._index

    def close(self) -> None:
        """Close the connections."""
        with self._lock:
            session, self._session, self._index = self._session, None, None
        if session is not None:
            session.close()
