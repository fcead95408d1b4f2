"""Who was given which memory: recorded beside the recall, which neither waits for it nor fails by it."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from fixtures.logs import NOON, Clock
from foldlog import Memory, Provenance, composition
from foldlog.errors import LogFull
from foldlog.events.connection import connect
from foldlog.memory import recording
from foldlog.memory.servings import Serving
from foldlog.settings import Settings

ALICE = "user:alice"
NO_SERVER = "postgresql://nobody@127.0.0.1:1/none"


@contextmanager
def locked(memory: Memory) -> Iterator[None]:
    """Hold the log's write lock, as another program would."""
    with closing(sqlite3.connect(memory.log.path, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("ROLLBACK")


def recorded(memory: Memory, **options: Any) -> list[Serving]:
    assert memory.servings.flush()
    return memory.servings.recent(**options)


@pytest.mark.conformance(181)
def test_who_was_given_what(memory: Memory, clock: Clock) -> None:
    """On whose behalf, when, as of which position, for which question, and which block."""
    memory.facts.set(ALICE, "port", 5432)
    memory.notes.save(ALICE, "the port of the database moved", note_id="n")
    clock.pass_ms(70)
    by = Provenance(run="r1", node="plan", iteration=2, actor="planner")
    answer = memory.by(by).recall("which port has the database", ALICE)
    (serving,) = recorded(memory)
    assert (serving.served_at, serving.head, serving.status) == (NOON + 70, 2, "degraded")
    assert serving.provenance == by
    assert serving.query_digest == sha256(b"which port has the database").hexdigest()
    assert serving.block_digest == answer.digest == sha256(answer.block.encode()).hexdigest()
    assert [(item.memory_id, item.id, item.position, item.score) for item in serving.memories] == [
        (item.memory_id, item.id, item.position, item.score) for item in answer.memories
    ]
    assert {(item.kind, item.text, item.today) for item in serving.memories} == {
        ("fact", "port: 5432", "as given"),
        ("note", "the port of the database moved", "as given"),
    }


@pytest.mark.conformance(181)
def test_what_each_is_today(memory: Memory, clock: Clock) -> None:
    """As it was given, or why not; with the text that was given."""
    memory.facts.set(ALICE, "word stays", 1)
    memory.facts.set(ALICE, "word changes", 1)
    memory.facts.set(ALICE, "word expires", 1, ttl=1000)
    memory.facts.set(ALICE, "word goes", 1)
    memory.facts.set(ALICE, "word erased", 1)
    memory.threads.create(ALICE, thread_id="t")
    memory.messages.save("t", "word said", message_id="m1")
    memory.messages.save("t", "word changed", message_id="m2")
    memory.messages.save("t", "word trimmed", message_id="m3")
    memory.messages.save("t", "word covered", message_id="m4")
    memory.retained.add(ALICE, "word kept", retained_id="r")
    for name in ("superseded", "rejected", "accepted again"):
        memory.notes.save(ALICE, f"word of the note {name}", note_id=name)
    memory.recall("word", ALICE, limit=20)
    memory.facts.set(ALICE, "word changes", 2)
    memory.facts.delete(ALICE, "word goes")
    memory.facts.delete(ALICE, "word erased")
    with memory.log.write() as transaction:
        transaction.connection.execute("DELETE FROM foldlog_payloads WHERE position = 5")
    memory.messages.save("t", "word changed again", message_id="m2")
    memory.messages.delete("t", ["m1"])
    memory.messages.trim("t", [3], budget=1, tokens=2, tokenizer="bytes")
    covered = [item for item in memory.messages.list("t") if item.message_id == "m4"]
    memory.messages.summarize("t", covered, "short", summarizer="test/1")
    (summary,) = [item for item in memory.messages.list("t") if item.text == "short"]
    memory.notes.save(ALICE, "better", note_id="better", supersedes=["superseded"])
    memory.notes.set_status("rejected", "rejected")
    memory.notes.set_status("accepted again", "rejected")
    memory.notes.set_status("accepted again", "accepted")
    clock.pass_ms(2000)
    (serving,) = recorded(memory)
    assert {item.id: (item.today, item.text) for item in serving.memories} == {
        "word stays": ("as given", "word stays: 1"),
        "word changes": ("changed", "word changes: 1"),
        "word expires": ("expired", "word expires: 1"),
        "word goes": ("deleted", "word goes: 1"),
        "word erased": ("erased", None),
        "m1": ("deleted", "word said"),
        "m2": ("changed", "word changed"),
        "m3": ("trimmed", "word trimmed"),
        "m4": (f"summarised by {summary.message_id}", "word covered"),
        "r": ("as given", "word kept"),
        "superseded": ("superseded by better", "word of the note superseded"),
        "rejected": ("rejected", "word of the note rejected"),
        "accepted again": ("as given", "word of the note accepted again"),
    }


def test_of_one_run_and_page_by_page(memory: Memory) -> None:
    """The newest first, before a number."""
    memory.facts.set(ALICE, "k", "word")
    for number in range(5):
        memory.by(Provenance(run=f"r{number % 2}")).recall(f"word {number}", ALICE)
    everything = recorded(memory)
    assert [serving.provenance.run for serving in everything] == ["r0", "r1", "r0", "r1", "r0"]
    assert recorded(memory, run="r1") == [everything[1], everything[3]]
    assert recorded(memory, limit=2) == everything[:2]
    assert recorded(memory, before=everything[1].serving_id, limit=2) == everything[2:4]


def test_nothing_found_is_an_answer_too(memory: Memory) -> None:
    """The run asked, and got nothing."""
    memory.recall("anything", ALICE)
    (serving,) = recorded(memory)
    assert serving.memories == []


def test_a_very_long_answer_is_recorded_whole(memory: Memory) -> None:
    """In several transactions, so that no writer waits for long."""
    with memory.batch():
        for number in range(250):
            memory.facts.set(ALICE, f"k{number}", "word")
    answer = memory.recall("word", ALICE, limit=1000)
    memory.recall("word", ALICE, limit=3)
    memory.close()
    short, whole = memory.servings.recent()
    assert [item.id for item in whole.memories] == [item.id for item in answer.memories]
    assert len(whole.memories) == 250
    assert len(short.memories) == 3


def test_it_can_be_switched_off(tmp_path: Path) -> None:
    """Then nothing is recorded, and no thread runs."""
    settings = Settings(log=tmp_path / "memory.db", database_url=NO_SERVER, keep_servings_ms=0)
    with composition.open_memory(settings=settings) as memory:
        memory.facts.set(ALICE, "k", "word")
        assert memory.recall("word", ALICE).memories
        assert recorded(memory) == []
        assert not [item for item in threading.enumerate() if item.name == "foldlog-servings"]


def test_a_recall_does_not_wait_for_a_writer(memory: Memory) -> None:
    """While another program has the write lock answers go out, and are recorded afterwards."""
    memory.facts.set(ALICE, "k", "word")
    with locked(memory):
        for _ in range(3):
            assert memory.recall("word", ALICE).memories
        assert not memory.servings.flush(0.05)
        assert memory.servings.recent() == []
    assert len(recorded(memory)) == 3
    assert memory.servings.dropped == 0


def test_what_is_too_much_is_dropped_and_counted(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """The queue is bounded."""
    monkeypatch.setattr(recording, "MAX_WAITING", 2)
    memory.facts.set(ALICE, "k", "word")
    with locked(memory):
        for _ in range(5):
            assert memory.recall("word", ALICE).memories
        assert memory.servings.dropped == 3
    assert len(recorded(memory)) == 2


def test_closing_takes_bounded_time(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """What could not be written by then is dropped and counted; the memory can be used again."""
    monkeypatch.setattr(recording, "CLOSE_SECONDS", 0.05)
    memory.facts.set(ALICE, "k", "word")
    with locked(memory):
        memory.recall("word", ALICE)
        memory.close()
        assert memory.servings.dropped == 1
    memory.recall("word", ALICE)
    assert len(recorded(memory)) == 1


def test_a_log_that_may_only_be_read_is_left_alone(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first refusal ends the recording; answers go on."""
    memory.facts.set(ALICE, "k", "word")
    monkeypatch.setattr(
        recording, "connect", lambda path, busy_timeout_ms: connect(path, busy_timeout_ms=1, read_only=True)
    )
    for _ in range(2):
        assert memory.recall("word", ALICE).memories
        memory.servings.flush()
    assert memory.servings.recent() == []
    assert memory.servings.dropped == 1


def test_a_log_that_demands_a_newer_writer_is_not_written(tmp_path: Path) -> None:
    """Not even records of reading."""
    settings = Settings(log=tmp_path / "memory.db", database_url=NO_SERVER)
    with composition.open_memory(settings=settings) as memory:
        memory.facts.set(ALICE, "k", "word")
    with closing(sqlite3.connect(settings.log)) as connection, connection:
        connection.execute("UPDATE foldlog_meta SET format = 99, min_writer = 99")
    with composition.open_memory(settings=settings) as memory:
        assert memory.recall("word", ALICE).memories
        assert recorded(memory) == []


def test_a_full_disk_costs_servings_not_answers(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """What met the full disk is dropped and counted, what comes later is recorded."""
    memory.facts.set(ALICE, "k", "word")
    write = recording._write

    def full(*_: object) -> None:
        raise LogFull("no space left")

    monkeypatch.setattr(recording, "_write", full)
    assert memory.recall("word", ALICE).memories
    assert memory.servings.flush()
    monkeypatch.setattr(recording, "_write", write)
    memory.recall("word", ALICE)
    assert len(recorded(memory)) == 1
    assert memory.servings.dropped == 1


def test_old_ones_are_deleted(memory: Memory, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """All that is older than the setting says, with what was served, however many there are."""
    monkeypatch.setattr(recording, "PRUNE_SECONDS", 0.0)
    monkeypatch.setattr(recording, "PRUNE_SERVINGS", 3)
    memory.facts.set(ALICE, "k", "word")
    for _ in range(20):
        memory.recall("word", ALICE)
    assert len(recorded(memory)) == 20
    clock.pass_ms(Settings().keep_servings_ms)
    memory.recall("word", ALICE)
    assert len(recorded(memory)) == 21
    clock.pass_ms(1)
    memory.recall("word", ALICE)
    memory.close()
    assert len(memory.servings.recent()) == 2
    with memory.log.read() as connection:
        assert connection.execute("SELECT count(*) FROM foldlog_served").fetchone() == (2,)


def test_every_thread_is_recorded_once(memory: Memory) -> None:
    """Many threads ask at once."""
    memory.facts.set(ALICE, "k", "word")

    def ask(number: int) -> None:
        for _ in range(5):
            memory.by(Provenance(run=f"r{number}")).recall("word", ALICE)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    runs = [serving.provenance.run for serving in recorded(memory)]
    assert sorted(runs) == sorted(f"r{number}" for number in range(6) for _ in range(5))


def in_a_fork(work: Callable[[], object]) -> None:
    """Do something in a child process, and wait for its success."""
    with warnings.catch_warnings():
        # Newer Pythons warn of a fork beside a thread: that is what is tested.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0


def test_after_a_fork_each_records_its_own(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """What waits in the parent is written once, by the parent; the child begins empty."""
    monkeypatch.setattr(recording, "COLLECT_SECONDS", 60.0)
    memory.facts.set(ALICE, "k", "word")
    memory.by(Provenance(run="parent")).recall("word", ALICE)

    def child() -> None:
        memory.by(Provenance(run="child")).recall("word", ALICE)
        memory.close()

    in_a_fork(child)
    assert [serving.provenance.run for serving in recorded(memory)] == ["parent", "child"]


def test_a_child_that_is_forked_while_it_is_written_can_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It does not inherit a write lock that nobody would ever release."""
    write, inside = recording._write, threading.Event()

    def slowly(*given: Any) -> None:
        write(*given)
        inside.set()
        threading.Event().wait(0.1)

    monkeypatch.setattr(recording, "_write", slowly)
    settings = Settings(log=tmp_path / "memory.db", database_url=NO_SERVER, busy_timeout_ms=500)
    with composition.open_memory(settings=settings) as memory:
        memory.facts.set(ALICE, "k", "word")
        memory.recall("word", ALICE)
        inside.wait()
        in_a_fork(lambda: memory.facts.set(ALICE, "child", 1))
        assert memory.facts.get(ALICE, "child") is not None


def test_a_program_that_ends_without_closing(tmp_path: Path) -> None:
    """What it was given is recorded all the same."""
    code = (
        "import sys, foldlog\n"
        "memory = foldlog.open(sys.argv[1])\n"
        "memory.facts.set('user:alice', 'k', 'word')\n"
        "memory.recall('word', 'user:alice')\n"
    )
    path = tmp_path / "memory.db"
    environment = os.environ | {"FOLDLOG_DATABASE_URL": NO_SERVER}
    subprocess.run([sys.executable, "-c", code, str(path)], check=True, env=environment)
    with composition.open_memory(path) as memory:
        assert len(memory.servings.recent()) == 1
