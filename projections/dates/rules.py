"""What a rule is: a pattern over kinds, and the function that makes a period of what it found.

Patterns are regular expressions written with the names of kinds instead of characters; blanks
mean nothing: `month digits comma? year`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from foldlog.projections.dates.clock import Clock
from foldlog.projections.dates.periods import Period
from foldlog.projections.dates.tokens import CHAR, Tokens

_NAME: Final = re.compile(r"[a-z]+")
_PIECE: Final = re.compile(r"\(\?<?[=!:]|[a-z]+|[)|?^$]")
_AROUND: Final = ("(?=", "(?!", "(?<")  # look around, and take nothing
_BLANKS: Final = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Found:
    """The tokens one rule matched: `first` up to, but not including, `after`."""

    tokens: Tokens
    first: int
    after: int
    clock: Clock
    #: Whether the sentence speaks of the future.
    ahead: bool = False

    def indexes(self, kind: str) -> list[int]:
        """Return where the tokens of a kind are, in order."""
        char, shape = CHAR[kind], self.tokens.shape
        found: list[int] = []
        at = shape.find(char, self.first, self.after)
        while at >= 0:
            found.append(at)
            at = shape.find(char, at + 1, self.after)
        return found

    def has(self, kind: str) -> bool:
        """Return whether a token of this kind is there."""
        return self.tokens.shape.find(CHAR[kind], self.first, self.after) >= 0

    def word(self, kind: str, which: int = 0) -> str:
        """Return the text of a token of this kind in lower case; nothing if there is none."""
        found = self.indexes(kind)
        return self.tokens.word(found[which]) if which < len(found) else ""

    def kind_is(self, index: int, *kinds: str) -> bool:
        """Return whether the token at `index`, which may lie outside, is of one of the kinds."""
        shape = self.tokens.shape
        return 0 <= index < len(shape) and shape[index] in [CHAR[kind] for kind in kinds]


@dataclass(frozen=True, slots=True)
class Rule:
    """A pattern over kinds and its meaning; None means: not a date after all."""

    pattern: str
    build: Callable[[Found], Period | None]
    #: Whether the result names no year, so that its neighbours decide which is meant.
    floating: bool = False
    #: Whether the result is a date only as one end of a range.
    weak: bool = False


def compiled(pattern: str) -> str:
    """Return a pattern over kinds as a regular expression over shapes."""
    return _BLANKS.sub("", _NAME.sub(lambda match: CHAR[match[0]], pattern))


def starts(pattern: str) -> set[str]:
    """Return the kinds with which a match of a pattern can begin."""
    return _starts(_PIECE.findall(pattern))[0]


def _starts(pieces: list[str]) -> tuple[set[str], bool]:
    """Consume pieces up to a closing parenthesis; return the kinds, and whether it may match nothing."""
    kinds: set[str] = set()
    may_be_empty = False
    at_start = True  # whether all pieces of this alternative so far may match nothing
    while pieces:
        piece = pieces.pop(0)
        if piece == ")":
            break
        if piece == "|":
            may_be_empty |= at_start
            at_start = True
        elif piece.isalpha() or piece.startswith("("):
            inner, optional = ({piece}, False) if piece.isalpha() else _starts(pieces)
            if pieces and pieces[0] == "?":
                pieces.pop(0)
                optional = True
            if at_start and not piece.startswith(_AROUND):
                kinds |= inner
                at_start = optional
    return kinds, may_be_empty or at_start
