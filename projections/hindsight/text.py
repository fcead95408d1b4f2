"""The text channel: exact BM25 in plain Postgres.

A passage's words are a sparse vector of BM25 weights; its inner product with the query's idfs is the
BM25 score, computed in C by pgvector. The same words, with an impact class in the two low bits, are
integer keys under a GIN index, which finds the candidates of a large namespace; namespace and tags
are keys too. The method and its measurements are described in docs/index.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Final
from zlib import crc32

from foldlog.projections import analysis, bm25
from foldlog.projections.document import Document
from foldlog.projections.hindsight.connection import Connection
from foldlog.projections.hindsight.filters import HASH_MASK, conditions, name_key
from foldlog.projections.scope import Scope

#: Dimensions of the vector of word weights; one for every hash of a word, as many as pgvector allows.
WORD_SPACE: Final = 1_000_000_000

#: Up to so many passages a namespace is scored whole, without the GIN index.
SCORE_ALL: Final = 3000

#: Longest passage, in characters, and most distinct words of one (pgvector allows 16,000 entries).
PASSAGE_CHARS: Final = 2500
PASSAGE_WORDS: Final = 8000

#: Tokens whose words are kept.
KEPT_TOKENS: Final = 1 << 16

#: A word's weight from which on it is in impact class 3, 2 and 1.
CLASS_BOUNDS: Final = (1.5, 1.3, 1.1)

#: Bits of a word's hash, and how many of the first name its bucket: the words that are counted in one row.
WORD_BITS: Final = 28
BUCKET_BITS: Final = 10

#: A key has two bits more than its word's hash; without so many it is its bucket.
KEY_SHIFT: Final = WORD_BITS - BUCKET_BITS + 2

# What pages changed lies beside the counts until it is merged with them: a frequency is the sum. In the
# sorted keys of a row a key is found in as many steps as their number has bits.
_FREQUENCIES: Final = """
    SELECT w.word, sum(f.passages[k.place])::int FROM unnest(%(words)s::int[]) AS w (word)
    JOIN (
        SELECT bucket, keys, passages FROM frequencies WHERE bucket = ANY(%(buckets)s)
        UNION ALL
        SELECT bucket, keys, passages FROM word_changes WHERE bucket = ANY(%(buckets)s)
    ) f ON f.bucket = w.word << 2 >> %(shift)s
    CROSS JOIN LATERAL (
        SELECT key, width_bucket(key, f.keys) AS place
        FROM generate_series(w.word << 2, w.word << 2 | 3) AS key
    ) k
    WHERE f.keys[k.place] = k.key GROUP BY w.word
"""
_SIZES: Final = """
    SELECT coalesce(sum(passages), 0), coalesce(sum(passages) FILTER (WHERE namespace = ANY(%s)), 0)
    FROM sizes
