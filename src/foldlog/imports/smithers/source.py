"""A Smithers database: opened to be read only, checked, and streamed table by table."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from foldlog.errors import FoldlogError, InvalidInput
from foldlog.imports.smithers.row import Row

_FIRST_BYTES: Final = b"SQLite format 3\x00"
#: Where a database says that it is read through a write-ahead log, and by which number.
_READ_VERSION: Final = 19
_WAL: Final = 2

#: Seconds to wait for a program that writes to the source.
_TIMEOUT: Final = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table of the source: what is read of it, and in which order."""

    name: str
    key: tuple[str, ...]
    #: Columns that must be there, and that older versions may lack.
    required: tuple[str, ...]
    optional: tuple[str, ...] = ()
    order: str
    #: Older versions have no notes.
    may_be_absent: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns that are known."""
        return self.required + self.optional


_COORDINATE: Final = ("run_id", "node_id", "iteration")

FACTS: Final = Table(
    name="_smithers_memory_facts",
    key=("namespace", "key"),
    required=("namespace", "key", "value_json", "created_at_ms", "updated_at_ms", "ttl_ms"),
    optional=("schema_sig", *_COORDINATE),
    order="namespace, key, updated_at_ms",
)
THREADS: Final = Table(
    name="_smithers_memory_threads",
    key=("thread_id",),
    required=("thread_id", "namespace", "title", "created_at_ms"),
    optional=("metadata_json", "updated_at_ms"),
    order="created_at_ms, thread_id",
)
MESSAGES: Final = Table(
    name="_smithers_memory_messages",
    key=("id",),
    required=("id", "thread_id", "role", "content_json", "created_at_ms"),
    optional=_COORDINATE,
    order="thread_id, created_at_ms, id, content_json",
)
NOTES: Final = Table(
    name="_smithers_memory_notes",
    key=("id",),
    required=("id", "namespace", "body", "kind", "tags_json", "author", "status",
              "status_changed_at_ms", "created_at_ms"),
    optional=_COORDINATE,
    order="created_at_ms, id",
    may_be_absent=True,
)  # fmt: skip
LINKS: Final = Table(
    name="_smithers_memory_note_supersessions",
    key=("note_id", "supersedes_id"),
    required=("note_id", "supersedes_id", "created_at_ms"),
    order="note_id, supersedes_id",
    may_be_absent=True,
)
TABLES: Final = (FACTS, THREADS, MESSAGES, NOTES, LINKS)

#: Made from the notes, or settings of the search: there is nothing in them to take.
_DERIVED: Final = ("_smithers_memory_fts_kinds", "_smithers_memory_notes_fts")

_COLUMNS: Final = "SELECT name FROM pragma_table_xinfo(?)"
_OTHERS: Final = """
    SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE '\\_smithers\\_memory\\_%' ESCAPE '\\'
    ORDER BY name
"""
_THREAD: Final = f"SELECT namespace FROM {THREADS.name} WHERE thread_id IS ? LIMIT 1"
_TARGETS: Final = f"""
    SELECT {{{{columns}}}} FROM {LINKS.name} WHERE note_id IS {{value}} ORDER BY supersedes_id
"""
_LOOSE: Final = f"""
    SELECT {{columns}} FROM {LINKS.name} l
    WHERE NOT EXISTS (SELECT 1 FROM {NOTES.name} n WHERE n.id IS l.note_id)
    ORDER BY note_id, supersedes_id
"""
_ALL_LINKS: Final = f"SELECT {{columns}} FROM {LINKS.name} ORDER BY note_id, supersedes_id"
# Along the links from the target, over notes that are not older than this one, back to it. UNION, so
# that another circle ends.
_LEADS_BACK: Final = f"""
    WITH RECURSIVE reached (id) AS (
        SELECT id FROM {NOTES.name} WHERE id = ?1 AND (created_at_ms, id) > (?3, ?2)
        UNION
        SELECT n.id FROM reached r JOIN {LINKS.name} s ON s.note_id = r.id
        JOIN {NOTES.name} n ON n.id = s.supersedes_id
        WHERE (n.created_at_ms, n.id) >= (?3, ?2)
    ) SELECT 1 FROM reached WHERE id = ?2
