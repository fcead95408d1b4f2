"""Measuring: a set is written into a log of its own, folded, and asked in every way.

Recall@k is the share of a question's gold memories among the first k, as the mean over questions.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from urllib.parse import urlsplit

import psycopg

from foldlog import composition
from foldlog.embedded.removal import remove
from foldlog.errors import FoldlogError
from foldlog.memory import Memory
from foldlog.projections.recall.recall import Recaller
from foldlog.settings import Settings, load
from quality.question_set import Question, QuestionSet, Way


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One question's result."""

    group: str
    #: In the order of the set's depths.
    recalls: tuple[float, ...]
    milliseconds: float


@dataclass(frozen=True, kw_only=True)
class Result:
    """All questions of a set, asked in one way."""

    way: Way
    depths: tuple[int, ...]
    asked: list[Asked]

    def count(self, groups: tuple[str, ...]) -> int:
        """Return how many questions some groups have."""
        return sum(item.group in groups for item in self.asked)

    def recall(self, depth: int, groups: tuple[str, ...]) -> float:
        """Return the mean recall at a depth over the questions of some groups."""
        place = self.depths.index(depth)
        return fmean(item.recalls[place] for item in self.asked if item.group in groups)

    def milliseconds(self, share: float) -> float:
        """Return the time within which a share of the questions was answered."""
        times = sorted(item.milliseconds for item in self.asked)
        return times[min(int(share * len(times)), len(times) - 1)]


@dataclass(frozen=True, kw_only=True)
class Measured:
    """What a set's measuring found."""

    set: QuestionSet
    events: int
    writing_seconds: float
    folding_seconds: float
    results: list[Result]


def measure(question_set: QuestionSet, data: Path, settings: Settings) -> Measured:
    """Write, fold and ask a set; `settings` name a log that does not exist yet."""
    log = composition.open_log(settings)
    index = composition.LazyIndex(settings, log)
    folding = composition.ForegroundFolding(settings, log, index)
    without = Recaller(log, None, composition.rank, why_no_index="the benchmark asks the log alone")
    alone = Memory(log, without, folding)
    with Memory(log, Recaller(log, index, composition.rank), folding, close=folding.close) as memory:
        began = time.perf_counter()
        questions = question_set.write(memory, data)
        written = time.perf_counter()
        events = memory.catch_up().events
        folded = time.perf_counter()
        results = [
            ask(alone if way.log_alone else memory, questions, way, question_set.depths)
            for way in question_set.ways
            if way.missing is None
        ]
    return Measured(
        set=question_set,
        events=events,
        writing_seconds=written - began,
        folding_seconds=folded - written,
        results=results,
    )


def ask(memory: Memory, questions: list[Question], way: Way, depths: tuple[int, ...]) -> Result:
    """Ask every question; raises FoldlogError when an answer has another status than expected."""
    _answer(memory, questions[0], way, depths)  # loads what is loaded with the first question
    return Result(
        way=way, depths=depths, asked=[_answer(memory, question, way, depths) for question in questions]
    )


def _answer(memory: Memory, question: Question, way: Way, depths: tuple[int, ...]) -> Asked:
    began = time.perf_counter()
    answer = memory.recall(question.text, question.namespace, limit=max(depths), off=way.off)
    seconds = time.perf_counter() - began
    status = "degraded" if way.log_alone else "ok"
    if answer.status != status:
        raise FoldlogError(
            f"the answer to {question.text!r} is {answer.status}, not {status}: {answer.reason}"
        )
    found = [item.id for item in answer.memories]
    shares = [len(question.gold.intersection(found[:depth])) / len(question.gold) for depth in depths]
    return Asked(group=question.group, recalls=tuple(shares), milliseconds=seconds * 1000)


@contextmanager
def temporary_settings() -> Iterator[Settings]:
    """Give settings for a log, and a database, that are gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="foldlog-bench-") as folder:
        settings = replace(load(), log=Path(folder) / "memory.db", name="bench")
        if settings.database_url is not None:
            with temporary_database(settings.database_url) as url:
                yield replace(settings, database_url=url)
            return
        try:
            yield settings
        finally:
            remove(composition.home(settings))


@contextmanager
def temporary_database(url: str) -> Iterator[str]:
    """Give the URL of an empty database on the same server."""
    name = f"foldlog_bench_{os.getpid()}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
        try:
            yield urlsplit(url)._replace(path=f"/{name}").geturl()
        finally:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
