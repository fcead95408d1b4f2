"""The relations of notes, and the periods in which they hold, written with the page that tells of them."""

from __future__ import annotations

from typing import Final

from foldlog.projections.hindsight.binary import copy
from foldlog.projections.hindsight.connection import Connection
from foldlog.projections.hindsight.prepared import Prepared

_DROP: Final = "DELETE FROM relations WHERE source = ANY(%s) RETURNING target"
_DROP_PERIODS: Final = "DELETE FROM periods WHERE id = ANY(%s)"
_RELATIONS: Final = "relations (source, number, kind, target)"
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


def apply(
    connection: Connection, page: Prepared, removed: list[int], replaced: list[int], left: set[int]
) -> None:
    """Write what a page says of relations, and forget entities of which nothing speaks any more.

    `removed` and `replaced` are memories that were there before, `left` the entities that lost a mention.
    The page's memories, edges and mentions are written.
    """
    stale = [*removed, *replaced]
    if stale:
        left |= {target for (target,) in connection.execute(_DROP, (stale,)).fetchall()}
    if removed:
        connection.execute(_DROP_PERIODS, (removed,))
    copy(connection, _RELATIONS, page.relations)
    if page.verdicts:
        connection.execute(_VERDICTS, [list(column) for column in zip(*page.verdicts, strict=True)])
        connection.execute(_PERIODS, {"ids": list(page.statuses)})
    if left:
        connection.execute(_FORGET, (list(left),))
