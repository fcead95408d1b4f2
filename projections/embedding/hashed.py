"""The embedder `hash`: hashed words and parts of words; no data, no model.

Feature hashing (Weinberger et al., 2009) of words and their character n-grams, each to one place with
one sign. Texts are close when they share words or parts of words, never by meaning.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

import numpy as np

from foldlog.projections.embedding.embedder import MAX_CHARACTERS, normalised

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from foldlog.projections.embedding.embedder import Vectors

VERSION: Final = 1

DIMENSION: Final = 384

#: Longest word whose parts are taken, in characters.
MAX_WORD: Final = 64

_WORD: Final = re.compile(r"[^\W_]+")


class HashEmbedder:
    """Sums of hashed words and parts of words; questions and passages alike."""

    name = "hash"
    version = VERSION
    dimension = DIMENSION
    fingerprint = f"hash-{VERSION}-{DIMENSION}"
    # More would make recall worse than the words alone are.
    weight = 0.3

    def passages(self, texts: Sequence[str]) -> Vectors:
        """Return shape (texts, dimension); a text without a letter or digit gets zeros."""
        sums = np.zeros((len(texts), DIMENSION), dtype=np.float32)
        for row, text in zip(sums, texts, strict=True):
            for word in _WORD.findall(unicodedata.normalize("NFC", text[:MAX_CHARACTERS]).lower()):
                row += _vector(word[:MAX_WORD])
        return normalised(sums)

    def queries(self, texts: Sequence[str]) -> Vectors:
        """Return the same as `passages`."""
        return self.passages(texts)


@lru_cache(maxsize=1 << 13)
def _vector(word: str) -> NDArray[np.float32]:
    """Return the sum of a word's features at the length of the word, shape (DIMENSION,).

    Long words are rarer: on conversations this finds half again as much as equal words would.
    """
    vector = np.zeros(DIMENSION, dtype=np.float32)
    for feature in _features(word):
        number = int.from_bytes(blake2b(feature.encode("utf-8", "replace"), digest_size=8).digest(), "big")
        vector[(number >> 1) % DIMENSION] += 1 if number & 1 else -1
    unit: NDArray[np.float32] = normalised(vector[None])[0]
    return unit * np.float32(len(word))


def _features(word: str) -> Iterator[str]:
    """Yield the word itself and its n-grams, the edges marked; shorter ones in scripts without spaces."""
    marked = f"<{word}>"
    yield marked
    for size in (3, 4) if word.isascii() else (2, 3):
        yield from (marked[start : start + size] for start in range(len(marked) - size + 1))
