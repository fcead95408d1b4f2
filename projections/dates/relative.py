"""Dates that are counted from the anchor: `yesterday`, `last week`, `three days ago`, `the past few days`."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from foldlog.projections.dates import periods
from foldlog.projections.dates.clock import midnight
from foldlog.projections.dates.periods import EXACT_MS, Period
from foldlog.projections.dates.rules import Found, Rule
from foldlog.projections.dates.words import COUNTS, LASTING, PARTS, UNITS, VAGUE

_DAY: Final = timedelta(1)
_DAYS_AWAY: Final = {"today": 0, "tonight": 0, "yesterday": -1, "tomorrow": 1}


def unit_of(found: Found) -> str:
    """Return the unit named in the match."""
    return UNITS[found.word("unit")]


def amount_of(found: Found) -> tuple[int, int]:
    """Return the amount in the match, and how far it may be off; `a` is one."""
    if found.has("vague"):
        return VAGUE[found.word("vague")]
    if found.has("digits"):
        return int(found.word("digits")), 0
    if found.word("unit").endswith("s") and not found.has("count"):
        return VAGUE["few"]  # `the coming weeks`
    return COUNTS.get(found.word("count"), 1), 0


def direction_of(found: Found) -> int:
    """Return -1 for last and previous, 0 for this, 1 for next."""
    return found.has("next") - found.has("last")


def _day(found: Found, away: int) -> Period:
    return periods.day(found.clock, found.clock.today + timedelta(away), "relative")


def _named_day(found: Found) -> Period:
    return _day(found, _DAYS_AWAY[found.tokens.word(found.after - 1)])


def _now(found: Found) -> Period:
    """Return the anchor's day, as the end of `2019 to now`."""
    return _day(found, 0)


def _day_beyond(found: Found) -> Period | None:
    """Return `the day before yesterday` or `the day after tomorrow`."""
    if unit_of(found) != "day":
        return None
    return _day(found, 2 if found.has("tomorrow") else -2)


def _other_day(found: Found) -> Period | None:
    """Return `the other day`: one of the last seven before the anchor's."""
    if unit_of(found) != "day":
        return None
    today = found.clock.today
    return periods.days(found.clock, today - 7 * _DAY, today, "day", "relative")


def _tonight(found: Found) -> Period:
    return periods.part(found.clock, found.clock.today, "night", "relative")


def _last_part(found: Found) -> Period:
    """Return `last night`: from the evening before to the morning."""
    return periods.part(found.clock, found.clock.today - _DAY, PARTS[found.word("part")], "relative")


def _this_part(found: Found) -> Period:
    return periods.part(found.clock, found.clock.today, PARTS[found.word("part")], "relative")


def _unit(found: Found) -> Period | None:
    """Return the calendar's unit before, at or after the anchor: `last week`, `this month`."""
    if found.word("unit").endswith("s"):
        return _window(found)
    return _units_away(found, -1 if found.has("past") else direction_of(found))


def _units_away(found: Found, away: int) -> Period | None:
    unit = unit_of(found)
    if unit in EXACT_MS:
        return None
    today = found.clock.today
    if unit == "weekend" and away < 0 and today.weekday() < 5:
        # The weekend before a weekday is the one of the week before; so is the one before a weekend.
        return periods.containing(found.clock, today + timedelta(away * 7), unit, "relative")
    first = periods.shift(periods.beginning(today, unit), away, unit)
    return periods.containing(found.clock, first, unit, "relative")


def _unit_before_last(found: Found) -> Period | None:
    """Return `the week before last` or `the week after next`."""
    return _units_away(found, 2 if found.has("next") else -2)


def _ago(found: Found) -> Period | None:
    amount, vague = amount_of(found)
    return _away(found, -amount, vague)


def _ahead(found: Found) -> Period | None:
    """Return `in two weeks`, unless it tells how long something took or is a time-out."""
    if found.has("in"):
        before = found.tokens.word(found.first - 1)
        if unit_of(found) in EXACT_MS or before in LASTING or before.endswith("ed"):
            return None
    amount, vague = amount_of(found)
    return _away(found, amount, vague)


