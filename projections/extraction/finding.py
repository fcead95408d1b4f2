"""From a text to the names in it."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from typing import Final

from foldlog.projections.extraction.mention import Mention
from foldlog.projections.extraction.people import people
from foldlog.projections.extraction.phrases import known_words, phrases
from foldlog.projections.extraction.pieces import pieces

_WORD: Final = re.compile(r"[^\W\d_]\w*(?:\.js)?")
_IN_WORDS: Final = b"abcdefghijklmnopqrstuvwxyz0123456789_"
_NOT_FIRST: Final = "0123456789_"
#: Blanks for all characters that are in no word.
_BLANKED: Final = bytes(code if code in _IN_WORDS else 32 for code in range(256))


def find(text: str) -> list[Mention]:
    """Return the names in a text, in order; none inside another.

    Where two rules see a name in the same characters, the surer one wins: names that show what they
    are by their signs, but whole commands first, and capitals in a sentence last.
    """
    words = _words(text.casefold())
    found = _Taken()
    found.add(phrases(text, words))
    found.add(pieces(text))
    found.add(known_words(text, words))
    found.add(people(text))
    return found.mentions


def _words(lower: str) -> list[str]:
    """Return the words of a text; ASCII is cut without the expression, which takes much longer."""
    if not lower.isascii() or ".js" in lower:
        return _WORD.findall(lower)
    words = lower.encode().translate(_BLANKED).decode().split()
    return [word.lstrip(_NOT_FIRST) for word in words]


class _Taken:
    """Mentions by their place, none over another."""

    def __init__(self) -> None:
        self.mentions: list[Mention] = []
        self._starts: list[int] = []

    def add(self, mentions: Iterable[Mention]) -> None:
        """Add the mentions whose characters are still free; what is only signs is no name."""
        for mention in mentions:
            if not mention.canonical:
                continue
            at = bisect_right(self._starts, mention.start)
            if at and self.mentions[at - 1].end > mention.start:
                continue
            if at < len(self._starts) and self._starts[at] < mention.end:
                continue
            self._starts.insert(at, mention.start)
            self.mentions.insert(at, mention)
