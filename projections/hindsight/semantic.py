"""The semantic channel: memories whose vectors are near the question's.

Exact while few rows match, since the planner would choose an approximate scan that is slower and can
miss all of them; above that HNSW with an iterative scan, and exact again when it came back short.
"""

from __future__ import annotations

from typing import Any, Final

from foldlog.projections.hindsight.connection import Connection
from foldlog.projections.hindsight.filters import conditions
from foldlog.projections.scope import Scope

#: Up to so many matching passages every one is compared.
EXACT_UP_TO: Final = 5_000

#: How far HNSW searches; below 400 it silently returned wrong rows for some questions.
EF_SEARCH: Final = 400
MAX_SCAN_TUPLES: Final = 20_000

_MATCHING: Final = "SELECT count(*) FROM (SELECT 1 FROM search s WHERE {filters} LIMIT %(most)s) m"
# OFFSET 0 keeps the order from the inner query, so that no approximate index can be used for it.
_EXACT: Final = """
    SELECT n.id, max(1 - n.distance) AS score, m.touched FROM (
        SELECT c.id, c.embedding <=> %(vector)s::halfvec AS distance FROM (
            SELECT s.id, v.embedding FROM search s JOIN vectors v USING (id, passage)
            WHERE {filters} OFFSET 0) c
    ) n JOIN memories m USING (id) GROUP BY n.id, m.touched ORDER BY score DESC, n.id LIMIT %(limit)s
"""
_NEAR: Final = """
    WITH near AS MATERIALIZED (
        SELECT s.id, v.embedding <=> %(vector)s::halfvec AS distance
        FROM vectors v JOIN search s USING (id, passage) WHERE {filters}
        ORDER BY v.embedding <=> %(vector)s::halfvec LIMIT %(passages)s)
    SELECT n.id, max(1 - n.distance) AS score, m.touched FROM near n JOIN memories m USING (id)
    GROUP BY n.id, m.touched ORDER BY score DESC, n.id LIMIT %(limit)s
"""
_SETTINGS: Final = (
    f"SET LOCAL hnsw.ef_search = {EF_SEARCH}",
    f"SET LOCAL hnsw.max_scan_tuples = {MAX_SCAN_TUPLES}",
    "SET LOCAL hnsw.iterative_scan = relaxed_order",
)


def search(
    connection: Connection, vector: str, scope: Scope, *, now: int, limit: int
) -> list[tuple[int, float, int]]:
    """Return (memory id, cosine, touched), nearest first; k rows whenever k match.

    `vector` is pgvector's text form. Every filter is inside the query.
    """
    filters, given = conditions(scope, now)
    # A long memory has several passages: enough of them for `limit` memories in all likelihood.
    given |= {"vector": vector, "limit": limit, "passages": 2 * limit, "most": EXACT_UP_TO + 1}
    row = connection.execute(_MATCHING.format(filters=filters), given, prepare=False).fetchone()
    assert row is not None
    if row[0] > EXACT_UP_TO:
        for statement in _SETTINGS:
            connection.execute(statement)
        found = _run(connection, _NEAR, filters, given)
        if len(found) >= limit:
            return found
    return _run(connection, _EXACT, filters, given)


def _run(
    connection: Connection, statement: str, filters: str, given: dict[str, Any]
) -> list[tuple[int, float, int]]:
    return connection.execute(statement.format(filters=filters), given, prepare=False).fetchall()
