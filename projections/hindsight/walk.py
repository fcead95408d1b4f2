"""A walk through the graph: who relates to whom since when, from a name outwards, as of any moment."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from foldlog.projections.document import NOTE, note_name
from foldlog.projections.extraction import EXTRACTOR_VERSION
from foldlog.projections.hindsight import control, graph, known
from foldlog.projections.hindsight.connection import Connection
from foldlog.projections.hindsight.graph import Known
from foldlog.projections.index import AsOf, Edge, Path, Walk
from foldlog.projections.scope import Scope

#: Most ends that are followed in one step, of names and of memories.
MOST_ENDS: Final = 100

#: What finds an edge; the rest was stated.
EXTRACTORS: Final = {"mentions": f"rules {EXTRACTOR_VERSION}", "bears": "key"}

_NAMESPACES: Final = "SELECT namespace FROM sizes ORDER BY namespace"
_NAMES: Final = """
    SELECT entity, coalesce(t.name, m.key) FROM names n JOIN memories m USING (id)
    LEFT JOIN entities t USING (entity) WHERE entity = ANY(%(entities)s) AND m.kind = 'fact'
    UNION SELECT entity, name FROM entities WHERE entity = ANY(%(entities)s)
"""
# A note holds while it is visible; anything else from when it happened until it expires.
_COLUMNS: Final = """
    m.id, m.kind, m.key, m.namespace, m.touched, coalesce(p.valid_from, m.happened_at),
    CASE WHEN m.kind = 'note' THEN p.valid_to ELSE m.expires_at END
"""
_PERIOD: Final = """
    LEFT JOIN LATERAL (
        SELECT valid_from, valid_to FROM periods WHERE id = m.id AND {period} ORDER BY since DESC LIMIT 1
    ) p ON true
"""
_VALID: Final = """
    m.namespace = ANY(%(namespaces)s) AND (m.expires_at IS NULL OR m.expires_at >= %(instant)s)
    AND CASE WHEN m.kind = 'note' THEN p.valid_from IS NOT NULL ELSE {other} END
"""
#: How `periods` and other memories are asked, by what is known of the moment.
_NOW: Final = ("until IS NULL", "true")
_AT_INSTANT: Final = (
    "valid_from <= %(instant)s AND (valid_to IS NULL OR valid_to > %(instant)s)",
    "m.happened_at <= %(instant)s",
)
_AT_POSITION: Final = (
    "since <= %(position)s AND (until IS NULL OR until > %(position)s)",
    "m.position <= %(position)s",
)
# What a fact says of its own key is no mention.
_ABOUT: Final = f"""
    SELECT q.entity, f.* FROM unnest(%(entities)s::bigint[]) AS q (entity) CROSS JOIN LATERAL (
        SELECT e.relation, {_COLUMNS}, count(*) OVER () FROM (
            SELECT source AS id, kind AS relation, 0 AS rank FROM relations WHERE target = q.entity
            UNION ALL SELECT id, 'bears', 1 FROM names JOIN memories b USING (id)
            WHERE entity = q.entity AND b.kind = 'fact'
            UNION ALL SELECT x.id, 'mentions', 2 FROM mentions x JOIN memories b USING (id)
            WHERE x.entity = q.entity AND (b.kind <> 'fact'
                OR NOT EXISTS (SELECT 1 FROM names n WHERE n.entity = x.entity AND n.id = x.id))
        ) e JOIN memories m ON m.id = e.id {{period}} WHERE {{valid}}
        ORDER BY e.rank, m.position DESC, m.id, e.relation LIMIT %(limit)s
    ) f
