"""The embedding stage: texts become vectors, by any number of workers, on any host, in any order.

Rows are claimed in one short transaction, the model is called outside of any, and a vector is stored
only if its text is still the one that was claimed. What fails is tried again later; it never stands
in the way of the others, nor of the fold.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from foldlog import metrics
from foldlog.errors import ProjectionError
from foldlog.projections.embedding.embedder import check
from foldlog.projections.hindsight import control
from foldlog.projections.hindsight.binary import copy
from foldlog.projections.hindsight.session import Session

if TYPE_CHECKING:
    import numpy as np

    from foldlog.projections.embedding.embedder import Embedder, Vectors
    from foldlog.projections.hindsight.control import Generation

#: Texts claimed at first; as many more, up to the last, as are embedded in about a second.
BATCH: Final = 256
MOST: Final = 4096
ABOUT_SECONDS: Final = 1.0

#: Into so many parts a large claim is cut: while one is stored, the next is embedded.
PARTS: Final = 4

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
# A claim that a crash of the server forgets is only made again: nobody has to wait for the disk.
_NOT_DURABLE: Final = "SET LOCAL synchronous_commit = off"
_KNOWN: Final = "SELECT DISTINCT ON (digest) digest, embedding FROM vectors WHERE digest = ANY(%s)"
_DONE: Final = """
    DELETE FROM embed_todo t USING unnest(%s::bigint[], %s::int[], %s::bytea[]) AS d (id, passage, digest)
    WHERE t.id = d.id AND t.passage = d.passage AND t.digest = d.digest RETURNING t.id, t.passage
