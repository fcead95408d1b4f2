"""Made-up words, as frequent as words are: Zipf-Mandelbrot over a vocabulary whose top is stop words."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from foldlog.projections.stopwords import STOP_WORDS

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Words of the vocabulary, and how many of the most frequent are real stop words.
VOCABULARY = 200_000
STOPS = 40

#: Frequency of the word of a rank: 1 / (rank + SHIFT) ** EXPONENT.
EXPONENT = 1.05
SHIFT = 2.7

#: Ranks below which a word is common, and above which it is rare.
COMMON = 300
RARE = 3_000

_STOP = sorted(STOP_WORDS)[:STOPS]
_ONSETS = (
    "b",
    "br",
    "d",
    "dr",
    "f",
    "g",
    "gl",
    "h",
    "k",
    "kr",
    "l",
    "m",
    "n",
    "p",
    "pl",
    "r",
    "t",
    "tr",
    "v",
    "z",
)
_VOWELS = ("a", "e", "i", "o", "u", "ai", "oa")
_SYLLABLES = [onset + vowel for onset in _ONSETS for vowel in _VOWELS]


def word(rank: int) -> str:
    """Return the word of a rank; every rank has another one."""
    if rank < STOPS:
        return _STOP[rank]
    found = []
    # At least two syllables, and no ending that a stemmer would take for another word's.
    number = rank + len(_SYLLABLES)
    while number:
        number, place = divmod(number, len(_SYLLABLES))
        found.append(_SYLLABLES[place])
    return "".join(found) + "k"


def name(number: int) -> str:
    """Return a name of two words: what a fact's key may be, and what a text may mention."""
    return f"{word(1_000 + 7 * number).title()} {word(50_000 + number).title()}"


class Words:
    """Draws ranks by their frequency."""

    def __init__(self, random: np.random.Generator) -> None:
        self._random = random
        frequency = 1 / (np.arange(VOCABULARY) + 1 + SHIFT) ** EXPONENT
        self._sums = np.cumsum(frequency) / frequency.sum()

    def ranks(self, count: int) -> NDArray[np.int64]:
        """Return the ranks of the next `count` words."""
        found = np.searchsorted(self._sums, self._random.random(count))
        return np.minimum(found, VOCABULARY - 1)

    def sentences(self, ranks: NDArray[np.int64]) -> str:
        """Return words as sentences of about ten words."""
        ends = [*range(0, len(ranks), 10), len(ranks)]
        parts = [
            [word(int(rank)) for rank in ranks[start:end]] for start, end in pairwise(ends) if end > start
        ]
        return " ".join(" ".join(part).capitalize() + "." for part in parts)
