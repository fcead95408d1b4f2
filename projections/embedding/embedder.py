"""The protocol of an embedder, and what all of them do with vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

import numpy as np

from foldlog.errors import EmbeddingRefused

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    #: Vectors, one a row: shape (texts, dimension).
    Vectors: TypeAlias = NDArray[np.float32]

#: Most characters of a text that are embedded. The index cuts long memories into passages far below it;
#: what reaches it is a document pasted as a question.
MAX_CHARACTERS: Final = 16_384


class Embedder(Protocol):
    """What turns texts into vectors that are close when the texts mean the same.

    May be used by several threads at once. A text always gets the same vector, whatever texts are
    embedded with it.
    """

    @property
    def name(self) -> str:
        """The word by which the setting FOLDLOG_EMBEDDER chooses it."""

    @property
    def version(self) -> int:
        """Goes up whenever our code would give other vectors."""

    @property
    def dimension(self) -> int:
        """The length of every vector."""

    @property
    def fingerprint(self) -> str:
        """Changes whenever the same passage would get another vector: those made before are of no use."""

    @property
    def weight(self) -> float:
        """The share of the semantic score, 0 to 1, when it is fused with that of the words."""

    def passages(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of texts to be found: shape (texts, dimension), rows of length 1.

        A text with nothing to embed gets a row of zeros. Raises EmbeddingUnavailable when it may work
        later, EmbeddingRefused when a person must act first.
        """

    def queries(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of questions, as `passages` does; never waits to try again."""


def check(vectors: ArrayLike, count: int, dimension: int) -> NDArray[np.bool_]:
    """Return which rows can be stored, shape (count,): the finite ones that are not all zeros.

    Raises EmbeddingRefused unless there are `count` rows of `dimension` numbers: such an embedder is
    not the one that its description says.
    """
    rows = np.asarray(vectors)
    if rows.shape != (count, dimension):
        raise EmbeddingRefused(
            f"the embedder gave vectors of the shape {rows.shape} instead of {(count, dimension)}"
        )
    usable: NDArray[np.bool_] = np.isfinite(rows).all(axis=1) & rows.any(axis=1)
    return usable


def normalised(vectors: NDArray[Any]) -> Vectors:
    """Return the rows at length 1 (L2), shape unchanged; rows that have no direction become zeros."""
    rows = np.asarray(vectors, dtype=np.float64)
    largest = np.abs(rows).max(axis=1, keepdims=True, initial=0.0)
    # NaN and infinity fail the comparison as well as 0 does.
    usable = (largest > 0) & (largest < np.inf)
    # Divided by the largest first, so that squares neither overflow nor vanish.
    scaled = np.divide(rows, largest, out=np.zeros_like(rows), where=usable)
    lengths = np.linalg.norm(scaled, axis=1, keepdims=True)
    unit: Vectors = np.divide(scaled, lengths, out=scaled, where=usable).astype(np.float32)
    return unit
