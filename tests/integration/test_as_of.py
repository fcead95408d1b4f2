"""Memory as of a point: exactly what the readers said then."""

from __future__ import annotations

import inspect
import re
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fixtures.changes import MESSAGES, NOTES, SPACES, Change, look, make, steps
from fixtures.logs import NOON, Clock
from foldlog import Memory, composition
from foldlog.errors import AsOfUnsupported, InvalidInput, NotFound
from foldlog.events import past, reader, statements
from foldlog.events.encoding import instant
from foldlog.events.types import EVENT_TYPES
from foldlog.memory import as_of
from foldlog.memory.facts import Facts
from foldlog.memory.notes import Notes
from foldlog.memory.primers import Primers
from foldlog.memory.retained import Retention
from foldlog.memory.threads import Messages, Threads
from foldlog.projections.local import facts, notes, private, threads
from foldlog.projections.local import tables as read_model_tables
from foldlog.settings import Settings

ALICE = "user:alice"


@pytest.fixture(autouse=True, scope="module")
def chunks_of_one() -> Iterator[None]:
    """Lists are put together from many pieces, as long ones are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(as_of, "CHUNK", 1)
        patch.setattr(as_of, "CHUNK_OF_THREADS", 1)
        patch.setattr(past, "PAGE_EVENTS", 2)
        yield


def opened(folder: str, name: str, clock: Clock) -> Memory:
    return composition.open_memory(settings=Settings(log=Path(folder) / name), clock=clock)


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(steps)
@pytest.mark.conformance(183)
def test_every_position_is_what_the_readers_said_then(changes: list[tuple[int, Change]]) -> None:
    """Whatever was superseded, deleted or has expired since, and however the clock was set."""
    clock = Clock()
    with TemporaryDirectory() as folder, opened(folder, "memory.db", clock) as memory:
        before = {0: look(memory)}
        for moved, change in changes:
            clock.pass_ms(moved)
            make(memory, change)
            if memory.log.head() not in before:
                before[memory.log.head()] = look(memory)
        clock.pass_ms(1_000_000)
        for position, said in before.items():
            found = memory.as_of(position)
            assert look(found) == said
            listed = {note.note_id for space in SPACES for note in found.notes.list(space)}
            for stories in said["history"]:
                for node in getattr(stories, "notes", []):
                    # How a note stood at the end is what a reader was told; all of them are in the log.
                    assert node.changes[-1].visible in (None, node.note_id in listed)


@pytest.mark.slow
@settings(max_examples=10, deadline=None)
@given(steps, st.lists(st.tuples(st.integers(0, 24), st.integers(-45, 45)), min_size=1, max_size=6))
def test_every_instant_is_what_the_log_held_then(
    changes: list[tuple[int, Change]], asked: list[tuple[int, int]]
) -> None:
    """A copy of the file up to the last position recorded by then, read with the clock at the instant."""
    clock = Clock()
    with TemporaryDirectory() as folder, opened(folder, "memory.db", clock) as memory:
        copies = {0: copy_of(memory)}
        recorded = [(0, NOON - 10_000)]
        for moved, change in changes:
            clock.pass_ms(moved)
            make(memory, change)
            if memory.log.head() not in copies:
                copies[memory.log.head()] = copy_of(memory)
                recorded.append((memory.log.head(), clock.now))
        clock.pass_ms(1_000_000)
        for number, offset in asked:
            stamp = recorded[number % len(recorded)][1] + offset
            position = max((place for place, at in recorded if at <= stamp), default=0)
            (Path(folder) / f"copy{number}.db").write_bytes(copies[position])
            with opened(folder, f"copy{number}.db", Clock(stamp)) as copy:
                found = memory.as_of(instant(stamp))
                assert found.position == position
                assert look(found) == look(copy)
            (Path(folder) / f"copy{number}.db").unlink()


@pytest.mark.slow
@settings(max_examples=10, deadline=None)
@given(steps, st.lists(st.integers(-8_000, 12_000), min_size=1, max_size=4))
def test_by_when_it_occurred_is_all_that_had_occurred(
    changes: list[tuple[int, Change]], offsets: list[int]
) -> None:
    """All events of the log that had occurred, folded at once, say the same as each item by itself."""
    clock = Clock()
    with TemporaryDirectory() as folder, opened(folder, "memory.db", clock) as memory:
        for moved, change in changes:
            clock.pass_ms(moved)
            make(memory, change)
        clock.now = NOON + 100_000
        for stamp in (NOON + offset for offset in offsets):
            found = memory.as_of(instant(stamp), clock="occurred")
            said = look(found)
            with memory.log.read() as connection:
                every = [event for page in reader.pages(memory.log) for event in page]
                with private.folded(
                    connection, (item for item in every if item.occurred_at <= stamp)
                ) as whole:
                    assert said["facts"] == [facts.page(whole, space, stamp, "", 100) for space in SPACES]
                    assert said["note"] == [notes.get(whole, note) for note in NOTES]
                    assert said["hidden"] == [threads.message(whole, message) for message in MESSAGES]
                    everywhere = [threads.page(whole, space, 0, 2) for space in (None, *SPACES)]
                    assert [[item.thread_id for item in page] for page in said["threads"]] == [
                        [item.thread_id for item in page] for page in everywhere
                    ]


def copy_of(memory: Memory) -> bytes:
    with sqlite3.connect(":memory:") as target:
        with memory.log.read() as connection:
            pass
        connection.backup(target)
        target.execute("PRAGMA journal_mode = DELETE")
        found = target.serialize()
    target.close()
    return found


def erase(memory: Memory, position: int) -> None:
    """Take an event's payload away, as an erasure does."""
    with memory.log.write() as transaction:
        transaction.connection.execute("DELETE FROM foldlog_payloads WHERE position = ?", (position,))


