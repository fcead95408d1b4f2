"""Ranking: the weighted sum of the features; ties go to the older memory, so that a repeat is equal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from foldlog.projections.document import MESSAGE
from foldlog.projections.embedding import static
from foldlog.projections.recall import features
from foldlog.projections.recall.ranker import Question, Ranked
from foldlog.projections.recall.reading import Candidate

#: Messages. Round numbers after weights learnt on dated conversations by listwise softmax with
#: non-negative bounds; the optimum is flat. A larger weight of the speaker ruins questions about the
#: wrong person.
MESSAGE_WEIGHTS: Final[Mapping[str, float]] = {
    "pair coverage": 1.0,
    "window coverage": 1.5,
    "window BM25": 1.0,
    "session BM25": 2.0,
    "soft coverage": 2.5,
    "soft coverage of the question": 1.5,
    "static likeness": 2.0,
    "speaker": 1.0,
    "time": 3.0,
    "temporal word": 1.5,
    "is a question": -0.75,
    "length": 0.25,
}

#: Facts and notes, which stand alone and may bear a name: round numbers that served two sets of linked
#: passages and one of dated paragraphs alike, of the size of a message's score.
PASSAGE_WEIGHTS: Final[Mapping[str, float]] = {
    "pair coverage": 2.5,
    "window BM25": 3.0,
    "soft coverage": 2.5,
    "static likeness": 2.0,
    "name in the question": 3.0,
    "named by the best": 6.0,
    "time": 3.0,
    "years": 5.0,
    "nearness of years": 5.0,
    "nearness of the beginning": 5.0,
}


def rank(question: Question, candidates: Sequence[Candidate], limit: int) -> list[Ranked]:
    """Return the best `limit` candidates, best first."""
    if not candidates:
        return []
    values = features.compute(question, candidates, static.table())
    messages = np.array([item.kind == MESSAGE for item in candidates])
    weighted = {
        name: np.where(messages, MESSAGE_WEIGHTS.get(name, 0.0), PASSAGE_WEIGHTS.get(name, 0.0)) * column
        for name, column in values.items()
    }
    scores = np.sum(list(weighted.values()), axis=0)
    order = sorted(range(len(candidates)), key=lambda place: (-scores[place], candidates[place].memory_id))
    return [
        Ranked(
            candidate=candidates[place],
            score=float(scores[place]),
            parts={name: float(column[place]) for name, column in weighted.items() if column[place]},
        )
        for place in order[:limit]
    ]
