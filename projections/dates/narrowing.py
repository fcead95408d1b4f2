"""One date of a date and the words beside it: `yesterday at 15:30`, `early May`, `the week before 9 June`."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date, timedelta
from typing import Final

from foldlog.projections.dates import periods
from foldlog.projections.dates.absolute import rank_of
from foldlog.projections.dates.clock import midnight
from foldlog.projections.dates.joining import Join, Joined, Joins
from foldlog.projections.dates.periods import EXACT_MS, Period
from foldlog.projections.dates.relative import AMOUNT, amount_of, third_of, unit_of
from foldlog.projections.dates.words import PARTS, WEEKDAYS

_DAY: Final = timedelta(1)
_WEEK: Final = timedelta(7)
_SATURDAY: Final = 5
_CLOCK: Final = re.compile(r"(\d+)(?::(\d+)(?::(\d+))?)?\s?([ap])?", re.ASCII)


def _timed(joined: Joined) -> Period | None:
    """Return `yesterday at 15:30` or `3 pm on 8 May 2023`: exact to the minute or hour."""
    day = _one_day(joined)
    if day is None:
        return None
    match = _CLOCK.match(joined.found.word("clock"))
    if match is None:
        return None
    hour, minute, second, half = match.groups()
    hours = int(hour) % 12 + (12 if half == "p" else 0) if half else int(hour)
    local = midnight(day) + timedelta(hours=hours, minutes=int(minute or 0), seconds=int(second or 0))
    unit = "second" if second else "minute" if minute else "hour"
    return periods.moment(joined.clock, local, unit, joined.period.kind)


def _part(joined: Joined) -> Period | None:
    """Return `yesterday morning` or `the evening of 8 May 2023`."""
    day = _one_day(joined)
    if day is None:
        return None
    return periods.part(joined.clock, day, PARTS[joined.found.word("part")], joined.period.kind)


def _one_day(joined: Joined) -> date | None:
    period = joined.period
    if period.days is None or period.precision != "day" or period.days[1] - period.days[0] != _DAY:
        return None
    return period.days[0]


def _third(joined: Joined) -> Period | None:
    return periods.third(joined.clock, joined.period, third_of(joined.found))


def _beside(joined: Joined) -> Period | None:
    """Return `the week before 9 June 2023` or `two days after Monday`."""
    found, period = joined.found, joined.period
    unit = unit_of(found)
    if period.days is None or unit in EXACT_MS:
        return None
    amount, _ = amount_of(replace(found, after=joined.atoms[0].first))
    first, after = period.days
    if unit == "weekend":
        begin = _saturday_from(after) if found.has("after") else _saturday_before(first - _DAY)
        begin += (amount - 1) * (_WEEK if found.has("after") else -_WEEK)
        return periods.containing(joined.clock, begin, unit, period.kind)
    if found.has("before"):
        edges = periods.shift(first, -amount, unit), periods.shift(first, 1 - amount, unit)
    else:
        edges = periods.shift(after, amount - 1, unit), periods.shift(after, amount, unit)
    return periods.days(joined.clock, *edges, periods.precision_of(unit), period.kind)


def _saturday_from(day: date) -> date:
    return day + timedelta((_SATURDAY - day.weekday()) % 7)


def _saturday_before(day: date) -> date:
    return _saturday_from(day) - _WEEK


def _weekday_beside(joined: Joined) -> Period | None:
    """Return `the Sunday before 25 May 2023`."""
    outer, period = joined.atoms[0], joined.period
    weekday = WEEKDAYS.get(joined.found.tokens.word(outer.first))
    if weekday is None or outer.after - outer.first > 1 or period.days is None:
        return None
    first, after = period.days
    if joined.found.has("before"):
        which = first - timedelta((first.weekday() - weekday) % 7 or 7)
    else:
        which = after + timedelta((weekday - after.weekday()) % 7)
    return periods.day(joined.clock, which, period.kind)


def _numbered(joined: Joined) -> Period | None:
    """Return `the first week of May 2023`: days 1 to 7; `the last` counts from the end."""
    found, period = joined.found, joined.period
    unit = unit_of(found)
    if period.days is None or unit in EXACT_MS:
        return None
    first, after = period.days
    # Counted from the end, the last is number 0.
    number = 0 if found.has("last") else rank_of(found)
    if unit == "weekend":
        begin = _saturday_from(first) + (number - 1) * _WEEK if number else _saturday_before(after)
    else:
        begin = periods.shift(first, number - 1, unit) if number else periods.shift(after, -1, unit)
    if not first <= begin < after:
        return None
    end = begin + 2 * _DAY if unit == "weekend" else periods.shift(begin, 1, unit)
    return periods.days(joined.clock, begin, end, periods.precision_of(unit), period.kind)


def _around(joined: Joined) -> Period | None:
    """Return `the week of 3 March 2024`, `the weekend of 24 June`."""
    unit = unit_of(joined.found)
    day = _one_day(joined)
    if day is None or unit not in ("week", "weekend", "month"):
        return None
    return periods.containing(joined.clock, day, unit, joined.period.kind)


NARROWING: Final = Joins(
    Join("period comma? at? clock", _timed),
    Join("clock (?:on|comma)? period", _timed),
    Join("period (?:at|in)? the? part", _part),
    Join("(?:the|in)? part of period", _part),
    Join("the? (?:early|mid|late|end) (?:dash|of|in|on)? period", _third),
    Join(f"(?:the|{AMOUNT}) unit (?:before|after) period", _beside),
    Join("the period (?:before|after) period", _weekday_beside),
    Join("the? (?:rank|ordinal|last) unit of period", _numbered),
    Join("(?:the|this)? unit of period", _around),
)
