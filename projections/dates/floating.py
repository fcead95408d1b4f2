"""Dates that name no year: `last Tuesday`, `in March`, `on 8 May`, `this summer`.

Of the many that would fit, the last one up to the anchor is meant; in a sentence that looks ahead
(`will`, `due` ...), the next one.
"""

from __future__ import annotations

from datetime import date, timedelta
from typing import Final

from foldlog.projections.dates import periods
from foldlog.projections.dates.absolute import day_of, month_of
from foldlog.projections.dates.periods import Period
from foldlog.projections.dates.relative import direction_of
from foldlog.projections.dates.rules import Found, Rule
from foldlog.projections.dates.span import Precision
from foldlog.projections.dates.words import NAME_MONTHS, PLAIN_MONTHS, SEASONS, WEEKDAYS, WORD_MONTHS

_DAY: Final = timedelta(1)

#: Weekdays that are words too: `wed`, `sat`, `sun` need a capital.
_WORD_WEEKDAYS: Final = frozenset("wed sat sun".split())


def _weekday(found: Found) -> Period | None:
    """Return the last such day before the anchor's, or the next after it."""
    if not _is_weekday(found):
        return None
    ahead = found.has("next") or (found.ahead and not found.has("last"))
    return _nearest_weekday(found, 1 if ahead else -1)


def _nearest_weekday(found: Found, direction: int) -> Period:
    today = found.clock.today
    away = (WEEKDAYS[found.word("weekday")] - today.weekday()) * direction % 7 or 7
    return periods.day(found.clock, today + direction * timedelta(away), "relative")


def _is_weekday(found: Found) -> bool:
    """Return whether the weekday is one: `sat` and `sun` need a capital, and short forms a word before."""
    word = found.word("weekday")
    if word.endswith("day"):
        return True
    capital = found.tokens.is_capital(found.indexes("weekday")[0])
    if found.has("last") or found.has("next") or found.has("this"):
        return capital or word not in _WORD_WEEKDAYS
    return capital and word not in _WORD_WEEKDAYS and found.kind_is(found.first - 1, "on", "by", "until")


def _weekday_of_week(found: Found) -> Period | None:
    """Return `Tuesday of last week`, `last week on Tuesday`, `this Friday`."""
    if not _is_weekday(found) or found.word("unit") not in ("", "week"):
        return None
    monday = periods.beginning(found.clock.today, "week")
    away = direction_of(found) * 7 + WEEKDAYS[found.word("weekday")]
    return periods.day(found.clock, monday + timedelta(away), "relative")


def _month(found: Found) -> Period | None:
    """Return the month alone, where its name cannot be something else."""
    return _which_month(found) if _names_a_month(found) else None


def _names_a_month(found: Found) -> bool:
    index = found.indexes("month")[0]
    word = found.word("month")
    before = index - 1
    if word in PLAIN_MONTHS:
        return True
    capital = found.tokens.is_capital(index)
    if word in WORD_MONTHS | NAME_MONTHS and found.kind_is(before, "from", "of"):
        # `a letter from April`, `the height of August`: only with a range or a part of it around.
        ranged = found.kind_is(found.after, "to", "until", "dash", "onwards", "on")
        parted = found.kind_is(before - 1, "early", "mid", "late", "end", "unit")
        return (ranged or parted) and (capital or parted)
    if found.kind_is(before, "in", "since", "until", "before", "after", "early", "mid", "late"):
        return capital or len(word) > 3 or word == "may"
    return capital and (found.kind_is(before, "of", "from", "between") or _after_mid_dash(found, before))


def _after_mid_dash(found: Found, before: int) -> bool:
    return found.kind_is(before, "dash") and found.kind_is(before - 1, "mid", "late", "early")


def _last_month(found: Found) -> Period | None:
    """Return `last March`: the last one that is over; not `the last march`, nor `their last march`."""
    index = found.indexes("month")[0]
    sure = found.word("month") in PLAIN_MONTHS or found.tokens.is_capital(index)
    if not sure and found.kind_is(found.first - 1, "the", "whose", "a"):
        return None
    return _which_month(found)


def _which_month(found: Found) -> Period:
    return _repeated(found, month_of(found), 1, "month")


def _season(found: Found) -> Period | None:
    """Return `last summer`, or `in the winter`; a season alone is weather."""
    return _repeated(found, SEASONS[found.word("season")], 3, "season")


def _repeated(found: Found, month: int, count: int, precision: Precision) -> Period:
    """Return the months that come every year, in the year that is meant."""
    today = found.clock.today
    year = today.year
    if not found.has("this"):
        first = date(year, month, 1)
        if found.has("last"):
            # Over, not only begun.
            year -= periods.shift(first, count, "month") > today
        elif found.has("next"):
            year += first <= today
        elif found.ahead:
            year += periods.shift(first, count, "month") <= today
        else:
            year -= first > today
    return periods.months(found.clock, date(year, month, 1), count, precision, "relative")