def _away(found: Found, amount: int, vague: int) -> Period | None:
    """Return the unit that holds the day `amount` units from the anchor, wider when vague."""
    unit = unit_of(found)
    if unit in EXACT_MS:
        return _exactly_away(found, amount, unit)
    if unit == "weekend":
        return _units_away(found, amount)
    whole = periods.containing(
        found.clock, periods.shift(found.clock.today, amount, unit), _page(unit), "relative"
    )
    if not vague or whole.days is None:
        return whole
    first, after = whole.days
    return periods.days(
        found.clock,
        periods.shift(first, -vague, unit),
        periods.shift(after, vague, unit),
        whole.precision,
        "relative",
    )


def _page(unit: str) -> str:
    return "week" if unit == "fortnight" else unit


def _exactly_away(found: Found, amount: int, unit: str) -> Period:
    """Return the clock's hour, minute or second `amount` of them from the anchor."""
    length = timedelta(milliseconds=EXACT_MS[unit])
    then = found.clock.now + amount * length
    return periods.moment(found.clock, then - (then - midnight(then.date())) % length, unit, "relative")


def _window(found: Found) -> Period | None:
    """Return `the past few days` or `the next 3 weeks`: the anchor's day and so much on one side."""
    amount, _ = amount_of(found)
    unit = unit_of(found)
    ahead = found.has("next")
    if unit == "weekend":
        return _units_away(found, -1) if found.has("past") else None
    clock = found.clock
    if unit in EXACT_MS:
        start, stop = clock.ms(clock.now), EXACT_MS[unit] * amount
        begin = start if ahead else start - stop
        return Period(begin, begin + stop, periods.precision_of(unit), "relative")
    other = periods.shift(clock.today, amount if ahead else -amount, unit)
    first, last = (clock.today, other) if ahead else (other, clock.today)
    return periods.days(clock, first, last + _DAY, periods.precision_of(unit), "relative")


def _so_far(found: Found) -> Period | None:
    """Return `earlier this week` (up to the anchor's day) or `later this year` (from it)."""
    whole = _unit(found)
    if whole is None or whole.days is None:
        return None
    first, after = whole.days
    today = found.clock.today
    if found.has("earlier"):
        return periods.days(found.clock, first, today + _DAY, whole.precision, "relative")
    return periods.days(found.clock, today, after, whole.precision, "relative")


def _of_the_unit(found: Found) -> Period | None:
    """Return `the end of the month`: the last third of the one the anchor is in."""
    unit = unit_of(found)
    if unit in EXACT_MS or unit in ("day", "weekend"):
        return None
    whole = periods.containing(found.clock, found.clock.today, unit, "relative")
    return periods.third(found.clock, whole, third_of(found))


def third_of(found: Found) -> int:
    """Return which third early, mid or late means."""
    return 0 if found.has("early") else 1 if found.has("mid") else 2


#: `two`, `3`, `a`, `a few`, `couple of`.
AMOUNT: Final = "(?:a? vague of?|a|count|digits)"

RULES: Final = (
    Rule("the? unit before yesterday", _day_beyond),
    Rule("the? unit after tomorrow", _day_beyond),
    Rule("the? unit (?:before last|after next)", _unit_before_last),
    Rule("(?:earlier|later)? today", _named_day),
    Rule("yesterday|tomorrow", _named_day),
    Rule("(?<=to|until|dash) the? now", _now, weak=True),
    Rule("the other unit", _other_day),
    Rule("tonight", _tonight),
    Rule("last part", _last_part),
    Rule("this part", _this_part),
    Rule(f"{AMOUNT} unit ago", _ago),
    Rule(f"{AMOUNT} unit from (?:now|today)", _ahead),
    Rule(f"in {AMOUNT} unit", _ahead),
    Rule(f"the? (?:last|past|next) {AMOUNT} unit", _window),
    Rule("the? past unit", _window),
    Rule("(?:earlier|later) (?:in|on)? this unit", _so_far),
    Rule("the? (?:early|mid|late|end) of the? unit", _of_the_unit),
    # `the last week of May` counts from May (ranges.py).
    Rule("(?:last|this|next) unit (?! of)", _unit),
)
