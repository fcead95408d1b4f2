"""The log: what an append answers, what a crash leaves, and what verification sees."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from fixtures.logs import Clock, open_memory
from foldlog import Memory
from foldlog.errors import (
    IdempotencyConflict,
    InvalidInput,
    LogBusy,
    LogTooNew,
    LogUnavailable,
    UnknownEventType,
    WrongExpectedVersion,
)
from foldlog.events import reader
from foldlog.events.provenance import Provenance
from foldlog.events.types import FactSet, Stream
from foldlog.events.verification import Anchor

STREAM = Stream(kind="fact", namespace="user:alice", name="theme")


def _roll_back(memory: Memory) -> None:
    """Append in a transaction that fails afterwards."""

    def fail() -> None:
        with memory.log.write() as transaction:
            transaction.append(STREAM, FactSet(value="lost"))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()


def test_the_four_outcomes(memory: Memory, clock: Clock) -> None:
    """Appended; already appended; the key belongs to another request; another version."""
    first = memory.facts.set("user:alice", "theme", "dark", ttl=1000, idempotency_key="k1")
    assert (first.outcome, first.position, first.version) == ("appended", 1, 1)
    clock.pass_ms(5000)
    again = memory.facts.set("user:alice", "theme", "dark", ttl=1000, idempotency_key="k1")
    assert (again.outcome, again.position, again.version) == ("already appended", 1, 1)
    with pytest.raises(IdempotencyConflict) as conflict:
        memory.facts.set("user:alice", "theme", "light", ttl=1000, idempotency_key="k1")
    assert conflict.value.position == 1
    memory.facts.set("user:alice", "theme", "dark")
    with pytest.raises(WrongExpectedVersion) as wrong:
        memory.facts.set("user:alice", "theme", "light", expected_version=1)
    assert (wrong.value.expected, wrong.value.actual) == (1, 2)
    assert memory.log.head() == 2


def test_an_idempotency_key_belongs_to_its_namespace(memory: Memory) -> None:
    """Two tenants may use the same key."""
    memory.facts.set("user:alice", "theme", "dark", idempotency_key="k")
    assert memory.facts.set("user:bob", "theme", "light", idempotency_key="k").outcome == "appended"


def test_an_idempotency_key_survives_a_restart(tmp_path: Path) -> None:
    """A timed-out request is repeated by another process, and stored once."""
    for expected in ("appended", "already appended"):
        with open_memory(tmp_path / "memory.db") as memory:
            receipt = memory.facts.set("user:alice", "theme", "dark", idempotency_key="k")
            assert (receipt.outcome, receipt.position) == (expected, 1)


def test_a_refused_append_writes_nothing(memory: Memory) -> None:
    """Neither an event, nor a stream, nor a position is used up."""
    for value in (float("nan"), "\ud800", {1: 2}):
        with pytest.raises(InvalidInput):
            memory.facts.set("user:alice", "theme", value)
    with pytest.raises(InvalidInput, match="FOLDLOG_MAX_PAYLOAD_BYTES"):
        memory.facts.set("user:alice", "theme", "x" * (1 << 20))
    with memory.log.read() as connection:
        assert connection.execute("SELECT count(*) FROM foldlog_streams").fetchone() == (0,)
    assert memory.facts.set("user:alice", "theme", "dark").position == 1


def test_a_batch_is_one_transaction(memory: Memory) -> None:
    """All of it is written, or none; receipts are filled at the end, not before."""
    with memory.batch():
        first = memory.facts.set("user:alice", "a", 1)
        second = memory.facts.set("user:alice", "b", 2)
        assert memory.log.head() == 0
        with pytest.raises(Exception, match="not written yet"):
            _ = first.position
    assert (first.position, second.position) == (1, 2)

    def with_a_refused_command() -> None:
        with memory.batch():
            memory.facts.set("user:alice", "c", 3)
            memory.facts.set("user:alice", "a", 4, expected_version=7)

    with pytest.raises(WrongExpectedVersion):
        with_a_refused_command()
    with pytest.raises(ZeroDivisionError), memory.batch():
        memory.facts.set("user:alice", "d", 1 // 0)
    assert [fact.key for fact in memory.facts.list("user:alice")] == ["a", "b"]
    assert memory.log.head() == 2


def test_slow_code_in_a_batch_blocks_no_writer(memory: Memory) -> None:
    """The lock is taken when the batch ends, so another thread writes meanwhile."""
    done = threading.Event()

    def write() -> None:
        memory.facts.set("user:bob", "b", 1)
        done.set()

    with memory.batch():
        memory.facts.set("user:alice", "a", 1)
        thread = threading.Thread(target=write)
        thread.start()
        assert done.wait(10)
    thread.join()
    assert memory.log.head() == 2


def test_positions_are_never_given_again(memory: Memory) -> None:
    """Not after a rollback, and not after the newest row was cut off the file."""
    memory.facts.set("user:alice", "a", 1)
    _roll_back(memory)
    memory.facts.set("user:alice", "b", 1)
    assert memory.log.head() == 2
    connection = sqlite3.connect(memory.log.path)
    connection.execute("DROP TRIGGER foldlog_events_no_delete")
    connection.execute("DELETE FROM foldlog_events WHERE position = 2")
    connection.commit()
    connection.close()
    assert memory.facts.set("user:alice", "c", 1).position == 3


def test_a_rolled_back_stream_does_not_leak(memory: Memory) -> None:
    """A stream number handed out in a rolled-back transaction goes to the next stream."""
    _roll_back(memory)
    memory.facts.set("user:bob", "b", "kept")
    assert memory.facts.get("user:alice", "theme") is None
    assert memory.facts.list("user:bob")[0].value == "kept"


def test_who_and_when_are_kept(memory: Memory, clock: Clock) -> None:
    """Provenance and the instant stand in the event, and the run finds what it wrote."""
    who = Provenance(run="run-7", node="plan", iteration=2, actor="imani")
    memory.by(who).facts.set("user:alice", "theme", "dark")
    memory.facts.set("user:alice", "lang", "en")
    event = reader.at(memory.log, 1)
    assert event is not None
    assert event.provenance == who
    assert event.recorded_at == event.occurred_at == clock.now
    assert [event.position for event in reader.of_run(memory.log, "run-7")] == [1]


def test_a_clock_that_steps_back_is_noted(memory: Memory, clock: Clock) -> None:
    """Order is position, never time; where time stepped back is known."""
    memory.facts.set("user:alice", "a", 1)
    clock.pass_ms(-60_000)
    memory.facts.set("user:alice", "b", 1)
    clock.pass_ms(1)
    memory.facts.set("user:alice", "c", 1)
    with memory.log.read() as connection:
        assert connection.execute("SELECT position FROM foldlog_clock_steps").fetchall() == [(2,)]
    assert memory.verify().ok


def test_pages_are_bounded_and_complete(memory: Memory) -> None:
    """By count and by bytes, never empty while there is an event."""
    with memory.batch():
        for number in range(25):
            memory.facts.set("user:alice", f"k{number}", "x" * 1000)
    by_count = [len(page) for page in reader.pages(memory.log, events=10)]
    assert by_count == [10, 10, 5]
    by_size = list(reader.pages(memory.log, size=3500))
    assert max(len(page) for page in by_size) == 3
    assert [event.position for page in by_size for event in page] == list(range(1, 26))
    assert [len(page) for page in reader.pages(memory.log, size=1)] == [1] * 25


def test_follow_yields_what_is_committed(memory: Memory) -> None:
    """First what is there, then each append, until told to stop."""
    memory.facts.set("user:alice", "a", 1)
    pages = memory.follow()
    assert [event.position for event in next(pages)] == [1]
    memory.facts.set("user:alice", "b", 2)
    assert [event.position for event in next(pages)] == [2]
    assert list(memory.follow(stop=lambda: True)) == []


def test_an_event_of_the_future_stops_the_reader(memory: Memory) -> None:
    """An unknown type is an error that says to upgrade, not something to skip."""
    memory.facts.set("user:alice", "a", 1)
    connection = sqlite3.connect(memory.log.path)
    connection.execute("DROP TRIGGER foldlog_events_no_update")
    connection.execute("UPDATE foldlog_events SET type = 'DreamDreamt'")
    connection.commit()
    connection.close()
    with pytest.raises(UnknownEventType, match="DreamDreamt"):
        reader.page(memory.log, 0)


@pytest.mark.parametrize(
    ("table", "change", "problem"),
    [
        ("events", "UPDATE foldlog_events SET type = 'FactDeleted' WHERE position = 2", "hash"),
        ("events", "UPDATE foldlog_events SET recorded_at = recorded_at + 1 WHERE position = 2", "hash"),
        ("events", "UPDATE foldlog_events SET links = '{\"expires_at\":1}' WHERE position = 2", "hash"),
        ("events", 'UPDATE foldlog_events SET metadata = \'{"actor":"eve"}\' WHERE position = 2', "hash"),
        (
            "payloads",
            "UPDATE foldlog_payloads SET data = replace(data, '1', '0') WHERE position = 2",
            "payload",
        ),
        (
            "payloads",
            "UPDATE foldlog_payloads SET data = CAST(x'22ff22' AS TEXT) WHERE position = 2",
            "payload",
        ),
        ("streams", "UPDATE foldlog_streams SET name = 'x' WHERE stream_id = 2", "name"),
        ("events", "DELETE FROM foldlog_events WHERE position = 2", "hash"),
        ("events", "DELETE FROM foldlog_events WHERE position = 3", "tail is missing"),
    ],
)
def test_verification_finds_any_change(memory: Memory, table: str, change: str, problem: str) -> None:
    """One changed column, one changed character, one missing row: position and reason."""
    for number in range(3):
        memory.facts.set("user:alice", f"k{number}", 1)
    before = memory.verify()
    assert before.ok
    assert before.events == 3
    memory.close()
    connection = sqlite3.connect(memory.log.path)
    for trigger in ("no_update", "no_delete", "only_erase"):
        connection.execute(f"DROP TRIGGER IF EXISTS foldlog_{table}_{trigger}")
    # SQLite would refuse a text that is no JSON; a flipped bit asks nobody.
    connection.execute("PRAGMA ignore_check_constraints = ON")
    connection.execute(change)
    connection.commit()
    connection.close()
    report = memory.verify()
    assert not report.ok
    assert problem in report.faults[0].problem
    assert report.faults[0].position in (2, 3)


def test_an_erased_payload_leaves_a_chain_that_verifies(memory: Memory) -> None:
    """Data and salt may go: digest and hash stay."""
    memory.facts.set("user:alice", "a", "a secret")
    memory.facts.set("user:alice", "b", 1)
    memory.close()
    connection = sqlite3.connect(memory.log.path)
    connection.execute("DELETE FROM foldlog_payloads WHERE position = 1")
    connection.execute(
        "UPDATE foldlog_streams SET name = NULL, namespace = NULL, salt = NULL WHERE stream_id = 1"
    )
    connection.commit()
    connection.close()
    report = memory.verify()
    assert report.ok
    assert (report.events, report.erased) == (2, 1)
    event = reader.at(memory.log, 1)
    assert event is not None
    assert event.erased


def test_an_anchor_shows_a_rewritten_log(memory: Memory) -> None:
    """A chain alone cannot show an owner who rewrites all of it; a hash kept elsewhere does."""
    memory.facts.set("user:alice", "a", 1)
    anchor = memory.verify().anchor
    assert Anchor.parse(str(anchor)) == anchor
    memory.facts.set("user:alice", "b", 1)
    assert memory.verify(expect=anchor).ok
    other = Anchor(position=1, hash=bytes(32))
    assert "differs from the anchor" in memory.verify(expect=other).faults[0].problem
    later = Anchor(position=9, hash=bytes(32))
    assert "ends before the anchor" in memory.verify(expect=later).faults[0].problem


def test_a_log_that_demands_a_newer_writer_is_only_read(tmp_path: Path) -> None:
    """Older programs may read, not append; those that opened it before it was migrated neither."""
    path = tmp_path / "memory.db"
    with open_memory(path) as before:
        before.facts.set("user:alice", "a", 1)
        connection = sqlite3.connect(path)
        connection.execute("UPDATE foldlog_meta SET min_writer = 99, format = 99")
        connection.commit()
        connection.close()
        with open_memory(path) as after:
            for memory in (before, after):
                assert memory.facts.list("user:alice")[0].value == 1
                with pytest.raises(LogTooNew, match="upgrade foldlog"):
                    memory.facts.set("user:alice", "b", 1)
                assert memory.log.head() == 1


def test_a_held_lock_is_a_named_error(tmp_path: Path) -> None:
    """A writer that waits too long says so, wrote nothing, and can go on afterwards."""
    with open_memory(tmp_path / "memory.db", busy_timeout_ms=50) as memory:
        other = sqlite3.connect(memory.log.path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LogBusy, match="FOLDLOG_BUSY_TIMEOUT_MS"):
            memory.facts.set("user:alice", "a", 1)
        assert memory.facts.list("user:alice") == []
        other.execute("ROLLBACK")
        other.close()
        assert memory.facts.set("user:alice", "a", 1).position == 1


def test_a_full_disk_is_a_named_error(memory: Memory) -> None:
    """Nothing of the append stays, and the log goes on when there is space again."""
    memory.facts.set("user:alice", "a", 1)
    connection = memory.log._connection("writer")
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(Exception, match="no space left"):
        memory.facts.set("user:alice", "b", "x" * 100_000)
    connection.execute("PRAGMA max_page_count = 1000000")
    assert memory.facts.set("user:alice", "c", 1).position == 2
    assert memory.verify().ok


def test_a_fork_uses_connections_of_its_own(memory: Memory) -> None:
    """A child writes through its own connection, and the parent's goes on working."""
    memory.facts.set("user:alice", "a", 1)
    child = os.fork()
    if child == 0:
        try:
            memory.facts.set("user:alice", "b", 2)
        finally:
            os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    memory.facts.set("user:alice", "c", 3)
    assert [fact.key for fact in memory.facts.list("user:alice")] == ["a", "b", "c"]
    assert memory.verify().ok


