"""Features: what speaks for a candidate, each a number, so that a score is a sum that can be explained.

The recipe: a question and the answer that follows are one unit; the neighbours and the session are
fields of their own; coverage counts each word once, by its rarity; soft coverage takes the best
cosine of any word piece of the memory to each one of the question.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

from foldlog.projections import analysis, bm25
from foldlog.projections.document import FACT
from foldlog.projections.recall.ranker import Question
from foldlog.projections.recall.reading import Candidate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from foldlog.projections.embedding.static import StaticEmbedder

    Values = NDArray[np.float64]

#: BM25's length normalisation for windows and sessions.
FIELD_B: Final = 0.5

_TOKEN: Final = re.compile(r"\w+(?:['’]\w+)*")
_WHEN: Final = re.compile(
    r"^\W*(when|how long|(in |on |at )?(which|what) (day|date|month|year|week|time))\b", re.IGNORECASE
)
_TEMPORAL: Final = re.compile(
    r"\b(yesterday|today|tonight|tomorrow|ago|last|next|since|until|week|weekend|month|year|day|morning|"
    r"evening|night|monday|tuesday|wednesday|thursday|friday|saturday|sunday|january|february|march|april|"
    r"may|june|july|august|september|october|november|december|recently|soon|now|\d{4})\b",
    re.IGNORECASE,
)
_YEAR: Final = re.compile(r"\b[12]\d{3}\b")
#: Words of a question that say what kind of answer is wanted, not what it is about.
_FILLERS: Final = frozenset(
    word
    for text in (
        "kind",
        "type",
        "many",
        "much",
        "likely",
        "would",
        "might",
        "consider",
        "mention",
        "describe",
    )
    for word in analysis.words(text)
)


def compute(question: Question, candidates: Sequence[Candidate], table: StaticEmbedder) -> dict[str, Values]:
    """Return each feature's values, one a candidate; the names are those of the weights in ranking.py."""
    names = _names(candidates)
    about = _about(question, names)
    return {
        "pair coverage": _coverage(about, [_pair(item) for item in candidates]),
        "window coverage": _coverage(about, [set(item.window) for item in candidates]),
        "window BM25": _scaled(_fields(about, [item.window for item in candidates])),
        "session BM25": _scaled(_fields(about, [item.session for item in candidates])),
        **_soft(question, about, candidates, table),
        "speaker": _speaker(question, candidates, names),
        "time": _time(question, candidates),
        "name in the question": _named(question, candidates),
        "word pairs": _scaled(_pairs(question, candidates)),
        "years": _years(question, candidates),
        "named by the best": _each(candidates, lambda item: item.hop),
        "temporal word": _each(candidates, lambda item: bool(_TEMPORAL.search(item.text)))
        if _WHEN.search(question.text)
        else np.zeros(len(candidates)),
        "is a question": _each(candidates, lambda item: item.text.rstrip().endswith("?")),
        "length": _each(candidates, lambda item: math.log1p(len(item.words))),
    }


def _each(candidates: Sequence[Candidate], value: Callable[[Candidate], float]) -> Values:
    return np.array([float(value(item)) for item in candidates])


def _names(candidates: Sequence[Candidate]) -> dict[str, set[str]]:
    """Return the speakers, each with the words of the name."""
    speakers = {item.speaker for item in candidates if item.speaker and item.before_words}
    speakers |= {item.speaker for item in candidates if item.speaker}
    return {speaker: set(analysis.words(speaker)) for speaker in speakers if speaker}


def _about(question: Question, names: Mapping[str, set[str]]) -> dict[str, float]:
    """Return what the question is about: its words without speakers' names and fillers, and their idf."""
    people = {word for words in names.values() for word in words}
    whole = {word: question.rarities.get(word, 0.0) for word in question.words}
    rest = {word: value for word, value in whole.items() if word not in people and word not in _FILLERS}
    return rest or whole


def _pair(item: Candidate) -> set[str]:
    """Return the words of a memory, with the question that it answers."""
    return set(item.words) | set(item.before_words if "?" in item.before else ())


def _coverage(about: Mapping[str, float], texts: Sequence[set[str]]) -> Values:
    """Return the share of the question's idf whose words stand in each text."""
    total = sum(about.values()) or 1.0
    return np.array([sum(value for word, value in about.items() if word in text) / total for text in texts])


def _fields(about: Mapping[str, float], texts: Sequence[list[str]]) -> Values:
    """Return the BM25 score of each text; equal lists of words are scored once."""
    average = sum(map(len, texts)) / max(len(texts), 1)
    known: dict[int, float] = {}
    return np.array([_field(about, text, average, known) for text in texts])


