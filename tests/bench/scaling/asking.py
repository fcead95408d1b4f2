"""Asking: the same questions with all channels, with one at a time, and of the log alone."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from foldlog import composition
from foldlog.errors import FoldlogError
from foldlog.events.log import Log
from foldlog.memory import Memory
from foldlog.projections.hindsight.search import HindsightIndex
from foldlog.projections.index import CHANNELS, SEMANTIC
from foldlog.projections.recall.recall import Recaller
from foldlog.settings import Settings
from scaling.data import Question

if TYPE_CHECKING:
    from foldlog.projections.embedding.embedder import Embedder, Vectors
    from foldlog.projections.hindsight.session import Session

#: Memories of an answer.
LIMIT = 10

#: Longer than any answer should take: what is too slow is measured, not cut off.
DEADLINE_MS = 60_000

#: Questions asked before the clock runs: what is loaded with the first ones is no part of an answer.
WARM_UP = 6

LOG_ALONE = "the log alone"
LOG_ALONE_HUNDREDTH = "the log alone, 1 % of all"
COMPLETE = "complete"
EMBEDDING = "with embedding the query"


@dataclass(frozen=True, kw_only=True)
class Asked:
    """How long one way of asking took, over all questions."""

    way: str
    #: (kind of question, milliseconds).
    times: list[tuple[str, float]]

    def milliseconds(self, share: float, kind: str | None = None) -> float:
        """Return the time within which a share of the questions, of one kind or all, was answered."""
        times = sorted(value for found, value in self.times if kind in (None, found))
        return times[min(int(share * len(times)), len(times) - 1)]


class _Known:
    """An embedder that knows the vectors of the questions already."""

    def __init__(self, embedder: Embedder, texts: list[str]) -> None:
        self._embedder = embedder
        self._vectors = dict(zip(texts, embedder.queries(texts), strict=True))

    def __getattr__(self, name: str) -> object:
        return getattr(self._embedder, name)

    def queries(self, texts: list[str]) -> list[Vectors]:
        return [self._vectors[text] for text in texts]


def ask(
    settings: Settings, log: Log, session: Session, questions: list[Question], few: list[Question]
) -> list[Asked]:
    """Ask in every way; `few` are questions about a small namespace, for the log alone."""
    embedder = composition.embedder_of(settings, composition.recipe(settings).embedder or "")
    assert embedder is not None
    known = _Known(embedder, [item.text for item in questions])
    ready = _memory(settings, log, session, lambda _: known)
    whole = _memory(settings, log, session, partial(composition.embedder_of, settings))
    without = Recaller(log, None, composition.rank, why_no_index="the benchmark asks the log alone")
    alone = _of(settings, log, without)
    # The complete way first: what it asks for is in no cache of the ways after it.
    return [
        _ask(COMPLETE, ready, questions),
        _ask(f"{COMPLETE}, {EMBEDDING}", whole, questions),
        *(_ask(name, ready, questions, off=_others(name)) for name in CHANNELS),
        _ask(f"{SEMANTIC}, {EMBEDDING}", whole, questions, off=_others(SEMANTIC)),
        _ask(LOG_ALONE, alone, questions, status="degraded"),
        _ask(LOG_ALONE_HUNDREDTH, alone, few, status="degraded"),
    ]


def _others(name: str) -> list[str]:
    return [channel for channel in CHANNELS if channel != name]


def _memory(
    settings: Settings, log: Log, session: Session, embedders: Callable[[str], Embedder | None]
) -> Memory:
    index = HindsightIndex(session, log.meta.log_id, embedders, timeout_ms=DEADLINE_MS)
    return _of(settings, log, Recaller(log, index, composition.rank))


def _of(settings: Settings, log: Log, recaller: Recaller) -> Memory:
    folding = composition.ForegroundFolding(settings, log, composition.LazyIndex(settings, log))
    return Memory(log, recaller, folding)


def _ask(
    way: str, memory: Memory, questions: list[Question], *, off: list[str] | None = None, status: str = "ok"
) -> Asked:
    for item in questions[:WARM_UP]:
        _answer(memory, item, off or [], status)
    return Asked(way=way, times=[(item.kind, _answer(memory, item, off or [], status)) for item in questions])


def _answer(memory: Memory, question: Question, off: list[str], status: str) -> float:
    """Return how many milliseconds an answer took; raises FoldlogError when it is not the whole answer."""
    began = time.perf_counter()
    answer = memory.recall(question.text, question.namespace, limit=LIMIT, off=off)
    seconds = time.perf_counter() - began
    if answer.status != status:
        raise FoldlogError(f"the answer to {question.text!r} is {answer.status}: {answer.reason}")
    return seconds * 1000
