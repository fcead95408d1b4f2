"""Names that the log takes, for names that it does not: one for each, and the same one every time."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from hashlib import sha256
from typing import Final

from foldlog.errors import InvalidInput
from foldlog.names import MAX_NAME_BYTES, check_name, check_namespace, format_namespace, parse_namespace

#: Stands between what is left of a name and the digest of the whole.
MARK: Final = "~"

#: Hexadecimal digits of the digest.
DIGITS: Final = 12


def is_name(text: str) -> bool:
    """Say whether the log takes a text as a name."""
    return _passes(check_name, text)


def stored(text: str) -> str:
    """Return the name a text is stored under: itself, or what is left of it with a digest of it all."""
    return text if is_name(text) else renamed(text)


def renamed(text: str, whole: str | None = None) -> str:
    """Return another name for a text, never that of another text; `whole` is what tells it apart."""
    return _with_digest(text, whole or text, lambda name: name, is_name)


def namespace(text: str) -> str:
    """Return the namespace that Smithers takes a text for, as it is written here."""
    if _is_namespace(text):
        return text
    kind, name = parse_namespace(text)
    found = format_namespace(kind, name)
    if _is_namespace(found):
        return found
    return _with_digest(name, text, lambda part: format_namespace(kind, part), _is_namespace)


def label(text: str) -> str:
    """Return a text as a word that need not be unique: clean, cut to what fits, perhaps empty."""
    found = clean(text)[:MAX_NAME_BYTES]
    while found and not is_name(found):
        found = found[:-1].rstrip()
    return found


def clean(text: str) -> str:
    """Return a text in Unicode form NFC, without control characters and without white space around it."""
    plain = "".join(_plain(char) for char in text)
    return unicodedata.normalize("NFC", plain).strip()


def _plain(char: str) -> str:
    category = unicodedata.category(char)
    # What stood on two lines stays two words; a joiner joined nothing that must be told apart.
    return " " if category == "Cc" else "" if category == "Cf" else char


def _with_digest(text: str, whole: str, written: Callable[[str], str], fits: Callable[[str], bool]) -> str:
    tail = MARK + sha256(whole.encode()).hexdigest()[:DIGITS]
    head = clean(text)[:MAX_NAME_BYTES]
    while not fits(written(head + tail)):
        head = head[:-1]
    return written(head + tail)


def _is_namespace(text: str) -> bool:
    return _passes(check_namespace, text)


def _passes(check: Callable[[object, str], str], text: str) -> bool:
    try:
        check(text, "")
    except InvalidInput:
        return False
    return True
