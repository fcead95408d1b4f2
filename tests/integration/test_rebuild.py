"""Rebuilds: a new generation beside the live one, and nobody notices."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from fixtures.index import difference, recount
from foldlog import Memory, composition
from foldlog.errors import FoldlogError, IndexUnusable
from foldlog.projections.hindsight.session import Session
from foldlog.projections.rebuild import Progress
from foldlog.settings import Settings

ALICE = "user:alice"


@pytest.fixture
def settings(tmp_path: Path, database_url: str) -> Settings:
    return Settings(log=tmp_path / "memory.db", database_url=database_url, page_events=20)


@pytest.fixture
def memory(settings: Settings) -> Iterator[Memory]:
    with composition.open_memory(settings=settings) as memory:
        yield memory


def fill(memory: Memory, count: int) -> None:
    """Write facts and notes, some of them gone or superseded."""
    with memory.batch():
        for number in range(count):
            memory.facts.set(ALICE, f"k{number}", f"blue thing {number}")
            memory.notes.save(
                ALICE,
                f"note {number}",
                note_id=f"n{number}",
                supersedes=[f"n{number - 1}"] if number % 3 == 1 else [],
            )
            if number % 5 == 0:
                memory.facts.delete(ALICE, f"k{number}")


def states(url: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(url) as connection:
        return connection.execute("SELECT number, state FROM foldlog.generations ORDER BY number").fetchall()


def test_a_rebuild_switches_to_an_equal_generation(memory: Memory, database_url: str) -> None:
    """Loaded without indexes, then indexed, verified and switched; the old one is kept."""
    fill(memory, 40)
    memory.catch_up()
    seen: list[Progress] = []
    assert memory.rebuild(progress=seen.append) == 2
    assert states(database_url) == [(1, "retired"), (2, "active")]
    assert difference(memory, database_url) == []
    assert recount(memory, database_url) == []
    phases = list(dict.fromkeys(item.phase for item in seen))
    assert phases == ["loading", "indexing", "embedding", "verifying", "switched"]
    answer = memory.recall("blue", ALICE, limit=10)
    assert answer.status == "ok"
    # Its vectors were made before it was switched to.
    assert all("semantic" in item.channels for item in answer.memories)


def test_going_back_is_one_step_and_current(memory: Memory, database_url: str) -> None:
    """The former generation is brought up to date before it answers again."""
    fill(memory, 10)
    memory.catch_up()
    memory.rebuild()
    memory.facts.set(ALICE, "new", "blue")
    memory.catch_up()
    assert memory.rebuild_back() == 1
    assert states(database_url) == [(1, "active"), (2, "retired")]
    assert difference(memory, database_url) == []
    assert "new" in {item.id for item in memory.recall("blue", ALICE, limit=50).memories}


def test_there_may_be_nothing_to_go_back_to(memory: Memory) -> None:
    """Said in one line, nothing switched."""
    memory.catch_up()
    with pytest.raises(IndexUnusable, match="no former generation"):
        memory.rebuild_back()


def test_a_build_that_differs_is_not_switched_to(memory: Memory, database_url: str) -> None:
    """The live generation stays, and the error names what differs."""
    fill(memory, 10)
    memory.catch_up()

    def spoil(progress: Progress) -> None:
        if progress.phase == "indexing":
            with psycopg.connect(database_url) as connection:
                connection.execute("UPDATE foldlog_default_g2.memories SET text = 'spoilt' WHERE key = 'k3'")

    with pytest.raises(IndexUnusable, match="differs in text: fact k3"):
        memory.rebuild(progress=spoil)
    assert states(database_url) == [(1, "active"), (2, "building")]
    assert memory.recall("blue", ALICE).status == "ok"


def test_a_stopped_rebuild_goes_on(memory: Memory, database_url: str) -> None:
    """The next call finishes the same generation."""
    fill(memory, 60)
    memory.catch_up()
    pages: list[Progress] = []
    assert memory.rebuild(progress=pages.append, stop=lambda: len(pages) >= 1) is None
    assert states(database_url) == [(1, "active"), (2, "building")]
    assert memory.rebuild() == 2
    assert difference(memory, database_url) == []


KILLED = """
import os, signal, sys, foldlog
from pathlib import Path
settings = foldlog.Settings(log=Path(sys.argv[1]), database_url=sys.argv[2], page_events=20)
memory = foldlog.open(settings=settings)
def die(progress):
    if progress.phase == sys.argv[3]:
        os.kill(os.getpid(), signal.SIGKILL)
