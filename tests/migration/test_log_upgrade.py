"""A log that an earlier revision wrote: migrated with all that is in it, and closed to its programs.

`log_0001.db.gz` was written by the foldlog of revision 0001: every event type it knew, odd values among them.
"""

from __future__ import annotations

import gzip
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from fixtures.logs import NOON, Clock, open_memory
from foldlog import Memory, composition
from foldlog.errors import LogTooNew
from foldlog.events import log as log_module
from foldlog.events.log import FORMAT, SCHEMA_VERSION
from foldlog.events.verification import Anchor
from foldlog.settings import Settings

ALICE = "user:alice"
WRITTEN = Path(__file__).parents[1] / "data/log_0001.db.gz"

_EVENTS = "SELECT * FROM foldlog_events ORDER BY position"
_PAYLOADS = "SELECT * FROM foldlog_payloads ORDER BY position"


@pytest.fixture
def old(tmp_path: Path) -> Path:
    path = tmp_path / "memory.db"
    path.write_bytes(gzip.decompress(WRITTEN.read_bytes()))
    return path


def _open(path: Path) -> Memory:
    given = Settings(log=path, database_url="postgresql:///none?host=/nowhere")
    return composition.open_memory(settings=given, clock=Clock(NOON + 60_000))


def _rows(path: Path, *statements: str) -> list[list[Any]]:
    with closing(sqlite3.connect(path)) as connection:
        return [connection.execute(statement).fetchall() for statement in statements]


def test_every_event_stays_as_it_is(old: Path) -> None:
    """Byte for byte, and the chain verifies up to the anchor from before."""
    before = _rows(old, _EVENTS, _PAYLOADS)
    assert len(before[0]) == 21
    last = before[0][-1]
    with _open(old) as memory:
        report = memory.verify(expect=Anchor(position=last[0], hash=last[-1]))
        assert report.ok
        assert report.events == 21
        assert (memory.log.meta.format, memory.log.meta.min_writer) == (FORMAT, FORMAT)
    assert _rows(old, _EVENTS, _PAYLOADS) == before
    assert _rows(old, "SELECT version_num FROM foldlog_alembic_version") == [[(SCHEMA_VERSION,)]]


def test_everything_is_read_as_before(old: Path) -> None:
    """Facts, threads, messages, notes and their links, and what recall finds."""
    with _open(old) as memory:
        values = {fact.key: fact.value for fact in memory.facts.list(ALICE)}
        assert values == {"big": 2**80, "nul": "a\x00b", "theme": "light"}
        theme = memory.facts.get(ALICE, "theme")
        assert theme is not None
        assert (theme.tags, theme.provenance.run, theme.schema) == (("ui", "seen"), "r1", None)
        (thread,) = memory.threads.list()
        assert (thread.thread_id, thread.title, thread.messages) == ("t", "Plans", 2)
        assert [item.text for item in memory.messages.list("t")] == ["Hello again", "Parts of it"]
        assert [note.note_id for note in memory.notes.list(ALICE)] == ["c"]
        note = memory.notes.get("a")
        assert note is not None
        assert (note.superseded_by, note.tags, note.author) == (("b",), ("net",), "Ann")
        assert [item.note_id for item in memory.notes.heads("a")] == ["c"]
        assert [item.id for item in memory.recall("which port", ALICE).memories] == ["c"]
        repeat = memory.facts.set(ALICE, "theme", "light", tags=["ui", "seen"], idempotency_key="k1")
        assert repeat.outcome == "already appended"


def test_everything_new_can_be_written(old: Path) -> None:
    """Beside what is there, in the same chain; also over facts that the old program set."""
    with _open(old) as memory:
        memory.primers.set(ALICE, "about", "Alice runs the harbour.")
        memory.retained.add(ALICE, "a kept text", document="d")
        memory.facts.set(ALICE, "theme", "dark")
        memory.notes.save(ALICE, "the port is 4", supersedes=["c"])
        assert memory.facts.collect() == 1
        assert memory.verify().ok
        found = memory.recall("kept text", ALICE, primers=["about"])
        assert "Alice runs the harbour." in found.block
        assert found.memories[0].kind == "retained"


def test_ids_of_retained_texts_are_unique_in_a_migrated_log(old: Path) -> None:
    """The index of ids knows them."""
    with _open(old) as memory:
        memory.retained.add(ALICE, "x", retained_id="r")
    with closing(sqlite3.connect(old)) as connection:
        insert = "INSERT INTO foldlog_streams (kind, namespace, name, name_digest) VALUES (?, ?, 'r', x'00')"
        with pytest.raises(sqlite3.IntegrityError):
            connection.execute(insert, ("retained", "user:bob"))
        connection.execute(insert, ("fact", "user:bob"))


def test_an_older_program_may_not_append(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither one that opens the migrated log, nor one that had it open while it was migrated."""
    with open_memory(old) as memory:
        head = memory.log.head()
        monkeypatch.setattr(log_module, "FORMAT", 1)
        with pytest.raises(LogTooNew, match="upgrade foldlog"):
            memory.facts.set(ALICE, "k", 1)
        with pytest.raises(LogTooNew), memory.log.write():
            pass
        assert memory.facts.get(ALICE, "big") is not None
        assert memory.log.head() == head
    monkeypatch.setattr(log_module, "SCHEMA_VERSION", "0001")
    from foldlog.migrations import upgrade

    monkeypatch.setattr(upgrade, "SCHEMA_VERSION", "0001")
    with pytest.raises(LogTooNew, match="upgrade foldlog"):
        open_memory(old)


def test_a_downgrade_is_refused(old: Path) -> None:
    """The log is the only source of truth: a backup leads back, a migration does not."""
    from alembic import command
    from sqlalchemy import create_engine

    from foldlog.migrations import upgrade

    with _open(old):
        pass
    config = upgrade._config("log")
    engine = create_engine(f"sqlite:///{old}")
    with engine.connect() as connection:
        config.attributes["connection"] = connection
        with pytest.raises(NotImplementedError, match="restore a backup"):
            command.downgrade(config, "0001")
    engine.dispose()
    with _open(old) as memory:
        assert memory.verify().ok