def _day_of_month(found: Found) -> Period | None:
    if not _is_day_of_month(found):
        return None
    return periods.day(found.clock, _year_for(found, month_of(found), day_of(found)), "relative")


def _is_day_of_month(found: Found) -> bool:
    """Return whether `5 may` or `march 3` is a date: in lower case, only as `5th of may` or `may 5th`."""
    index = found.indexes("month")[0]
    if found.tokens.is_capital(index) or found.word("month") not in WORD_MONTHS:
        return True
    return (found.has("ordinal") or found.has("rank")) and (found.has("of") or index == found.first)


def _year_for(found: Found, month: int, number: int) -> date:
    today = found.clock.today
    year = today.year
    which = _day_in(year, month, number)
    if found.ahead:
        return which if which >= today else _day_in(year + 1, month, number)
    return which if which <= today else _day_in(year - 1, month, number)


def _day_in(year: int, month: int, number: int) -> date:
    """Return a day of a year; 29 February of the last leap year up to it."""
    if month == 2 and number == 29:
        while year % 4 or (year % 100 == 0 and year % 400):
            year -= 1
    return date(year, month, number)


def _day_alone(found: Found) -> Period:
    """Return `on the 5th`: of this month, or else of the month before."""
    today = found.clock.today
    number = day_of(found)
    month = periods.beginning(today, "month")
    if found.ahead:
        month = periods.shift(month, int(number < today.day), "month")
    else:
        month = periods.shift(month, -int(number > today.day), "month")
    return periods.day(found.clock, date(month.year, month.month, number), "relative")


def _days_of_month(found: Found) -> Period | None:
    """Return `from 3 to 5 March`, in the year of its last day."""
    if not _is_day_of_month(found):
        return None
    month = month_of(found)
    last = _year_for(found, month, day_of(found, 1))
    first = date(last.year, month, day_of(found))
    if first > last:
        return None
    return periods.days(found.clock, first, last + _DAY, "day", "relative")


def _months(found: Found) -> Period | None:
    """Return `between May and June`, in the year of its last month."""
    indexes = found.indexes("month")
    sure = all(
        found.tokens.is_capital(index) or found.tokens.word(index) in PLAIN_MONTHS for index in indexes
    )
    if not (sure or found.has("between") or found.has("from")):
        return None
    first, last = month_of(found), month_of(found, 1)
    today = found.clock.today
    year = today.year
    if found.ahead:
        year += last < today.month
    else:
        year -= last > today.month and first > today.month
    begin = date(year - (first > last), first, 1)
    after = periods.shift(date(year, last, 1), 1, "month")
    return periods.days(found.clock, begin, after, "month", "relative")


def _quarter(found: Found) -> Period:
    return _repeated(found, int(found.word("quarter")[1]) * 3 - 2, 3, "quarter")


_NUMBER: Final = "(?:digits|ordinal|rank)"
_TO: Final = "(?:to|dash|until)"

RULES: Final = (
    Rule(f"from? {_NUMBER} {_TO} {_NUMBER} of? month", _days_of_month, floating=True),
    Rule(f"between {_NUMBER} and {_NUMBER} of? month", _days_of_month, floating=True),
    Rule(f"from? month {_NUMBER} {_TO} {_NUMBER}", _days_of_month, floating=True),
    Rule(f"(?:weekday comma? the?)? {_NUMBER} of? month", _day_of_month, floating=True),
    Rule(f"(?:weekday comma?)? month the? {_NUMBER}", _day_of_month, floating=True),
    # Not `on the 5th floor`.
    Rule("(?<=on) the ordinal (?=stop|comma|close|at|$)", _day_alone, floating=True),
    Rule(f"(?:between month and|from? month {_TO}) month", _months, floating=True),
    Rule("weekday of? (?:last|this|next) unit", _weekday_of_week),
    Rule("(?:last|this|next) unit on? weekday", _weekday_of_week),
    Rule("this weekday", _weekday_of_week),
    Rule("(?:last|next) weekday", _weekday, floating=True),
    Rule("(?<!every) weekday", _weekday, floating=True),
    Rule("(?:last|next|this) month", _last_month, floating=True),
    Rule("(?:last|next|this) season", _season, floating=True),
    Rule("(?<=in|since|until|before|after) the? season", _season, floating=True),
    Rule("(?<=in|since|until|before|after|by) quarter", _quarter, floating=True),
    Rule("^ quarter $", _quarter, floating=True),
    Rule("(?:last|next|this) quarter", _quarter, floating=True),
    Rule("month", _month, floating=True),
)
