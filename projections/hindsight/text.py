"""The text channel: exact BM25 in plain Postgres.

A passage's words are a sparse vector of BM25 weights; its inner product with the query's idfs is the
BM25 score, computed in C by pgvector. The same words, with an impact class in the two low bits, are
integer keys under a GIN index, which finds the candidates of a large namespace; namespace and tags
are keys too. The method and its measurements are described in docs/index.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
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

#: A word's weight from which on it is in impact class 3, 2 and 1.
CLASS_BOUNDS: Final = (1.5, 1.3, 1.1)

_FREQUENCIES: Final = "SELECT word, n0 + n1 + n2 + n3 FROM frequencies WHERE word = ANY(%s)"
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


def rows(document: Document, live: bool) -> Iterator[tuple[Any, ...]]:
    """Yield the search rows of a memory, one a passage, in the order of the table's columns."""
    scope = [name_key("namespace", document.namespace)]
    scope += [name_key("tag", tag) for tag in document.tags]
    for number, part in enumerate(passages(document.searched())):
        counts = Counter(_hash(word) for word in analysis.words(part))
        weights = {word: bm25.weight(count) for word, count in counts.most_common(PASSAGE_WORDS)}
        keys = sorted({_key(word, weight) for word, weight in weights.items()})
        yield (
            document.memory_id,
            number,
            document.namespace,
            document.kind,
            document.expires_at,
            live,
            scope + keys,
            sparse(weights),
        )


def _hash(word: str) -> int:
    return crc32(word.encode()) & HASH_MASK


def _key(word: int, weight: float) -> int:
    bound = sum(weight >= least for least in CLASS_BOUNDS)
    return word & ~3 | bound


def sparse(weights: Mapping[int, float]) -> str:
    """Return word hashes and their weights as pgvector's text form of a sparse vector."""
    merged: dict[int, float] = {}
    for word, weight in weights.items():
        index = word % WORD_SPACE + 1
        merged[index] = merged.get(index, 0.0) + weight
    parts = ",".join(f"{index}:{weight:.6g}" for index, weight in sorted(merged.items()))
    return f"{{{parts}}}/{WORD_SPACE}"


def word_changes(keys: Iterable[Sequence[int]], sign: int) -> Counter[tuple[int, int]]:
    """Return by how much each (word, impact class) changes when rows with these keys come or go."""
    changes: Counter[tuple[int, int]] = Counter()
    for row in keys:
        for key in row:
            if key >= 0:
                changes[key >> 2, key & 3] += sign
    return changes


def rarities(connection: Connection, words: Sequence[str], total: int) -> dict[str, float]:
    """Return the idf of each word over all passages of the index."""
    hashes = {word: _hash(word) >> 2 for word in words}
    found: dict[int, int] = dict(connection.execute(_FREQUENCIES, (list(hashes.values()),)).fetchall())
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
