"""What is asked: of the index, of the log, and of the ranker."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from foldlog.projections import analysis
from foldlog.projections.index import TIME, Query
from foldlog.projections.local import text
from foldlog.projections.recall.ranker import Question
from foldlog.projections.scope import Scope

if TYPE_CHECKING:
    from foldlog.projections.dates import Span

#: What it is worth that a memory happened in a span that the question names, by the span's precision.
SPAN_WORTH: Final = {"year": 0.4, "season": 0.45, "quarter": 0.45, "month": 0.5, "week": 0.7}
#: Coarser spans say nothing that narrows a search.
VAGUE: Final = frozenset({"century", "decade"})
SPAN_EXACT: Final = 1.0
SPAN_OPEN: Final = 0.3

DAY_MS: Final = 86_400_000
#: Days of what a precision names, at most.
UNIT_DAYS: Final = {"year": 366, "season": 93, "quarter": 93, "month": 31, "week": 7, "day": 1}
#: A span names both its ends when it is longer than so many of what its precision names.
STRETCH: Final = 1.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question with all that was asked for."""

    query: Query
    #: The spans of time that the question names.
    spans: Sequence[Span]
    scope: Scope
    #: UTC ms.
    now: int
    limit: int

    @classmethod
    def of(cls, query: str, scope: Scope, *, now: int, limit: int, off: Sequence[str]) -> Asked:
        """Return what a question asks for at `now`; channels in `off` are not used."""
        # Its grammar is long: a program that only writes does not load it.
        from foldlog.projections import dates

        spans = [span for span in dates.find(query, now) if span.precision not in VAGUE]
        return cls(
            query=Query(
                text=query,
                words=analysis.query_words(query),
                spans=[(span.start_ms, span.end_ms) for span in spans],
                off=frozenset(off),
            ),
            spans=spans,
            scope=scope,
            now=now,
            limit=limit,
        )

    def search(self, connection: sqlite3.Connection, limit: int, after: int = 0) -> list[text.Hit]:
        """Search the log itself, of it what was touched after a position."""
        return text.search(connection, self.query.words, self.scope, now=self.now, limit=limit, after=after)

    def question(self, rarities: Mapping[str, float]) -> Question:
        """Return the question as the features see it; `rarities` are the idf of its words."""
        spans = () if TIME in self.query.off else self.spans
        stretches = [(span.start_ms, span.end_ms) for span in spans if _is_stretch(span, self.now)]
        return Question(
            text=self.query.text,
            words=self.query.words,
            rarities=rarities,
            spans=[(span.start_ms, span.end_ms, _worth(span)) for span in spans],
            stretches=stretches,
            dated=bool(stretches) or any(span.precision != "year" for span in spans),
        )


def _worth(span: Span) -> float:
    return SPAN_OPEN if span.is_open else SPAN_WORTH.get(span.precision, SPAN_EXACT)


def _is_stretch(span: Span, now: int) -> bool:
    """Say whether both ends are named: `from 2004 to 2006`, but not `2004`, `since 2004` or `late May`."""
    # `since 2004` ends now.
    if span.is_open or abs(span.end_ms - now) <= DAY_MS:
        return False
    return span.end_ms - span.start_ms > STRETCH * UNIT_DAYS.get(span.precision, 0) * DAY_MS