def test_what_was_superseded_trimmed_or_has_expired_since_is_there(memory: Memory, clock: Clock) -> None:
    """With the expiry and the status of that instant."""
    memory.facts.set(ALICE, "theme", "dark", ttl=1000)
    memory.notes.save(ALICE, "the port is 1", note_id="a")
    memory.threads.create(ALICE, thread_id="t")
    memory.messages.save("t", "hello", message_id="m")
    then = memory.log.head()
    memory.notes.save(ALICE, "the port is 2", note_id="b", supersedes=["a"])
    memory.messages.delete("t", ["m"])
    memory.threads.delete("t")
    clock.pass_ms(5000)
    memory.facts.set(ALICE, "theme", "light")
    past_memory = memory.as_of(then)
    assert [fact.value for fact in past_memory.facts.list(ALICE)] == ["dark"]
    assert [note.note_id for note in past_memory.notes.list(ALICE)] == ["a"]
    assert [item.content for item in past_memory.messages.list("t")] == ["hello"]
    assert (past_memory.position, past_memory.instant) == (then, instant(NOON))
    assert memory.as_of(instant(NOON + 1000)).facts.get(ALICE, "theme") is not None
    assert memory.as_of(instant(NOON + 1001)).facts.get(ALICE, "theme") is None
    with pytest.raises(NotFound, match=f"no thread t as of position {memory.log.head()}"):
        memory.as_of(memory.log.head()).messages.list("t")


def test_before_the_log_there_is_nothing(memory: Memory) -> None:
    """No error: that is how it was."""
    for point in (0, datetime(1999, 1, 1, tzinfo=UTC)):
        assert memory.as_of(point).facts.list(ALICE) == []
    memory.facts.set(ALICE, "k", 1)
    for point in (0, instant(NOON - 1), datetime(1999, 1, 1, tzinfo=UTC)):
        assert memory.as_of(point).facts.list(ALICE) == []
        assert memory.as_of(point).position == 0
        with pytest.raises(NotFound, match="there is no fact k in user:alice as of position 0"):
            memory.as_of(point).history.fact(ALICE, "k")


@pytest.mark.parametrize(
    ("point", "clock_name", "problem"),
    [
        (2, "recorded", "position 2 has not come yet; the log's last one is 1"),
        (instant(NOON + 1), "recorded", "has not come yet"),
        (instant(NOON + 1), "occurred", "has not come yet"),
        (-1, "recorded", "must be a position from 0 or a datetime"),
        (True, "recorded", "must be a position from 0 or a datetime"),
        ("1", "recorded", "must be a position from 0 or a datetime"),
        (datetime(2026, 1, 1), "recorded", "has no time zone"),  # noqa: DTZ001
        (1, "occurred", "can be `occurred` for an instant only"),
        (1, "other", "must be one of recorded, occurred"),
    ],
)
def test_points_that_are_refused(memory: Memory, point: Any, clock_name: str, problem: str) -> None:
    """What has not come yet would have another answer later; a time without a zone is two times."""
    memory.facts.set(ALICE, "k", 1)
    with pytest.raises(InvalidInput, match=problem):
        memory.as_of(point, clock=clock_name)


