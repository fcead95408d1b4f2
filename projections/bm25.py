"""BM25 with k1 = 1.2 and b = 0 (Robertson and Zaragoza, 2009, The Probabilistic Relevance Framework).

Without length normalisation: in conversations the facts sit in the long turns, and nothing about a
memory's weight grows stale when others arrive.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

K1: Final = 1.2


def weight(frequency: int) -> float:
    """Return what a word that stands `frequency` times in a text adds to its score, times the idf."""
    return frequency * (K1 + 1) / (frequency + K1)


def idf(texts: int, total: int) -> float:
    """Return the rarity of a word that stands in `texts` of `total` texts; never negative."""
    return math.log(1 + (max(total, texts) - texts + 0.5) / (texts + 0.5))


def length_weight(frequency: int, length: float, average: float, b: float) -> float:
    """Return `weight` with length normalisation, for texts whose lengths vary by accident, as windows do."""
    return frequency * (K1 + 1) / (frequency + K1 * (1 - b + b * length / max(average, 1.0)))


def score(words: Iterable[str], rarities: Mapping[str, float]) -> float:
    """Return the score of a text's words for a query's words and their idf."""
    counts = Counter(word for word in words if word in rarities)
    return sum(rarities[word] * weight(count) for word, count in counts.items())
