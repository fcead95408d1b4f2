"""A rebuild with another embedder over six long conversations, while two processes write and one asks.

By `make chaos`, where the public conversations are at hand; the short form is in
tests/integration/test_rebuild.py.
"""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest

from fixtures.index import difference, recount
from fixtures.workers import eventually
from foldlog import Memory, composition
from foldlog.errors import FoldlogError
from foldlog.imports.locomo import import_file
from foldlog.projections.hindsight import control
from foldlog.settings import Settings, environment

DATA = Path(__file__).parents[2] / "../shared/data/locomo_dev.json"

#: Seconds between two questions.
EVERY = 0.1

#: A question has a known answer when its turn is among the best so many before the rebuild; it must then be
#: among the best so many all the while: the writers add memories, and the embedder changes.
KNOWN, KEPT = 3, 50

WRITER = """
import random, sys, foldlog
from pathlib import Path
settings = foldlog.Settings(log=Path(sys.argv[1]), database_url=sys.argv[2], embedder="hash")
memory = foldlog.open(settings=settings)
name, namespaces = sys.argv[3], sys.argv[4:]
draw = random.Random(name)
last = {}
number = 0
print("writing", flush=True)
while not Path(sys.argv[1] + ".stop").exists():
    number += 1
    for namespace in namespaces:
        old = last.get(namespace)
        made = memory.notes.save(namespace, f"truth of {name} is {number}", supersedes=[old] if old else [])
        last[namespace] = made.id
        memory.facts.set(namespace, f"{name}{number}", f"passing thought of {name}")
        memory.facts.delete(namespace, f"{name}{number}")
    if draw.random() < 0.5:
        memory.catch_up()
"""


@pytest.fixture
def settings(tmp_path: Path, database_url: str) -> Settings:
    return Settings(log=tmp_path / "memory.db", database_url=database_url, embedder="hash")


@pytest.fixture
def memory(settings: Settings) -> Iterator[Memory]:
    with composition.open_memory(settings=settings) as memory:
        yield memory


def questions() -> list[tuple[str, str, str]]:
    """Return (namespace, question, message id) of every question that one turn answers."""
    found = []
    for sample in json.loads(DATA.read_text(encoding="utf-8")):
        sample_id = sample["sample_id"]
        for item in sample["qa"]:
            turns = re.findall(r"D\d+:\d+", " ".join(item["evidence"]))
            if len(turns) == 1 and item["category"] < 5:
                found.append((f"user:{sample_id}", item["question"], f"{sample_id}/{turns[0]}"))
    return found


def known(memory: Memory) -> list[tuple[str, str, str]]:
    """Return forty questions whose answer the index finds well now."""
    draw = random.Random(1)
    every = questions()
    draw.shuffle(every)
    found = []
    for namespace, question, answer in every:
        if answer in [item.id for item in memory.recall(question, namespace, limit=KNOWN).memories]:
            found.append((namespace, question, answer))
        if len(found) == 40:
            return found
    raise AssertionError("too few questions are answered well before the rebuild")


@contextmanager
def writers(settings: Settings, namespaces: list[str]) -> Iterator[None]:
    """Let two processes append, delete and supersede, and fold now and then."""
    assert settings.database_url is not None
    stop = Path(f"{settings.log}.stop")
    started = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(settings.log), settings.database_url, name, *namespaces],
            stdout=subprocess.PIPE,
        )
        for name in ("one", "two")
    ]
    try:
        for process in started:
            assert process.stdout is not None
            assert process.stdout.readline() == b"writing\n"
        yield
    finally:
        stop.touch()
        codes = [process.wait(timeout=60) for process in started]
        for process in started:
            assert process.stdout is not None
            process.stdout.close()
        stop.unlink()
    assert codes == [0, 0]


class Reader:
    """Asks every tenth of a second, and holds each answer against what it must be."""

    def __init__(self, memory: Memory, asked: list[tuple[str, str, str]]) -> None:
        self._memory = memory
        self._asked = asked
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.problems: list[str] = []
        self.answers = 0
        #: The generations that answered, as the control schema named them.
        self.channels: set[tuple[str, ...]] = set()

    def __enter__(self) -> Reader:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(EVERY):
            namespace, question, answer = self._asked[self.answers % len(self._asked)]
            self.answers += 1
            try:
                self._check_known(namespace, question, answer)
                self._check_truths(namespace)
            except FoldlogError as error:
                self.problems.append(repr(error))

    def _check_known(self, namespace: str, question: str, answer: str) -> None:
        recalled = self._memory.recall(question, namespace, limit=KEPT)
        self.channels.add(recalled.channels)
        if recalled.status == "degraded":
            self.problems.append(f"{recalled.status}: {recalled.reason}")
        if answer not in [item.id for item in recalled.memories]:
            self.problems.append(f"{question!r} no longer finds {answer}")

    def _check_truths(self, namespace: str) -> None:
        """Of each writer exactly its current note, and no fact that was deleted before the question."""
        before = self._truths(namespace)
        recalled = self._memory.recall(
            "truth of one two passing thought", namespace, limit=50, kinds=["note", "fact"]
        )
        after = self._truths(namespace)
        for name in ("one", "two"):
            texts = [item.text for item in recalled.memories if item.text.startswith(f"truth of {name} ")]
            numbers = [int(text.split()[-1]) for text in texts]
            at_least, at_most = before.get(name, 0), after.get(name, 0)
            if len(numbers) > 1 or (at_least and not numbers):
                self.problems.append(f"{name}: {numbers}, where {at_least} to {at_most} is true")
            if numbers and not at_least <= numbers[0] <= at_most:
                self.problems.append(f"{name}: {numbers[0]} is not from {at_least} to {at_most}")

    def _truths(self, namespace: str) -> dict[str, int]:
        bodies = [note.body.split() for note in self._memory.notes.list(namespace)]
        return {words[2]: int(words[-1]) for words in bodies if words[0] == "truth"}


