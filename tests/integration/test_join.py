"""A caller's rows and memory in one transaction: they commit together, or not at all."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, scoped_session, sessionmaker

import foldlog
from fixtures.logs import Clock
from foldlog import Memory, configure_engine
from foldlog.errors import InvalidInput, JoinRefused, NotFound, StaleSnapshot, WrongExpectedVersion
from foldlog.events import reader

ALICE = "user:alice"


class Base(DeclarativeBase):
    pass


class Order(Base):
    __tablename__ = "orders"
    number: Mapped[int] = mapped_column(primary_key=True)


@pytest.fixture
def engine(memory: Memory) -> Iterator[Engine]:
    engine = create_engine(f"sqlite:///{memory.log.path}")
    configure_engine(engine)
    Base.metadata.create_all(engine)
    yield engine
    engine.dispose()


def raw(memory: Memory) -> sqlite3.Connection:
    return sqlite3.connect(memory.log.path, isolation_level=None)


def keys(memory: Memory) -> list[str]:
    return [fact.key for fact in memory.facts.list(ALICE)]


def orders(memory: Memory) -> list[int]:
    connection = raw(memory)
    found = [number for (number,) in connection.execute("SELECT number FROM orders ORDER BY number")]
    connection.close()
    return found


def buy(connection: Connection | Session, number: int) -> None:
    connection.execute(text("INSERT INTO orders VALUES (:number)"), {"number": number})


@pytest.mark.conformance(182)
def test_a_connection_commits_both(memory: Memory, engine: Engine) -> None:
    """The caller's row and the fact are there; inside, the fact was to be read before the commit."""
    with engine.begin() as connection:
        buy(connection, 1)
        joined = memory.join(connection)
        receipt = joined.facts.set(ALICE, "one", 1)
        fact = joined.facts.get(ALICE, "one")
        assert fact is not None
        assert memory.facts.get(ALICE, "one") is None
    assert receipt.position == memory.log.head() == 1
    assert (orders(memory), keys(memory)) == ([1], ["one"])
    assert memory.verify().ok


@pytest.mark.conformance(182)
def test_a_connection_rolls_back_both(memory: Memory, engine: Engine) -> None:
    """An exception takes all of it; the next append gets the position and the stream's number anew."""

    def fails() -> None:
        with engine.begin() as connection:
            buy(connection, 1)
            memory.join(connection).facts.set(ALICE, "one", 1)
            raise RuntimeError("changed my mind")

    with pytest.raises(RuntimeError):
        fails()
    assert (orders(memory), keys(memory), memory.log.head()) == ([], [], 0)
    memory.facts.set(ALICE, "other", 2)
    history = memory.history.fact(ALICE, "other")
    assert [(item.position, item.stream_id, item.version) for item in history.events] == [(1, 1, 1)]
    with pytest.raises(NotFound):
        memory.history.fact(ALICE, "one")
    assert memory.verify().ok


def test_a_connection_that_has_not_begun_is_begun(memory: Memory, engine: Engine) -> None:
    """As by the caller's own first statement: it then needs the caller's commit."""
    with engine.connect() as connection:
        joined = memory.join(connection)
        joined.facts.set(ALICE, "one", 1)
        connection.rollback()
        memory.join(connection).facts.set(ALICE, "two", 2)
        connection.commit()
    assert keys(memory) == ["two"]


def test_a_session_and_its_objects(memory: Memory, engine: Engine) -> None:
    """Objects of the ORM are written with the session's commit, memory with them."""
    with Session(engine) as session:
        session.add(Order(number=1))
        memory.join(session).notes.save(ALICE, "order 1 was placed", note_id="n1")
        session.commit()
        session.add(Order(number=2))
        memory.join(session).notes.save(ALICE, "order 2 was placed", note_id="n2")
        session.rollback()
    assert orders(memory) == [1]
    assert [note.note_id for note in memory.notes.list(ALICE)] == ["n1"]
    scoped = scoped_session(sessionmaker(engine))
    memory.join(scoped).facts.set(ALICE, "scoped", 1)
    scoped.commit()
    scoped.remove()
    assert keys(memory) == ["scoped"]


def test_a_savepoint_takes_its_part(memory: Memory, engine: Engine) -> None:
    """Rolled back to a SAVEPOINT, what was appended after it is gone, before and later stay."""
    with engine.begin() as connection:
        joined = memory.join(connection)
        joined.facts.set(ALICE, "before", 1)
        inner = connection.begin_nested()
        buy(connection, 1)
        joined.facts.set(ALICE, "inside", 1)
        inner.rollback()
        with connection.begin_nested():
            joined.facts.set(ALICE, "kept", 1)
        joined.facts.set(ALICE, "later", 1)
    assert (orders(memory), keys(memory)) == ([], ["before", "kept", "later"])
    assert [item.position for item in reader.page(memory.log, 0)] == [1, 2, 3]
    assert memory.verify().ok