WRITER = """
import random, sys
import foldlog
from foldlog.errors import FoldlogError
path, name, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
draw = random.Random(name)
with foldlog.open(path) as memory:
    for number in range(count):
        try:
            with memory.batch():
                memory.facts.set("user:alice", f"{name}-{number}", number)
                memory.facts.set("user:alice", "shared", number)
                if draw.random() < 0.2:
                    raise FoldlogError("rolled back")
        except FoldlogError:
            continue
        print(number, flush=True)
"""


def _writers(path: Path, count: int) -> list[subprocess.Popen[str]]:
    return [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), f"w{number}", str(count)],
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(4)
    ]


def test_many_processes_append_and_a_reader_misses_nothing(tmp_path: Path) -> None:
    """Rollbacks leave no gap that matters, positions come in order, and no lock error reaches a caller."""
    with open_memory(tmp_path / "memory.db") as memory:
        processes = _writers(memory.log.path, 50)
        seen: list[int] = []
        for page in memory.follow(stop=lambda: all(process.poll() is not None for process in processes)):
            seen += [event.position for event in page]
        acknowledged = 0
        for process in processes:
            output, _ = process.communicate()
            assert process.returncode == 0
            acknowledged += len(output.split())
        seen += [event.position for page in reader.pages(memory.log, max(seen)) for event in page]
        assert seen == sorted(set(seen))
        assert len(seen) == 2 * acknowledged == memory.verify().events


