"""Periods: stretches of the speaker's calendar, from a second to a century.

Every function may raise ValueError or OverflowError: what no calendar holds (30 February) is no date.
"""

from __future__ import annotations

from calendar import monthrange
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Final

from foldlog.projections.dates.clock import Clock, midnight
from foldlog.projections.dates.span import Kind, Precision

#: Length of the units that are lengths and not pages of a calendar, in milliseconds.
EXACT_MS: Final = {"hour": 3_600_000, "minute": 60_000, "second": 1_000}

#: Hours of the parts of a day, from midnight; night ends in the next morning.
PARTS: Final = {
    "morning": (6, 12),
    "noon": (12, 13),
    "afternoon": (12, 18),
    "evening": (18, 24),
    "night": (18, 30),
}

_MONTHS_IN: Final = {"month": 1, "quarter": 3, "year": 12, "decade": 120, "century": 1200}
_DAYS_IN: Final = {"day": 1, "week": 7, "weekend": 7, "fortnight": 14}
_PRECISION_OF: Final[dict[str, Precision]] = {
    "day": "day",
    "week": "week",
    "weekend": "day",
    "fortnight": "week",
    "month": "month",
    "quarter": "quarter",
    "year": "year",
    "decade": "decade",
    "century": "century",
    "hour": "hour",
    "minute": "minute",
    "second": "second",
}


@dataclass(frozen=True, slots=True)
class Period:
    """A half-open range of time, before it is tied to the characters of a text."""

    start_ms: int
    end_ms: int
    precision: Precision
    kind: Kind
    #: The first local day and the day after the last; None for what is finer than a day.
    days: tuple[date, date] | None = None


def precision_of(unit: str) -> Precision:
    """Return how exact a date counted in a unit is."""
    return _PRECISION_OF[unit]


def days(clock: Clock, first: date, after: date, precision: Precision, kind: Kind) -> Period:
    """Return the local days from `first` up to, but not including, `after`."""
    return Period(clock.midnight_ms(first), clock.midnight_ms(after), precision, kind, (first, after))


def day(clock: Clock, which: date, kind: Kind) -> Period:
    """Return one local day."""
    return days(clock, which, which + timedelta(1), "day", kind)


def months(clock: Clock, first: date, count: int, precision: Precision, kind: Kind) -> Period:
    """Return `count` whole months from the first of a month."""
    return days(clock, first, shift(first, count, "month"), precision, kind)


def year(clock: Clock, number: int, kind: Kind) -> Period:
    """Return one calendar year."""
    return days(clock, date(number, 1, 1), date(number + 1, 1, 1), "year", kind)


def containing(clock: Clock, which: date, unit: str, kind: Kind) -> Period:
    """Return the calendar's unit (ISO week, month, quarter ...) that holds a day."""
    first = beginning(which, unit)
    length = 2 if unit == "weekend" else None
    after = first + timedelta(length) if length else shift(first, 1, unit)
    return days(clock, first, after, precision_of(unit), kind)


def beginning(which: date, unit: str) -> date:
    """Return the first day of the calendar's unit that holds a day; weeks begin on Monday."""
    if unit == "day":
        return which
    if unit in ("week", "fortnight"):
        return which - timedelta(which.weekday())
    if unit == "weekend":
        return which + timedelta(5 - which.weekday())
    width = _MONTHS_IN[unit]
    index = (which.year * 12 + which.month - 1) // width * width
    return date(index // 12, index % 12 + 1, 1)


def shift(which: date, count: int, unit: str) -> date:
    """Return the day `count` units later; the last day of a shorter month instead of one it lacks."""
    if unit in _DAYS_IN:
        return which + timedelta(count * _DAYS_IN[unit])
    index = which.year * 12 + which.month - 1 + count * _MONTHS_IN[unit]
    in_year, in_month = index // 12, index % 12 + 1
    if which.day <= 28:
        return date(in_year, in_month, which.day)
    return date(in_year, in_month, min(which.day, monthrange(in_year, in_month)[1]))


def moment(clock: Clock, local: datetime, unit: str, kind: Kind) -> Period:
    """Return the hour, minute or second that begins at a local wall time."""
    start = clock.ms(local)
    return Period(start, start + EXACT_MS[unit], precision_of(unit), kind)


def part(clock: Clock, which: date, name: str, kind: Kind) -> Period:
    """Return the morning, noon, afternoon, evening or night of a local day."""
    start, stop = (midnight(which) + timedelta(hours=hour) for hour in PARTS[name])
    return Period(clock.ms(start), clock.ms(stop), "hour", kind)


def third(clock: Clock, whole: Period, which: int) -> Period | None:
    """Return the early (0), middle (1) or late (2) third of a period longer than some days."""
    if whole.days is None:
        return None
    first, after = whole.days
    length = (after - first).days
    if length < 7:
        return None
    if length > 300:
        # Thirds of years and decades are whole months.
        count = (after.year - first.year) * 12 + after.month - first.month
        edges = [shift(first, count * index // 3, "month") for index in range(4)]
    else:
        edges = [first + timedelta(length * index // 3) for index in range(3)] + [after]
    return days(clock, edges[which], edges[which + 1], whole.precision, whole.kind)