"""
_NAMESPACES: Final = f"SELECT DISTINCT namespace FROM {FACTS.name} ORDER BY namespace"
_FACT: Final = f"SELECT 1 FROM {FACTS.name} WHERE namespace = ? AND key = ?"
_REPEATED: Final = "SELECT {key} FROM {name} GROUP BY {key} HAVING count(*) > 1"


class Source:
    """An open Smithers database; everything read from it is of one instant."""

    def __init__(self, path: Path, connection: sqlite3.Connection, state: tuple[object, ...]) -> None:
        self.path = path
        self._connection = connection
        self._state = state
        self._columns: dict[Table, tuple[str, ...]] = {}

    def check(self) -> None:
        """Raise InvalidInput unless the tables of Smithers' memory are there."""
        for table in TABLES:
            columns = tuple(str(row[0]) for row in self._connection.execute(_COLUMNS, (table.name,)))
            if not columns and table.may_be_absent:
                continue
            if not columns:
                raise InvalidInput(
                    str(self.path), f"is not a Smithers database: it has no table {table.name}"
                )
            for column in table.required:
                if column not in columns:
                    raise InvalidInput(
                        str(self.path),
                        f"is not a Smithers database that is known here: {table.name} has no column {column}",
                    )
            self._columns[table] = columns

    def count(self, table: Table) -> int:
        """Return how many rows a table has."""
        return self._number(table.name) if table in self._columns else 0

    def size(self) -> int:
        """Return how many facts, threads, messages and notes there are."""
        return sum(self.count(table) for table in TABLES if table is not LINKS)

    def unknown_tables(self) -> list[tuple[str, int]]:
        """Return the name and the number of rows of tables of memory that are not known here."""
        known = {table.name for table in TABLES}
        names = [name for (name,) in self._query(_OTHERS) if name not in known]
        return [(name, self._number(name)) for name in names if not name.startswith(_DERIVED)]

    def rows(self, table: Table) -> Iterator[Row]:
        """Yield the rows of a table in its order, one at a time."""
        found = self._columns.get(table)
        if found is None:
            return
        extra = tuple(column for column in found if column not in table.columns)
        names = tuple(column if column in found else "NULL" for column in table.columns)
        listed = ", ".join([*names, *map(_identifier, extra)])
        statement = f"SELECT {listed} FROM {table.name} ORDER BY {table.order}"
        with self._damage():
            for row in self._connection.execute(statement):
                values = dict(zip(table.columns, row[: len(names)], strict=True))
                yield Row(values, table.key, dict(zip(extra, row[len(names) :], strict=True)))

    def repeated(self, table: Table) -> set[Any]:
        """Return the ids that stand more than once; none unless the table was copied without its key."""
        if table not in self._columns:
            return set()
        (key,) = table.key
        return {row[0] for row in self._query(_REPEATED.format(key=key, name=table.name))}

    def thread(self, thread_id: str) -> str | None:
        """Return the namespace of a thread, None when there is no such thread."""
        found = self._query(_THREAD, thread_id)
        return str(found[0][0]) if found else None

    def links(self, note_id: Any) -> list[Row]:
        """Return the links of a note to those it supersedes, by their ids."""
        if LINKS not in self._columns:
            return []
        # A text that is not UTF-8 can only be given as its bytes.
        if isinstance(note_id, str):
            return self._links(_TARGETS.format(value="CAST(? AS TEXT)"), _bytes(note_id))
        return self._links(_TARGETS.format(value="?"), note_id)

    def loose_links(self) -> list[Row]:
        """Return the links whose own note does not exist."""
        if LINKS not in self._columns:
            return []
        return self._links(_LOOSE if NOTES in self._columns else _ALL_LINKS)

    def leads_back(self, target: str, note_id: str, created_at: Any) -> bool:
        """Say whether a note's link to a target closes a circle in which the note is the oldest."""
        return bool(self._query(_LEADS_BACK, target, note_id, created_at))

    def namespaces(self) -> list[Any]:
        """Return the namespaces that have facts."""
        return [namespace for (namespace,) in self._query(_NAMESPACES)]

    def has_fact(self, namespace: str, key: str) -> bool:
        """Say whether there is a fact."""
        return bool(self._query(_FACT, namespace, key))

    def check_unchanged(self) -> None:
        """Raise FoldlogError when somebody wrote to a file that was read without locks."""
        if self._state and self._state != _state(self.path):
            raise FoldlogError(
                f"{self.path} was written to while it was read; import it again, what is there stays"
            )

    def _links(self, statement: str, *given: Any) -> list[Row]:
        names = self._columns[LINKS]
        listed = ", ".join(map(_identifier, names))
        found = []
        for row in self._query(statement.format(columns=listed), *given):
            values = dict(zip(names, row, strict=True))
            extra = {name: values.pop(name) for name in names if name not in LINKS.columns}
            found.append(Row(values, LINKS.key, extra))
        return found

    def _number(self, name: str) -> int:
        return int(self._query(f"SELECT count(*) FROM {_identifier(name)}")[0][0])

    def _query(self, statement: str, *given: Any) -> list[tuple[Any, ...]]:
        with self._damage():
            return self._connection.execute(statement, given).fetchall()

    @contextmanager
    def _damage(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise FoldlogError(
                f"{self.path} cannot be read to its end: {error}; what was read before is imported"
            ) from error


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _text(raw: bytes) -> str:
    """Read a text; bytes that are no UTF-8 become half surrogates, which no row is taken with."""
    return raw.decode("utf-8", "surrogateescape")


@contextmanager
def open_source(path: Path) -> Iterator[Source]:
    """Open a Smithers database to read, and nothing but read; raises InvalidInput when it is none."""
    real = _checked(path)
    with _readable(real) as (uri, state):
        try:
            connection = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=_TIMEOUT)
        except sqlite3.Error as error:
            raise _named(path, error) from error
        with closing(connection):
            source = Source(real, connection, state)
            try:
                connection.text_factory = _text
                connection.execute("PRAGMA query_only = ON")
                # One read transaction: what is written meanwhile is left for the next import.
                connection.execute("BEGIN")
                source.check()
            except sqlite3.Error as error:
                raise _named(path, error) from error
            yield source


