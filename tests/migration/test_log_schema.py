"""The log's schema: migrated, declared, and frozen."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from alembic import command
from sqlalchemy import create_engine

from foldlog.errors import LogTooNew, LogUnavailable
from foldlog.events import tables as log_tables
from foldlog.events.log import SCHEMA_VERSION
from foldlog.migrations.upgrade import _config, heads, prepare_log
from foldlog.projections.local import tables as read_model_tables

WAIT_MS = 5000


def as_written_under(revision: str, source: Path, path: Path) -> None:
    """Make a log as an older foldlog made it, with the rows of one that has nothing new in it."""
    engine = create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        config = _config("log")
        config.attributes["connection"] = connection
        command.upgrade(config, revision)
    engine.dispose()
    connection = sqlite3.connect(path)
    connection.execute("DELETE FROM foldlog_meta")
    connection.execute("ATTACH ? AS source", (str(source),))
    names = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'foldlog%'"
    for (name,) in connection.execute(names).fetchall():
        # The full text index keeps tables of its own.
        if name.startswith("foldlog_text_") or name == "foldlog_alembic_version":
            continue
        columns = ", ".join(row[1] for row in connection.execute(f"PRAGMA table_info({name})"))
        columns = f"rowid, {columns}" if name == "foldlog_text" else columns
        connection.execute(f"INSERT INTO {name} ({columns}) SELECT {columns} FROM source.{name}")
    connection.execute("UPDATE foldlog_meta SET format = 1, min_writer = 1")
    connection.commit()
    connection.close()


def _shape(path: Path) -> dict[str, object]:
    """Return columns, keys, indexes, strictness and clustering of every table, without their spelling."""
    connection = sqlite3.connect(path)
    shape: dict[str, object] = {}
    for _, name, kind, _, without_rowid, strict in connection.execute("PRAGMA table_list"):
        if not name.startswith("foldlog_") or "text" in name or name == "foldlog_alembic_version":
            continue
        assert kind == "table"
        indexes = sorted(
            (unique, origin, partial, tuple(connection.execute(f"PRAGMA index_info({index})")))
            for _, index, unique, origin, partial in connection.execute(f"PRAGMA index_list({name})")
        )
        columns = list(connection.execute(f"PRAGMA table_xinfo({name})"))
        # SQLAlchemy spells NOT NULL at primary keys, which changes nothing in a strict table.
        columns = [(c[1], c[2], None if c[5] else c[3], c[4], c[5]) for c in columns]
        keys = sorted(row[2:] for row in connection.execute(f"PRAGMA foreign_key_list({name})"))
        shape[name] = (columns, indexes, keys, bool(without_rowid), bool(strict))
    autoincrement = "SELECT name FROM sqlite_schema WHERE sql LIKE '%AUTOINCREMENT%' AND name LIKE 'foldlog%'"
    shape["autoincrement"] = list(connection.execute(autoincrement))
    connection.close()
    return shape


def test_migrated_schema_is_the_declared_one(tmp_path: Path) -> None:
    """What the revisions make is what the table definitions say."""
    prepare_log(tmp_path / "migrated.db", busy_timeout_ms=WAIT_MS)
    engine = create_engine(f"sqlite:///{tmp_path / 'declared.db'}")
    log_tables.log.create_all(engine)
    read_model_tables.read_model.create_all(engine)
    engine.dispose()
    migrated, declared = _shape(tmp_path / "migrated.db"), _shape(tmp_path / "declared.db")
    assert migrated.keys() == declared.keys()
    for name in migrated:
        assert migrated[name] == declared[name], name


def test_a_log_of_the_first_revision_goes_on(tmp_path: Path) -> None:
    """Real rows, written under 0001: all are there after the upgrade, and an older program may not append."""
    path = tmp_path / "memory.db"
    from fixtures.logs import open_memory

    with open_memory(tmp_path / "new.db") as memory:
        memory.facts.set("user:alice", "theme", "dark")
        memory.threads.create("user:alice", thread_id="t")
        for number in range(5):
            memory.messages.save("t", f"message {number}", message_id=f"m{number}")
        memory.notes.save("user:alice", "a note", note_id="n")
    as_written_under("0001", tmp_path / "new.db", path)
    with open_memory(path) as memory:
        assert [item.content for item in memory.messages.list("t")] == [f"message {n}" for n in range(5)]
        memory.messages.trim("t", [1, 2], budget=10, tokens=20, tokenizer="bytes")
        assert memory.messages.count("t") == 3
        assert memory.log.meta.min_writer > 1
        assert memory.verify().ok


def test_the_trees_have_the_heads_that_the_code_knows() -> None:
    """The version that is looked up without Alembic is the newest revision."""
    from foldlog.projections.hindsight import control

    assert heads() == {"log": SCHEMA_VERSION, "hindsight": control.SCHEMA_VERSION}


@pytest.mark.parametrize("table", ["foldlog_events", "foldlog_payloads", "foldlog_streams"])
@pytest.mark.conformance(183)
def test_history_cannot_be_changed_by_a_statement(tmp_path: Path, table: str) -> None:
    """UPDATE is refused on what is hashed, DELETE on events and streams."""
    from fixtures.logs import open_memory

    with open_memory(tmp_path / "memory.db") as memory:
        memory.facts.set("user:alice", "theme", "dark")
    connection = sqlite3.connect(tmp_path / "memory.db")
    column = {"foldlog_events": "type", "foldlog_payloads": "data", "foldlog_streams": "name"}[table]
    with pytest.raises(sqlite3.IntegrityError, match=r"append-only|only be erased"):
        connection.execute(f"UPDATE {table} SET {column} = 'x'")
    if table != "foldlog_payloads":
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            connection.execute(f"DELETE FROM {table}")
    connection.close()


def test_many_processes_create_one_log(tmp_path: Path) -> None:
    """Whoever comes first migrates, the others wait; all write to the same log."""
    code = (
        "import sys, foldlog\n"
        "with foldlog.open(sys.argv[1]) as memory:\n"
        "    memory.facts.set('user:alice', 'k' + sys.argv[2], 1)\n"
    )
    path = tmp_path / "a folder" / "memory.db"
    processes = [
        subprocess.Popen([sys.executable, "-c", code, str(path), str(number)]) for number in range(4)
    ]
    assert [process.wait() for process in processes] == [0] * 4
    from fixtures.logs import open_memory

    with open_memory(path) as memory:
        assert [fact.key for fact in memory.facts.list("user:alice")] == ["k0", "k1", "k2", "k3"]
        assert memory.verify().ok


def test_a_new_log_belongs_to_its_owner_alone(tmp_path: Path) -> None:
    """Memory is private: folder 0700, file 0600, whatever the umask."""
    before = os.umask(0)
    try:
        prepare_log(tmp_path / "new" / "memory.db", busy_timeout_ms=WAIT_MS)
    finally:
        os.umask(before)
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "new" / "memory.db").stat().st_mode & 0o777 == 0o600


def test_a_failing_revision_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A migration that fails in the middle can simply be run again."""
    monkeypatch.setattr(os, "urandom", lambda size: b"too short")
    with pytest.raises(Exception, match="CHECK constraint failed"):
        prepare_log(tmp_path / "memory.db", busy_timeout_ms=WAIT_MS)
    monkeypatch.undo()
    connection = sqlite3.connect(tmp_path / "memory.db")
    assert connection.execute("SELECT count(*) FROM sqlite_schema").fetchone() == (0,)
    connection.close()
    prepare_log(tmp_path / "memory.db", busy_timeout_ms=WAIT_MS)


