"""The graph: what memories mention, the names they bear, and what notes state of things by name.

Only real, directed, rare links help: `the text of A mentions the name of B`, and `A says that it
relates to B`. Names are stored when a memory is folded; which texts mention them is found when it is
asked, from the few texts that matter, so that a name that arrives late is met by all that was written
before.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import Any, Final, NamedTuple

from foldlog.projections import extraction
from foldlog.projections.document import FACT, NOTE, Document, note_name
from foldlog.projections.hindsight.connection import Connection
from foldlog.projections.hindsight.filters import conditions
from foldlog.projections.scope import Scope
from foldlog.projections.stopwords import STOP_WORDS

#: Most words of a name.
NAME_WORDS: Final = 6

#: Longest text that is searched for names, in characters.
MAX_TEXT: Final = 4_000

#: An entity that more memories mention, or bear as their name, says too little to be searched by.
FAN_OUT: Final = 200

#: The same for one that is stepped to.
STEP_OUT: Final = 20

#: Most rows of names and mentions that one question looks at.
MOST: Final = 2_000

#: The only memory that bears a name is worth so many that mention it.
BEARER: Final = 2.0

_BY_ENTITY: Final = """
    WITH named AS MATERIALIZED (
        SELECT n.id, %(bearer)s * ln(3::float8) / ln(2 + c.bearers) AS score FROM names n
        JOIN (SELECT entity, count(*) AS bearers FROM names WHERE entity = ANY(%(entities)s)
            GROUP BY entity HAVING count(*) <= %(fan_out)s) c USING (entity)
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
_FEW: Final = """
    WITH found AS MATERIALIZED (
        SELECT entity, id, count(*) OVER (PARTITION BY entity) AS shared FROM {table}
        WHERE entity = ANY(%(entities)s)
    ), few AS MATERIALIZED (SELECT * FROM found WHERE shared <= %(fan_out)s LIMIT %(most)s)
    SELECT n.entity, n.id, m.touched, n.shared FROM few n
    JOIN search s ON s.id = n.id AND s.passage = 0 JOIN memories m ON m.id = n.id
    WHERE {filters} ORDER BY n.id, n.entity LIMIT %(limit)s
"""
_STATED: Final = """
    SELECT r.source, e.entity, e.namespace, e.canonical
    FROM relations r JOIN entities e ON e.entity = r.target
    WHERE r.source = ANY(%s) AND r.kind <> 'supersedes' AND r.kind <> 'alias'
    ORDER BY r.source, r.number LIMIT %s
"""
# Whoever states several names for what it is about says that they are one thing's.
_ALIKE: Final = """
    SELECT DISTINCT a.target, e.entity, e.namespace, e.canonical
    FROM relations a JOIN memories m ON m.id = a.source AND m.visible
    JOIN relations b ON b.source = a.source AND b.kind = 'alias' AND b.target <> a.target
    JOIN entities e ON e.entity = b.target
    WHERE a.kind = 'alias' AND a.target = ANY(%s) ORDER BY a.target, e.entity LIMIT %s
"""


class Known(NamedTuple):
    """A name that some memory bears, or that is stated of one."""

    entity: int
    namespace: str
    canonical: str


def entity(namespace: str, canonical: str) -> int:
    """Return the number of an entity: known from its name alone, so that no fold looks it up."""
    digest = blake2b(f"{namespace}\0{canonical}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1


def is_note(name: str) -> bool:
    """Say whether a name is that of a note: ids are unique in the log, and their case counts."""
    return name.startswith(f"{NOTE}:")


def forms(name: str) -> list[str]:
    """Return the canonical forms of a name that somebody gives: what the rules make of it, then its words.

    `k8s` is `kubernetes` to the rules. A note's name has only one form.
    """
    if is_note(name):
        return [name]
    found = _mention(name)
    plain = extraction.canonical(name) or name
    return list(dict.fromkeys([found.canonical, plain] if found else [plain]))


@lru_cache(maxsize=4096)
def _mention(name: str) -> extraction.Mention | None:
    """Return what the rules take a whole name for."""
    return next((found for found in extraction.find(name) if found.name == name), None)


def number(namespace: str, form: str) -> int:
    """Return the number of a form of a name in a namespace."""
    return entity("" if is_note(form) else namespace, form)


def names(document: Document) -> list[int]:
    """Return the names that a memory bears, as numbers of entities.

    A fact's key, also without a bracket at its end; a note's own name, and the things that it states
    something of.
    """
    found: list[int] = []
    if document.kind == NOTE:
        things = [form for _, name in document.relates if not is_note(name) for form in forms(name)]
        found = [number(document.namespace, name) for name in (note_name(document.key), *things)]
    elif document.kind == FACT:
        key = document.key
        plain = key[: key.rindex("(")] if key.endswith(")") and "(" in key[1:] else key
        wanted = (extraction.canonical(key), extraction.canonical(plain))
        # Not `number`: a key that looks like the name of a note is a fact's all the same.
        found = [entity(document.namespace, name) for name in wanted if name]
    return list(dict.fromkeys(found))


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


def holds(text: str, name: str) -> bool:
    """Say whether a text has a canonical name as a run of words."""
    words = text[:MAX_TEXT].split()
    length = len(name.split())
    return length <= NAME_WORDS and any(
        extraction.canonical(" ".join(words[start : start + length])) == name
        for start in range(len(words) - length + 1)
    )


def asked(query: str, scope: Scope) -> list[int]:
    """Return the numbers of all that a question may name."""
    wanted = phrases(query) | {found.canonical for found in extraction.find(query)}
    return [entity(namespace, name) for namespace in scope.namespaces for name in wanted]


def search(
    connection: Connection, entities: Sequence[int], scope: Scope, *, now: int, limit: int
) -> list[tuple[int, float, int]]:
    """Return (memory id, score, touched) of memories that bear or mention one of these names."""
    if not entities:
        return []
    filters, given = conditions(scope, now)
    given |= {"entities": entities, "bearer": BEARER, "fan_out": FAN_OUT, "most": MOST, "limit": limit}
    return connection.execute(_BY_ENTITY.format(filters=filters), given, prepare=False).fetchall()


def named(seeds: Mapping[int, str], scope: Scope) -> dict[int, dict[int, str]]:
    """Return entity -> memory -> name, of all that the texts of some memories may name."""
    found: dict[int, dict[int, str]] = {}
    for seed, text in seeds.items():
        for name in phrases(text):
            for namespace in scope.namespaces:
                found.setdefault(entity(namespace, name), {})[seed] = name
    return found


def stated(connection: Connection, memories: Iterable[int]) -> list[tuple[int, Known]]:
    """Return (memory, what it states a relation to); other names and superseded notes are no step."""
    rows = connection.execute(_STATED, (list(memories), MOST)).fetchall()
    return [(source, Known(*known)) for source, *known in rows]


def alike(connection: Connection, entities: Iterable[int]) -> list[tuple[int, Known]]:
    """Return (entity, another name of the same thing), as visible notes state it."""
    rows = connection.execute(_ALIKE, (list(entities), MOST)).fetchall()
    return [(one, Known(*other)) for one, *other in rows]


def bearers(
    connection: Connection, entities: Iterable[int], scope: Scope, *, now: int, limit: int
) -> list[tuple[int, int, int, int]]:
    """Return (entity, memory id, touched, how many share it) of those that bear a rare name."""
    return _few(connection, "names", list(entities), scope, now=now, limit=limit)


def speakers(
    connection: Connection, entities: Iterable[int], scope: Scope, *, now: int, limit: int
) -> list[tuple[int, int, int, int]]:
    """Return the same of those that mention it."""
    return _few(connection, "mentions", list(entities), scope, now=now, limit=limit)


def _few(
    connection: Connection, table: str, entities: list[int], scope: Scope, *, now: int, limit: int
) -> list[tuple[int, int, int, int]]:
    if not entities:
        return []
    filters, given = conditions(scope, now)
    given |= {"entities": entities, "fan_out": STEP_OUT, "most": MOST, "limit": limit}
    statement = _FEW.format(table=table, filters=filters)
    return connection.execute(statement, given, prepare=False).fetchall()


def rarity(frequency: int) -> float:
    """Return how much a name tells that so many memories may mention."""
    return 1 / math.log(2 + frequency)


def relations(document: Document) -> Iterator[tuple[int, int, str, int]]:
    """Yield the rows of what a note states: source, number, kind, target."""
    for place, (kind, name) in enumerate(document.relates):
        yield document.memory_id, place, kind, number(document.namespace, forms(name)[0])


def rows(
    documents: Sequence[Document],
) -> tuple[list[tuple[Any, ...]], list[tuple[int, int]], list[tuple[int, int]]]:
    """Return the rows of entities, mentions and names of some memories."""
    entities: dict[int, tuple[Any, ...]] = {}
    spoken: list[tuple[int, int]] = []
    borne: list[tuple[int, int]] = []
    for item in documents:
        for plain, name, kind in mentions(item):
            found = entity(item.namespace, plain)
            entities.setdefault(found, (found, item.namespace, plain, name, kind))
            spoken.append((found, item.memory_id))
        for _, name in item.relates:
            form, home = forms(name)[0], "" if is_note(name) else item.namespace
            found = number(home, form)
            entities.setdefault(found, (found, home, form, name, type_of(name)))
        borne += [(name, item.memory_id) for name in names(item)]
    return list(entities.values()), spoken, borne


def type_of(name: str) -> str:
    """Return what a name is the name of, as it would be found in a text."""
    if is_note(name):
        return NOTE
    found = _mention(name)
    return found.type if found else "name"
