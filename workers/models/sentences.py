"""Where the sentences of a text are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

#: Longest sentence, in characters; what is longer (code, a table, a list) is cut between words.
MAX_SENTENCE: Final = 400

#: After an end mark with its quotes and brackets; CJK marks need no blank after them. Every line ends one.
_END: Final = re.compile(r"(?<=[.!?…])[\"'”’»)\]]*\s+|(?<=[。！？｡])[”’」』）]*\s*|\n\s*")

#: Before a full stop that ends no sentence.
_ABBREVIATION: Final = re.compile(
    r"\b(?:[A-Za-z]|e\.g|i\.e|vs|etc|cf|mr|mrs|ms|dr|prof|st)\.$", re.IGNORECASE
)


def sentences(text: str) -> list[tuple[int, int]]:
    """Return where each sentence begins and ends, in order, without the blanks around it; no empty ones."""
    return [piece for start, end in _whole(text) for piece in _pieces(text, start, end)]


def _whole(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for end in _END.finditer(text):
        mark = end.group()
        if "\n" not in mark and _ABBREVIATION.search(text, max(start, end.start() - 6), end.start()):
            continue
        # The closing quote belongs to the sentence, the blank to nobody.
        yield start, end.end()
        start = end.end()
    yield start, len(text)


def _pieces(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    start, end = _stripped(text, start, end)
    while end - start > MAX_SENTENCE:
        cut = text.rfind(" ", start + MAX_SENTENCE // 2, start + MAX_SENTENCE)
        cut = start + MAX_SENTENCE if cut < 0 else cut
        yield _stripped(text, start, cut)
        start, end = _stripped(text, cut, end)
    if start < end:
        yield start, end


def _stripped(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the span without the blanks around it."""
    piece = text[start:end]
    left = len(piece) - len(piece.lstrip())
    return start + left, start + max(left, len(piece.rstrip()))