def _field(about: Mapping[str, float], text: list[str], average: float, known: dict[int, float]) -> float:
    score = known.get(id(text))
    if score is None:
        counts = Counter(word for word in text if word in about)
        score = sum(
            about[word] * bm25.length_weight(count, len(text), average, FIELD_B)
            for word, count in counts.items()
        )
        known[id(text)] = score
    return score


def _scaled(values: Values) -> Values:
    """Return values between 0 and 1 over the candidates."""
    if not len(values):
        return values
    low, high = values.min(), values.max()
    return (values - low) / (high - low) if high > low else np.zeros_like(values)


def _soft(
    question: Question, about: Mapping[str, float], candidates: Sequence[Candidate], table: StaticEmbedder
) -> dict[str, Values]:
    """Return soft coverage of the memory and of the question before it, and the likeness of the means."""
    pieces, rarity = _pieces(question, about, table)
    own = [table.token_ids(item.text) for item in candidates]
    asked = [table.token_ids(item.before) if "?" in item.before else () for item in candidates]
    best = _Best(table, pieces, rarity, [*own, *asked])
    means = table.means([table.token_ids(question.text), *own])
    return {
        "soft coverage": _scaled(np.array([best.score(ids) for ids in own])),
        "soft coverage of the question": _scaled(np.array([best.score(ids) for ids in asked])),
        "static likeness": _scaled((means[1:] @ means[0]).astype(np.float64)),
    }


def _pieces(
    question: Question, about: Mapping[str, float], table: StaticEmbedder
) -> tuple[list[int], list[float]]:
    """Return the word pieces of what the question is about, each with the idf of its word."""
    found: dict[int, float] = {}
    for token in _TOKEN.findall(question.text):
        value = max((about[word] for word in analysis.words(token) if word in about), default=0.0)
        if value > 0:
            for piece in table.token_ids(token):
                found[piece] = max(value, found.get(piece, 0.0))
    return list(found), list(found.values())


class _Best:
    """The best cosine of each piece of the question to any piece of a text, times the piece's idf."""

    def __init__(
        self, table: StaticEmbedder, pieces: list[int], rarity: list[float], texts: Sequence[tuple[int, ...]]
    ) -> None:
        distinct = sorted({piece for text in texts for piece in text})
        self._places = {piece: place for place, piece in enumerate(distinct)}
        if pieces and distinct:
            cosines = table.rows(distinct) @ table.rows(pieces).T
            self._weighted = np.maximum(cosines, 0.0) * np.array(rarity)
        else:
            self._weighted = np.zeros((len(distinct), 1))

    def score(self, text: tuple[int, ...]) -> float:
        """Return the soft coverage of a text."""
        if not text:
            return 0.0
        places = [self._places[piece] for piece in text]
        return float(self._weighted[places].max(axis=0).sum())


def _speaker(question: Question, candidates: Sequence[Candidate], names: Mapping[str, set[str]]) -> Values:
    """Return 1 where the one speaker that the question names spoke."""
    asked = set(question.words)
    named = [speaker for speaker, words in names.items() if words and words <= asked]
    return _each(candidates, lambda item: len(named) == 1 and item.speaker == named[0])


def _named(question: Question, candidates: Sequence[Candidate]) -> Values:
    """Return 1 where the memory's name stands whole in the question."""
    asked = f" {' '.join(analysis.words(question.text))} "
    names = [analysis.words(item.name) if item.kind == FACT else [] for item in candidates]
    return np.array([float(bool(name) and f" {' '.join(name)} " in asked) for name in names])


def _pairs(question: Question, candidates: Sequence[Candidate]) -> Values:
    """Return the idf of the question's pairs of neighbouring words that stand so in the memory."""
    words = analysis.words(question.text)
    wanted = {
        pair: question.rarities.get(pair[0], 0.0) + question.rarities.get(pair[1], 0.0)
        for pair in pairwise(words)
    }
    return np.array(
        [sum(wanted[pair] for pair in set(pairwise(item.words)) if pair in wanted) for item in candidates]
    )


def _years(question: Question, candidates: Sequence[Candidate]) -> Values:
    """Return the share of the question's years that stand in the memory."""
    asked = set(_YEAR.findall(question.text))
    if not asked:
        return np.zeros(len(candidates))
    return _each(candidates, lambda item: sum(year in item.text for year in asked) / len(asked))


def _time(question: Question, candidates: Sequence[Candidate]) -> Values:
    """Return the worth of the narrowest span of the question in which it happened, or of which it speaks."""
    most = max((value for _, _, value in question.spans), default=0.0)

    def worth(item: Candidate) -> float:
        inside = [value for start, end, value in question.spans if start <= item.happened_at < end]
        return max([*inside, most * item.said])

    return _each(candidates, worth)