memory.rebuild(progress=die)
"""


@pytest.mark.parametrize("phase", ["loading", "indexing", "verifying"])
def test_a_killed_rebuild_goes_on(memory: Memory, settings: Settings, database_url: str, phase: str) -> None:
    """kill -9 in any phase: the live generation answers, and the next rebuild finishes the same one."""
    fill(memory, 60)
    memory.catch_up()
    done = subprocess.run([sys.executable, "-c", KILLED, str(settings.log), database_url, phase], check=False)
    assert done.returncode == -signal.SIGKILL
    assert memory.recall("blue", ALICE).status == "ok"
    fill_more = memory.facts.set(ALICE, "later", "blue")
    memory.catch_up()
    assert memory.rebuild() == 2
    memory.wait_for(fill_more.position, 0)
    assert difference(memory, database_url) == []
    assert recount(memory, database_url) == []


def test_writers_and_a_reader_do_not_notice(memory: Memory, settings: Settings, database_url: str) -> None:
    """While two writers append, delete and supersede, no answer fails, misses or shows what is gone."""
    fill(memory, 150)
    memory.catch_up()
    stop = threading.Event()
    problems: list[str] = []
    threads = [threading.Thread(target=_write, args=(memory, name, stop)) for name in ("one", "two")]
    threads += [
        threading.Thread(target=_read, args=(memory, name, stop, problems)) for name in ("one", "two")
    ]
    for thread in threads:
        thread.start()
    made = memory.rebuild()
    stop.set()
    for thread in threads:
        thread.join()
    assert problems == []
    assert made == 2
    memory.catch_up()
    assert difference(memory, database_url) == []
    assert recount(memory, database_url) == []


def _write(memory: Memory, name: str, stop: threading.Event) -> None:
    """Append, delete and supersede: one note at a time is the truth of this writer."""
    draw = random.Random(name)
    last: str | None = None
    number = 0
    while not stop.wait(0.01):
        number += 1
        memory.facts.set(ALICE, f"{name}{number}", f"passing {name}")
        memory.facts.delete(ALICE, f"{name}{number}")
        last = memory.notes.save(ALICE, f"truth of {name} is {number}", supersedes=[last] if last else []).id
        if draw.random() < 0.3:
            memory.catch_up()


def _read(memory: Memory, name: str, stop: threading.Event, problems: list[str]) -> None:
    """Ask, and hold the answer against what the log showed just before and just after."""
    while not stop.wait(0.05):
        before = _truths(memory, name)
        try:
            answer = memory.recall(f"truth of {name} passing", ALICE, limit=100)
        except FoldlogError as error:
            problems.append(str(error))
            continue
        after = _truths(memory, name)
        found = [item.text for item in answer.memories if item.text.startswith(f"truth of {name} ")]
        numbers = [int(text.split()[-1]) for text in found]
        if answer.status != "ok" or len(numbers) > 1 or len(numbers) < len(before):
            problems.append(f"{answer.status} {answer.reason} {numbers} {before} {after}")
        if numbers and not max(before, default=0) <= numbers[0] <= max(after, default=0):
            problems.append(f"{numbers} is not between {before} and {after}")


def _truths(memory: Memory, name: str) -> list[int]:
    """Return the numbers that the log's own list shows as current."""
    return [
        int(note.body.split()[-1])
        for note in memory.notes.list(ALICE)
        if note.body.startswith(f"truth of {name} ")
    ]


def test_what_was_replaced_long_ago_is_dropped(memory: Memory, settings: Settings, database_url: str) -> None:
    """With its schema; the active one never."""
    from datetime import UTC, datetime, timedelta

    memory.catch_up()
    memory.rebuild()
    session = Session(database_url, timeout_ms=1000)
    builds = composition.generations(settings, memory.log, session)
    assert builds.drop_old(datetime.now(UTC) - timedelta(hours=1)) == []
    assert builds.drop_old(datetime.now(UTC) + timedelta(hours=1)) == [1]
    assert states(database_url) == [(2, "active")]
    with psycopg.connect(database_url) as connection:
        schemas = connection.execute(
            "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'foldlog_%'"
        ).fetchall()
    assert schemas == [("foldlog_default_g2",)]
    with pytest.raises(IndexUnusable, match="is active"):
        builds.drop(builds.every()[0].generation_id)
    session.close()