"""
_VECTORS: Final = "vectors (id, passage, digest, embedding)"
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

#: Of a halfvec in its binary form, before the numbers: how many there are, and two bytes not in use.
_HEADER_BYTES: Final = 4


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
        self._claimed = BATCH
        #: What is being embedded now.
        self._claims: list[_Claim] = []

    @property
    def generation_id(self) -> int:
        """The generation that it embeds for."""
        return self._generation.generation_id

    def run_once(self, now: int | None = None, limit: int | None = None) -> Embedded:
        """Embed what is claimed at once, at most `limit` texts; `now` is UTC ms.

        Raises EmbeddingUnavailable or EmbeddingRefused when the embedder gave nothing: what has no
        vector then is tried again later. Raises ProjectionError when Postgres cannot be used.
        """
        stamp = time.time_ns() // 1_000_000 if now is None else now
        most = self._claimed if limit is None else limit
        self._claims = claims = self._claim(stamp, most)
        if not claims:
            return Embedded()
        began = time.monotonic()
        try:
            done = self._embed(claims, stamp)
        except ProjectionError:
            metrics.count("embeddings", len(claims), outcome="failed")
            raise
        seconds = time.monotonic() - began
        metrics.observe("embedding_seconds", seconds)
        for outcome, number in (("stored", done.stored), ("dropped", done.dropped), ("failed", done.failed)):
            metrics.count("embeddings", number, outcome=outcome)
        if seconds > 2 * ABOUT_SECONDS:
            self._claimed = max(self._claimed // 2, BATCH)
        elif len(claims) == most and seconds < ABOUT_SECONDS / 2:
            self._claimed = min(self._claimed * 2, MOST)
        return done

    def _claim(self, now: int, limit: int) -> list[_Claim]:
        with self._session.transaction() as connection:
            control.use(connection, self._generation)
            connection.execute(_NOT_DURABLE)
            given = {"now": now, "claim": CLAIM_MS, "far": FAR_MS, "limit": limit}
            rows = connection.execute(_CLAIM, given).fetchall()
        names = ("id", "passage", "digest", "text", "attempts")
        return [_Claim(**dict(zip(names, row, strict=True))) for row in rows]

    def _embed(self, claims: list[_Claim], now: int) -> Embedded:
        """Embed and store in parts; the model works in a thread of its own, as it may be slow."""
        known = self._known(claims)
        size = max(BATCH, -(-len(claims) // PARTS))
        parts = [claims[first : first + size] for first in range(0, len(claims), size)]
        done = Embedded(claimed=len(claims))
        model = ThreadPoolExecutor(max_workers=1)
        try:
            coming = [model.submit(self._vectors, texts) for texts in _new_texts(parts, known)]
            for number, part in enumerate(parts):
                try:
                    known |= coming[number].result()
                except ProjectionError as error:
                    left = [claim for later in parts[number:] for claim in later]
                    self._retry(left, str(error), now)
                    raise
                done = self._finish(part, known, done, now)
        finally:
            model.shutdown(cancel_futures=True)
        return done

    def _known(self, claims: list[_Claim]) -> dict[bytes, Any]:
        """Return the vectors, by digest, that some of the texts have elsewhere already."""
        import numpy as np

        with self._session.transaction() as connection:
            control.use(connection, self._generation)
            digests = [claim.digest for claim in claims]
            # Not prepared: another generation's vectors are of another type.
            rows = connection.execute(_KNOWN, (digests,), binary=True, prepare=False).fetchall()
        return {
            digest: np.frombuffer(vector, dtype=">f2", offset=_HEADER_BYTES).astype(np.float32)
            for digest, vector in rows
        }

    def _vectors(self, texts: dict[bytes, str]) -> dict[bytes, Any]:
        """Return the vectors of texts, by digest."""
        if not texts:
            return {}
        made = self._embedder.passages(list(texts.values()))
        check(made, len(texts), self._embedder.dimension)
        return dict(zip(texts, made, strict=True))

    def _finish(self, claims: list[_Claim], known: dict[bytes, Any], before: Embedded, now: int) -> Embedded:
        """Store the vectors of some claims; return what was done with these and before."""
        import numpy as np

        vectors = np.stack([known[claim.digest] for claim in claims])
        usable = check(vectors, len(claims), self._embedder.dimension)
        # A row of zeros means that there was nothing to embed; anything else that is unusable failed.
        failed = ~usable & vectors.any(axis=1)
        bad = [claim for claim, failing in zip(claims, failed, strict=True) if failing]
        if bad:
            self._retry(bad, "the embedder gave a vector that is not finite", now)
            claims = [claim for claim, failing in zip(claims, failed, strict=True) if not failing]
        stored = self._store(claims, vectors[~failed], usable[~failed])
        return replace(
            before,
            stored=before.stored + stored,
            dropped=before.dropped + len(claims) - stored,
            failed=before.failed + len(bad),
        )

    def _store(
        self, claims: list[_Claim], vectors: Vectors, usable: np.ndarray[Any, np.dtype[np.bool_]]
    ) -> int:
        """Take claims off the list, and store the usable vectors of texts that were still on it."""
        with self._session.transaction() as connection:
            control.use(connection, self._generation)
            wanted = set(connection.execute(_DONE, _columns(claims)).fetchall())
            places = [
                place
                for place, claim in enumerate(claims)
                if usable[place] and (claim.id, claim.passage) in wanted
            ]
            copy(connection, _VECTORS, _packed([claims[place] for place in places], vectors[places]))
        return len(places)

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


def _new_texts(parts: list[list[_Claim]], known: dict[bytes, Any]) -> list[dict[bytes, str]]:
    """Return for each part the texts to be embedded, by digest: equal ones once, known ones not at all."""
    seen = set(known)
    found = []
    for part in parts:
        found.append({claim.digest: claim.text for claim in part if claim.digest not in seen})
        seen.update(found[-1])
    return found


def _columns(claims: list[_Claim]) -> tuple[list[int], list[int], list[bytes]]:
    return (
        [claim.id for claim in claims],
        [claim.passage for claim in claims],
        [claim.digest for claim in claims],
    )


def _packed(claims: list[_Claim], vectors: Vectors) -> bytes:
    """Return rows of `vectors` in COPY's binary format."""
    import numpy as np

    dimension = vectors.shape[1]
    row = [
        ("columns", ">i2"), ("id_bytes", ">i4"), ("id", ">i8"), ("passage_bytes", ">i4"), ("passage", ">i4"),
        ("digest_bytes", ">i4"), ("digest", "S16"), ("vector_bytes", ">i4"), ("dimension", ">i2"),
        ("unused", ">i2"), ("values", ">f2", (dimension,)),
    ]  # fmt: skip
    rows = np.zeros(len(claims), dtype=row)
    rows["columns"], rows["id_bytes"], rows["passage_bytes"], rows["digest_bytes"] = 4, 8, 4, 16
    rows["vector_bytes"], rows["dimension"] = _HEADER_BYTES + 2 * dimension, dimension
    rows["id"], rows["passage"], rows["digest"] = _columns(claims)
    rows["values"] = vectors
    return rows.tobytes()


def halfvec(row: Any) -> str:
    """Return a vector as pgvector's text form."""
    return "[" + ",".join(f"{value:.5g}" for value in row.tolist()) + "]"
