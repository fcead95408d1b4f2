"""The relations of notes, and the periods in which they hold, written with the page that tells of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from foldlog.projections.document import Document
from foldlog.projections.hindsight import graph
from foldlog.projections.hindsight.connection import Connection
from foldlog.projections.hindsight.effects import Effects

_DROP: Final = "DELETE FROM relations WHERE source = ANY(%s) RETURNING target"
_DROP_PERIODS: Final = "DELETE FROM periods WHERE id = ANY(%s)"
_RELATIONS: Final = """
    INSERT INTO relations (source, number, kind, target)
    SELECT * FROM unnest(%s::bigint[], %s::int[], %s::text[], %s::bigint[])
"""
_VERDICTS: Final = """
    INSERT INTO verdicts (id, position, at, status)
    SELECT * FROM unnest(%s::bigint[], %s::bigint[], %s::bigint[], %s::text[]) ON CONFLICT DO NOTHING
"""
# All verdicts on a note are taken, not the page's alone: then neither the size of a page nor a repeat
# changes what comes out. A later verdict ends a period or begins one, and never moves a beginning.
_PERIODS: Final = """
    WITH touched AS (
        SELECT m.id, m.key FROM memories m WHERE m.id = ANY(%(ids)s)
        UNION SELECT m.id, m.key FROM edges e JOIN memories m ON m.kind = 'note' AND m.key = e.target
        WHERE e.superseder = ANY(%(ids)s)
    ), judges AS (
        SELECT id, id AS judge FROM touched
        UNION ALL SELECT t.id, e.superseder FROM touched t JOIN edges e ON e.target = t.key
    ), steps AS (
        SELECT j.id, j.id = j.judge AS own, v.position, v.at, (v.status = 'accepted')::int
            - lag((v.status = 'accepted')::int, 1, 0)
                OVER (PARTITION BY j.id, j.judge ORDER BY v.position) AS step
        FROM judges j JOIN verdicts v ON v.id = j.judge
    ), states AS (
        SELECT id, position, at, coalesce(sum(step) FILTER (WHERE own) OVER past, 0) = 1
            AND coalesce(sum(step) FILTER (WHERE NOT own) OVER past, 0) = 0 AS visible
        FROM steps WINDOW past AS (PARTITION BY id ORDER BY position)
    ), changes AS (
        SELECT *, lag(visible, 1, false) OVER (PARTITION BY id ORDER BY position) AS before FROM states
    ), spans AS (
        SELECT id, visible, position AS since, at AS valid_from,
            lead(position) OVER later AS until, lead(at) OVER later AS valid_to
        FROM changes WHERE visible <> before WINDOW later AS (PARTITION BY id ORDER BY position)
    )
    INSERT INTO periods (id, since, until, valid_from, valid_to)
    SELECT id, since, until, valid_from, CASE WHEN valid_to < valid_from THEN valid_from ELSE valid_to END
    FROM spans WHERE visible
    ON CONFLICT (id, since) DO UPDATE SET until = excluded.until, valid_to = excluded.valid_to
"""
_FORGET: Final = """
    DELETE FROM entities e WHERE e.entity = ANY(%s)
        AND NOT EXISTS (SELECT 1 FROM mentions x WHERE x.entity = e.entity)
        AND NOT EXISTS (SELECT 1 FROM relations r WHERE r.target = e.entity)
"""


def apply(connection: Connection, effects: Effects, documents: list[Document], left: set[int]) -> None:
    """Write what a page says of relations, and forget entities of which nothing speaks any more.

    `left` are the entities that lost a mention. The page's memories, edges and mentions are written.
    """
    stale = [*effects.removed, *(item.memory_id for item in documents if item.relates)]
    if stale:
        left |= {target for (target,) in connection.execute(_DROP, (stale,)).fetchall()}
    if effects.removed:
        connection.execute(_DROP_PERIODS, (list(effects.removed),))
    rows = [row for item in documents for row in graph.relations(item)]
    if rows:
        connection.execute(_RELATIONS, _columns(rows))
    if effects.verdicts:
        connection.execute(_VERDICTS, _columns(effects.verdicts))
        connection.execute(_PERIODS, {"ids": list(effects.statuses)})
    if left:
        connection.execute(_FORGET, (list(left),))


def _columns(rows: Sequence[tuple[int | str, ...]]) -> list[list[int | str]]:
    return [list(column) for column in zip(*rows, strict=True)]
