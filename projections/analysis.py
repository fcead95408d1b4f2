"""The analyser: the words under which text is found, the same for the log's search and the index.

Words are Unicode NFC, lower case, stemmed (Snowball). An identifier is kept whole and also split
(`src/app/main.py` is found by itself, by `main.py` and by `app`); scripts without spaces give pairs
of characters. All text is literal: there is no query syntax.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from itertools import chain
from typing import Final

import Stemmer

from foldlog.projections.stopwords import STOP_WORDS

#: Changes whenever the same text would give other words: indexes made before must be rebuilt.
VERSION: Final = 1

#: Longest word, in characters; longer ones (base64, minified code) are cut.
MAX_WORD: Final = 64

_CJK: Final = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_JOINERS: Final = r"[-_./:@#+=]+"
_TOKEN: Final = re.compile(rf"[{_CJK}]+|[^\W_{_CJK}][\w'’]*(?:{_JOINERS}(?=[^\W_{_CJK}])[\w'’]*)*")
# The same for ASCII, in two thirds of the time.
_ASCII_TOKEN: Final = re.compile(r"[A-Za-z0-9][\w']*(?:[-_./:@#+=]+(?=[A-Za-z0-9])[\w']*)*", re.ASCII)
_CJK_RUN: Final = re.compile(rf"[{_CJK}]+")
_PART: Final = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")

# Without the stemmer's own cache, which is slower than stemming; the words of tokens are kept here.
_stemmer = Stemmer.Stemmer("english", 0)


def words(text: str) -> list[str]:
    """Return the words of a text in order, with repeats, without stop words."""
    return list(chain.from_iterable(map(words_of, tokens(text))))


def query_words(text: str, limit: int = 200) -> list[str]:
    """Return the distinct words of a query, in order; long queries are cut at `limit` words."""
    found: dict[str, None] = {}
    for token in tokens(text):
        for word in words_of(token):
            found[word] = None
        if len(found) >= limit:
            break
    return list(found)[:limit]


def tokens(text: str) -> list[str]:
    """Return what stands between blanks and punctuation, in order."""
    found: list[str]
    if text.isascii():
        found = _ASCII_TOKEN.findall(text)
    else:
        found = _TOKEN.findall(unicodedata.normalize("NFC", text))
    return found


@lru_cache(maxsize=1 << 16)
def words_of(token: str) -> tuple[str, ...]:
    """Return the words of one token: itself stemmed, or an identifier whole and in parts."""
    plain = token.isalpha() and (token.islower() or token.istitle() or token.isupper())
    if plain and token.isascii():
        return _stemmed(token)
    if _CJK_RUN.match(token):
        return _pairs(token)
    if plain:
        return _stemmed(token)
    parts = [piece for part in _PART.findall(token) for piece in _CAMEL.split(part)]
    split = [word for part in parts for word in _split(part)]
    whole = token.lower().replace("'", "").replace("’", "")[:MAX_WORD]
    if len(parts) <= 1:
        return tuple(split)
    return (whole, *split)


def _split(part: str) -> tuple[str, ...]:
    if _CJK_RUN.search(part):
        return tuple(word for run in _CJK_RUN.findall(part) for word in _pairs(run))
    return _stemmed(part)


def _stemmed(word: str) -> tuple[str, ...]:
    lower = word.lower().replace("’", "'")
    if lower in STOP_WORDS:
        return ()
    stem = _stemmer.stemWord(lower).replace("'", "")[:MAX_WORD]
    return (stem,) if stem and stem not in STOP_WORDS else ()


def _pairs(run: str) -> tuple[str, ...]:
    if len(run) == 1:
        return (run,)
    return tuple(run[index : index + 2] for index in range(len(run) - 1))