def test_a_savepoint_released_and_the_whole_rolled_back(memory: Memory, engine: Engine) -> None:
    """The driver's own mode would have kept it."""
    with engine.connect() as connection, connection.begin() as transaction:
        with connection.begin_nested():
            memory.join(connection).facts.set(ALICE, "inside", 1)
        transaction.rollback()
    assert (keys(memory), memory.log.head()) == ([], 0)


def test_a_refused_append_leaves_the_transaction_usable(memory: Memory, engine: Engine) -> None:
    """Nothing of the refused step is left, of a batch not even what came before the refusal."""
    with engine.begin() as connection:
        joined = memory.join(connection)
        joined.facts.set(ALICE, "one", 1)
        with pytest.raises(InvalidInput):
            joined.facts.set(ALICE, "bad", float("nan"))

        def batch() -> None:
            with joined.batch():
                joined.facts.set(ALICE, "two", 2)
                joined.facts.set(ALICE, "one", 2, expected_version=7)

        with pytest.raises(WrongExpectedVersion):
            batch()
        buy(connection, 1)
        joined.facts.set(ALICE, "three", 3)
    assert (orders(memory), keys(memory)) == ([1], ["one", "three"])
    assert memory.verify().ok


def test_a_plain_connection(memory: Memory) -> None:
    """Begun and committed by hand; row and text factories of the caller do not matter."""
    connection = raw(memory)
    connection.row_factory = lambda cursor, row: {"a": row[0]}
    connection.text_factory = bytes
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("BEGIN IMMEDIATE")
    joined = memory.join(connection)
    joined.threads.create(ALICE, thread_id="t")
    joined.messages.save("t", "hello", message_id="m")
    joined.notes.save(ALICE, "a note", note_id="n", supersedes=[])
    assert [item.content for item in joined.messages.list("t")] == ["hello"]
    assert connection.execute("SELECT 'x'").fetchone() == {"a": b"x"}
    connection.execute("COMMIT")
    connection.close()
    assert [item.content for item in memory.messages.list("t")] == ["hello"]
    assert memory.verify().ok


def test_other_provenance(memory: Memory, engine: Engine) -> None:
    """The joined memory speaks for whom the memory spoke for, or for somebody named."""
    from foldlog import Provenance

    with engine.begin() as connection:
        joined = memory.by(Provenance(run="r1")).join(connection)
        joined.facts.set(ALICE, "one", 1)
        joined.by(Provenance(run="r2")).facts.set(ALICE, "two", 1)
    runs = [item.provenance.run for item in reader.page(memory.log, 0)]
    assert runs == ["r1", "r2"]


def test_a_deferred_transaction_becomes_a_writing_one(memory: Memory) -> None:
    """If nobody wrote since it read; else the refusal says how to begin, and nothing is written."""
    one, other = raw(memory), raw(memory)
    one.execute("BEGIN")
    one.execute("SELECT count(*) FROM foldlog_events").fetchone()
    memory.join(one).facts.set(ALICE, "one", 1)
    one.execute("COMMIT")
    other.execute("BEGIN")
    other.execute("SELECT count(*) FROM foldlog_events").fetchone()
    memory.facts.set(ALICE, "two", 2)
    with pytest.raises(StaleSnapshot, match="BEGIN IMMEDIATE"):
        memory.join(other).facts.set(ALICE, "three", 3)
    other.execute("ROLLBACK")
    other.execute("BEGIN IMMEDIATE")
    memory.join(other).facts.set(ALICE, "three", 3)
    other.execute("COMMIT")
    assert keys(memory) == ["one", "three", "two"]
    one.close()
    other.close()


def test_wrong_connections_are_refused(memory: Memory, tmp_path: Path) -> None:
    """Another file, one in memory, the driver's own mode, no transaction, no connection at all."""
    elsewhere = sqlite3.connect(tmp_path / "other.db", isolation_level=None)
    elsewhere.execute("CREATE TABLE t (x)")
    nowhere = sqlite3.connect(":memory:", isolation_level=None)
    legacy = sqlite3.connect(memory.log.path)
    idle = raw(memory)
    for connection, reason in (
        (elsewhere, "only on the log's own file"),
        (nowhere, "in memory"),
        (legacy, "isolation_level=None"),
    ):
        with pytest.raises(JoinRefused, match=reason):
            memory.join(connection)
    with pytest.raises(JoinRefused, match="BEGIN IMMEDIATE"):
        memory.join(idle).facts.set(ALICE, "one", 1)
    with pytest.raises(JoinRefused, match="cannot join str"):
        memory.join("sqlite:///memory.db")  # type: ignore[arg-type]
    assert memory.log.head() == 0
    for connection in (elsewhere, nowhere, legacy, idle):
        connection.close()


