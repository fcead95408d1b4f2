"""The holes of a projection that lives in the writer's process, items 160 to 183: none of them is here."""

from __future__ import annotations

import functools
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from fixtures.index import difference, shown
from fixtures.logs import Clock
from fixtures.racing import race
from foldlog import Memory, Provenance, composition
from foldlog.errors import UnknownThread
from foldlog.events import reader
from foldlog.memory import counters
from foldlog.projections import engine
from foldlog.projections.engine import Limits
from foldlog.projections.hindsight.session import Session
from foldlog.settings import Settings, environment

ALICE, PROJECT = "user:alice", "workflow:project-7"

#: Nobody listens there.
DOWN = "postgresql://127.0.0.1:9/none"


@pytest.fixture
def settings(tmp_path: Path, database_url: str) -> Settings:
    return Settings(log=tmp_path / "memory.db", database_url=database_url)


@pytest.fixture
def indexed(settings: Settings, clock: Clock) -> Iterator[Memory]:
    """A memory with an index of its own, folded only when a test says so."""
    with composition.open_memory(settings=settings, clock=clock) as memory:
        yield memory


def fold(settings: Settings, memory: Memory, *, page: int = 1000, upto: int | None = None) -> int:
    """Fold through a connection of its own, as another worker would; return the position."""
    session = Session(settings.database_url or "", timeout_ms=5000)
    try:
        target = composition.projection(settings, memory.log, session)
        stop = (lambda: False) if upto is None else (lambda: target.checkpoint() >= upto)
        return engine.run_once(memory.log, target, Limits(page_events=page), stop=stop).position
    finally:
        session.close()


def run(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", program, *arguments],
        capture_output=True,
        text=True,
        check=False,
    )


DIES = """
import os, signal, sys
import foldlog
with foldlog.open(sys.argv[1]) as memory:
    memory.facts.set("user:alice", "k", "blue")
    memory.notes.save("user:alice", "blue note", note_id="n")
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.conformance(160)
def test_a_kill_between_commit_and_projection(indexed: Memory, settings: Settings) -> None:
    """Whoever comes next projects it: the log is what is still to be done."""
    died = run(DIES, str(settings.log))
    assert died.returncode == -signal.SIGKILL, died.stderr
    assert indexed.log.head() == 2
    indexed.catch_up()
    assert difference(indexed, settings.database_url or "") == []
    answer = indexed.recall("blue", ALICE)
    assert (answer.status, answer.staleness.events) == ("ok", 0)
    assert {item.id for item in answer.memories} == {"k", "n"}


@pytest.mark.conformance(161)
def test_what_is_to_be_done_survives_a_restart(settings: Settings, clock: Clock) -> None:
    """It is counted by the checkpoint, which is no process' memory: the next one goes on from there."""
    with composition.open_memory(settings=settings, clock=clock) as memory:
        for number in range(10):
            memory.facts.set(ALICE, f"k{number}", "blue")
        assert fold(settings, memory, page=1, upto=4) == 4
    with composition.open_memory(settings=settings, clock=clock) as memory:
        assert memory.recall("blue", ALICE).staleness.events == 6
        seen: list[int] = []
        memory.catch_up(progress=lambda done: seen.append(done.position))
        assert seen[-1] == 10
        assert difference(memory, settings.database_url or "") == []


def _statements(memory: Memory, act: Callable[[], object]) -> list[str]:
    seen: list[str] = []
    with memory.log.write() as transaction:
        connection = transaction.connection
    connection.set_trace_callback(seen.append)
    try:
        act()
    finally:
        connection.set_trace_callback(None)
    return [statement for statement in seen if not statement.startswith("--")]


@pytest.mark.conformance(162)
def test_a_write_costs_the_same_during_an_outage(memory: Memory) -> None:
    """As many statements with nothing waiting as with five hundred events that no index has."""
    memory.facts.set(ALICE, "k", 0)
    first = _statements(memory, lambda: memory.facts.set(ALICE, "k", 1))
    for number in range(500):
        memory.facts.set(ALICE, f"k{number}", number)
    later = _statements(memory, lambda: memory.facts.set(ALICE, "k", 2))
    assert len(first) == len(later) > 3
    assert memory.recall("anything", ALICE).status == "degraded"


WRITES = """
import sys
import foldlog
with foldlog.open(sys.argv[1]) as memory:
    for number in range(60):
        memory.facts.set("user:alice", f"k{number % 3}", f"blue {sys.argv[2]} {number}")
"""


