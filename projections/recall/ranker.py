"""What recall needs of a ranker; the one that computes features is handed in, since it needs numpy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from foldlog.projections.recall.reading import Candidate


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question as the features see it."""

    text: str
    words: Sequence[str]
    #: The idf of its words.
    rarities: Mapping[str, float]
    #: Half-open spans of time it names, UTC ms, each with its worth.
    spans: Sequence[tuple[int, int, float]] = ()
    #: Those of which it names both ends, as `from 2004 to 2006` does.
    stretches: Sequence[tuple[int, int]] = ()
    #: Whether it names a time by more than a year, which is more often part of a name.
    dated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """A candidate and its score, which is the sum of its parts."""

    candidate: Candidate
    score: float
    #: Feature -> weight times value; those that are 0 are left out.
    parts: dict[str, float]


class Ranker(Protocol):
    """Orders the candidates of a question."""

    def __call__(self, question: Question, candidates: Sequence[Candidate], limit: int) -> list[Ranked]:
        """Return the best `limit` candidates, best first; ties go to the older memory."""
        ...  # pragma: no cover
