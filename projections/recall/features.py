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
from typing import TYPE_CHECKING, Final

import numpy as np

from foldlog.projections import analysis, bm25, dates
from foldlog.projections.document import FACT, MESSAGE
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
#: What stands in brackets at the end of a name tells it from others, and is seldom said.
_BRACKET: Final = re.compile(r"\s*\([^()]*\)$")
YEAR_MS: Final = 365.25 * 86_400_000
#: Years after which a year, or a beginning, that is not the one asked for is worth 1/e of it.
YEARS_REACH: Final = 3.0
BEGINNING_REACH: Final = 1.0
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
        **_stretch(question, candidates),
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
    """Return 1 where the memory's name stands whole in the question, and not only inside another's."""
    asked = f" {' '.join(analysis.words(question.text))} "
    names = [
        f" {' '.join(analysis.words(_plain(item.name)))} " if item.kind == FACT else "" for item in candidates
    ]
    found = {name for name in names if name.strip() and name in asked}
    # `Direct action` is not named where `Act of War: Direct Action` is.
    whole = {name for name in found if not any(name in other for other in found - {name})}
    return np.array([float(name in whole) for name in names])


def _plain(name: str) -> str:
    """Return a name without the bracket at its end, unless there is nothing else."""
    return _BRACKET.sub("", name) or name


def _stretch(question: Question, candidates: Sequence[Candidate]) -> dict[str, Values]:
    """Return how well the years and the spans that a fact or note speaks of meet the stretch asked for.

    All are 0 without a stretch: a single year is more often part of a name, and is a word like any other.
    """
    asked = sorted({int(year) for year in _YEAR.findall(question.text)}) if question.stretches else []
    passages = [item if item.kind != MESSAGE and asked else None for item in candidates]
    spoken = [{int(year) for year in _YEAR.findall(item.text)} if item else set() for item in passages]
    return {
        "years": np.array([len(years.intersection(asked)) / max(len(asked), 1) for years in spoken]),
        "nearness of years": np.array([_nearness(asked, years) for years in spoken]),
        "nearness of the beginning": np.array(
            [_beginning(question, item) if item else 0.0 for item in passages]
        ),
    }


def _nearness(asked: Sequence[int], spoken: set[int]) -> float:
    """Return how near the years spoken of come to the first and the last year asked for, as their mean."""
    if not asked or not spoken:
        return 0.0
    ends = {asked[0], asked[-1]}
    return sum(max(_near(year - end, YEARS_REACH) for year in spoken) for end in ends) / len(ends)


def _beginning(question: Question, item: Candidate) -> float:
    """Return how near a span that a memory speaks of begins to a stretch asked for."""
    said = [span.start_ms for span in dates.find(item.text, item.happened_at)]
    gaps = [(start - first) / YEAR_MS for start in said for first, _ in question.stretches]
    return max((_near(gap, BEGINNING_REACH) for gap in gaps), default=0.0)


def _near(gap: float, reach: float) -> float:
    return math.exp(-abs(gap) / reach)


def _time(question: Question, candidates: Sequence[Candidate]) -> Values:
    """Return the worth of the narrowest span of the question in which it happened, or of which it speaks."""
    most = max((value for _, _, value in question.spans), default=0.0)

    def worth(item: Candidate) -> float:
        inside = [value for start, end, value in question.spans if start <= item.happened_at < end]
        said = item.said if question.dated or item.kind == MESSAGE else 0.0
        return max([*inside, most * said])

    return _each(candidates, worth)