"""
_OF: Final = f"""
    SELECT f.* FROM unnest(%(ids)s::bigint[]) AS q (id) CROSS JOIN LATERAL (
        SELECT e.entity, e.name, e.relation, {_COLUMNS}, count(*) OVER ()
        FROM memories m {{period}} CROSS JOIN LATERAL (
            SELECT r.target AS entity, t.name, r.kind AS relation, 0 AS rank, r.number
            FROM relations r JOIN entities t ON t.entity = r.target WHERE r.source = m.id
            UNION ALL SELECT entity, coalesce(t.name, m.key), 'bears', 1, 0
            FROM names n LEFT JOIN entities t USING (entity) WHERE n.id = m.id AND m.kind = 'fact'
            UNION ALL SELECT x.entity, t.name, 'mentions', 2, 0 FROM mentions x JOIN entities t USING (entity)
            WHERE x.id = m.id AND (m.kind <> 'fact'
                OR NOT EXISTS (SELECT 1 FROM names n WHERE n.entity = x.entity AND n.id = x.id))
        ) e WHERE m.id = q.id AND {{valid}} ORDER BY e.rank, e.number, e.name LIMIT %(limit)s
    ) f
"""
_NOTES: Final = f"""
    SELECT {_COLUMNS} FROM memories m {{period}}
    WHERE m.kind = 'note' AND m.key = ANY(%(keys)s) AND {{valid}} ORDER BY m.id
"""
_ALIKE: Final = f"""
    SELECT a.target, e.name, {_COLUMNS} FROM relations a JOIN memories m ON m.id = a.source {{period}}
    JOIN entities e ON e.entity = a.target
    WHERE a.kind = 'alias' AND {{valid}} AND (a.source = ANY(%(ids)s) OR EXISTS (
        SELECT 1 FROM relations b WHERE b.source = a.source AND b.kind = 'alias'
            AND b.target = ANY(%(entities)s)))
    ORDER BY a.source, a.number LIMIT %(limit)s
"""
_HELD: Final = f"""
    SELECT q.entity, {_COLUMNS} FROM unnest(%(entities)s::bigint[], %(ids)s::bigint[]) AS q (entity, id)
    JOIN memories m ON m.id = q.id {{period}}
    WHERE {{valid}} AND NOT EXISTS (SELECT 1 FROM mentions x WHERE x.entity = q.entity AND x.id = m.id)
        AND NOT (m.kind = 'fact'
            AND EXISTS (SELECT 1 FROM names n WHERE n.entity = q.entity AND n.id = m.id))
    ORDER BY m.position DESC
