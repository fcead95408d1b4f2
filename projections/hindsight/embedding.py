"""The embedding stage: texts become vectors, by any number of workers, on any host, in any order.

Rows are claimed in one short transaction, the model is called outside of any, and a vector is stored
only if its text is still the one that was claimed. What fails is tried again later; it never stands
in the way of the others, nor of the fold.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from foldlog import metrics
from foldlog.errors import ProjectionError
from foldlog.projections.embedding.embedder import check
from foldlog.projections.hindsight import control
from foldlog.projections.hindsight.session import Session

if TYPE_CHECKING:
    import numpy as np

    from foldlog.projections.embedding.embedder import Embedder, Vectors
    from foldlog.projections.hindsight.control import Generation

#: Texts claimed at a time.
BATCH: Final = 256

#: Milliseconds a claim is good for.
CLAIM_MS: Final = 120_000

#: A claim that ends further ahead than that comes from a wrong clock, and counts as over. Twice as far as
#: a claim reaches: clocks of two hosts, and two readings of one, may differ.
FAR_MS: Final = 2 * CLAIM_MS

#: Milliseconds until a text that failed is tried again: doubled with every attempt, up to the last.
FIRST_RETRY_MS: Final = 2_000
LAST_RETRY_MS: Final = 3_600_000

#: Vectors above which an approximate index pays.
INDEX_ABOVE: Final = 5_000

#: First part of the advisory lock under which it is made ("near" in ASCII); the second is the generation.
INDEX_LOCK: Final = 0x6E656172

_CLAIM: Final = """
    UPDATE embed_todo t SET claimed_until = %(now)s + %(claim)s, attempts = attempts + 1
    FROM (SELECT id, passage FROM embed_todo
        WHERE next_try <= %(now)s AND (claimed_until <= %(now)s OR claimed_until > %(now)s + %(far)s)
        ORDER BY next_try, id LIMIT %(limit)s FOR UPDATE SKIP LOCKED) c
    WHERE t.id = c.id AND t.passage = c.passage
    RETURNING t.id, t.passage, t.digest, t.text, t.attempts
"""
_KNOWN: Final = "SELECT DISTINCT ON (digest) digest, embedding::text FROM vectors WHERE digest = ANY(%s)"
_DONE: Final = """
    DELETE FROM embed_todo t USING unnest(%s::bigint[], %s::int[], %s::bytea[]) AS d (id, passage, digest)
    WHERE t.id = d.id AND t.passage = d.passage AND t.digest = d.digest RETURNING t.id, t.passage
"""
_COPY: Final = "COPY vectors (id, passage, digest, embedding) FROM STDIN"
_RETRY: Final = """
    UPDATE embed_todo t SET claimed_until = 0, error = %s,
        next_try = %s + least(%s * (1::bigint << least(t.attempts, 20)), %s)
    FROM unnest(%s::bigint[], %s::int[], %s::bytea[]) AS d (id, passage, digest)
    WHERE t.id = d.id AND t.passage = d.passage AND t.digest = d.digest
"""
_LET_GO: Final = """
    UPDATE embed_todo t SET claimed_until = 0, attempts = greatest(t.attempts - 1, 0)
    FROM unnest(%s::bigint[], %s::int[], %s::bytea[]) AS d (id, passage, digest)
    WHERE t.id = d.id AND t.passage = d.passage AND t.digest = d.digest
"""
_DUE: Final = """
    SELECT EXISTS (SELECT 1 FROM embed_todo
        WHERE next_try <= %(now)s AND (claimed_until <= %(now)s OR claimed_until > %(now)s + %(far)s))
"""
_COUNT: Final = "SELECT count(*) FROM (SELECT 1 FROM vectors LIMIT %s) v"
_HAS_INDEX: Final = "SELECT to_regclass('vectors_near') IS NOT NULL"
# With the default of 64 MB the graph stops fitting at some 50,000 vectors; the build then takes far longer.
_BUILD_MEMORY: Final = "SET LOCAL maintenance_work_mem = '256MB'"
_ALONE: Final = "SELECT pg_try_advisory_xact_lock(%s::int, %s::int)"
_CREATE_INDEX: Final = """
    CREATE INDEX vectors_near ON vectors USING hnsw (embedding halfvec_cosine_ops)
    WITH (m = 16, ef_construction = 64)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedded:
    """What one run did."""

    claimed: int = 0
    #: Vectors stored.
    stored: int = 0
    #: Texts with nothing in them to embed, or that changed meanwhile.
    dropped: int = 0
    #: Texts whose vectors were of no use; they are tried again later.
    failed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Claim:
    id: int
    passage: int
    digest: bytes
    text: str
    attempts: int


