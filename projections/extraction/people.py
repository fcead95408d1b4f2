"""Capitalised names inside sentences: of persons where the words around say so, of anything else."""

from __future__ import annotations

import re
from collections.abc import Iterator
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
        for start, end in _parts(text, *match.span()):
            name = text[start:end]
            begins = _SENTENCE_BEFORE.search(text, max(0, start - 12), start) is not None
            person = _is_person(text, start, end)
            if begins and " " not in name and not person:
                continue
            yield Mention(
                name=name,
                canonical=canonical(name),
                type="person" if person else "name",
                start=start,
                end=end,
            )


def _parts(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
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


def _is_no_name(word: str) -> bool:
    lower = word.casefold().replace("’", "'").partition("'")[0]
    return lower in NOT_NAMES or lower in SERVICES or lower in WORD_SERVICES


def _is_person(text: str, start: int, end: int) -> bool:
    """Return whether the words around a name are those around a person's."""
    match = _WORDS_BEFORE.search(text, max(0, start - 40), start)
    if match is not None:
        before = match[2].lower()
        if before in GREETINGS or before in TITLES or before in BEFORE_PERSONS:
            return True
        if f"{(match[1] or '').lower()} {before}" in PAIRS_BEFORE_PERSONS:
            return True
    after = _WORD_AFTER.match(text, end)
    if after is not None and after[1] in AFTER_PERSONS:
        return True
    if text[end : end + 1] == ":" and (start == 0 or text[start - 1] == "\n"):
        return True  # `Imani: hello`
    # `That is great, Imani!`
    return text[end : end + 1] in ("!", "?") and text[max(0, start - 2) : start] == ", "