def test_a_connection_that_attached_the_log_is_refused(memory: Memory, tmp_path: Path) -> None:
    """Only a main database commits with one fsync; a journal over two files is not promised."""
    connection = sqlite3.connect(tmp_path / "other.db", isolation_level=None)
    connection.execute("ATTACH ? AS log", (str(memory.log.path),))
    connection.execute("CREATE TABLE t (x)")
    with pytest.raises(JoinRefused, match="own file"):
        memory.join(connection)
    connection.close()


def test_an_engine_that_was_not_configured_is_refused(memory: Memory) -> None:
    """With the fix in the message, also when it commits every statement by itself."""
    plain = create_engine(f"sqlite:///{memory.log.path}")
    with plain.connect() as connection, pytest.raises(JoinRefused, match="configure_engine"):
        memory.join(connection)
    plain.dispose()
    auto = create_engine(f"sqlite:///{memory.log.path}", isolation_level="AUTOCOMMIT")
    with auto.connect() as connection, pytest.raises(JoinRefused, match="in no transaction"):
        memory.join(connection).facts.set(ALICE, "one", 1)
    auto.dispose()
    assert memory.log.head() == 0


def test_configuring_an_engine(memory: Memory) -> None:
    """Twice is once; connections from before are replaced; a reading engine writes nothing."""
    engine = create_engine(f"sqlite:///{memory.log.path}")
    with engine.connect() as connection:
        connection.execute(text("SELECT 1"))
    configure_engine(engine)
    configure_engine(engine)
    begun: list[str] = []
    event.listen(engine, "before_cursor_execute", lambda *given: begun.append(given[2]))
    with engine.begin() as connection:
        memory.join(connection).facts.set(ALICE, "one", 1)
    assert begun.count("BEGIN IMMEDIATE") == 1
    with pytest.raises(JoinRefused, match="the other way"):
        configure_engine(engine, read_only=True)
    readers = create_engine(f"sqlite:///{memory.log.path}")
    configure_engine(readers, read_only=True)
    with readers.begin() as connection:
        # It holds no lock: a writer goes on meanwhile.
        assert connection.execute(text("SELECT count(*) FROM foldlog_facts")).scalar() == 1
        memory.facts.set(ALICE, "two", 2)
        with pytest.raises(foldlog.errors.LogError):
            memory.join(connection).facts.set(ALICE, "three", 3)
    other = create_engine("postgresql+psycopg://nobody@/none")
    with pytest.raises(JoinRefused, match="postgresql"):
        configure_engine(other)
    for item in (engine, readers, other):
        item.dispose()
    assert keys(memory) == ["one", "two"]


def test_ids_of_a_rolled_back_transaction_do_not_leak(memory: Memory, engine: Engine) -> None:
    """Neither stream numbers, positions nor hashes: twenty rollbacks and commits, one whole chain."""
    for number in range(20):
        with engine.connect() as connection, connection.begin() as transaction:
            joined = memory.join(connection)
            joined.facts.set(ALICE, f"gone{number}", number)
            joined.facts.set(ALICE, "shared", number, idempotency_key=f"key{number}")
            transaction.rollback()
        memory.facts.set(ALICE, "shared", -number, idempotency_key=f"key{number}")
    report = memory.verify()
    assert report.ok
    assert [fact.version for fact in memory.facts.list(ALICE)] == [20]


KILLED = """
import os, signal, sqlite3, sys, foldlog
from sqlalchemy import create_engine, text
memory = foldlog.open(sys.argv[1])
engine = create_engine(f"sqlite:///{sys.argv[1]}")
foldlog.configure_engine(engine)
with engine.connect() as connection:
    connection.execute(text("INSERT INTO orders VALUES (1)"))
    memory.join(connection).facts.set("user:alice", "one", 1)
    if sys.argv[2] == "after":
        connection.commit()
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize(("moment", "expected"), [("before", ([], [])), ("after", ([1], ["one"]))])
def test_a_kill_takes_both_or_none(
    memory: Memory, engine: Engine, clock: Clock, moment: str, expected: tuple[list[int], list[str]]
) -> None:
    """kill -9 before the commit leaves neither, after it both."""
    engine.dispose()
    command = [sys.executable, "-c", KILLED, str(memory.log.path), moment]
    done = subprocess.run(command, check=False, env=os.environ.copy())
    assert done.returncode == -signal.SIGKILL
    assert (orders(memory), keys(memory)) == expected
    memory.facts.set(ALICE, "next", 1)
    assert memory.verify().ok
