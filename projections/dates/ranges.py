"""Ranges of one date or two: `between May and June 2023`, `since 2021`, `before 2024-03-02`."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from foldlog.projections.dates.joining import Join, Joined, Joins
from foldlog.projections.dates.periods import Period
from foldlog.projections.dates.span import EARLIEST_MS, LATEST_MS, coarser

_DAY: Final = timedelta(1)

#: Longest range of two years of which neither is one when it stands alone, in years.
_LONGEST: Final = 150


def _between(joined: Joined) -> Period | None:
    """Return from the first date to the last, both included; one without a year takes the other's."""
    first, last = joined.atoms
    if first.is_weak and last.is_weak and not _are_years(first.period, last.period):
        return None
    if first.is_floating and not last.is_floating:
        first = first.seen_from(last.period, ahead=False)
    elif last.is_floating and (not first.is_floating or first.period.start_ms > last.period.start_ms):
        last = last.seen_from(first.period, ahead=True)
    one, other = first.period, last.period
    if one.start_ms >= other.end_ms:
        return None
    sure = {atom.period.kind for atom in (first, last) if not atom.is_floating}
    days = (one.days[0], other.days[1]) if one.days and other.days else None
    return Period(
        one.start_ms,
        other.end_ms,
        coarser(one.precision, other.precision),
        "absolute" if sure == {"absolute"} else "relative",
        days,
    )


def _are_years(one: Period, other: Period) -> bool:
    """Return whether `1998 to 2003` are years: `1500 to 2000` are round numbers of something."""
    if one.days is None or other.days is None:
        return False
    first, last = one.days[0].year, other.days[0].year
    return first < last <= first + _LONGEST and bool(first % 100 or last % 100)


def _since(joined: Joined) -> Period:
    """Return from the date to the end of the anchor's day; without end if it lies in the future."""
    period = joined.period
    today = joined.clock.midnight_ms(joined.clock.today + _DAY)
    end = today if today > period.start_ms else LATEST_MS
    return Period(period.start_ms, end, period.precision, period.kind)


def _after(joined: Joined) -> Period:
    return Period(joined.period.end_ms, LATEST_MS, joined.period.precision, joined.period.kind)


def _before(joined: Joined) -> Period:
    period = joined.period
    # `before the end of 2024` is all of it.
    end = period.end_ms if joined.found.has("end") else period.start_ms
    return Period(EARLIEST_MS, end, period.precision, period.kind)


def _until(joined: Joined) -> Period:
    """Return up to the date, itself included."""
    return Period(EARLIEST_MS, joined.period.end_ms, joined.period.precision, joined.period.kind)


#: `before the migration on 2024-03-02`; not `before lunch on Monday`, which is on Monday.
_EVENT: Final = "(?:(?:the|whose|a) [^ stop comma period]{1,5}? (?:on|in|of|at))?"

RANGES: Final = Joins(
    Join("between period and period", _between, takes_weak=True),
    Join("from? period (?:to|until|dash) period", _between, takes_weak=True),
    Join("from period (?:onwards | on (?=stop|comma|close|$))", _since, takes_weak=True),
    Join("period onwards", _since),
    Join(f"since {_EVENT} period", _since),
    Join(f"after {_EVENT} period", _after),
    Join(f"(?:before|prior to) {_EVENT} period", _before),
    Join(f"until {_EVENT} period", _until),
)
