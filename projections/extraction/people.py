"""Capitalised names inside sentences: of persons where the words around say so, of anything else."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final

from foldlog.projections.extraction.lists import SERVICES, WORD_SERVICES
from foldlog.projections.extraction.mention import Mention, canonical
from foldlog.projections.extraction.sentences import (
    AFTER_PERSONS,
    BEFORE_PERSONS,
    GREETINGS,
    NOT_NAMES,
    PAIRS_BEFORE_PERSONS,
    TITLES,
)

#: Longest name, in words; a longer row of capitals is a heading.
MAX_WORDS: Final = 4

_UPPER: Final = "A-ZÀ-ÖØ-ÞĀ-ŽА-ЯΑ-Ω"
_LOWER: Final = "a-zß-öø-ÿā-žа-яα-ω"
_NAME: Final = rf"[{_UPPER}][{_LOWER}]+(?:[-'’]?[{_UPPER}][{_LOWER}]+)?(?![\w@/-])"
_RUN: Final = re.compile(
    rf"(?<![\w@#$/.\\_'’-]){_NAME}"
    rf"(?: (?:(?:van|von|de|da|del|di|bin|al|la) )?(?:[{_UPPER}]\. )?{_NAME}){{0,7}}"
)
_SENTENCE_BEFORE: Final = re.compile(r"(?:^|[.!?:;…\n\"“”‘(*>|•#-])[\s\"“‘(*>•#-]*$")
_WORDS_BEFORE: Final = re.compile(r"(?<![^\W\d_])(?:([^\W\d_]+)[\s.,]+)?([^\W\d_]+)[.,]?\s*$")
_WORD_AFTER: Final = re.compile(r"\s+([^\W\d_]+)")

#: Words that have a capital inside a row of capitals only in headings.
_LOWER_INSIDE: Final = NOT_NAMES - TITLES

#: How far before a name its words are looked at, in characters.
_BEFORE: Final = 40
_BEFORE_PERSONS: Final = GREETINGS | TITLES | BEFORE_PERSONS
_LAST_BEFORE_PERSONS: Final = _BEFORE_PERSONS | {pair.split()[1] for pair in PAIRS_BEFORE_PERSONS}
_NEW_PLACES: Final = frozenset("York Zealand Orleans Jersey Delhi Mexico Hampshire England".split())


def people(text: str) -> Iterator[Mention]:
    """Yield the capitalised names of a text in order.

    The first word of a sentence has a capital anyway: alone it is a name only if its neighbours are
    those of a person's.
    """
    found = list(_names(text))
    persons = {mention.canonical for mention in found if mention.type == "person"}
    for mention in found:
        if mention.type == "name" and mention.canonical in persons:
            yield Mention(
                name=mention.name,
                canonical=mention.canonical,
                type="person",
                start=mention.start,
                end=mention.end,
            )
        else:
            yield mention


def _names(text: str) -> Iterator[Mention]:
    for match in _RUN.finditer(text):
        for start, end in _parts(text, match):
            name = text[start:end]
            person = _is_person(text, start, end)
            if not person and " " not in name and _begins_sentence(text, start):
                continue
            yield Mention(
                name=name,
                canonical=canonical(name),
                type="person" if person else "name",
                start=start,
                end=end,
            )


def _begins_sentence(text: str, start: int) -> bool:
    """Return whether a word is the first of its sentence."""
    if text[start - 1 : start] == " " and start > 1:
        # The usual cases; after quotes, brackets and signs of lists it takes a closer look.
        before = text[start - 2]
        if before in ".!?:;":
            return True
        if before.isalnum() or before == ",":
            return False
    return _SENTENCE_BEFORE.search(text, max(0, start - 12), start) is not None


def _parts(text: str, match: re.Match[str]) -> Iterable[tuple[int, int]]:
    """Return the places of names in a row of capitalised words."""
    if " " in match[0]:
        return _parts_of_row(text, *match.span())
    # The ranges of letters hold small ones too.
    return (match.span(),) if match[0][0].isupper() and not _is_no_name(match[0]) else ()


def _parts_of_row(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the names in a row of capitalised words: what is left between words that are no names."""
    words = text[start:end].split(" ")
    if len(words) > MAX_WORDS or any(word.casefold() in _LOWER_INSIDE for word in words[1:]):
        return  # a heading: `Notes On Many Things`
    first = last = None
    at = start
    for word, following in zip(words, (*words[1:], ""), strict=True):
        if _is_no_name(word) and not (word == "New" and following in _NEW_PLACES):
            if first is not None and last is not None:
                yield first, last
            first = last = None
        elif word[0].isupper() or first is not None:
            first = at if first is None else first
            last = at + len(word) if word[0].isupper() else last
        at += len(word) + 1
    if first is not None and last is not None:
        yield first, last


@lru_cache(maxsize=4096)
def _is_no_name(word: str) -> bool:
    lower = word.casefold().replace("’", "'").partition("'")[0]
    return lower in NOT_NAMES or lower in SERVICES or lower in WORD_SERVICES


def _may_precede_person(text: str, start: int) -> bool:
    """Return False, quickly, where the word before a name is a plain one that says nothing."""
    before = text[max(0, start - _BEFORE) : start].rsplit(None, 1)[-1:]
    if not before:
        return False
    word = before[0][:-1] if before[0][-1] in ".," else before[0]
    # What is not plain, or reaches over the edge of what is looked at, takes a closer look.
    plain = word.isascii() and word.isalpha() and len(word) < _BEFORE - 2
    return not plain or word.lower() in _LAST_BEFORE_PERSONS


def _is_person(text: str, start: int, end: int) -> bool:
    """Return whether the words around a name are those around a person's."""
    if _may_precede_person(text, start):
        match = _WORDS_BEFORE.search(text, max(0, start - _BEFORE), start)
        if match is not None:
            before = match[2].lower()
            if before in _BEFORE_PERSONS or f"{(match[1] or '').lower()} {before}" in PAIRS_BEFORE_PERSONS:
                return True
    after = text[end : end + 1]
    if after.isspace():
        word = _WORD_AFTER.match(text, end)
        return word is not None and word[1] in AFTER_PERSONS
    if after == ":" and (start == 0 or text[start - 1] == "\n"):
        return True  # `Imani: hello`
    # `That is great, Imani!`
    return after in ("!", "?") and text[max(0, start - 2) : start] == ", "
