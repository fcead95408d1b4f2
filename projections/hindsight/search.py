"""The index as recall asks it: every channel, in one transaction."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from time import monotonic
from typing import TYPE_CHECKING, Final

from foldlog.errors import EmbeddingRefused, EmbeddingUnavailable, IndexUnusable
from foldlog.projections.hindsight import control, known, semantic, text, time
from foldlog.projections.hindsight.session import Session
from foldlog.projections.index import (
    GRAPH,
    SEMANTIC,
    TEXT,
    TIME,
    Hop,
    IndexAnswer,
    IndexHit,
    Path,
    Query,
    Walk,
)
from foldlog.projections.scope import Scope

if TYPE_CHECKING:
    from foldlog.projections.embedding.embedder import Embedder
    from foldlog.projections.hindsight.connection import Connection
    from foldlog.projections.hindsight.control import Generation

#: Seconds for which an embedder that failed is not asked again.
BREAKER_SECONDS: Final = 1.0

_TIMEOUT: Final = "SELECT set_config('statement_timeout', %s, true)"


class HindsightIndex:
    """Answers searches from a log's active generation."""

    def __init__(
        self,
        session: Session,
        log_id: bytes,
        embedder: Callable[[str], Embedder | None],
        *,
        timeout_ms: int,
    ) -> None:
        """`embedder` returns the embedder of a fingerprint, None when it is not to be had here."""
        self._session = session
        self._log_id = log_id
        self._embedder = embedder
        self._timeout_ms = timeout_ms
        # Why the embedder gave no vector for the last question, and until when it is not asked again.
        self._silence = ""
        self._silent_until = 0.0

    def search(self, query: Query, scope: Scope, *, now: int, limit: int) -> IndexAnswer:
        """Return the best memories of each channel; a channel that fails is missing, not an error.

        Raises ProjectionError when the index cannot answer in time.
        """
        with self._session.transaction() as connection:
            generation = self._generation(connection)
        # Before the transaction: no model is called, and no service waited for, inside of one.
        vector, missing = (None, {}) if SEMANTIC in query.off else self._vector(generation, query.text)
        with self._session.transaction() as connection:
            connection.execute(_TIMEOUT, (str(self._timeout_ms),))
            # Read before the search: what is folded in between is found twice, never missed.
            row = control.checkpoint(connection, generation.generation_id)
            control.use(connection, generation)
            total, here = text.size(connection, scope.namespaces)
            idfs = text.rarities(connection, query.words, total) if query.words else {}
            small = here <= text.SCORE_ALL
            channels = {}
            if TEXT not in query.off:
                channels[TEXT] = text.search(connection, idfs, scope, small=small, now=now, limit=limit)
            if GRAPH not in query.off:
                channels[GRAPH] = known.search(connection, query.text, scope, now=now, limit=limit)
            if TIME not in query.off:
                channels[TIME] = time.search(connection, query.spans, scope, now=now, limit=limit)
            if vector is not None:
                channels[SEMANTIC] = semantic.search(connection, vector, scope, now=now, limit=limit)
        return IndexAnswer(
            checkpoint=row[0] if row else 0,
            channels={
                name: [
                    IndexHit(memory_id=memory, score=score, touched=touched)
                    for memory, score, touched in rows
                ]
                for name, rows in channels.items()
            },
            missing=missing,
            rarities=idfs,
        )

    def hop(self, seeds: Mapping[int, str], scope: Scope, *, now: int, limit: int) -> list[Hop]:
        """Return the memories whose names stand in the seeds' texts; raises ProjectionError."""
        with self._session.transaction() as connection:
            connection.execute(_TIMEOUT, (str(self._timeout_ms),))
            control.use(connection, self._generation(connection))
            rows = known.hop(connection, seeds, scope, now=now, limit=limit)
        return [
            Hop(seed=seed, memory_id=memory, touched=touched, name=name, shared=shared)
            for seed, memory, touched, name, shared in rows
        ]

    def walk(self, path: Path, *, now: int) -> Walk:
        """Return what is around a name; raises ProjectionError."""
        # Not with every question: a walk is somebody's look at the graph.
        from foldlog.projections.hindsight.walk import walk

        with self._session.transaction() as connection:
            connection.execute(_TIMEOUT, (str(self._timeout_ms),))
            generation = self._generation(connection)
            control.use(connection, generation)
            return walk(connection, generation.generation_id, path, now=now)

    def _generation(self, connection: Connection) -> Generation:
        generation = control.active(connection, self._log_id)
        if generation is None:
            raise IndexUnusable("the index has folded nothing yet; run `foldlog up`, or `foldlog backfill`")
        if not generation.current:
            raise IndexUnusable(
                "the index was built by another foldlog; run `foldlog rebuild`. The log answers meanwhile"
            )
        return generation

    def _vector(self, generation: Generation, query: str) -> tuple[str | None, dict[str, str]]:
        """Return the question's vector, or why there is none."""
        if generation.embedder is None:
            return None, {}
        embedder = self._embedder(generation.embedder)
        if embedder is None:
            reason = f"the index's vectors were made by {generation.embedder}, which the settings do not name"
            return None, {SEMANTIC: reason}
        from foldlog.projections.hindsight.embedding import halfvec

        if monotonic() < self._silent_until:
            return None, {SEMANTIC: self._silence}
        try:
            row = embedder.queries([query])[0]
        except (EmbeddingUnavailable, EmbeddingRefused) as error:
            # Not every question is to wait for a service that does not answer.
            self._silence, self._silent_until = str(error), monotonic() + BREAKER_SECONDS
            return None, {SEMANTIC: self._silence}
        # Zeros: the question has nothing in it that means anything to this embedder.
        return (halfvec(row) if row.any() else None), {}