def test_a_clock_that_was_set_back_hides_nothing(memory: Memory, clock: Clock) -> None:
    """What the log recorded has come, whatever the clock says now."""
    memory.facts.set(ALICE, "k", 1)
    clock.pass_ms(-5000)
    assert memory.as_of(instant(NOON)).facts.get(ALICE, "k") is not None
    memory.facts.set(ALICE, "k", 2)
    assert memory.as_of(instant(NOON - 5000)).position == 2


def test_the_past_cannot_be_searched(memory: Memory) -> None:
    """It is never answered from what is there today."""
    memory.facts.set(ALICE, "k", "the answer")
    for ask in (
        lambda: memory.as_of(1).recall("answer", ALICE),
        lambda: memory.as_of(1).search("answer", ALICE, limit=3),
        lambda: memory.recall("answer", ALICE, as_of=1),
    ):
        with pytest.raises(AsOfUnsupported, match="the past cannot be searched"):
            ask()


def test_what_was_erased_is_a_gap(memory: Memory) -> None:
    """An erased fact is absent, and does not fall back; the history shows the event without its text."""
    memory.facts.set(ALICE, "k", "secret")
    memory.facts.set(ALICE, "k", "more")
    memory.threads.create(ALICE, thread_id="t")
    memory.messages.save("t", "private", message_id="m")
    memory.facts.set(ALICE, "k", "harmless")
    erase(memory, 2)
    erase(memory, 4)
    found = memory.as_of(4)
    assert found.facts.get(ALICE, "k") is None
    assert found.facts.list(ALICE) == []
    assert memory.as_of(1).facts.get(ALICE, "k") is not None
    assert found.messages.get("m") is None
    assert [event.erased for event in found.history.fact(ALICE, "k").events] == [False, True]
    assert memory.as_of(5).facts.get(ALICE, "k") is not None


class TestByWhenItOccurred:
    """Everything counts that happened by the instant, whenever it was recorded, in the order of the log."""

    def test_imports_have_their_own_time(self, memory: Memory) -> None:
        """What was imported today, with its old instants, is read as of these."""
        for day in (1, 2, 3):
            memory.facts.set(ALICE, "k", day, occurred_at=datetime(2020, 1, day, tzinfo=UTC))
        at = datetime(2020, 1, 2, 12, tzinfo=UTC)
        fact = memory.as_of(at, clock="occurred").facts.get(ALICE, "k")
        assert fact is not None
        assert fact.value == 2
        assert memory.as_of(at).facts.get(ALICE, "k") is None
        assert [
            event.position for event in memory.as_of(at, clock="occurred").history.fact(ALICE, "k").events
        ] == [1, 2]

    def test_what_happened_out_of_order(self, memory: Memory) -> None:
        """The order of the log decides which value is the last, not the instants."""
        memory.facts.set(ALICE, "k", "late", occurred_at=datetime(2020, 1, 2, tzinfo=UTC))
        memory.facts.set(ALICE, "k", "early", occurred_at=datetime(2020, 1, 1, tzinfo=UTC))
        found = memory.as_of(datetime(2020, 1, 3, tzinfo=UTC), clock="occurred").facts.get(ALICE, "k")
        assert found is not None
        assert found.value == "early"

    def test_an_id_that_was_given_anew(self, memory: Memory) -> None:
        """A deletion of today does not count yet; of two messages with the id the later in the log has it."""
        then = datetime(2020, 1, 1, tzinfo=UTC)
        for thread in ("t", "u"):
            memory.threads.create(ALICE, thread_id=thread, occurred_at=then)
            memory.messages.save(thread, f"in {thread}", message_id="m", occurred_at=then)
            memory.messages.delete(thread, ["m"])
        found = memory.as_of(then, clock="occurred")
        message = found.messages.get("m")
        assert message is not None
        assert message.thread_id == "u"
        assert [item.content for item in found.messages.list("t")] == ["in t"]

    def test_the_expiry_is_judged_at_the_instant(self, memory: Memory, clock: Clock) -> None:
        """A time to live is counted from when it was recorded."""
        memory.facts.set(ALICE, "k", 1, ttl=1000, occurred_at=instant(NOON - 10_000))
        clock.pass_ms(10_000)
        for offset, there in ((-10_001, False), (-10_000, True), (1000, True), (1001, False)):
            found = memory.as_of(instant(NOON + offset), clock="occurred")
            assert (found.facts.get(ALICE, "k") is not None) is there

    def test_the_view_does_not_move(self, memory: Memory) -> None:
        """What is recorded after it was asked for is not in it."""
        then = datetime(2020, 1, 1, tzinfo=UTC)
        memory.facts.set(ALICE, "a", 1, occurred_at=then)
        found = memory.as_of(then, clock="occurred")
        memory.facts.set(ALICE, "b", 1, occurred_at=then)
        assert [fact.key for fact in found.facts.list(ALICE)] == ["a"]


