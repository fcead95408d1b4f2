"""The time channel: memories that speak of the time a question names, or came about in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from foldlog.projections import dates
from foldlog.projections.document import Document
from foldlog.projections.hindsight.connection import Connection
from foldlog.projections.hindsight.filters import conditions
from foldlog.projections.scope import Scope

#: Most spans kept of one memory: a calendar is not about any one of its days.
MAX_SPANS: Final = 32

#: Milliseconds a memory itself takes: it came about in this instant.
INSTANT_MS: Final = 1

#: Coarser than that, a span says nothing that narrows a search.
VAGUE: Final = frozenset({"century", "decade"})

# The best span of a memory counts: overlap over union, so that `May 2023` meets a day in May better than
# `the 2020s` does. The GiST index finds what overlaps.
_SEARCH: Final = """
    SELECT f.id, f.score, m.touched FROM (
        SELECT s.id, max(
            (least(upper(p.span), q.last) - greatest(lower(p.span), q.first))::float8
            / (greatest(upper(p.span), q.last) - least(lower(p.span), q.first))) AS score
        FROM unnest(%(first)s::bigint[], %(last)s::bigint[]) AS q (first, last)
        JOIN spans p ON p.span && int8range(q.first, q.last)
        JOIN search s ON s.id = p.id AND s.passage = 0
        WHERE {filters} GROUP BY s.id ORDER BY score DESC, s.id LIMIT %(limit)s
    ) f JOIN memories m USING (id) ORDER BY f.score DESC, f.id
"""

#: (memory id, number, half-open range, precision, source), in the order of the table's columns.
Row = tuple[int, int, tuple[int, int], str, str]


def rows(document: Document) -> Iterator[Row]:
    """Yield the spans of a memory: when it came about, and what it says of time, resolved against that."""
    happened = document.happened_at
    yield (document.memory_id, 0, (happened, happened + INSTANT_MS), "second", "recorded")
    found = [span for span in dates.find(document.text, happened) if span.precision not in VAGUE]
    for number, span in enumerate(found[:MAX_SPANS], start=1):
        yield (document.memory_id, number, (span.start_ms, span.end_ms), span.precision, "said")


def search(
    connection: Connection, spans: Sequence[tuple[int, int]], scope: Scope, *, now: int, limit: int
) -> list[tuple[int, float, int]]:
    """Return (memory id, overlap over union with the best span, touched), best first.

    `spans` are half-open, UTC ms. Every filter is inside the query.
    """
    if not spans:
        return []
    filters, given = conditions(scope, now)
    given |= {"first": [first for first, _ in spans], "last": [last for _, last in spans], "limit": limit}
    return connection.execute(_SEARCH.format(filters=filters), given, prepare=False).fetchall()
