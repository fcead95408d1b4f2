"""Dates with months and years by name: `8 May 2023`, `Q3 2024`, `in 2022`, `the 1990s`."""

from __future__ import annotations

from datetime import date
from typing import Final

from foldlog.projections.dates import periods
from foldlog.projections.dates.literals import quarter
from foldlog.projections.dates.periods import Period
from foldlog.projections.dates.rules import Found, Rule
from foldlog.projections.dates.words import COUNTED_BEFORE, MEASURES, MONTHS, QUANTITIES, RANKS, SEASONS

#: Years without a month count as years only between these; below and above, numbers are sizes.
_FIRST_BARE: Final = 1100
_LAST_BARE: Final = 2099

#: Longest range of bare years.
_LONGEST: Final = 150


def month_of(found: Found, which: int = 0) -> int:
    """Return the number of a month named in the match."""
    return MONTHS[found.word("month", which)]


def day_of(found: Found, which: int = 0) -> int:
    """Return the day of a month in the match, given as `8`, `8th` or `eighth`."""
    indexes = sorted(index for kind in ("digits", "ordinal", "rank") for index in found.indexes(kind))
    word = found.tokens.word(indexes[which])
    return RANKS.get(word) or int(word.rstrip("stndrh"))


def year_of(found: Found, which: int = 0) -> int:
    """Return a year in the match."""
    return int(found.word("year", which))


def rank_of(found: Found) -> int:
    """Return the number of `third` or `3rd` in the match."""
    return RANKS.get(found.word("rank")) or int(found.word("ordinal")[:-2])


def counts_something(found: Found) -> bool:
    """Return whether the number that ends the match counts what follows: `2000 users`, `the 2000 limit`."""
    following = found.tokens.word(found.after)
    if following in MEASURES or (following.endswith("s") and following[:-1] in QUANTITIES):
        return True
    after_the = found.has("the") or found.kind_is(found.first - 1, "the")
    return after_the and following in QUANTITIES


def _date(found: Found) -> Period:
    return periods.day(found.clock, date(year_of(found), month_of(found), day_of(found)), "absolute")


def _month(found: Found) -> Period | None:
    if counts_something(found):
        return None
    return periods.months(found.clock, date(year_of(found), month_of(found), 1), 1, "month", "absolute")


def _year(found: Found) -> Period | None:
    number = year_of(found)
    if not _FIRST_BARE <= number <= _LAST_BARE or counts_something(found):
        return None
    return periods.year(found.clock, number, "absolute")


def _year_by(found: Found) -> Period | None:
    """Return the year of `by 2025`, not the factor of `by 2000` or `by 2048`."""
    return _year(found) if 1900 < year_of(found) <= 2047 and year_of(found) % 100 else None


def _year_before_noun(found: Found) -> Period | None:
    """Return the year of `the 2022 report`, unless it is a size."""
    return _year(found) if year_of(found) >= 1900 else None


def _years(found: Found) -> Period | None:
    """Return the range of `1998-2003` or `1983–84`."""
    begin, end = found.word("years")[:4], found.word("years")[5:]
    first, last = int(begin), int(end if len(end) == 4 else begin[:2] + end)
    if not _FIRST_BARE <= first < last <= min(_LAST_BARE, first + _LONGEST):
        return None
    if counts_something(found) or found.tokens.word(found.first - 1) in COUNTED_BEFORE:
        return None
    return periods.days(found.clock, date(first, 1, 1), date(last + 1, 1, 1), "year", "absolute")


def _days(found: Found) -> Period | None:
    """Return the range of `3 to 5 March 2024`."""
    year, month = year_of(found), month_of(found)
    first, last = date(year, month, day_of(found)), date(year, month, day_of(found, 1))
    if first > last:
        return None
    return periods.days(found.clock, first, periods.shift(last, 1, "day"), "day", "absolute")


def _months(found: Found) -> Period:
    """Return the range of `May to June 2023`; a later first month is one of the year before."""
    year, last = year_of(found), month_of(found, 1)
    first = date(year - (month_of(found) > last), month_of(found), 1)
    return periods.days(
        found.clock, first, periods.shift(date(year, last, 1), 1, "month"), "month", "absolute"
    )


def _quarter(found: Found) -> Period:
    return quarter(found.clock, year_of(found), int(found.word("quarter")[1]))