def generations(url: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(url) as connection:
        return connection.execute(
            "SELECT number, state, embedder FROM foldlog.generations ORDER BY number"
        ).fetchall()


def building(url: str) -> int:
    """Return how far a build that is under way has folded."""
    with psycopg.connect(url) as connection:
        row = connection.execute(
            "SELECT max(c.position) FROM foldlog.checkpoints c "
            "JOIN foldlog.generations g USING (generation_id) WHERE g.state = 'building'"
        ).fetchone()
    return row[0] or 0 if row else 0


def contents(memory: Memory, url: str) -> dict[str, list[tuple[Any, ...]]]:
    """Return the rows of the active generation, table by table, but not when they were written."""
    tables = ("memories", "search", "edges", "entities", "mentions", "names", "spans")
    with psycopg.connect(url) as connection:
        generation = control.active(connection, memory.log.meta.log_id)
        assert generation is not None
        control.use(connection, generation)
        found = {
            name: sorted(connection.execute(f"SELECT to_jsonb(t)::text FROM {name} t").fetchall())  # type: ignore[call-overload]
            for name in tables
        }
        found["vectors"] = sorted(
            connection.execute("SELECT id, passage, embedding::text FROM vectors").fetchall()
        )
    return found


def rebuild(settings: Settings) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "foldlog", "rebuild"],
        env=os.environ | environment(replace(settings, embedder="static")),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.chaos
def test_nobody_notices_a_rebuild(
    memory: Memory, settings: Settings, postgres: Any, database_url: str
) -> None:
    """Killed half way it goes on; no answer fails or is wrong; equal to a fresh fold; and back again."""
    if not DATA.is_file():
        pytest.skip(f"the public conversations are absent: {DATA}")
    import_file(memory, DATA)
    memory.catch_up()
    asked = known(memory)
    half = memory.log.head() // 2
    namespaces = sorted({namespace for namespace, _, _ in asked})
    with writers(settings, namespaces), Reader(memory, asked) as reader:
        first = rebuild(settings)
        eventually(lambda: building(database_url) >= half or first.poll() is not None, "half of a build")
        first.send_signal(signal.SIGKILL)
        assert first.wait() == -signal.SIGKILL
        first.communicate()
        assert [row[:2] for row in generations(database_url)] == [(1, "active"), (2, "building")]
        at_kill = reader.answers
        second = rebuild(settings)
        out, err = second.communicate(timeout=600)
        assert second.returncode == 0, err
        assert "generation 2 answers now" in out
        switched = reader.answers
        eventually(lambda: reader.answers >= switched + 20, "twenty questions after the switch")
    assert reader.problems == []
    assert switched > at_kill > 0
    assert [row[:2] for row in generations(database_url)] == [(1, "retired"), (2, "active")]
    current = replace(settings, embedder="static")
    with composition.open_memory(settings=current) as rebuilt:
        rebuilt.catch_up()
        assert difference(rebuilt, database_url) == []
        assert recount(rebuilt, database_url) == []
        _check_fresh(rebuilt, current, postgres, database_url)
        later = rebuilt.notes.save(namespaces[0], "written after the switch", note_id="later")
        rebuilt.catch_up()
        assert rebuilt.rebuild_back() == 1
        rebuilt.wait_for(later.position, 0)
        assert difference(rebuilt, database_url) == []
        found = rebuilt.recall("written after the switch", namespaces[0], limit=3)
        assert "later" in [item.id for item in found.memories]


def _check_fresh(memory: Memory, settings: Settings, postgres: Any, url: str) -> None:
    """The generation that was built while others wrote holds what a fold from nothing makes."""
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        connection.execute("CREATE DATABASE fresh_fold")
    fresh = postgres.url.replace("@/foldlog?", "@/fresh_fold?")
    try:
        with composition.open_memory(settings=replace(settings, database_url=fresh)) as other:
            other.catch_up()
            expected, found = contents(other, fresh), contents(memory, url)
    finally:
        with psycopg.connect(postgres.url, autocommit=True) as connection:
            connection.execute("DROP DATABASE fresh_fold WITH (FORCE)")
    for name, rows in expected.items():
        missing = set(rows) - set(found[name])
        extra = set(found[name]) - set(rows)
        assert (name, missing, extra) == (name, set(), set())
