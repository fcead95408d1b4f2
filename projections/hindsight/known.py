"""Known names in a search: other names of the same thing, texts that hold a name, and what a note relates to.

Rules find a name in a text only if it looks like one. A name that is known is also found as words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Final

from foldlog.projections import analysis
from foldlog.projections.hindsight import graph, text
from foldlog.projections.hindsight.connection import Connection
from foldlog.projections.hindsight.graph import Known
from foldlog.projections.scope import Scope

#: Most names whose words one question looks for, and most texts that are read for each.
MOST_NAMES: Final = 8
MOST_TEXTS: Final = 50


def search(
    connection: Connection, query: str, scope: Scope, *, now: int, limit: int
) -> list[tuple[int, float, int]]:
    """Return (memory id, score, touched) of memories that bear or mention what the question names.

    By whichever of its names: those that a note states for one thing stand for each other.
    """
    wanted = graph.asked(query, scope)
    others = {known.entity: known for _, known in graph.alike(connection, wanted)}
    found = {
        memory: (score, touched)
        for memory, score, touched in graph.search(
            connection, [*wanted, *others], scope, now=now, limit=limit
        )
    }
    for _, memory, touched, shared in holders(connection, others.values(), scope, now=now):
        found.setdefault(memory, (graph.rarity(shared), touched))
    best = sorted(found.items(), key=lambda item: (-item[1][0], item[0]))
    return [(memory, score, touched) for memory, (score, touched) in best[:limit]]


def hop(
    connection: Connection, seeds: Mapping[int, str], scope: Scope, *, now: int, limit: int
) -> list[tuple[int, int, int, str, int]]:
    """Return (seed, memory id, touched, name, how many share it): one step, never back.

    From a seed to a memory whose name stands in the seed's text, and to what bears or mentions a thing
    that the seed states a relation to. `seeds` are texts by memory id.
    """
    links = graph.named(seeds, scope)
    firm: dict[int, Known] = {}
    for seed, known in graph.stated(connection, seeds):
        links.setdefault(known.entity, {})[seed] = known.canonical
        firm[known.entity] = known
    for one, other in graph.alike(connection, list(links)):
        links.setdefault(other.entity, {}).update(links[one])
        if one in firm:
            firm[other.entity] = other
    rows = [
        *graph.bearers(connection, links, scope, now=now, limit=limit),
        *graph.speakers(connection, firm, scope, now=now, limit=limit),
        *holders(connection, firm.values(), scope, now=now),
    ]
    steps = (
        (seed, memory, touched, name, shared)
        for entity, memory, touched, shared in rows
        if shared <= graph.STEP_OUT
        for seed, name in links[entity].items()
        if seed != memory
    )
    # A text may mention a name by rule, and hold it as words.
    return list(islice(dict.fromkeys(steps), limit))


def holders(
    connection: Connection, names: Iterable[Known], scope: Scope, *, now: int
) -> Iterator[tuple[int, int, int, int]]:
    """Yield (entity, memory id, touched, how many share it) of texts that hold a name, as words."""
    homes: dict[str, dict[str, int]] = {}
    for known in names:
        if not graph.is_note(known.canonical):
            homes.setdefault(known.canonical, {})[known.namespace] = known.entity
    for name, entities in list(homes.items())[:MOST_NAMES]:
        inside = replace(scope, namespaces=tuple(entities))
        words = analysis.query_words(name)
        rows = text.holding(connection, words, inside, now=now, limit=MOST_TEXTS)
        held = [row[:3] for row in rows if graph.holds(row[3], name)]
        shared = Counter(namespace for _, _, namespace in held)
        for memory, touched, namespace in held:
            yield entities[namespace], memory, touched, shared[namespace]