def test_the_private_read_model_has_all_tables() -> None:
    """But those of jobs, which no event is folded into, and the full text: nobody searches in it."""
    of_jobs = {"foldlog_tokens", "foldlog_job_cursors"}
    assert set(private.TABLES) == set(read_model_tables.read_model.tables) - of_jobs


@pytest.mark.parametrize(
    ("today", "then"),
    [
        (Facts, as_of.PastFacts),
        (Threads, as_of.PastThreads),
        (Messages, as_of.PastMessages),
        (Notes, as_of.PastNotes),
        (Primers, as_of.PastPrimers),
        (Retention, as_of.PastRetained),
    ],
)
def test_the_readers_are_those_of_today(today: type, then: type) -> None:
    """With the same names and options, and the same answers' types."""
    readers = {name for name in vars(then) if not name.startswith("_")}
    every = ("get", "list", "count", "heads", "relates", "text")
    assert readers >= {name for name in every if hasattr(today, name)}
    for name in readers:
        assert inspect.signature(getattr(then, name)) == inspect.signature(getattr(today, name)), name


@pytest.mark.parametrize(
    ("statement", "index"),
    [
        (statements.POSITIONS_OF_STREAMS, "sqlite_autoindex_foldlog_events_2 (stream_id=?)"),
        (statements.POSITIONS_OF_MESSAGES, "foldlog_events_message (<expr>=?"),
        (statements.POSITIONS_OF_THREADS, "foldlog_events_thread (stream_id=?"),
        (statements.EVENTS_AT, "INTEGER PRIMARY KEY (rowid=?)"),
        (statements.BETWEEN, "INTEGER PRIMARY KEY (rowid>? AND rowid<?)"),
        (statements.OCCURRED_BETWEEN, "foldlog_events_occurred (occurred_at>? AND occurred_at<?)"),
        (statements.OCCURRED_BETWEEN, "foldlog_events_recorded (recorded_at>? AND recorded_at<?)"),
        (statements.EXPIRED_BETWEEN, "foldlog_events_expiry (<expr>>? AND <expr><?)"),
        (statements.MESSAGES_OF_THREAD, "sqlite_autoindex_foldlog_events_2 (stream_id=?)"),
        (statements.STREAMS_BY_NAME, "foldlog_streams_name (namespace=? AND kind=? AND name>?)"),
        (statements.STREAMS_BY_AGE, "foldlog_streams_name (namespace=? AND kind=?)"),
        (statements.STREAMS_OF_KIND, "foldlog_streams_id (kind=?)"),
        (statements.STRETCH, "INTEGER PRIMARY KEY (rowid=?)"),
        (statements.STREAM_OF_ID, "foldlog_streams_id (kind=? AND name=?)"),
    ],
)
def test_no_question_of_the_audit_scans_the_log(memory: Memory, statement: str, index: str) -> None:
    """Its events are found by an index, and those of the schema are the ones that are used."""
    numbered = [int(number) for number in re.findall(r"\?([0-9])", statement)]
    values = ["[]"] * (max(numbered) if numbered else statement.count("?"))
    with memory.log.read() as connection:
        plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}", values)]
    assert any(index in step for step in plan), plan
    assert not [
        step
        for step in plan
        if step.startswith(("SCAN e", "SCAN foldlog_events", "SCAN foldlog_streams", "SCAN s"))
    ]


def test_the_index_of_what_happened_to_threads_has_all_types() -> None:
    """A new type of event of a thread needs a place in it."""
    of_threads = [name for name in EVENT_TYPES if name.startswith(("Thread", "Message"))]
    for name in set(of_threads) - {"MessageSaved"}:
        assert f"'{name}'" in statements.POSITIONS_OF_THREADS
