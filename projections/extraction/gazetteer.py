"""Names that are known: finds them in a text, whole words, in any case.

As in Aho and Corasick's automaton the text is read once for all names: the first word of each name
leads to the names that begin with it, the longest first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from types import MappingProxyType
from typing import Final

from foldlog.projections.extraction.mention import Mention, canonical, folded

#: Longest name, in words with blanks between them; longer ones are never found.
MAX_WORDS: Final = 6

#: Shortest name, in characters; shorter ones are never found.
MIN_LENGTH: Final = 2

#: A word with its combining marks.
_WORD: Final = re.compile(r"[\w\u0300-\u036f]+")
_BLANKS: Final = re.compile(r"\s+")

#: The words of a name, what stands between them, and the name itself.
_Entry = tuple[tuple[str, ...], tuple[str, ...], str]


@dataclass(frozen=True, slots=True)
class Gazetteer:
    """Known names: canonical name to type. Building one costs some microseconds a name."""

    types: Mapping[str, str]
    _by_first: Mapping[str, list[_Entry]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        types = {canonical(name): type_ for name, type_ in self.types.items()}
        by_first: dict[str, list[_Entry]] = {}
        for name in types:
            entry = _entry(name)
            if entry is not None:
                by_first.setdefault(entry[0][0], []).append(entry)
        for entries in by_first.values():
            entries.sort(key=lambda entry: (-len(entry[0]), entry[2]))
        object.__setattr__(self, "types", MappingProxyType(types))
        object.__setattr__(self, "_by_first", by_first)

    def __len__(self) -> int:
        return len(self.types)

    def find(self, text: str) -> list[Mention]:
        """Return the known names in a text, in order: where several fit the longest, none inside another."""
        words = [folded(word) for word in _WORD.findall(text)]
        if self._by_first.keys().isdisjoint(words):
            return []
        return list(self._found(text, words))

    def _found(self, text: str, words: list[str]) -> Iterator[Mention]:
        places = [match.span() for match in _WORD.finditer(text)]
        at = 0
        while at < len(words):
            entry = self._longest(text, words, places, at)
            if entry is None:
                at += 1
                continue
            last = at + len(entry[0]) - 1
            start, end = places[at][0], places[last][1]
            yield Mention(
                name=text[start:end], canonical=entry[2], type=self.types[entry[2]], start=start, end=end
            )
            at = last + 1

    def _longest(self, text: str, words: list[str], places: list[tuple[int, int]], at: int) -> _Entry | None:
        for entry in self._by_first.get(words[at], ()):
            parts, gaps, _ = entry
            if tuple(words[at : at + len(parts)]) == parts and all(
                _gap(text[places[at + index][1] : places[at + index + 1][0]]) == gap
                for index, gap in enumerate(gaps)
            ):
                return entry
        return None


def _entry(name: str) -> _Entry | None:
    """Return a name as it is looked for; None for one that is too short, too long or no word."""
    places = [match.span() for match in _WORD.finditer(name)]
    if len(name) < MIN_LENGTH or len(name.split()) > MAX_WORDS or not places or name.isdigit():
        return None
    words = tuple(name[start:end] for start, end in places)
    gaps = tuple(_gap(name[one[1] : other[0]]) for one, other in pairwise(places))
    return words, gaps, name


def _gap(between: str) -> str:
    """Return what stands between two words; a blank, a line end and a hyphen are the same."""
    return " " if between in (" ", "-") else _BLANKS.sub(" ", between)
