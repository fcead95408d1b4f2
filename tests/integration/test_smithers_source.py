"""The source of a Smithers import: read whatever state it is in, and never written to."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

import foldlog
from fixtures.logs import open_memory
from fixtures.smithers import NEW_YEAR, SCHEMA, Smithers
from foldlog import Memory
from foldlog.errors import FoldlogError, InvalidInput
from foldlog.imports.smithers import import_file, open_source, preview, source

ALICE = "user:alice"


def state(folder: Path) -> dict[str, bytes]:
    """Return the content of every file of a folder, but for SQLite's own index of locks."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if not path.name.endswith("-shm")}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of its own for the source."""
    found = tmp_path / "theirs"
    found.mkdir()
    return found


@pytest.fixture
def writer(folder: Path) -> Iterator[sqlite3.Connection]:
    """A Smithers that runs: a connection to a database with a write-ahead log."""
    smithers = Smithers(folder / "x.db")
    with closing(sqlite3.connect(smithers.path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        yield connection


def add(connection: sqlite3.Connection, key: str) -> None:
    connection.execute(
        "INSERT INTO _smithers_memory_facts (namespace, key, value_json, created_at_ms, updated_at_ms)"
        " VALUES (?, ?, '1', ?, ?)",
        (ALICE, key, NEW_YEAR, NEW_YEAR),
    )


def keys(memory: Memory) -> list[str]:
    return [item.key for item in memory.facts.list(ALICE)]


class TestStates:
    def test_a_plain_file(self, memory: Memory, folder: Path) -> None:
        """Not a byte of it changes, and nothing appears beside it."""
        smithers = Smithers(folder / "x.db")
        smithers.fact(ALICE, "k")
        before = state(folder)
        import_file(memory, smithers.path)
        assert (keys(memory), state(folder)) == (["k"], before)

    def test_a_running_smithers(self, memory: Memory, folder: Path, writer: sqlite3.Connection) -> None:
        """What is only in its write-ahead log is read; it can write meanwhile, which is of the next time."""
        add(writer, "a")
        seen: list[int] = []

        def meanwhile(rows: int) -> None:
            seen.append(rows)
            add(writer, "b")

        before = state(folder)
        with open_source(folder / "x.db") as opened:
            assert preview(memory, opened, limit=1000).new == 1
        assert state(folder) == before
        import_file(memory, folder / "x.db", progress=meanwhile)
        assert (keys(memory), seen) == (["a"], [1])
        import_file(memory, folder / "x.db")
        assert keys(memory) == ["a", "b"]

    def test_a_copy_without_its_log(
        self, memory: Memory, folder: Path, tmp_path: Path, writer: sqlite3.Connection
    ) -> None:
        """It has what was in the file; SQLite's files do not appear beside it."""
        add(writer, "a")
        writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        add(writer, "b")
        copy = tmp_path / "copy"
        copy.mkdir()
        shutil.copy(folder / "x.db", copy)
        import_file(memory, copy / "x.db")
        assert keys(memory) == ["a"]
        assert os.listdir(copy) == ["x.db"]

    def test_a_copy_with_its_log(
        self,
        memory: Memory,
        folder: Path,
        tmp_path: Path,
        writer: sqlite3.Connection,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """Both are read, from a copy that is gone afterwards."""
        add(writer, "a")
        copy, scratch = tmp_path / "copy", tmp_path / "scratch"
        copy.mkdir()
        scratch.mkdir()
        monkeypatch.setattr(tempfile, "tempdir", str(scratch))
        for name in ("x.db", "x.db-wal"):
            shutil.copy(folder / name, copy)
        before = state(copy)
        import_file(memory, copy / "x.db")
        assert (keys(memory), state(copy)) == (["a"], before)
        assert sorted(os.listdir(copy)) == sorted(before)
        assert os.listdir(scratch) == []

    def test_what_a_crash_left(
        self, memory: Memory, folder: Path, tmp_path: Path, writer: sqlite3.Connection
    ) -> None:
        """A log with an index of locks that nobody holds."""
        add(writer, "a")
        copy = tmp_path / "copy"
        shutil.copytree(folder, copy)
        before = state(copy)
        import_file(memory, copy / "x.db")
        assert (keys(memory), state(copy)) == (["a"], before)

    def test_a_link_to_it(
        self, memory: Memory, folder: Path, tmp_path: Path, writer: sqlite3.Connection
    ) -> None:
        """The write-ahead log is where the file is, not where the link is; odd characters are no syntax."""
        add(writer, "a")
        link = tmp_path / "a link?mode=rw#%41.db"
        link.symlink_to(folder / "x.db")
        import_file(memory, link)
        assert keys(memory) == ["a"]

    def test_another_encoding(self, memory: Memory, folder: Path) -> None:
        """A database in UTF-16 has the same text."""
        smithers = Smithers(folder / "x.db", "PRAGMA encoding = 'UTF-16'; " + SCHEMA)
        smithers.fact(ALICE, "ü\U0001f30d")
        import_file(memory, smithers.path)
        assert keys(memory) == ["ü\U0001f30d"]

    def test_an_older_smithers(self, memory: Memory, folder: Path) -> None:
        """It has no notes; and a column that it lacks is empty."""
        smithers = Smithers(folder / "x.db")
        smithers.script(
            """
            DROP TABLE _smithers_memory_notes;
            DROP TABLE _smithers_memory_note_supersessions;
            ALTER TABLE _smithers_memory_facts DROP COLUMN iteration;
            ALTER TABLE _smithers_memory_threads DROP COLUMN metadata_json;
            """
        )
        smithers.fact(ALICE, "k")
        smithers.thread()
        assert import_file(memory, smithers.path).new == 2

    def test_an_unknown_table_of_memory(self, memory: Memory, folder: Path) -> None:
        """A newer Smithers may have one: it is said that it was not read. Other tables are not memory."""
        smithers = Smithers(folder / "x.db")
        smithers.script(
            """
            CREATE TABLE _smithers_memory_dreams (id TEXT);
            INSERT INTO _smithers_memory_dreams VALUES ('a'), ('b');
            CREATE TABLE _smithers_vectors (id TEXT);
            CREATE VIRTUAL TABLE _smithers_memory_notes_fts USING fts5(note_id UNINDEXED, body);
            """
        )
        report = import_file(memory, smithers.path)
        (entry,) = report.entries
        assert (entry.kind, entry.outcome, entry.source) == (
            "table",
            "refused",
            {"name": "_smithers_memory_dreams"},
        )
        assert "it has 2 rows" in entry.reasons[0]
        assert report.refused == 1


class TestRefused:
    @pytest.mark.parametrize(
        ("content", "expected"),
        [
            (None, "cannot be read: No such file or directory"),
            (b"", "is not an SQLite database"),
            (b"SQLite", "is not an SQLite database"),
            (b"Dear Alice, this is a letter.", "is not an SQLite database"),
            (b"SQLite format 3\x00" + b"x" * 5000, "is damaged, or not an SQLite database"),
        ],
    )
    def test_what_is_no_database(
        self, memory: Memory, tmp_path: Path, content: bytes | None, expected: str
    ) -> None:
        """One line that names the file, and nothing written."""
        path = tmp_path / "letter.db"
        if content is not None:
            path.write_bytes(content)
        with pytest.raises(InvalidInput, match=expected) as found:
            import_file(memory, path)
        assert str(found.value).startswith(str(path))
        assert memory.log.head() == 0

    def test_a_folder(self, memory: Memory, tmp_path: Path) -> None:
        """It is no file, and neither is a link to itself."""
        with pytest.raises(InvalidInput, match="is not a file"):
            import_file(memory, tmp_path)
        loop = tmp_path / "loop.db"
        loop.symlink_to(loop)
        with pytest.raises(InvalidInput, match="cannot be read: "):
            import_file(memory, loop)

    def test_another_database(self, memory: Memory, folder: Path) -> None:
        """It says which table it has not, and so does one that lacks a column."""
        smithers = Smithers(folder / "x.db", "CREATE TABLE theirs (id TEXT)")
        with pytest.raises(InvalidInput, match="has no table _smithers_memory_facts"):
            import_file(memory, smithers.path)
        smithers.script(SCHEMA + "ALTER TABLE _smithers_memory_messages DROP COLUMN role")
        with pytest.raises(InvalidInput, match="_smithers_memory_messages has no column role"):
            import_file(memory, smithers.path)
        assert memory.log.head() == 0

    def test_the_log_itself(self, memory: Memory) -> None:
        """A source is never written to, so it cannot be the log, under whatever name."""
        smithers = Smithers(memory.log.path)
        link = memory.log.path.with_name("link.db")
        link.symlink_to(memory.log.path)
        for path in (smithers.path, link):
            with pytest.raises(InvalidInput, match="is the log itself"):
                import_file(memory, path)
        with open_source(link) as opened, pytest.raises(InvalidInput, match="is the log itself"):
            preview(memory, opened, limit=1000)

    def test_a_transaction_that_was_not_finished(self, memory: Memory, folder: Path, tmp_path: Path) -> None:
        """To read it SQLite would have to write to it: the error says what to do instead."""
        smithers = Smithers(folder / "x.db")
        copy = tmp_path / "copy"
        with closing(sqlite3.connect(smithers.path, isolation_level=None)) as connection:
            connection.execute("PRAGMA cache_size = 1")
            connection.execute("BEGIN IMMEDIATE")
            for number in range(500):
                add(connection, f"k{number}" * 40)
            shutil.copytree(folder, copy)
        assert (copy / "x.db-journal").stat().st_size > 0
        before = state(copy)
        with pytest.raises(InvalidInput, match="was not finished"):
            import_file(memory, copy / "x.db")
        assert state(copy) == before

    def test_somebody_who_holds_it(
        self, memory: Memory, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A writer that keeps everybody out is waited for, and then named."""
        smithers = Smithers(folder / "x.db")
        monkeypatch.setattr(source, "_TIMEOUT", 0)
        with closing(sqlite3.connect(smithers.path, isolation_level=None)) as connection:
            connection.execute("BEGIN EXCLUSIVE")
            with pytest.raises(FoldlogError, match="is being written to by another program"):
                import_file(memory, smithers.path)

    def test_a_file_that_changes_while_it_is_read_without_locks(
        self, memory: Memory, folder: Path, tmp_path: Path, writer: sqlite3.Connection
    ) -> None:
        """The import says that it may have missed something; the next one completes it."""
        add(writer, "a")
        writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        copy = tmp_path / "copy.db"
        shutil.copy(folder / "x.db", copy)

        def meanwhile(rows: int) -> None:
            with closing(sqlite3.connect(copy, isolation_level=None)) as connection:
                add(connection, "b")

        with pytest.raises(FoldlogError, match="was written to while it was read; import it again"):
            import_file(memory, copy, progress=meanwhile)
        import_file(memory, copy)
        assert keys(memory) == ["a", "b"]

    def test_a_damaged_page(self, memory: Memory, folder: Path) -> None:
        """The import ends with an error that is no usage error; once the source is repaired it can go on."""
        smithers = Smithers(folder / "x.db")
        with closing(sqlite3.connect(smithers.path, isolation_level=None)) as connection, connection:
            connection.execute("BEGIN")
            for number in range(3000):
                add(connection, f"k{number:05}")
            connection.execute("COMMIT")
            size = connection.execute("PRAGMA page_size").fetchone()[0]
            pages = connection.execute("PRAGMA page_count").fetchone()[0]
            assert pages > 40
        with smithers.path.open("r+b") as file:
            file.seek(size * (pages // 2))
            file.write(b"\xff" * size * 4)
        with pytest.raises(FoldlogError, match="cannot be read to its end") as found:
            import_file(memory, smithers.path)
        assert not isinstance(found.value, InvalidInput)


class TestKilled:
    #: Imports, and says a word after each batch.
    PROGRAM = """
import sys
from pathlib import Path
import foldlog
from foldlog.imports.smithers import import_file, writing
writing.BATCH_ROWS = 20
with foldlog.open(sys.argv[1]) as memory:
    import_file(memory, Path(sys.argv[2]), progress=lambda rows: print(rows, flush=True))
"""

    @pytest.mark.parametrize("after", [1, 7, 13])
    def test_by_signal_9(self, tmp_path: Path, smithers: Smithers, after: int) -> None:
        """Whatever was being written, the next import leaves what one without a kill would have."""
        fill(smithers)
        killed, whole = tmp_path / "killed.db", tmp_path / "whole.db"
        child = subprocess.Popen(
            [sys.executable, "-c", self.PROGRAM, killed, smithers.path],
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": str(Path(foldlog.__file__).parents[1])},
        )
        assert child.stdout is not None
        with child:
            for _ in range(after):
                assert child.stdout.readline()
            child.send_signal(signal.SIGKILL)
        with open_memory(killed) as memory, open_memory(whole) as other:
            first = memory.log.head()
            report = import_file(memory, smithers.path)
            import_file(other, smithers.path)
            assert 0 < first < memory.log.head() == other.log.head()
            assert report.new < sum(item.rows for item in report.counts().values())
            assert content(memory) == content(other)
            assert memory.verify().ok


def fill(smithers: Smithers) -> None:
    """Write some hundred rows of every kind."""
    with closing(sqlite3.connect(smithers.path)) as connection, connection:
        for number in range(100):
            at = NEW_YEAR + number
            add(connection, f"k{number:03}")
            rows: dict[str, tuple[object, ...]] = {
                "threads (thread_id, namespace, created_at_ms, updated_at_ms)": (f"t{number}", ALICE, at, at),
                "messages (id, thread_id, role, content_json, created_at_ms)": (
                    f"m{number}",
                    f"t{number % 7}",
                    "user",
                    f'"text {number}"',
                    at,
                ),
                "notes (id, namespace, body, status_changed_at_ms, created_at_ms)": (
                    f"n{number:03}",
                    ALICE,
                    f"note {number}",
                    at + number % 2,
                    at,
                ),
                "note_supersessions (note_id, supersedes_id, created_at_ms)": (
                    f"n{number:03}",
                    f"n{number - 10:03}",
                    at,
                ),
            }
            for table, values in rows.items():
                marks = ", ".join("?" * len(values))
                connection.execute(f"INSERT INTO _smithers_memory_{table} VALUES ({marks})", values)


def content(memory: Memory) -> list[object]:
    """Return everything that a reader sees."""
    threads = memory.threads.list()
    return [
        memory.facts.list(ALICE),
        [(item.thread_id, item.namespace, item.created_at, item.messages) for item in threads],
        [memory.messages.list(item.thread_id) for item in threads],
        memory.notes.list(ALICE, status="any", include_superseded=True),
        memory.notes.list(ALICE),
    ]