class EmbeddingStage:
    """Embeds what one generation still lacks."""

    def __init__(self, session: Session, generation: Generation, embedder: Embedder) -> None:
        self._session = session
        self._generation = generation
        self._embedder = embedder
        #: What is being embedded now.
        self._claims: list[_Claim] = []

    @property
    def generation_id(self) -> int:
        """The generation that it embeds for."""
        return self._generation.generation_id

    def run_once(self, now: int | None = None, limit: int = BATCH) -> Embedded:
        """Embed one batch; `now` is UTC ms.

        Raises EmbeddingUnavailable or EmbeddingRefused when the embedder gave nothing: the batch is
        tried again later. Raises ProjectionError when Postgres cannot be used.
        """
        stamp = time.time_ns() // 1_000_000 if now is None else now
        self._claims = claims = self._claim(stamp, limit)
        if not claims:
            return Embedded()
        began = time.monotonic()
        try:
            vectors, usable = self._vectors(claims)
        except ProjectionError as error:
            metrics.count("embeddings", len(claims), outcome="failed")
            self._retry(claims, str(error), stamp)
            raise
        metrics.observe("embedding_seconds", time.monotonic() - began)
        # A row of zeros means that there was nothing to embed; anything else that is unusable failed.
        empty = [claim for claim, row, good in zip(claims, vectors, usable, strict=True)
                 if not good and not row.any()]  # fmt: skip
        failed = [claim for claim, row, good in zip(claims, vectors, usable, strict=True)
                  if not good and row.any()]  # fmt: skip
        good = [(claim, row) for claim, row, fine in zip(claims, vectors, usable, strict=True) if fine]
        if failed:
            self._retry(failed, "the embedder gave a vector that is not finite", stamp)
        stored, dropped = self._store(good, empty)
        for outcome, number in (("stored", stored), ("dropped", dropped), ("failed", len(failed))):
            metrics.count("embeddings", number, outcome=outcome)
        return Embedded(claimed=len(claims), stored=stored, dropped=dropped, failed=len(failed))

    def _claim(self, now: int, limit: int) -> list[_Claim]:
        with self._session.transaction() as connection:
            control.use(connection, self._generation)
            given = {"now": now, "claim": CLAIM_MS, "far": FAR_MS, "limit": limit}
            rows = connection.execute(_CLAIM, given).fetchall()
        names = ("id", "passage", "digest", "text", "attempts")
        return [_Claim(**dict(zip(names, row, strict=True))) for row in rows]

    def _vectors(self, claims: list[_Claim]) -> tuple[Vectors, np.ndarray[Any, np.dtype[np.bool_]]]:
        """Return a vector for each claim; equal texts are embedded once, known ones not at all."""
        import numpy as np

        texts = {claim.digest: claim.text for claim in claims}
        with self._session.transaction() as connection:
            control.use(connection, self._generation)
            rows = connection.execute(_KNOWN, (list(texts),)).fetchall()
        known = {bytes(digest): np.fromstring(text[1:-1], dtype=np.float32, sep=",") for digest, text in rows}
        new = [digest for digest in texts if digest not in known]
        if new:
            made = self._embedder.passages([texts[digest] for digest in new])
            check(made, len(new), self._embedder.dimension)
            known |= dict(zip(new, made, strict=True))
        vectors = np.stack([known[claim.digest] for claim in claims])
        return vectors, check(vectors, len(claims), self._embedder.dimension)

    def _store(self, good: list[tuple[_Claim, Any]], empty: list[_Claim]) -> tuple[int, int]:
        """Store vectors of texts that are still wanted; return how many, and how many were not."""
        claims = [claim for claim, _ in good] + empty
        with self._session.transaction() as connection:
            control.use(connection, self._generation)
            rows = connection.execute(_DONE, _columns(claims)).fetchall()
            wanted = set(rows)
            stored = 0
            with connection.cursor() as cursor, cursor.copy(_COPY) as copy:
                for claim, row in good:
                    if (claim.id, claim.passage) in wanted:
                        stored += 1
                        copy.write_row((claim.id, claim.passage, claim.digest, halfvec(row)))
        return stored, len(claims) - stored

    def _retry(self, claims: list[_Claim], error: str, now: int) -> None:
        with self._session.transaction() as connection:
            control.use(connection, self._generation)
            connection.execute(_RETRY, (error, now, FIRST_RETRY_MS // 2, LAST_RETRY_MS, *_columns(claims)))

    def let_go(self) -> None:
        """Let others embed what is being embedded now, at once; for a process that stops.

        Raises ProjectionError when Postgres cannot be used: then it is free when the claim ends.
        """
        claims = self._claims
        if claims:
            with self._session.transaction() as connection:
                control.use(connection, self._generation)
                connection.execute(_LET_GO, _columns(claims))

    def due(self, now: int) -> bool:
        """Say whether there is something to embed now."""
        with self._session.transaction() as connection:
            control.use(connection, self._generation)
            row = connection.execute(_DUE, {"now": now, "far": FAR_MS}).fetchone()
        return bool(row and row[0])

    def index_if_large(self) -> bool:
        """Make the approximate index once there are many vectors; say whether it was made now.

        Until then every search is exact. The stage's own writes wait meanwhile, searches do not.
        """
        with self._session.transaction() as connection:
            control.use(connection, self._generation)
            few = connection.execute(_COUNT, (INDEX_ABOVE + 1,)).fetchone()
            if few is None or few[0] <= INDEX_ABOVE:
                return False
            # Two workers see in the same moment that it is time: one makes the index, the other goes on.
            lock = connection.execute(_ALONE, (INDEX_LOCK, self.generation_id)).fetchone()
            has = connection.execute(_HAS_INDEX).fetchone()
            if lock is None or has is None or not lock[0] or has[0]:
                return False
            connection.execute(_BUILD_MEMORY)
            connection.execute(_CREATE_INDEX)
        return True


def _columns(claims: list[_Claim]) -> tuple[list[int], list[int], list[bytes]]:
    return (
        [claim.id for claim in claims],
        [claim.passage for claim in claims],
        [claim.digest for claim in claims],
    )


def halfvec(row: Any) -> str:
    """Return a vector as pgvector's text form."""
    return "[" + ",".join(f"{value:.5g}" for value in row.tolist()) + "]"
