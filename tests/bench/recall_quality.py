"""How well recall finds what it should, on LoCoMo's development half, without a language model.

Imports all conversations into a temporary log, folds it, and asks every question of the categories 1 to
4, once through the index and once from the log alone. Recall@k is the share of a question's gold turns
among the first k memories, as the mean over questions. Run by `make bench`; exits 1 when recall@10
through the index is below the floor. The data is not part of the project: without it nothing is measured.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg

from foldlog import composition
from foldlog.embedded.removal import remove
from foldlog.errors import FoldlogError
from foldlog.imports.locomo import import_file
from foldlog.memory import Memory
from foldlog.names import format_namespace
from foldlog.projections.recall.recall import Recaller
from foldlog.settings import Settings, load

REPOSITORY = Path(__file__).parents[2]

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open", 4: "single-hop"}

DEPTHS = (5, 10, 20)

#: Least recall@10 through the index.
FLOOR = 0.62


@dataclass(frozen=True, kw_only=True)
class Question:
    """One question, and the turns that answer it."""

    namespace: str
    text: str
    category: int
    #: Message ids.
    gold: frozenset[str]


@dataclass(frozen=True, kw_only=True)
class Result:
    """Recall at each depth for every question, and how long a question took."""

    #: By category, one tuple a question, in the order of DEPTHS.
    recalls: dict[int, list[tuple[float, ...]]]
    milliseconds: float

    def mean(self, depth: int, *categories: int) -> float:
        """Return the mean recall at a depth over the questions of some categories."""
        place = DEPTHS.index(depth)
        found = [item[place] for category in categories for item in self.recalls[category]]
        return sum(found) / len(found)


def questions(samples: list[dict[str, Any]]) -> Iterator[Question]:
    """Yield the questions that have gold turns; some name turns that do not exist."""
    for sample in samples:
        sample_id = sample["sample_id"]
        sessions = [turns for turns in sample["conversation"].values() if isinstance(turns, list)]
        known = {turn["dia_id"] for turns in sessions for turn in turns}
        for item in sample["qa"]:
            # One string may name several turns.
            gold = known.intersection(re.findall(r"D\d+:\d+", " ".join(item["evidence"])))
            if item["category"] in CATEGORIES and gold:
                yield Question(
                    namespace=format_namespace("user", sample_id),
                    text=item["question"],
                    category=item["category"],
                    gold=frozenset(f"{sample_id}/{turn}" for turn in gold),
                )


def measure(memory: Memory, asked: list[Question], status: str) -> Result:
    """Ask every question; raises FoldlogError when an answer has another status than expected."""
    recalls: dict[int, list[tuple[float, ...]]] = {category: [] for category in CATEGORIES}
    seconds = 0.0
    for question in asked:
        began = time.perf_counter()
        answer = memory.recall(question.text, question.namespace, limit=max(DEPTHS))
        seconds += time.perf_counter() - began
        if answer.status != status:
            raise FoldlogError(f"an answer is {answer.status}, not {status}: {answer.reason}")
        found = [item.id for item in answer.memories]
        shares = [len(question.gold.intersection(found[:depth])) / len(question.gold) for depth in DEPTHS]
        recalls[question.category].append(tuple(shares))
    return Result(recalls=recalls, milliseconds=seconds / len(asked) * 1000)


def show(label: str, result: Result) -> None:
    """Print one table."""
    print(f"\n{label}: {result.milliseconds:.1f} ms a question")
    print(f"  {'questions':<20}" + "".join(f"{f'recall@{depth}':>11}" for depth in DEPTHS))
    rows = [("all", tuple(CATEGORIES)), *((f"{key} {name}", (key,)) for key, name in CATEGORIES.items())]
    for name, categories in rows:
        count = sum(len(result.recalls[category]) for category in categories)
        figures = "".join(f"{result.mean(depth, *categories):>11.3f}" for depth in DEPTHS)
        print(f"  {name:<14}{count:>6}{figures}")


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


def bench(settings: Settings, path: Path) -> bool:
    """Measure both ways; return whether recall through the index is good enough."""
    samples = json.loads(path.read_text(encoding="utf-8"))
    asked = list(questions(samples))
    log = composition.open_log(settings)
    index = composition.LazyIndex(settings, log)
    folding = composition.ForegroundFolding(settings, log, index)
    with Memory(log, Recaller(log, index), folding, close=folding.close) as memory:
        began = time.perf_counter()
        report = import_file(memory, path)
        print(f"imported {report.messages} messages in {time.perf_counter() - began:.1f} s")
        began = time.perf_counter()
        folded = memory.catch_up()
        print(f"folded {folded.events} events in {time.perf_counter() - began:.1f} s")
        through_index = measure(memory, asked, "ok")
        alone = Memory(log, Recaller(log, None, why_no_index="the benchmark asks the log alone"), folding)
        from_log = measure(alone, asked, "degraded")
    show("through the index", through_index)
    show("from the log alone", from_log)
    reached = through_index.mean(10, *CATEGORIES)
    print(f"\nrecall@10 through the index: {reached:.3f}; at least {FLOOR} is asked for")
    return reached >= FLOOR


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument(
        "--data", type=Path, default=REPOSITORY / "../shared/data", help="the folder with locomo_dev.json"
    )
    path = parser.parse_args().data / "locomo_dev.json"
    if not path.is_file():
        print(f"nothing measured: {path} is absent; name the folder of the data with --data")
        return 0
    with temporary_settings() as settings:
        return 0 if bench(settings, path) else 1


if __name__ == "__main__":
    sys.exit(main())
