"""A mention: a name in a text, with the one form under which all its spellings meet."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Final

#: What a name can be the name of; `name` is a capitalised name of which the rules cannot tell more.
TYPES: Final = tuple(
    "url email pr ticket commit file host env version command symbol service person name".split()
)

#: What surrounds a name without belonging to it.
_AROUND: Final = " \t\r\n.,;:!?()[]{}<>\"'“”‘’`*…"
_BLANKS: Final = re.compile(r"\s+")
_POSSESSIVES: Final = ("'s", "’s")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """One name and its characters: `text[start:end] == name`."""

    #: As written.
    name: str
    #: The same for all spellings of one thing: `@Imani` and `Imani` are `imani`.
    canonical: str
    #: One of TYPES.
    type: str
    #: Offset of the first character, in code points.
    start: int
    #: Offset after the last character.
    end: int


def canonical(name: str) -> str:
    """Return a name in NFC, folded to one case, with single blanks and without what stands around it."""
    lower = _BLANKS.sub(" ", folded(name)).strip(_AROUND)
    while lower.endswith(_POSSESSIVES):
        lower = lower[:-2].strip(_AROUND)
    return lower


def folded(name: str) -> str:
    """Return a name in one case, and in NFC, which folding may undo."""
    if name.isascii():
        return name.casefold()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())