def _ranked_quarter(found: Found) -> Period | None:
    """Return `the third quarter of 2024`."""
    return quarter(found.clock, year_of(found), rank_of(found)) if found.word("unit") == "quarter" else None


def _half(found: Found) -> Period | None:
    """Return `H1 2024` or `the second half of 2024`."""
    number = {"h1": 1, "h2": 2}.get(found.word("half")) or (rank_of(found) if found.has("rank") else 0)
    if not 1 <= number <= 2:
        return None
    first = date(year_of(found), number * 6 - 5, 1)
    return periods.months(found.clock, first, 6, "quarter", "absolute")


def _week(found: Found) -> Period | None:
    if found.word("unit") != "week":
        return None
    first = date.fromisocalendar(year_of(found), int(found.word("digits")), 1)
    return periods.days(found.clock, first, periods.shift(first, 1, "week"), "week", "absolute")


def _season(found: Found) -> Period:
    first = date(year_of(found), SEASONS[found.word("season")], 1)
    return periods.months(found.clock, first, 3, "season", "absolute")


def _year_unit(found: Found) -> Period | None:
    return periods.year(found.clock, year_of(found), "absolute") if found.word("unit") == "year" else None


def _decade(found: Found) -> Period | None:
    """Return the decade of `1990s`, `'90s` or `the 90s`, not the duration of `60s` or `1800s`."""
    word = found.word("decade")
    digits = word.strip("'’s")
    named = found.has("the") or found.kind_is(found.first - 1, "early", "mid", "late", "end", "dash")
    plain = len(digits) == 4 and digits[2] != "0" and digits > "19"
    if counts_something(found) or not (named or plain or word[0] in "'’"):
        return None
    first = int(digits if len(digits) == 4 else "19" + digits)
    # `the 1800s` are a century, `the 2000s` so far a decade.
    unit = "decade" if first % 100 or first == 2000 else "century"
    return periods.containing(found.clock, date(first, 1, 1), unit, "absolute")


def _century(found: Found) -> Period | None:
    if found.word("unit") != "century":
        return None
    return periods.containing(found.clock, date(rank_of(found) * 100 - 100, 1, 1), "century", "absolute")


_DAY: Final = "(?:digits|ordinal|rank)"
_TO: Final = "(?:to|dash|until)"

RULES: Final = (
    Rule(f"from? {_DAY} {_TO} {_DAY} of? month comma? year", _days),
    Rule(f"month {_DAY} {_TO} {_DAY} comma? year", _days),
    Rule(f"between month {_DAY} and {_DAY} comma? year", _days),
    Rule(f"between {_DAY} and {_DAY} of? month comma? year", _days),
    Rule(f"(?:weekday comma? the?)? {_DAY} dash? of? month (?:comma|dash|of)? year", _date),
    Rule(f"(?:weekday comma?)? month the? {_DAY} (?:comma|of)? year", _date),
    Rule(f"from? month {_TO} month of? year", _months),
    Rule("between month and month of? year", _months),
    Rule("month (?:comma|of|dash|in)? year", _month),
    Rule("quarter (?:comma|of|dash|in)? year", _quarter),
    Rule("year dash? quarter", _quarter),
    Rule("the? (?:rank|ordinal) unit (?:of|in)? year", _ranked_quarter),
    Rule("(?:the? rank)? half (?:of|dash|in)? year", _half),
    Rule("unit digits (?:comma|of|in)? year", _week),
    Rule("season (?:comma|of|in)? year", _season),
    Rule("the? unit year", _year_unit),
    Rule("the? (?:rank|ordinal) unit", _century),
    Rule("the? decade", _decade),
    Rule("years", _years),
    Rule("(?<=in|since|before|after|early|mid|late|until) year", _year),
    Rule("(?<=mid dash|late dash) year", _year),
    Rule("(?<=early of|mid of|late of|end of|unit of|part of|prior to) year", _year),
    Rule("(?<=by) year", _year_by),
    Rule("(?<=the) year (?=word|season)", _year_before_noun),
    # Alone: the whole text, or in parentheses.
    Rule("^ year $", _year),
    Rule("(?<=open) year (?=close)", _year),
    Rule("year", _year, weak=True),
)
