"""The first pass: the dates that stand alone in a text, each with the tokens it is made of."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from foldlog.projections.dates import absolute, floating, literals, relative
from foldlog.projections.dates.clock import Clock
from foldlog.projections.dates.periods import Period
from foldlog.projections.dates.rules import Found, Rule, compiled, starts
from foldlog.projections.dates.tokens import CHAR, Tokens

#: Tried in this order where several fit: the longer before the shorter, a year before none.
RULES: Final[tuple[Rule, ...]] = (*literals.RULES, *absolute.RULES, *relative.RULES, *floating.RULES)


def _by_start() -> dict[str, tuple[re.Pattern[str], tuple[Rule, ...]]]:
    """Return, for each character a match can begin with, one expression of the rules to try."""
    rules_at: dict[str, list[Rule]] = {}
    for rule in RULES:
        for kind in starts(rule.pattern):
            rules_at.setdefault(CHAR[kind], []).append(rule)
    return {
        char: (re.compile("|".join(f"({compiled(rule.pattern)})" for rule in rules)), tuple(rules))
        for char, rules in rules_at.items()
    }


_BY_START: Final = _by_start()
_START: Final = re.compile(f"[{''.join(_BY_START)}]")
_AHEAD: Final = re.compile(compiled("ahead | going to"))
_STOP: Final = CHAR["stop"]

#: How far a word can make a sentence look ahead, in tokens; what has no full stop is no sentence.
_NEAR: Final = 30


@dataclass(frozen=True, slots=True)
class Atom:
    """A period and the tokens that name it: `first` up to, but not including, `after`."""

    period: Period
    first: int
    after: int
    #: The rule and what it matched, to read it again as seen from elsewhere; None when made of others.
    found: Found | None = None
    rule: Rule | None = None

    @property
    def is_weak(self) -> bool:
        """Whether this is a date only as one end of a range."""
        return self.rule is not None and self.rule.weak

    @property
    def is_floating(self) -> bool:
        """Whether it names no year, or no week."""
        return self.rule is not None and self.rule.floating

    def seen_from(self, other: Period, *, ahead: bool) -> Atom:
        """Return the same words read from another period: the last such date up to it, or the next."""
        if not self.is_floating or other.days is None or self.found is None or self.rule is None:
            return self
        day = other.days[0]
        found = replace(self.found, clock=self.found.clock.on(day), ahead=ahead)
        period = built(self.rule, found)
        return self if period is None else replace(self, period=period)


def atoms(tokens: Tokens, clock: Clock) -> Iterator[Atom]:
    """Yield the dates of a text in order; no token belongs to two."""
    shape = tokens.shape
    at = 0
    while start := _START.search(shape, at):
        first = start.start()
        at = first + 1
        pattern, rules = _BY_START[shape[first]]
        match = pattern.match(shape, first)
        if match is None:
            continue
        rule = rules[(match.lastindex or 1) - 1]
        found = Found(tokens, first, match.end(), clock, _looks_ahead(shape, first))
        period = built(rule, found)
        if period is not None:
            yield Atom(period, first, match.end(), found, rule)
            at = match.end()


def built(rule: Rule, found: Found) -> Period | None:
    """Return the period a rule makes; None for what is no date, such as 30 February."""
    try:
        period = rule.build(found)
    except (ValueError, OverflowError):
        return None
    return period if period is not None and period.start_ms < period.end_ms else None


def _looks_ahead(shape: str, first: int) -> bool:
    """Return whether the sentence around a token speaks of the future."""
    if first and shape[first - 1] == CHAR["by"]:
        return True
    begin = max(first - _NEAR, shape.rfind(_STOP, max(first - _NEAR, 0), first) + 1, 0)
    end = shape.find(_STOP, first, first + _NEAR)
    return _AHEAD.search(shape, begin, end if end >= 0 else first + _NEAR) is not None