def test_kill_9_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    """Whatever was printed after a commit is there, whole batches only, and the chain verifies."""
    draw = random.Random(5)
    with open_memory(tmp_path / "memory.db") as memory:
        processes = _writers(memory.log.path, 10_000)
        acknowledged: dict[str, int] = {}
        for number, process in enumerate(processes):
            assert process.stdout is not None
            for _ in range(draw.randint(5, 30)):
                acknowledged[f"w{number}"] = int(process.stdout.readline())
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
            process.stdout.close()
        report = memory.verify()
        assert report.ok
        assert report.events % 2 == 0
        for name, number in acknowledged.items():
            fact = memory.facts.get("user:alice", f"{name}-{number}")
            assert fact is not None
            assert fact.value == number


def test_paths_that_cannot_be_a_log(tmp_path: Path) -> None:
    """A directory, another file, a folder that is a file: one clear line each, nothing touched."""
    (tmp_path / "file.txt").write_text("hello, this is no database")
    for path, message in (
        (tmp_path, "is a directory"),
        (tmp_path / "file.txt", "not an SQLite database"),
        (tmp_path / "file.txt" / "memory.db", "cannot be reached"),
    ):
        with pytest.raises(LogUnavailable, match=message):
            open_memory(path)
    assert (tmp_path / "file.txt").read_text() == "hello, this is no database"
