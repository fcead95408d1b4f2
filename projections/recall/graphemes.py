"""Where a text may be cut: between characters as a reader sees them.

Follows the rules of Unicode's extended grapheme clusters (UAX 29) that the standard library's
categories can tell: combining marks, joined and modified emoji, flags, Hangul, CR LF.
"""

from __future__ import annotations

import unicodedata
from typing import Final

_JOINER: Final = "\u200d"


def boundary(text: str, end: int) -> int:
    """Return the last place up to `end` at which the text may be cut; 0 if there is none."""
    while 0 < end < len(text) and _together(text, end):
        end -= 1
    return end


def _together(text: str, place: int) -> bool:
    """Say whether the characters on both sides of a place are one to a reader."""
    before, after = text[place - 1], text[place]
    if before == "\r" and after == "\n":
        return True
    if _extends(after) or before == _JOINER:
        return True
    if _is_flag(before) and _is_flag(after):
        # Two letters make a flag: a cut is only between pairs.
        start = place
        while start > 0 and _is_flag(text[start - 1]):
            start -= 1
        return (place - start) % 2 == 1
    if _is_leading(before) and (_is_leading(after) or _is_vowel_or_tail(after) or _is_syllable(after)):
        return True
    return _is_vowel_or_tail(after) and (_is_vowel_or_tail(before) or _is_syllable(before))


def _extends(char: str) -> bool:
    return (
        char == _JOINER
        or unicodedata.category(char) in ("Mn", "Me", "Mc")
        # Skin tones, and the tags that name the flags of regions.
        or "\U0001f3fb" <= char <= "\U0001f3ff"
        or "\U000e0020" <= char <= "\U000e007f"
    )


def _is_flag(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def _is_leading(char: str) -> bool:
    return "\u1100" <= char <= "\u115f"


def _is_vowel_or_tail(char: str) -> bool:
    return "\u1160" <= char <= "\u11ff"


def _is_syllable(char: str) -> bool:
    return "\uac00" <= char <= "\ud7a3"