@pytest.mark.conformance(163, 164)
def test_two_processes_write_while_two_fold(indexed: Memory, settings: Settings) -> None:
    """Whoever writes and whoever folds last, the index ends with what the log ends with."""
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITES, str(settings.log), name])
        for name in ("left", "right")
    ]

    def folds() -> None:
        while any(writer.poll() is None for writer in writers):
            fold(settings, indexed, page=3)
        fold(settings, indexed, page=3)

    with ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(folds) for _ in range(2)]:
            done.result(60)
    assert [writer.wait() for writer in writers] == [0, 0]
    assert indexed.log.head() == 120
    assert difference(indexed, settings.database_url or "") == []
    answer = indexed.recall("blue", ALICE)
    assert answer.staleness.events == 0
    assert {item.id: item.text for item in answer.memories} == {
        fact.key: fact.text for fact in indexed.facts.list(ALICE)
    }


@pytest.mark.conformance(165)
def test_the_command_line_is_projected_like_any_writer(indexed: Memory, settings: Settings) -> None:
    """There is one way to write, and it leads through the log."""
    for words in (
        ["set", ALICE, "kept", '"blue"'],
        ["set", ALICE, "gone", '"blue"'],
        ["delete", ALICE, "gone"],
    ):
        done = subprocess.run(
            [sys.executable, "-m", "foldlog", "fact", *words],
            env=os.environ | environment(settings),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        indexed.catch_up()
    answer = indexed.recall("blue", ALICE)
    assert (answer.status, [item.id for item in answer.memories]) == ("ok", ["kept"])
    assert difference(indexed, settings.database_url or "") == []


@pytest.mark.conformance(166)
def test_what_agents_keep_is_in_the_log(settings: Settings, clock: Clock) -> None:
    """With the index away, a tool's call and a finished task are kept, recalled, and folded later."""
    with composition.open_memory(settings=replace(settings, database_url=DOWN), clock=clock) as memory:
        tools = memory.by(Provenance(run="r", node="n", iteration=0)).tools(ALICE)
        assert tools.remember(content="the sky is blue")["saved"]
        assert tools.completed("paint", "blue paint") is not None
        found = tools.recall(query="blue")
        assert (found["status"], len(found["memories"])) == ("degraded", 2)
    with composition.open_memory(settings=settings, clock=clock) as memory:
        memory.catch_up()
        answer = memory.recall("blue", ALICE)
        assert (answer.status, answer.staleness.events, len(answer.memories)) == ("ok", 0, 2)


@pytest.mark.conformance(168)
def test_expired_and_not_collected(indexed: Memory, settings: Settings, clock: Clock) -> None:
    """Both stores look at the clock when they are asked; the last millisecond still counts."""
    indexed.facts.set(ALICE, "brief", "blue", ttl=1000)
    indexed.facts.set(ALICE, "lasting", "blue")
    indexed.catch_up()
    for passed, expected in ((1000, {"brief", "lasting"}), (1, {"lasting"})):
        clock.pass_ms(passed)
        answer = indexed.recall("blue", ALICE)
        assert (answer.status, {item.id for item in answer.memories}) == ("ok", expected)
        assert {item.item.key for item in indexed.search("blue", ALICE)} == expected  # type: ignore[union-attr]
    assert indexed.facts.count_expired() == 1


@pytest.mark.conformance(169, 170)
def test_superseded_and_status_are_part_of_recall(indexed: Memory, settings: Settings) -> None:
    """In the index itself, not only afterwards; and each turn back is projected too."""
    indexed.notes.save(ALICE, "port 1", note_id="old")
    indexed.catch_up()
    indexed.notes.save(ALICE, "port 2", note_id="new", supersedes=["old"])
    indexed.notes.save(ALICE, "port 3", note_id="maybe", status="pending")
    indexed.notes.save(ALICE, "port 4", note_id="never", status="rejected")
    changes: list[tuple[Callable[[], object], set[str]]] = [
        (lambda: None, {"new"}),
        (lambda: indexed.notes.set_status("new", "rejected"), {"old"}),
        (lambda: indexed.notes.set_status("maybe", "accepted"), {"old", "maybe"}),
        (lambda: indexed.notes.set_status("new", "accepted"), {"new", "maybe"}),
    ]
    for change, expected in changes:
        change()
        assert {item.id for item in indexed.recall("port", ALICE).memories} == expected
        indexed.catch_up()
        answer = indexed.recall("port", ALICE)
        assert (answer.status, {item.id for item in answer.memories}) == ("ok", expected)
        assert shown(indexed, settings.database_url or "") == expected


@pytest.mark.conformance(171)
@pytest.mark.parametrize("folded", [True, False])
def test_what_is_hidden_starves_nobody(indexed: Memory, clock: Clock, folded: bool) -> None:
    """Sixty hidden ones match better; the five that may be shown are found, in the index and in the log."""
    indexed.notes.save(ALICE, "red")
    indexed.catch_up()
    for number in range(20):
        indexed.notes.save(ALICE, "blue blue", note_id=f"pending{number}", status="pending")
        indexed.notes.save(ALICE, "blue blue", note_id=f"old{number}")
        indexed.facts.set(ALICE, f"expired{number}", "blue blue", ttl=1)
    indexed.notes.save(ALICE, "green", supersedes=[f"old{number}" for number in range(20)])
    for number in range(5):
        indexed.notes.save(ALICE, f"blue, and a good deal more to say {number}", note_id=f"live{number}")
    clock.pass_ms(10)
    if folded:
        indexed.catch_up()
    expected = {f"live{number}" for number in range(5)}
    answer = indexed.recall("blue", ALICE, limit=5, off=["semantic"])
    assert (answer.status, {item.id for item in answer.memories}) == ("ok", expected)
    assert {item.item.note_id for item in indexed.search("blue", ALICE, limit=5)} == expected  # type: ignore[union-attr]


@pytest.mark.conformance(172)
@pytest.mark.parametrize("folded", [True, False])
def test_everything_of_a_project_has_its_scope(indexed: Memory, folded: bool) -> None:
    """Facts, messages, notes and texts are found under the main line, whether an index is there or not."""
    indexed.threads.create(PROJECT, thread_id="t")
    for branch in ("", "x"):
        tags = [f"branch:{branch}"] if branch else []
        name = branch or "main"
        indexed.facts.set(PROJECT, f"f-{name}", "blue", tags=tags)
        indexed.messages.save("t", "blue", message_id=f"m-{name}", tags=tags)
        indexed.notes.save(PROJECT, "blue", note_id=f"n-{name}", tags=tags)
        indexed.retained.add(PROJECT, "blue", retained_id=f"r-{name}", tags=tags)
    if folded:
        indexed.catch_up()
    found = indexed.recall("blue", PROJECT, tags=["scope:main"])
    assert {item.id for item in found.memories} == {"f-main", "m-main", "n-main", "r-main"}
    found = indexed.recall("blue", PROJECT, tags=["branch:x", "scope:branch"])
    assert {item.id for item in found.memories} == {"f-x", "m-x", "n-x", "r-x"}


@pytest.mark.conformance(173)
def test_an_index_that_comes_late(settings: Settings, clock: Clock) -> None:
    """It begins with all that was ever written, not with what is written next."""
    with composition.open_memory(settings=replace(settings, database_url=DOWN), clock=clock) as memory:
        with memory.batch():
            for number in range(300):
                memory.facts.set(ALICE, f"k{number}", f"blue {number}")
                memory.notes.save(ALICE, f"blue note {number}", note_id=f"n{number}")
        for number in range(0, 300, 3):
            memory.facts.delete(ALICE, f"k{number}")
    with composition.open_memory(settings=settings, clock=clock) as memory:
        assert memory.catch_up().position == memory.log.head() == 700
        assert difference(memory, settings.database_url or "") == []
        assert len(memory.recall("blue", ALICE, limit=600).memories) == 500


def _steps(memory: Memory, act: Callable[[], object]) -> int:
    """Return how many instructions of SQLite's machine a write takes: no clock, so no noise."""
    steps = 0

    def step() -> int:
        nonlocal steps
        steps += 1
        return 0

    with memory.log.write() as transaction:
        connection = transaction.connection
    connection.set_progress_handler(step, 1)
    try:
        act()
    finally:
        connection.set_progress_handler(None, 1)
    return steps


@pytest.mark.conformance(174)
def test_a_message_costs_the_same_beside_a_thousand_threads(memory: Memory) -> None:
    """Nobody looks through the others to find the one that was just saved."""
    memory.threads.create(ALICE, thread_id="t")
    memory.messages.save("t", "first word")
    few = _steps(memory, lambda: memory.messages.save("t", "second word"))
    with memory.batch():
        for number in range(1000):
            memory.threads.create(ALICE, thread_id=f"t{number}")
            for place in range(5):
                memory.messages.save(f"t{number}", f"other word {place}")
    memory.messages.save("t", "third word")
    many = _steps(memory, lambda: memory.messages.save("t", "fourth word"))
    assert few > 50
    assert many < 1.5 * few


@pytest.mark.conformance(176)
def test_a_thread_deleted_while_it_is_spoken_in(indexed: Memory, settings: Settings) -> None:
    """A message is in before the deletion, and goes with it, or is refused: none is left in the index."""
    refused = kept = 0
    for number in range(20):
        indexed.threads.create(ALICE, thread_id=f"t{number}")
        indexed.messages.save(f"t{number}", "blue before")
        _, saved = race(
            [
                functools.partial(indexed.threads.delete, f"t{number}"),
                functools.partial(indexed.messages.save, f"t{number}", "blue meanwhile"),
            ]
        )
        refused += isinstance(saved, UnknownThread)
        kept += not isinstance(saved, Exception)
    assert refused + kept == 20
    indexed.catch_up()
    assert difference(indexed, settings.database_url or "") == []
    assert indexed.recall("blue", ALICE).memories == []


@pytest.mark.conformance(177)
def test_every_unit_of_a_document_is_a_row(indexed: Memory) -> None:
    """Many that append to one run's document at once: each text is in the index, as it was written."""
    indexed.facts.set(ALICE, "k", "blue")
    outcomes = race(
        [
            functools.partial(indexed.retained.add, ALICE, f"blue text {number}", document="run-1")
            for number in range(20)
        ]
    )
    assert all(receipt.created for receipt in outcomes)
    indexed.catch_up()
    answer = indexed.recall("blue text", ALICE, kinds=["retained"], limit=30)
    assert {item.text for item in answer.memories} == {f"blue text {number}" for number in range(20)}


@pytest.mark.conformance(179)
def test_the_index_holds_texts_not_envelopes(indexed: Memory) -> None:
    """No name of a field, no id, no version and no provenance is a word that finds a memory."""
    by = Provenance(run="run4711", node="node4711", actor="actor4711")
    spoken = indexed.by(by)
    spoken.threads.create(ALICE, thread_id="thread4711")
    spoken.messages.save("thread4711", [{"type": "text", "text": "blue"}], message_id="message4711")
    spoken.notes.save(ALICE, "blue", note_id="note4711", tags=["tag4711"])
    spoken.retained.add(ALICE, "blue", retained_id="retained4711", metadata={"session": "session4711"})
    indexed.catch_up()
    texts = [item.text for item in indexed.recall("blue", ALICE).memories]
    assert texts == ["blue"] * 3
    for word in "4711 run4711 message4711 note4711 tag4711 session4711 type version value body".split():
        assert indexed.recall(word, ALICE, off=["semantic"]).memories == [], word


@pytest.mark.conformance(180)
def test_an_incomplete_answer_is_seen(settings: Settings, clock: Clock) -> None:
    """By its status and its reason, in what an agent's tool gets, and in a counter; it is not empty."""
    with composition.open_memory(settings=replace(settings, database_url=DOWN), clock=clock) as memory:
        memory.notes.save(ALICE, "blue")
        for asked in range(1, 3):
            answer = memory.recall("blue", ALICE)
            assert answer.status == "degraded"
            assert not answer.complete
            assert "FOLDLOG_DATABASE_URL" in (answer.reason or "")
            assert len(answer.memories) == 1
            counted = memory.counters.as_dict()
            assert (counted[counters.RECALLS], counted[counters.RECALLS_INCOMPLETE]) == (asked, asked)
        assert memory.tools(ALICE).recall(query="blue")["status"] == "degraded"


@pytest.mark.conformance(183)
def test_history_has_every_version(memory: Memory, clock: Clock) -> None:
    """What was overwritten or deleted, of facts and messages and threads, can be read with its time."""
    for value in ("one", "two"):
        memory.facts.set(ALICE, "k", value)
        clock.pass_ms(10)
    memory.facts.delete(ALICE, "k")
    memory.facts.set(ALICE, "k", "three")
    events = memory.history.fact(ALICE, "k").events
    assert [getattr(event.record, "value", None) for event in events] == ["one", "two", None, "three"]
    assert [event.recorded_at - events[0].recorded_at for event in events] == [0, 10, 20, 20]
    memory.threads.create(ALICE, thread_id="t")
    for content in ("first", "corrected"):
        memory.messages.save("t", content, message_id="m")
    memory.messages.delete("t", ["m"])
    memory.threads.delete("t")
    said = memory.history.thread("t").events
    assert [event.type for event in said] == [
        "ThreadCreated",
        "MessageSaved",
        "MessageSaved",
        "MessagesDeleted",
        "ThreadDeleted",
    ]
    assert [getattr(event.record, "content", None) for event in said[1:3]] == ["first", "corrected"]
    assert len([event for page in reader.pages(memory.log) for event in page]) == 9
    assert memory.verify().ok
