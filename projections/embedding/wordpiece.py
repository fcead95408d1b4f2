"""BERT's uncased WordPiece tokenizer (Wu et al., 2016; Devlin et al., 2019), in plain Python.

Text is cleaned, stripped of accents, put into lower case and split at white space, punctuation and
CJK characters; each word becomes the longest pieces that the vocabulary has, from left to right. It
gives the ids of the reference (the package `tokenizers`), which a fixture holds fast, with one
difference: `[CLS]` written in a text is a word in brackets, never a special token.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Final

#: One piece a line; its id is the number of the line, from 0.
VOCABULARY: Final = Path(__file__).with_name("data") / "vocabulary.txt"

#: The ids that the model knows by number: a word without pieces, begin and end of a text.
UNKNOWN: Final = 100
BEGIN: Final = 101
END: Final = 102

#: The first id that stands for text; those before are special or not in use.
FIRST: Final = 999

#: Longest word, in characters; longer ones are unknown, as in the reference.
MAX_WORD: Final = 100

#: Longest stretch between blanks whose ids are kept, in characters: longer ones rarely come again.
MAX_KEPT: Final = 48

#: Stretches whose ids are kept.
KEPT: Final = 1 << 16

#: How a piece begins that stands inside a word.
_INNER: Final = "##"

_CJK: Final = (
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B920, 0x2CEAF),  # not from 0x2B820 on: so does the reference
    (0x2F800, 0x2FA1F),
)

#: Categories of what is dropped. Not what Unicode may still assign: that differs between versions of Python.
_CONTROL: Final = ("Cc", "Cf", "Co", "Cs")


class WordPiece:
    """The tokenizer over one vocabulary; may be shared between threads."""

    def __init__(self, vocabulary: Sequence[str]) -> None:
        self._ids = {piece: number for number, piece in enumerate(vocabulary)}
        # Pieces inside a word, without the signs that say so.
        self._inner_ids = {
            piece.removeprefix(_INNER): number
            for piece, number in self._ids.items()
            if piece.startswith(_INNER)
        }
        self._longest = max(map(len, vocabulary))
        self._clean = _Replacements()
        self._kept = lru_cache(maxsize=KEPT)(self._stretch)

    def ids(self, text: str) -> list[int]:
        """Return the ids of a text's pieces in order, UNKNOWN for a word that has none."""
        found: list[int] = []
        # Characters are cleaned one by one, so what stands between two blanks can be kept.
        for stretch in text.split(" "):
            found += self._kept(stretch) if len(stretch) <= MAX_KEPT else self._stretch(stretch)
        return found

    def _stretch(self, stretch: str) -> tuple[int, ...]:
        words = stretch.translate(self._clean).split()
        return tuple(number for word in words for number in self._pieces(word))

    def _pieces(self, word: str) -> list[int]:
        """Return the ids of the longest matches from left to right; all of the word, or UNKNOWN."""
        if len(word) > MAX_WORD:
            return [UNKNOWN]
        found: list[int] = []
        start, ids = 0, self._ids
        while start < len(word):
            for end in range(min(len(word), start + self._longest), start, -1):
                number = ids.get(word[start:end])
                if number is not None:
                    break
            else:
                return [UNKNOWN]
            found.append(number)
            start, ids = end, self._inner_ids
        return found


@cache
def load() -> WordPiece:
    """Return the tokenizer over the vocabulary that foldlog ships."""
    return WordPiece(VOCABULARY.read_text(encoding="utf-8").splitlines())


class _Replacements(dict[int, str]):
    """What each character is replaced by, worked out when it is first met."""

    def __missing__(self, code: int) -> str:
        self[code] = replacement = _replacement(chr(code))
        return replacement


def _replacement(char: str) -> str:
    """Return a character cleaned, without accents, in lower case, and apart where it is a word."""
    if char in "\t\n\r":
        return " "
    if char == "\ufffd" or unicodedata.category(char) in _CONTROL:
        return ""
    if char.isspace():
        return " "
    # Lower case comes after the accents are gone, and sees one character at a time.
    plain = "".join(_apart(low) for part in unicodedata.normalize("NFD", char) for low in _lower(part))
    return f" {plain} " if any(first <= ord(char) <= last for first, last in _CJK) else plain


def _lower(part: str) -> str:
    return "" if unicodedata.category(part) == "Mn" else part.lower()


def _apart(char: str) -> str:
    return f" {char} " if _is_punctuation(char) else char


def _is_punctuation(char: str) -> bool:
    """Tell what BERT splits at: Unicode's punctuation, and ASCII's signs with it."""
    if char.isascii():
        return char.isprintable() and not char.isalnum() and char != " "
    return unicodedata.category(char).startswith("P")
