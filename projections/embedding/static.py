"""The embedder `static`: a table of one vector a word piece; a text is their weighted mean.

The table is distilled from a sentence transformer by `tests/bench/distill_static.py` (every word piece
through the model, then PCA), in the manner of Model2Vec (Tulkens and van Dongen, 2024); the weights are
those of smooth inverse frequency, a / (a + p) (Arora, Liang and Ma, 2017), with p after Zipf's law from
the order of the vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from foldlog.projections.embedding import wordpiece
from foldlog.projections.embedding.embedder import MAX_CHARACTERS, normalised

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from foldlog.projections.embedding.embedder import Vectors

DATA: Final = Path(__file__).with_name("data")

#: Goes up with every new table and every change to the tokenizer.
VERSION: Final = 1


@cache
def table() -> StaticEmbedder:
    """Return the one table of this process."""
    return StaticEmbedder()


class StaticEmbedder:
    """Weighted means of table rows; questions and passages alike. Needs numpy only."""

    name = "static"
    version = VERSION
    dimension = 256
    fingerprint = f"static-{VERSION}-256"
    weight = 0.5

    @cached_property
    def _rows(self) -> NDArray[np.int8]:
        """The table, shape (pieces, dimension): mapped, so that all processes share one copy of it."""
        # As a plain array: each selection from a memory map makes another memory map.
        return np.asarray(np.load(DATA / "rows.npy", mmap_mode="r"))

    @cached_property
    def _scales(self) -> NDArray[np.float32]:
        """What each row is multiplied by, shape (pieces,): its int8 scale times its weight."""
        scales: NDArray[np.float32] = np.load(DATA / "scales.npy")
        return scales

    def passages(self, texts: Sequence[str]) -> Vectors:
        """Return shape (texts, dimension); a text without a known word gets zeros."""
        return self.means([self.token_ids(text) for text in texts])

    def means(self, texts: Sequence[tuple[int, ...]]) -> Vectors:
        """Return the vectors of texts given by their word pieces, shape (texts, dimension)."""
        sums = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, ids in zip(sums, texts, strict=True):
            if ids:
                row[:] = self._sum(ids)
        return normalised(sums)

    def queries(self, texts: Sequence[str]) -> Vectors:
        """Return the same as `passages`."""
        return self.passages(texts)

    def token_ids(self, text: str) -> tuple[int, ...]:
        """Return the ids of a text's word pieces in order, with repeats, without unknown words."""
        return _token_ids(text[:MAX_CHARACTERS])

    def rows(self, ids: Sequence[int]) -> Vectors:
        """Return the vectors of word pieces, shape (ids, dimension): rows of length 1, without weights.

        Their inner products are the cosines that soft coverage takes the best of.
        """
        return normalised(self._rows[np.asarray(ids, dtype=np.intp)])

    def _sum(self, ids: tuple[int, ...]) -> NDArray[np.float32]:
        places = np.asarray(ids, dtype=np.intp)
        total: NDArray[np.float32] = self._scales[places] @ self._rows[places].astype(np.float32)
        return total


# The candidates of one namespace come again and again, with every question.
@lru_cache(maxsize=8192)
def _token_ids(text: str) -> tuple[int, ...]:
    ids = wordpiece.load().ids(text)
    return tuple([number for number in ids if number != wordpiece.UNKNOWN])
