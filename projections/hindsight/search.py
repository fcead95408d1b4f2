"""The index as recall asks it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from foldlog.errors import IndexUnusable
from foldlog.projections.hindsight import control, text
from foldlog.projections.hindsight.session import Session
from foldlog.projections.index import IndexAnswer, IndexHit
from foldlog.projections.scope import Scope

_TIMEOUT: Final = "SELECT set_config('statement_timeout', %s, true)"


class HindsightIndex:
    """Answers searches from a log's active generation."""

    def __init__(self, session: Session, log_id: bytes, *, timeout_ms: int) -> None:
        self._session = session
        self._log_id = log_id
        self._timeout_ms = timeout_ms

    def search(self, words: Sequence[str], scope: Scope, *, now: int, limit: int) -> IndexAnswer:
        """Return the best memories; raises ProjectionError when the index cannot answer in time."""
        with self._session.transaction() as connection:
            connection.execute(_TIMEOUT, (str(self._timeout_ms),))
            generation = control.active(connection, self._log_id)
            if generation is None:
                raise IndexUnusable(
                    "the index has folded nothing yet; run `foldlog up`, or `foldlog backfill`"
                )
            if not generation.current:
                raise IndexUnusable(
                    "the index was built by another foldlog; run `foldlog rebuild`. The log answers meanwhile"
                )
            # Read before the search: what is folded in between is found twice, never missed.
            row = control.checkpoint(connection, generation.generation_id)
            control.use(connection, generation)
            total, here = text.size(connection, scope.namespaces)
            idfs = text.rarities(connection, words, total) if words else {}
            hits = text.search(connection, idfs, scope, small=here <= text.SCORE_ALL, now=now, limit=limit)
        return IndexAnswer(
            checkpoint=row[0] if row else 0,
            hits=[
                IndexHit(memory_id=memory, score=score, touched=touched) for memory, score, touched in hits
            ],
            rarities=idfs,
        )
