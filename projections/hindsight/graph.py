"""The graph channel: memories that name what a question names, and what the best of them name in turn.

Only real, directed, rare links help: `the text of A mentions the name of B`. Names are stored when a
memory is folded; which texts mention them is found when it is asked, from the few texts that matter,
so that a name that arrives late is met by all that was written before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import Any, Final

from foldlog.projections import extraction
from foldlog.projections.document import FACT, Document
from foldlog.projections.hindsight.connection import Connection
from foldlog.projections.hindsight.filters import conditions
from foldlog.projections.scope import Scope
from foldlog.projections.stopwords import STOP_WORDS

#: Most words of a name.
NAME_WORDS: Final = 6

#: Longest text that is searched for names, in characters.
MAX_TEXT: Final = 4_000

#: An entity that more memories mention says too little to follow.
FAN_OUT: Final = 200

#: Most rows of names and mentions that one question looks at.
MOST: Final = 2_000

#: A memory that bears a name is worth so many that mention it.
BEARER: Final = 2.0

_BY_ENTITY: Final = """
    WITH named AS MATERIALIZED (
        SELECT n.id, %(bearer)s::float8 AS score FROM names n WHERE n.entity = ANY(%(entities)s)
        UNION ALL
        SELECT x.id, 1 / ln(2 + c.mentions) FROM mentions x
        JOIN (SELECT entity, count(*) AS mentions FROM mentions WHERE entity = ANY(%(entities)s)
            GROUP BY entity HAVING count(*) <= %(fan_out)s) c USING (entity)
        LIMIT %(most)s)
    SELECT f.id, sum(f.score) AS score, m.touched FROM named f
    JOIN search s ON s.id = f.id AND s.passage = 0 JOIN memories m ON m.id = f.id
    WHERE {filters} GROUP BY f.id, m.touched ORDER BY score DESC, f.id LIMIT %(limit)s
"""
# MATERIALIZED: most phrases are no names, and the few that are go first, not the namespace.
_BEARERS: Final = """
    WITH borne AS MATERIALIZED (
        SELECT entity, id FROM names WHERE entity = ANY(%(entities)s) LIMIT %(most)s)
    SELECT n.entity, n.id, m.touched FROM borne n
    JOIN search s ON s.id = n.id AND s.passage = 0 JOIN memories m ON m.id = n.id
    WHERE {filters} ORDER BY n.id LIMIT %(limit)s
"""


def entity(namespace: str, canonical: str) -> int:
    """Return the number of an entity: known from its name alone, so that no fold looks it up."""
    digest = blake2b(f"{namespace}\0{canonical}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1


def names(document: Document) -> list[str]:
    """Return the canonical names that a memory bears: a fact's key, also without a bracket at its end."""
    if document.kind != FACT:
        return []
    key = document.key
    plain = key[: key.rindex("(")] if key.endswith(")") and "(" in key[1:] else key
    found = (extraction.canonical(key), extraction.canonical(plain))
    return [name for name in dict.fromkeys(found) if name]


def mentions(document: Document) -> Iterator[tuple[str, str, str]]:
    """Yield (canonical name, name as written, type) of each entity that a memory speaks of."""
    seen = set()
    if document.speaker:
        seen.add(extraction.canonical(document.speaker))
        yield extraction.canonical(document.speaker), document.speaker, "person"
    for found in extraction.find(document.text[:MAX_TEXT]):
        if found.canonical not in seen:
            seen.add(found.canonical)
            yield found.canonical, found.name, found.type


@lru_cache(maxsize=512)
def phrases(text: str) -> frozenset[str]:
    """Return every run of up to NAME_WORDS words of a text, in canonical form."""
    words = text[:MAX_TEXT].split()
    # A name neither begins nor ends with `of` or `the`, unless it is written so that it stands out.
    bare = [word in STOP_WORDS for word in words]
    found = {
        extraction.canonical(" ".join(words[start : start + length]))
        for start in range(len(words))
        if not bare[start]
        for length in range(1, min(NAME_WORDS, len(words) - start) + 1)
        if not bare[start + length - 1]
    }
    return frozenset(found - {""})


def search(
    connection: Connection, query: str, scope: Scope, *, now: int, limit: int
) -> list[tuple[int, float, int]]:
    """Return (memory id, score, touched) of memories that bear or mention what the question names."""
    wanted = phrases(query) | {found.canonical for found in extraction.find(query)}
    entities = [entity(namespace, name) for namespace in scope.namespaces for name in wanted]
    if not entities:
        return []
    filters, given = conditions(scope, now)
    given |= {"entities": entities, "bearer": BEARER, "fan_out": FAN_OUT, "most": MOST, "limit": limit}
    return connection.execute(_BY_ENTITY.format(filters=filters), given, prepare=False).fetchall()


def hop(
    connection: Connection,
    seeds: Mapping[int, str],
    scope: Scope,
    *,
    now: int,
    limit: int,
) -> list[tuple[int, int, int, str]]:
    """Return (seed, memory id, touched, name) where the seed's text mentions the name of the memory.

    Directed, one step. `seeds` are texts by memory id.
    """
    sources: dict[int, list[tuple[int, str]]] = {}
    for seed, text in seeds.items():
        for name in phrases(text):
            for namespace in scope.namespaces:
                sources.setdefault(entity(namespace, name), []).append((seed, name))
    if not sources:
        return []
    filters, given = conditions(scope, now)
    given |= {"entities": list(sources), "most": MOST, "limit": limit}
    rows = connection.execute(_BEARERS.format(filters=filters), given, prepare=False).fetchall()
    return [
        (seed, memory, touched, name)
        for found, memory, touched in rows
        for seed, name in sources[found]
        if seed != memory
    ]


def rows(
    documents: Sequence[Document],
) -> tuple[list[tuple[Any, ...]], list[tuple[int, int]], list[tuple[int, int]]]:
    """Return the rows of entities, mentions and names of some memories."""
    entities: dict[int, tuple[Any, ...]] = {}
    spoken: list[tuple[int, int]] = []
    borne: list[tuple[int, int]] = []
    for item in documents:
        for canonical, name, kind in mentions(item):
            number = entity(item.namespace, canonical)
            entities.setdefault(number, (number, item.namespace, canonical, name, kind))
            spoken.append((number, item.memory_id))
        borne += [(entity(item.namespace, name), item.memory_id) for name in names(item)]
    return list(entities.values()), spoken, borne
