"""How dates that stand beside each other, and the words around them, are read as one."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass

from foldlog.projections.dates.atoms import Atom
from foldlog.projections.dates.clock import Clock
from foldlog.projections.dates.periods import Period
from foldlog.projections.dates.rules import Found, compiled
from foldlog.projections.dates.tokens import CHAR, Tokens


@dataclass(frozen=True, slots=True)
class Joined:
    """Some dates in a row, and the tokens from the first word around them to the last."""

    atoms: list[Atom]
    found: Found
    clock: Clock

    @property
    def period(self) -> Period:
        """The date, or the last of two."""
        return self.atoms[-1].period


@dataclass(frozen=True, slots=True)
class Join:
    """A pattern over kinds, in which `period` is a date, and its meaning; None: they are not joined."""

    pattern: str
    build: Callable[[Joined], Period | None]
    #: Whether it also takes what is a date only inside a range.
    takes_weak: bool = False


class Joins:
    """Some joins, tried in this order at each place of a text."""

    def __init__(self, *joins: Join) -> None:
        self._joins = joins
        self._pattern = re.compile("|".join(f"({compiled(join.pattern)})" for join in joins))

    def applied(self, tokens: Tokens, clock: Clock, atoms: list[Atom]) -> list[Atom]:
        """Return the dates of a text with those joined that belong together."""
        shape, places = _folded(tokens, atoms)
        firsts = [atom.first for atom in atoms]
        made: list[Atom] = []
        done = 0  # dates before this one have their place
        at = 0
        while match := self._pattern.search(shape, at):
            begin, at = match.span()
            first, after = places[begin], places[at]
            low, high = bisect_left(firsts, first), bisect_left(firsts, after)
            parts = Joined(atoms[low:high], Found(tokens, first, after, clock), clock)
            period = _built(self._joins[(match.lastindex or 1) - 1], parts)
            if period is None:
                at = begin + 1
            else:
                made += (*atoms[done:low], Atom(period, first, after))
                done = high
        return made + atoms[done:]


def _folded(tokens: Tokens, atoms: list[Atom]) -> tuple[str, list[int]]:
    """Return the shape with one character a date, and the token at which each character begins."""
    pieces: list[str] = []
    places: list[int] = []
    at = 0
    for atom in atoms:
        pieces += (tokens.shape[at : atom.first], CHAR["period"])
        places += range(at, atom.first + 1)
        at = atom.after
    pieces.append(tokens.shape[at:])
    places += range(at, len(tokens.shape) + 1)
    return "".join(pieces), places


def _built(join: Join, parts: Joined) -> Period | None:
    if not join.takes_weak and any(atom.is_weak for atom in parts.atoms):
        return None
    try:
        period = join.build(parts)
    except (ValueError, OverflowError):
        return None
    return period if period is not None and period.start_ms < period.end_ms else None
