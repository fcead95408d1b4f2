"""The log: one SQLite file, the only source of truth."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from foldlog.errors import LogTooNew
from foldlog.events import chain, statements
from foldlog.events.append import InlineFold, Transaction
from foldlog.events.connection import check_path, connect, named_errors

#: The format this version writes; a log that demands a newer writer is only read.
FORMAT: Final = 2

#: Where Alembic keeps the log's schema version.
VERSION_TABLE: Final = "foldlog_alembic_version"

#: The newest revision of the tree `log`; a test holds it against the tree.
SCHEMA_VERSION: Final = "0003"

Clock = Callable[[], int]


def wall_clock() -> int:
    """Return now, in UTC milliseconds."""
    return time.time_ns() // 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Meta:
    """What a log says of itself."""

    #: 16 random bytes, drawn when the log was made.
    log_id: bytes
    #: Raised by every restore from a backup.
    incarnation: int
    created_at: int
    hash_algorithm: str
    format: int
    #: The oldest format that may append.
    min_writer: int


class Access(Protocol):
    """What commands and reads need of a log."""

    def clock(self) -> int:
        """Return now, in UTC ms."""
        ...  # pragma: no cover

    def read(self) -> AbstractContextManager[sqlite3.Connection]:
        """Begin a read transaction."""
        ...  # pragma: no cover

    def write(self) -> AbstractContextManager[Transaction]:
        """Begin a write transaction."""
        ...  # pragma: no cover


class Log:
    """An open log. It may be used from many threads: each gets connections of its own."""

    def __init__(
        self,
        path: Path,
        *,
        fold: InlineFold,
        clock: Clock = wall_clock,
        busy_timeout_ms: int,
        max_payload_bytes: int,
    ) -> None:
        """Open the log at `path`, which must exist and have the current schema."""
        self.path = path
        self.clock = clock
        self._fold = fold
        self._busy_timeout_ms = busy_timeout_ms
        #: Largest data of one event, in bytes.
        self.max_payload_bytes = max_payload_bytes
        self._local = threading.local()
        self._opened: list[sqlite3.Connection] = []
        self._opened_lock = threading.Lock()
        self._inherited: list[sqlite3.Connection] = []
        self._pid = os.getpid()
        self.meta = self._read_meta()
        self._genesis = chain.genesis(self.meta.log_id)

    def _read_meta(self) -> Meta:
        with self.read() as connection:
            row = connection.execute(statements.META).fetchone()
        names = ("log_id", "incarnation", "created_at", "hash_algorithm", "format", "min_writer")
        return Meta(**dict(zip(names, row, strict=True)))

    @contextmanager
    def write(self) -> Iterator[Transaction]:
        """Begin a write transaction; it commits at the end, or rolls back on any error.

        Takes the write lock first: a transaction that reads and then writes would fail with
        BUSY_SNAPSHOT whatever the timeout. Raises LogBusy when the lock was not to be had.
        """
        self.check_writer()
        connection = self._connection("writer")
        with named_errors(self.path):
            connection.execute("BEGIN IMMEDIATE")
            try:
                transaction = self.transaction(connection)
                yield transaction
                connection.execute("COMMIT")
            except BaseException:
                # SQLite itself rolls back when, for example, the disk is full.
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
        transaction.count()

    def check_writer(self, min_writer: int | None = None) -> None:
        """Raise LogTooNew when this version may read the log, but not append."""
        least = self.meta.min_writer if min_writer is None else min_writer
        if least > FORMAT:
            raise LogTooNew(
                f"the log {self.path} was written by a newer foldlog (format {least}); this one (format "
                f"{FORMAT}) may read it, but not append: upgrade foldlog"
            )

    def transaction(self, connection: sqlite3.Connection) -> Transaction:
        """Return what appends through a connection that holds the write lock; raises LogTooNew."""
        found = Transaction(
            connection,
            now=self.clock(),
            genesis=self._genesis,
            fold=self._fold,
            max_payload_bytes=self.max_payload_bytes,
        )
        # A newer foldlog may have migrated the log since this one opened it.
        self.check_writer(found.min_writer)
        return found

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """Begin a short read transaction: everything read in it is of one instant.

        Keep it short: a long reader keeps the write-ahead log from being tidied.
        """
        connection = self._connection("reader")
        if connection.in_transaction:
            yield connection
            return
        with named_errors(self.path):
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    def head(self) -> int:
        """Return the last position, 0 for an empty log."""
        with named_errors(self.path):
            head: int = self._connection("reader").execute(statements.HEAD_POSITION).fetchone()[0]
        return head

    def hash_at(self, position: int) -> bytes | None:
        """Return the hash of the event at a position (of the beginning for 0), None if there is none."""
        if position == 0:
            return self._genesis
        with self.read() as connection:
            row = connection.execute(statements.HASH_AT, (position,)).fetchone()
        return row[0] if row else None

    def flush(self) -> None:
        """Wait until everything committed is on disk, so that nothing projected can vanish from the log."""
        try:
            # Opened anew each time: the file is replaced when the last connection closes.
            descriptor = os.open(f"{self.path}-wal", os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return
        try:
            os.fdatasync(descriptor)
        finally:
            os.close(descriptor)

    def close(self) -> None:
        """Close all connections; the log can be used again afterwards."""
        with self._opened_lock:
            opened, self._opened = self._opened, []
        self._local = threading.local()
        for connection in opened:
            connection.close()

    def _forget_inherited(self) -> None:
        """After a fork, leave the parent's connections alone: neither use nor close them."""
        with self._opened_lock:
            if self._pid != os.getpid():
                self._pid = os.getpid()
                self._inherited += self._opened
                self._opened = []

    def _connection(self, role: str) -> sqlite3.Connection:
        """Return this thread's connection; after a fork the child opens its own."""
        local = self._local
        if getattr(local, "pid", None) != os.getpid():
            self._forget_inherited()
            local.pid, local.writer, local.reader = os.getpid(), None, None
        connection: sqlite3.Connection | None = getattr(local, role)
        if connection is None:
            connection = connect(self.path, busy_timeout_ms=self._busy_timeout_ms, read_only=role == "reader")
            setattr(local, role, connection)
            with self._opened_lock:
                self._opened.append(connection)
        return connection


def schema_version(path: Path, busy_timeout_ms: int) -> str | None:
    """Return the log's schema revision, None for a file that is absent or empty.

    Raises LogUnavailable for a path that is not a log.
    """
    check_path(path)
    if not path.exists() or path.stat().st_size == 0:
        return None
    connection = connect(path, busy_timeout_ms=busy_timeout_ms, read_only=True)
    try:
        with named_errors(path):
            ours = connection.execute(statements.VERSION_TABLE_EXISTS, (VERSION_TABLE,)).fetchone()[0]
            if ours:
                row = connection.execute(f"SELECT version_num FROM {VERSION_TABLE}").fetchone()
                return str(row[0]) if row else None
    finally:
        connection.close()
    # A caller may keep its own tables in the file: then foldlog's are added beside them.
    return None