def _checked(path: Path) -> Path:
    """Return where a database really is: SQLite looks there for the files beside it."""
    try:
        real = path.resolve(strict=True)
        if not stat.S_ISREG(real.stat().st_mode):
            raise InvalidInput(str(path), "is not a file")
        with real.open("rb") as file:
            start = file.read(len(_FIRST_BYTES))
    except OSError as error:
        raise InvalidInput(str(path), f"cannot be read: {error.strerror}") from error
    except RuntimeError as error:
        raise InvalidInput(str(path), "cannot be read: it is a link that leads back to itself") from error
    if start != _FIRST_BYTES:
        raise InvalidInput(str(path), "is not an SQLite database")
    return real


@contextmanager
def _readable(path: Path) -> Iterator[tuple[str, tuple[object, ...]]]:
    """Yield the address under which SQLite creates no file beside the database, and its state.

    The state is empty where SQLite's locks keep what is read in one piece.
    """
    with path.open("rb") as file:
        wal = file.read(_READ_VERSION + 1)[-1] == _WAL
    beside, index = Path(f"{path}-wal"), Path(f"{path}-shm")
    if not wal or (_size(beside) and index.exists()):
        yield f"{path.as_uri()}?mode=ro", ()
    elif not _size(beside):
        # Nobody has it open, and to lock it would create a -wal and a -shm.
        yield f"{path.as_uri()}?mode=ro&immutable=1", _state(path)
    else:
        with _copy(path, beside) as copied:
            yield f"{copied.as_uri()}?mode=ro", ()


@contextmanager
def _copy(path: Path, beside: Path) -> Iterator[Path]:
    """Copy a database whose -wal has no -shm: SQLite would create that beside the source."""
    with tempfile.TemporaryDirectory(prefix="foldlog-import-") as folder:
        copied = Path(folder) / "source.db"
        before = _state(path)
        try:
            shutil.copyfile(path, copied)
            shutil.copyfile(beside, f"{copied}-wal")
        except OSError as error:
            raise FoldlogError(f"{path} cannot be copied to {folder}: {error.strerror}") from error
        if before != _state(path):
            raise FoldlogError(f"{path} was written to while it was copied; try again")
        yield copied


def _state(path: Path) -> tuple[object, ...]:
    found = os.stat(path)
    return found.st_size, found.st_mtime_ns, found.st_ino, _size(Path(f"{path}-wal"))


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _named(path: Path, error: sqlite3.Error) -> FoldlogError:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return FoldlogError(f"{path} is being written to by another program; try again")
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN):
        return InvalidInput(
            str(path),
            "cannot be read without writing to it: a transaction in it was not finished, or its folder "
            "cannot be read. Open it once with Smithers, or import a copy made with SQLite's backup",
        )
    return InvalidInput(str(path), f"is damaged, or not an SQLite database: {error}")