"""
_SEARCH: Final = """
    SELECT found.id, found.score, m.touched FROM (
        SELECT s.id, max(-(s.weights <#> %(query)s::sparsevec)) AS score FROM search s
        WHERE {filters} GROUP BY s.id HAVING max(-(s.weights <#> %(query)s::sparsevec)) > 0
        ORDER BY score DESC, s.id LIMIT %(limit)s
    ) found JOIN memories m USING (id) ORDER BY found.score DESC, found.id
"""

_HOLDING: Final = """
    SELECT DISTINCT m.id, m.touched, m.namespace, m.text FROM search s JOIN memories m USING (id)
    WHERE {filters} ORDER BY m.id DESC LIMIT %(limit)s
"""


def passages(text: str) -> Iterator[str]:
    """Cut a long text at paragraphs, else at white space; every part is searched by itself."""
    while len(text) > PASSAGE_CHARS:
        cut = _cut(text)
        yield text[:cut]
        text = text[cut:]
    if text.strip() or not text:
        yield text


def _cut(text: str) -> int:
    for mark in ("\n\n", "\n", ". ", " "):
        found = text.rfind(mark, PASSAGE_CHARS // 2, PASSAGE_CHARS)
        if found > 0:
            return found + len(mark)
    return PASSAGE_CHARS


class _Weights(dict[int, float]):
    """The BM25 weight of a word that stands so many times in a passage, worked out once."""

    def __missing__(self, count: int) -> float:
        self[count] = weight = bm25.weight(count)
        return weight


class _Classes(dict[int, int]):
    """The impact class of a word that stands so many times in a passage, worked out once."""

    def __missing__(self, count: int) -> int:
        self[count] = bound = sum(bm25.weight(count) >= least for least in CLASS_BOUNDS)
        return bound


class _Hashes(dict[str, tuple[int, ...]]):
    """The hashes of a token's words, of the tokens met last; a plain dict is quicker than lru_cache."""

    def __missing__(self, token: str) -> tuple[int, ...]:
        if len(self) >= KEPT_TOKENS:
            self.clear()
        # Not from the analyser's own cache: nobody else asks for the words of this token.
        words = analysis.words_of.__wrapped__(token)
        self[token] = hashes = tuple([_hash(word) for word in words])
        return hashes


_weights: Final = _Weights()
_classes: Final = _Classes()
_hashes: Final = _Hashes()


def rows(document: Document, live: bool) -> Iterator[tuple[Any, ...]]:
    """Yield the search rows of a memory, one a passage, in the order in which prepared.py packs them."""
    scope = [name_key("namespace", document.namespace)]
    scope += [name_key("tag", tag) for tag in document.tags]
    for number, part in enumerate(passages(document.searched())):
        counts = _counts(part)
        # Two words can share a key, and two hashes an index of the vector.
        keys = {word ^ word & 3 | _classes[count] for word, count in counts.items()}
        vector = {word % WORD_SPACE: _weights[count] for word, count in counts.items()}
        if len(vector) < len(counts):
            vector = _vector({word: _weights[count] for word, count in counts.items()})
        yield (
            document.memory_id,
            number,
            document.namespace,
            document.kind,
            document.expires_at,
            scope + sorted(keys),
            vector,
            live,
        )


def _counts(part: str) -> dict[int, int]:
    """Return how often each word stands in a passage, by its hash."""
    counts: dict[int, int] = {}
    for word in chain.from_iterable(map(_hashes.__getitem__, analysis.tokens(part))):
        counts[word] = counts.get(word, 0) + 1
    if len(counts) > PASSAGE_WORDS:
        return dict(Counter(counts).most_common(PASSAGE_WORDS))
    return counts


def _hash(word: str) -> int:
    return crc32(word.encode()) & HASH_MASK


def _vector(weights: Mapping[int, float]) -> dict[int, float]:
    """Return the weights of hashes by their index in the vector, from 0, of which there are fewer."""
    vector: dict[int, float] = {}
    for word, weight in weights.items():
        index = word % WORD_SPACE
        vector[index] = vector.get(index, 0.0) + weight
    return vector


def sparse(weights: Mapping[int, float]) -> str:
    """Return word hashes and their weights as pgvector's text form of a sparse vector."""
    vector = sorted(_vector(weights).items())
    parts = ",".join(f"{index + 1}:{weight:.6g}" for index, weight in vector)
    return f"{{{parts}}}/{WORD_SPACE}"


def bucket(key: int) -> int:
    """Return the bucket in which a word is counted, by its key."""
    return key >> KEY_SHIFT


def first_key(bucket: int) -> int:
    """Return the least key of a bucket."""
    return bucket << KEY_SHIFT


def _frequencies(connection: Connection, words: Iterable[int]) -> dict[int, int]:
    """Return how many passages hold each word, given by its hash; a word that none holds is left out."""
    wanted = list(set(words))
    buckets = list({bucket(word << 2) for word in wanted})
    given = {"words": wanted, "buckets": buckets, "shift": KEY_SHIFT}
    return dict(connection.execute(_FREQUENCIES, given).fetchall())


def rarities(connection: Connection, words: Sequence[str], total: int) -> dict[str, float]:
    """Return the idf of each word over all passages of the index."""
    hashes = {word: _hash(word) >> 2 for word in words}
    found = _frequencies(connection, hashes.values())
    return {word: bm25.idf(found.get(hashed, 0), total) for word, hashed in hashes.items()}


def size(connection: Connection, namespaces: Sequence[str]) -> tuple[int, int]:
    """Return how many passages there are, in all and in these namespaces."""
    row = connection.execute(_SIZES, (list(namespaces),)).fetchone()
    assert row is not None
    return int(row[0]), int(row[1])


def search(
    connection: Connection, idfs: Mapping[str, float], scope: Scope, *, small: bool, now: int, limit: int
) -> list[tuple[int, float, int]]:
    """Return (memory id, score, touched), best first; every filter is inside the query.

    `small` namespaces are scored whole; in others the GIN index finds the rows with any of the words.
    """
    if not idfs:
        return []
    filters, arguments = conditions(scope, now)
    arguments["query"] = sparse({_hash(word): value for word, value in idfs.items()})
    arguments["limit"] = limit
    if not small:
        filters += " AND s.keys && %(namespace_keys)s::int[] AND s.keys && %(word_keys)s::int[]"
        arguments["namespace_keys"] = [name_key("namespace", name) for name in scope.namespaces]
        arguments["word_keys"] = [_hash(word) & ~3 | bound for word in idfs for bound in range(4)]
    # Not prepared: with the arrays in sight the planner knows how many rows they match.
    return connection.execute(_SEARCH.format(filters=filters), arguments, prepare=False).fetchall()


def holding(
    connection: Connection, words: Sequence[str], scope: Scope, *, now: int, limit: int
) -> list[tuple[int, int, str, str]]:
    """Return (memory id, touched, namespace, text) of those with a passage that has all of some words.

    The latest first; every filter is inside the query.
    """
    if not words:
        return []
    filters, arguments = conditions(scope, now)
    arguments |= {"limit": limit, "homes": [name_key("namespace", name) for name in scope.namespaces]}
    filters += " AND s.keys && %(homes)s::int[]"
    for number, word in enumerate(words):
        filters += f" AND s.keys && %(word{number})s::int[]"
        arguments[f"word{number}"] = [_hash(word) & ~3 | bound for bound in range(4)]
    return connection.execute(_HOLDING.format(filters=filters), arguments, prepare=False).fetchall()