"""


def walk(connection: Connection, generation_id: int, path: Path, *, now: int) -> Walk:
    """Return what is around a name; the generation's tables are in the connection's path."""
    # Read before the rest: what is folded in between is in the answer, and never missed.
    row = control.checkpoint(connection, generation_id)
    walker = _Walker(connection, path, now)
    walker.begin()
    for depth in range(1, path.hops + 1):
        walker.step(depth)
    return Walk(checkpoint=row[0] if row else 0, edges=walker.edges, cut=walker.cut, followed=walker.followed)


class _Walker:
    """One walk: the ends that are to be followed next, and what was found."""

    def __init__(self, connection: Connection, path: Path, now: int) -> None:
        self._connection = connection
        self._path = path
        self._now = now
        self._namespaces = list(path.namespaces or [name for (name,) in self._rows(_NAMESPACES)])
        moment = path.as_of or AsOf(instant=now)
        period, other = _NOW
        if path.as_of is not None:
            period, other = _AT_INSTANT if moment.position is None else _AT_POSITION
        self._parts = {"period": _PERIOD.format(period=period), "valid": _VALID.format(other=other)}
        self._given: dict[str, Any] = {
            "namespaces": self._namespaces,
            "instant": moment.instant,
            "position": moment.position,
            "limit": path.limit,
        }
        self.edges: list[Edge] = []
        self.cut: dict[tuple[str, str], int] = {}
        self.followed = True
        # What is to be followed: names (entity -> as written, namespace) and memories; all that ever was.
        self._names: dict[int, tuple[str, str]] = {}
        self._memories: dict[int, None] = {}
        self._met_names: set[int] = set()
        self._met_memories: set[int] = set()
        self._told: set[tuple[int, str, str]] = set()

    def begin(self) -> None:
        """Find what is meant: the name, in each namespace; the note of that id; their other names."""
        asked = self._path.name
        homes = {
            graph.number(namespace, form): namespace
            for form in graph.forms(asked)
            for namespace in self._namespaces
        }
        notes = self._ask(_NOTES, keys=[asked.removeprefix(f"{NOTE}:")])
        alike = self._ask(_ALIKE, entities=list(homes), ids=[row[0] for row in notes])
        for entity, name in self._rows(_NAMES, {"entities": list(homes)}):
            self._reach_name(entity, name, homes[entity])
        for entity, name, *memory in alike:
            self._reach_name(entity, name, memory[3])
        for row in [*notes, *(row[2:] for row in alike)]:
            self._reach_memory(*row[:4])

    def step(self, depth: int) -> None:
        """Follow all that was reached in the step before."""
        names, ids = self._names, list(self._memories)
        self._names, self._memories = {}, {}
        self.followed &= max(len(names), len(ids)) <= MOST_ENDS
        totals: Counter[int] = Counter()
        for entity, relation, *memory, total in self._ask(_ABOUT, entities=list(names)[:MOST_ENDS]):
            totals[entity] = total
            self._tell(depth, memory, relation, names[entity][0], total=total)
        for entity, *memory in self._held(names) if depth == 1 else ():
            totals[entity] += 1
            if totals[entity] <= self._path.limit:
                self._tell(depth, memory, "mentions", names[entity][0], extractor="words")
            else:
                self.cut[memory[3], names[entity][0]] = totals[entity]
        for entity, name, relation, *memory, total in self._ask(_OF, ids=ids[:MOST_ENDS]):
            self._tell(depth, memory, relation, name, total=total, from_source=True)
            self._reach_name(entity, name, memory[3])
        self._reach_notes()

    def _held(self, names: dict[int, tuple[str, str]]) -> list[tuple[Any, ...]]:
        """Return the texts that hold what was asked for as words, and are not known to mention it."""
        wanted = [Known(entity, home, graph.forms(name)[-1]) for entity, (name, home) in names.items()]
        scope = Scope(namespaces=tuple(self._namespaces))
        held = list(known.holders(self._connection, wanted, scope, now=self._now))
        return self._ask(_HELD, entities=[row[0] for row in held], ids=[row[1] for row in held])

    def _tell(
        self,
        depth: int,
        memory: Sequence[Any],
        relation: str,
        target: str,
        *,
        total: int = 0,
        extractor: str | None = None,
        from_source: bool = False,
    ) -> None:
        number, kind, key, namespace, touched, since, until = memory
        edge = Edge(
            depth=depth,
            source=_label(kind, key),
            kind=relation,
            target=target,
            namespace=namespace,
            since=since,
            until=until,
            extractor=extractor or EXTRACTORS.get(relation, "stated"),
            from_source=from_source,
            memory_id=number,
            touched=touched,
        )
        if total > self._path.limit:
            self.cut[namespace, edge.via] = total
        if (number, relation, target) not in self._told:
            self._told.add((number, relation, target))
            self.edges.append(edge)
        self._reach_memory(number, kind, key, namespace)

    def _reach_memory(self, number: int, kind: str, key: str, namespace: str) -> None:
        if number not in self._met_memories:
            self._met_memories.add(number)
            self._memories[number] = None
            if kind == NOTE:
                # What others say of it.
                self._reach_name(graph.number("", note_name(key)), note_name(key), namespace)

    def _reach_name(self, entity: int, name: str, namespace: str) -> None:
        if entity not in self._met_names:
            self._met_names.add(entity)
            self._names[entity] = (name, namespace)

    def _reach_notes(self) -> None:
        """Follow, of the notes that are spoken of, those that are visible."""
        keys = [name.removeprefix(f"{NOTE}:") for name, _ in self._names.values() if graph.is_note(name)]
        for memory in self._ask(_NOTES, keys=keys):
            self._reach_memory(*memory[:4])

    def _ask(self, statement: str, **given: list[Any]) -> list[tuple[Any, ...]]:
        """Return the rows of a statement that is restricted to the moment and the namespaces."""
        if not any(given.values()):
            return []
        return self._rows(statement.format(**self._parts), self._given | given)

    def _rows(self, statement: str, given: Any = None) -> list[tuple[Any, ...]]:
        return self._connection.execute(statement, given, prepare=False).fetchall()


def _label(kind: str, key: str) -> str:
    return f"{kind}:{key}"
