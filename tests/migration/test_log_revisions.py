"""Later revisions of the log: real rows are migrated, and who had the log open goes on writing."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from alembic import command
from sqlalchemy import create_engine
from sqlalchemy.pool import NullPool

from foldlog import Memory, composition
from foldlog.events.connection import connect, create_file
from foldlog.events.log import Log, schema_version
from foldlog.migrations.upgrade import _config, prepare_log
from foldlog.projections.local.fold import fold
from foldlog.projections.recall.recall import Recaller
from foldlog.settings import Settings

ALICE = "user:alice"
WAIT_MS = 5000


def make_log(path: Path, revision: str) -> None:
    """Make a log as a foldlog of that revision would have."""
    create_file(path)
    engine = create_engine(
        "sqlite://", creator=lambda: connect(path, busy_timeout_ms=WAIT_MS), poolclass=NullPool
    )
    with engine.begin() as connection:
        config = _config("log")
        config.attributes["connection"] = connection
        command.upgrade(config, revision)
    engine.dispose()


def memory_over(log: Log) -> Memory:
    settings = Settings(log=log.path)
    index = composition.LazyIndex(settings, log)
    return Memory(
        log,
        Recaller(log, None, composition.rank, why_no_index="there is none here"),
        composition.ForegroundFolding(settings, log, index),
    )


@pytest.fixture
def old(tmp_path: Path) -> Iterator[Memory]:
    """A memory that was opened before the upgrade, with rows of its time."""
    path = tmp_path / "memory.db"
    make_log(path, "0002")
    log = Log(path, fold=fold, busy_timeout_ms=WAIT_MS, max_payload_bytes=1 << 20)
    with closing(log):
        memory = memory_over(log)
        memory.threads.create(ALICE, thread_id="t")
        memory.messages.save("t", "first", message_id="m1")
        memory.messages.save("t", "second", message_id="m2")
        memory.messages.delete("t", ["m1"])
        memory.facts.set(ALICE, "k", 1, ttl=1)
        memory.facts.set(ALICE, "k", 2)
        yield memory


def test_what_was_there_is_found_after_the_upgrade(old: Memory) -> None:
    """The history of a deleted message, and a time that ended: by the new indexes, filled from old rows."""
    path = old.log.path
    assert schema_version(path, WAIT_MS) == "0002"
    prepare_log(path, busy_timeout_ms=WAIT_MS)
    with composition.open_memory(path) as memory:
        assert [event.type for event in memory.history.message("m1").events] == [
            "ThreadCreated",
            "MessageSaved",
            "MessagesDeleted",
        ]
        found = memory.as_of(3).messages.get("m1")
        assert found is not None
        assert found.content == "first"
        assert memory.verify().ok


def test_who_had_it_open_before_leaves_no_gap(old: Memory) -> None:
    """A process of the former version goes on appending: SQLite itself keeps the indexes."""
    prepare_log(old.log.path, busy_timeout_ms=WAIT_MS)
    old.messages.save("t", "third", message_id="m3")
    old.messages.delete("t", ["m3"])
    with composition.open_memory(old.log.path) as memory:
        assert [event.type for event in memory.history.message("m3").events] == [
            "ThreadCreated",
            "MessageSaved",
            "MessagesDeleted",
        ]
    with closing(sqlite3.connect(old.log.path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert connection.execute("SELECT min_writer FROM foldlog_meta").fetchone() == (2,)
