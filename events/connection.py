"""Connections to the log's file, and what SQLite's errors mean to a user."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from foldlog.errors import LogBusy, LogCorrupt, LogError, LogFull, LogUnavailable, StaleSnapshot

#: SQLite with WAL, STRICT tables and JSON functions.
MIN_SQLITE: Final = (3, 37, 0)

#: KiB of pages that a connection keeps, four times what SQLite would: the upper pages of every index of a log
#: of millions of events. Not memory mapping, which answers a failing disk with a signal that kills.
CACHE_KIB: Final = 8_000

_FIRST_BYTES: Final = b"SQLite format 3\x00"


def check_path(path: Path) -> None:
    """Raise LogUnavailable unless `path` can be, or become, a database."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return
    except OSError as error:
        raise LogUnavailable(f"the log {path} cannot be reached: {error.strerror}") from error
    if stat.S_ISDIR(mode):
        raise LogUnavailable(f"the log {path} is a directory; name a file, as in {path / 'memory.db'}")
    if not stat.S_ISREG(mode):
        raise LogUnavailable(f"the log {path} is not a regular file")
    try:
        with path.open("rb") as file:
            start = file.read(len(_FIRST_BYTES))
    except OSError as error:
        raise LogUnavailable(f"the log {path} cannot be read: {error.strerror}") from error
    if start not in (b"", _FIRST_BYTES):
        raise LogUnavailable(f"{path} is not an SQLite database; it was left as it is")


def create_file(path: Path) -> None:
    """Create the log's folder and empty file, both for their owner alone."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))
    except OSError as error:
        raise LogUnavailable(f"the log {path} cannot be created: {error.strerror}") from error


def connect(path: Path, *, busy_timeout_ms: int, read_only: bool = False) -> sqlite3.Connection:
    """Open one connection, for the thread that asks; transactions are begun by hand.

    Raises LogUnavailable for a path that cannot be opened.
    """
    if sqlite3.sqlite_version_info < MIN_SQLITE:
        needed = ".".join(map(str, MIN_SQLITE))
        raise LogError(f"SQLite {sqlite3.sqlite_version} is too old; foldlog needs {needed} or newer")
    with named_errors(path):
        connection = sqlite3.connect(
            _uri(path, "ro" if read_only else "rw"),
            uri=True,
            isolation_level=None,
            # Before journal_mode: many processes that open a new log together would fail otherwise.
            timeout=busy_timeout_ms / 1000,
            # Each thread has its own; only closing may come from another.
            check_same_thread=False,
        )
        try:
            _configure(connection, read_only)
        except BaseException:
            connection.close()
            raise
    return connection


def _configure(connection: sqlite3.Connection, read_only: bool) -> None:
    if not read_only:
        connection.execute("PRAGMA journal_mode = WAL")
        # An append is acknowledged only when it is on disk.
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA secure_delete = ON")
    connection.execute(f"PRAGMA cache_size = {-CACHE_KIB}")
    connection.execute("PRAGMA query_only = " + ("ON" if read_only else "OFF"))


def _uri(path: Path, mode: str) -> str:
    text = str(path.absolute())
    for char, code in (("%", "%25"), ("?", "%3f"), ("#", "%23")):
        text = text.replace(char, code)
    return f"file:{text}?mode={mode}"


@contextmanager
def named_errors(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into ours; the driver's error stays the cause."""
    try:
        yield
    except sqlite3.Error as error:
        raise _named(error, path) from error


def _named(error: sqlite3.Error, path: Path) -> LogError:
    extended = getattr(error, "sqlite_errorcode", 0)
    code = extended & 0xFF
    if extended == sqlite3.SQLITE_BUSY_SNAPSHOT:
        return StaleSnapshot(
            f"the transaction read the log {path} before another writer committed, so that it can no longer "
            "write; nothing was written. Begin it with BEGIN IMMEDIATE and try again"
        )
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return LogBusy(
            f"another writer held the log {path} for too long; nothing was written. Try again, or raise "
            "FOLDLOG_BUSY_TIMEOUT_MS"
        )
    if code == sqlite3.SQLITE_FULL:
        return LogFull(f"no space left for the log {path}; nothing was written. Free some and try again")
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM):
        return LogUnavailable(
            f"the log {path} may not be written: the file or its folder is read-only (SQLite keeps files "
            "beside it even to read)"
        )
    if code == sqlite3.SQLITE_CANTOPEN:
        return LogUnavailable(f"the log {path} cannot be opened: check that it exists and who may use it")
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return LogCorrupt(f"the log {path} is damaged ({error}); restore it from a backup")
    return LogError(f"the log {path} failed: {error}")
