"""Dates written in digits alone: ISO 8601 in its usual forms, and dates with slashes."""

from __future__ import annotations

import re
from datetime import date, datetime, time, timedelta, timezone
from typing import Final

from foldlog.projections.dates import periods
from foldlog.projections.dates.clock import Clock
from foldlog.projections.dates.periods import Period
from foldlog.projections.dates.rules import Found, Rule

_INSTANT: Final = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)(?:[t ](\d\d):(\d\d)(?::(\d\d)(?:[.,]\d+)?)?\ ?(z|utc|gmt|[+-]\d\d(?::?\d\d)?)?)?",
    re.ASCII,
)
_BASIC: Final = re.compile(r"(\d{4})(\d\d)(\d\d)t(\d\d)(\d\d)(\d\d)(z)?", re.ASCII)
_WEEK: Final = re.compile(r"(\d{4})-w(\d\d)(?:-(\d))?", re.ASCII)
_QUARTER: Final = re.compile(r"(\d{4})-q(\d)", re.ASCII)
_MONTH: Final = re.compile(r"(\d{4})-(\d\d)", re.ASCII)
_YEAR_FIRST: Final = re.compile(r"(\d{4})/(\d\d?)/(\d\d?)", re.ASCII)
_YEAR_LAST: Final = re.compile(r"(\d\d?)/(\d\d?)/(\d{4})", re.ASCII)


def _literal(found: Found) -> Period | None:
    text = found.tokens.word(found.first)
    clock = found.clock
    if match := _INSTANT.fullmatch(text) or _BASIC.fullmatch(text):
        return _instant(clock, match)
    if match := _WEEK.fullmatch(text):
        year, week, weekday = match.groups()
        first = date.fromisocalendar(int(year), int(week), int(weekday or 1))
        return periods.containing(clock, first, "day" if weekday else "week", "absolute")
    if match := _QUARTER.fullmatch(text):
        return quarter(clock, int(match[1]), int(match[2]))
    if match := _MONTH.fullmatch(text):
        return periods.months(clock, date(int(match[1]), int(match[2]), 1), 1, "month", "absolute")
    if match := _YEAR_FIRST.fullmatch(text):
        return periods.day(clock, date(int(match[1]), int(match[2]), int(match[3])), "absolute")
    if match := _YEAR_LAST.fullmatch(text):
        return _day_and_month(clock, int(match[1]), int(match[2]), int(match[3]))
    return None


def _day_and_month(clock: Clock, one: int, other: int, year: int) -> Period | None:
    """Return the day of `13/2/2024` or `2/13/2024`; of `2/3/2024` nobody knows it."""
    if one > 12:
        one, other = other, one
    elif other <= 12 and one != other:
        return None
    return periods.day(clock, date(year, one, other), "absolute")


def _instant(clock: Clock, match: re.Match[str]) -> Period:
    year, month, day, hour, minute, second, zone = match.groups()
    which = date(int(year), int(month), int(day))
    if hour is None:
        return periods.day(clock, which, "absolute")
    # 24:00 is the end of the day (ISO 8601), 60 a leap second.
    extra = timedelta(days=int(hour) == 24, seconds=second == "60")
    local = datetime.combine(which, time(int(hour) % 24, int(minute))) + extra
    if second is not None:
        local += timedelta(seconds=int(second) % 60)
    if zone is not None:
        clock = Clock(clock.now, clock.today, _zone(zone))
    return periods.moment(clock, local, "minute" if second is None else "second", "absolute")


def _zone(text: str) -> timezone:
    if text[0] not in "+-":
        return timezone(timedelta())
    digits = text[1:].replace(":", "")
    offset = timedelta(hours=int(digits[:2]), minutes=int(digits[2:] or 0))
    return timezone(-offset if text[0] == "-" else offset)


def quarter(clock: Clock, year: int, number: int) -> Period:
    """Return a quarter of a year, from 1 to 4."""
    return periods.months(clock, date(year, number * 3 - 2, 1), 3, "quarter", "absolute")


RULES: Final = (Rule("literal", _literal),)