def test_tables_of_the_caller_stay_beside_ours(tmp_path: Path) -> None:
    """A file that already holds a program's own tables becomes a log too, and keeps them."""
    connection = sqlite3.connect(tmp_path / "app.db")
    connection.execute("CREATE TABLE orders (id)")
    connection.execute("INSERT INTO orders VALUES (7)")
    connection.commit()
    connection.close()
    prepare_log(tmp_path / "app.db", busy_timeout_ms=WAIT_MS)
    connection = sqlite3.connect(tmp_path / "app.db")
    assert connection.execute("SELECT id FROM orders").fetchall() == [(7,)]
    assert connection.execute("SELECT count(*) FROM foldlog_events").fetchone() == (0,)
    connection.close()


def test_a_newer_schema_is_refused(tmp_path: Path) -> None:
    """A log migrated by a newer foldlog is left alone, and the message says to upgrade."""
    path = tmp_path / "memory.db"
    prepare_log(path, busy_timeout_ms=WAIT_MS)
    connection = sqlite3.connect(path)
    connection.execute("UPDATE foldlog_alembic_version SET version_num = '9999'")
    connection.commit()
    connection.close()
    with pytest.raises(LogTooNew, match="upgrade foldlog"):
        prepare_log(path, busy_timeout_ms=WAIT_MS)


def test_what_is_no_database_is_left_as_it_is(tmp_path: Path) -> None:
    """A text file, or a directory, is refused and not touched."""
    path = tmp_path / "notes.txt"
    path.write_text("not a database, but somebody's work")
    with pytest.raises(LogUnavailable, match="not an SQLite database"):
        prepare_log(path, busy_timeout_ms=WAIT_MS)
    assert path.read_text() == "not a database, but somebody's work"
    with pytest.raises(LogUnavailable, match="is a directory"):
        prepare_log(tmp_path, busy_timeout_ms=WAIT_MS)
