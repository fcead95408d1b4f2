"""Cuts a text into tokens and writes down their kinds, one character each: the text's shape.

Rules are regular expressions over shapes (`rules.py`), which are a sixth as long as the text
and hold no spelling.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from foldlog.projections.dates.words import KIND_OF_WORD, TRIGGERS

_NOT_GLUED: Final = r"(?<![\w.$€£#@=:/\\+~%])"
_LITERAL: Final = (
    r"(?<![0-9.])(?<![0-9]-)(?:"
    r"[12][0-9]{3}-[0-9]{2}-[0-9]{2}(?![0-9]|-[0-9])"
    r"(?:t[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]{1,9})?)?(?:z\b|[+-][0-9]{2}(?::?[0-9]{2})?)?(?![\w:])"
    r"|\ [0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]{1,9})?(?:[+-][0-9]{2}(?::?[0-9]{2})?)?)?"
    r"(?:\ ?(?:z|utc|gmt)\b)?(?![\w:]))?"
    r"|[12][0-9]{7}t[0-9]{6}z?\b"
    r"|[12][0-9]{3}-w[0-5][0-9](?:-[1-7])?\b"
    r"|[12][0-9]{3}-q[1-4]\b"
    r"|[12][0-9]{3}-(?:0[1-9]|1[0-2])(?![-\w]|\.[0-9])"
    r"|(?<![\w/])[12][0-9]{3}/[0-9]{1,2}/[0-9]{1,2}(?![\w/])"
    r"|(?<![\w/])[0-9]{1,2}/[0-9]{1,2}/[12][0-9]{3}(?![\w/])"
    r")"
)
_CLOCK: Final = (
    _NOT_GLUED + r"(?:[01]?[0-9]|2[0-4]):[0-5][0-9](?::[0-5][0-9])?(?:\s?[ap]\.?m\b\.?)?(?![\w:]|\.[0-9])"
    r"|" + _NOT_GLUED + r"(?:1[0-2]|0?[1-9])\s?[ap]\.?m\b\.?"
)
# `1998-2003`, and `1983–84`, of which `1983-04` would be a month.
_YEARS: Final = (
    _NOT_GLUED + r"(?<!-)[12][0-9]{3}(?:[-–—][12][0-9]{3}|[–—][0-9]{2}|-(?:1[3-9]|[2-9][0-9]))"
    r"(?![\w-]|[.,:/][0-9])"
)
_NUMBER: Final = r"[0-9]{1,4}(?![\w%°]|[.,:/@=\\][0-9])"

# No token begins with a blank: said first, it spares every blank the trial of all the others.
_TOKEN: Final = re.compile(
    r"(?! )(?:"
    r"\b(?<![@#$\\/])(?<!\w\.)(?P<word>[^\W\d_]+)(?![\w@\\/]|\.\w)"
    r"|(?P<comma>,)"
    rf"|(?P<literal>{_LITERAL})"
    rf"|(?P<clock>{_CLOCK})"
    rf"|(?P<years>{_YEARS})"
    rf"|{_NOT_GLUED}(?P<number>{_NUMBER})"
    r"|(?P<ordinal>\b[0-9]{1,2}(?:st|nd|rd|th)\b)"
    r"|(?P<decade>\b[12][0-9]{2}0s\b|['’][2-9]0s\b|\b[5-9]0s\b)"
    r"|(?P<quarter>\b[qh][1-4]\b)"
    r"|(?P<will>['’]ll\b)"
    r"|(?P<clitic>['’][a-z]{1,2}\b)"
    r"|(?P<stop>[.!?;]|\n\s*\n)"
    r"|(?P<dash>[-–—/])"
    r"|(?P<open>\()"
    r"|(?P<close>\))"
    r"|(?P<junk>\w+|\S)"
    r")"
)

_WORD: Final = re.compile(r"[^\W\d_]+[1-4]?")
_DIGITS: Final = re.compile(r"[12][0-9]{3}|[0-9](?:0s|st|nd|rd|th)\b")

_ASCII_DIGITS: Final = b"0123456789"
#: Blanks for all characters that are no letters.
_BLANKED: Final = bytes(code if 97 <= code <= 122 else 32 for code in range(256))

#: Kinds that are no word's; `period` is a date found before (joining.py).
_OTHER_KINDS: Final = (
    "word comma literal clock years year digits number ordinal decade quarter half stop dash open close junk "
    "ahead period"
).split()

#: The character that stands for a kind in a shape; private ones, so that no rule can meet them in text.
CHAR: Final[dict[str, str]] = {
    kind: chr(0xE000 + index)
    for index, kind in enumerate(dict.fromkeys((*_OTHER_KINDS, *KIND_OF_WORD.values())))
}

_CHAR_OF_WORD: Final = {word: CHAR[kind] for word, kind in KIND_OF_WORD.items()}
_SKIPPED: Final = "clitic"
_PLAIN: Final = CHAR["word"]
_MONTH: Final = CHAR["month"]
_STOP: Final = CHAR["stop"]
_LONGEST_ABBREVIATION: Final = 4


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens of a text; token `i` is `lower[starts[i]:ends[i]]` and has the kind `shape[i]`."""

    text: str
    #: The text in lower case, of the same length.
    lower: str
    shape: str
    starts: list[int]
    ends: list[int]

    def word(self, index: int) -> str:
        """Return a token's text in lower case, and nothing beyond both ends."""
        if 0 <= index < len(self.shape):
            return self.lower[self.starts[index] : self.ends[index]]
        return ""

    def is_capital(self, index: int) -> bool:
        """Return whether a token is written with a capital."""
        return self.text[self.starts[index]].isupper()


def lower_of(text: str) -> str:
    """Return the text in lower case, character by character, so that offsets stay."""
    lower = text.lower()
    if len(lower) == len(text):
        return lower
    return "".join(char.lower() if len(char.lower()) == 1 else char for char in text)


def may_hold_dates(lower: str) -> bool:
    """Return False, quickly, for most texts without any date."""
    if lower.isascii():
        plain = lower.encode()
        if len(plain.translate(None, _ASCII_DIGITS)) == len(plain):
            return not TRIGGERS.isdisjoint(plain.translate(_BLANKED).decode().split())
    return _DIGITS.search(lower) is not None or not TRIGGERS.isdisjoint(_WORD.findall(lower))


def tokens(text: str, lower: str) -> Tokens:
    """Return the tokens of a text."""
    shape: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    for match in _TOKEN.finditer(lower):
        group = match.lastgroup
        start, end = match.span()
        if group == "word":
            shape.append(_CHAR_OF_WORD.get(match[0], _PLAIN))
        elif group == "stop":
            # `Jan. 5` is one date; the stop of an abbreviation ends no sentence.
            if shape and shape[-1] == _MONTH and ends[-1] - starts[-1] <= _LONGEST_ABBREVIATION:
                continue
            shape.append(_STOP)
        elif group == _SKIPPED:
            continue
        else:
            shape.append(_other(group or "junk", match[0]))
        starts.append(start)
        ends.append(end)
    return Tokens(text, lower, "".join(shape), starts, ends)


def _other(group: str, token: str) -> str:
    if group == "number":
        if len(token) <= 3:
            return CHAR["digits"]
        return CHAR["year" if len(token) == 4 and token[0] in "12" else "number"]
    if group == "quarter":
        return CHAR["quarter" if token[0] == "q" else "half" if token[1] in "12" else "junk"]
    return CHAR["ahead" if group == "will" else group]
