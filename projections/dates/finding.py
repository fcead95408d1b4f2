"""From a text to its spans of time."""

from __future__ import annotations

from datetime import UTC, tzinfo

from foldlog.projections.dates.atoms import Atom, atoms
from foldlog.projections.dates.clock import Clock
from foldlog.projections.dates.narrowing import NARROWING
from foldlog.projections.dates.ranges import RANGES
from foldlog.projections.dates.span import EARLIEST_MS, LATEST_MS, Span
from foldlog.projections.dates.tokens import Tokens, lower_of, may_hold_dates, tokens


def find(text: str, anchor_ms: int, zone: tzinfo = UTC) -> list[Span]:
    """Return the spans of time a text names, in order; their characters do not overlap.

    `anchor_ms` is when the text was said, UTC ms; `yesterday` is the day before it in `zone`, in
    which times without a zone of their own are read too. Any text is fine; what is no date is left out.
    """
    lower = lower_of(text)
    if not may_hold_dates(lower):
        return []
    cut = tokens(text, lower)
    clock = Clock.at(anchor_ms, zone)
    found = list(atoms(cut, clock))
    if not found:
        return []
    for joins in (NARROWING, RANGES):
        found = joins.applied(cut, clock, found)
    spans = [_span(cut, atom) for atom in found if not atom.is_weak]
    return [span for span in spans if span.start_ms < span.end_ms]


def _span(cut: Tokens, atom: Atom) -> Span:
    period = atom.period
    return Span(
        start_ms=max(period.start_ms, EARLIEST_MS),
        end_ms=min(period.end_ms, LATEST_MS),
        precision=period.precision,
        kind=period.kind,
        start=cut.starts[atom.first],
        end=cut.ends[atom.after - 1],
    )
