"""The log inside a transaction that somebody else began, on the same file.

What is appended there is committed, and rolled back, with the caller's own rows. Nothing is kept
from one append to the next: an id or hash of a transaction that was rolled back must not come back.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from foldlog.errors import JoinRefused
from foldlog.events.append import Transaction
from foldlog.events.connection import named_errors
from foldlog.events.log import Log

# Changes no row, but takes the write lock, or says at once that it is not to be had.
_LOCK: Final = "UPDATE foldlog_meta SET format = format WHERE 0"


class JoinedLog:
    """A log as seen through a caller's connection; for the thread that connection belongs to."""

    def __init__(self, log: Log, connection: sqlite3.Connection) -> None:
        """Raises JoinRefused for a connection to another file, or one whose driver commits by itself."""
        _check_file(log, connection)
        _check_driver(connection)
        self._log = log
        self._connection = connection

    def clock(self) -> int:
        """Return now, in UTC ms."""
        return self._log.clock()

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """Read in the caller's transaction: also what it has not committed yet."""
        with _plain(self._connection), named_errors(self._log.path):
            yield self._connection

    @contextmanager
    def write(self) -> Iterator[Transaction]:
        """Append in the caller's transaction; on an error nothing of this step is left in it.

        Raises JoinRefused outside of a transaction, and StaleSnapshot when the transaction had read
        before another writer committed.
        """
        connection = self._connection
        self._log.check_writer()
        if not connection.in_transaction:
            raise JoinRefused(
                "the connection is in no transaction: begin one with BEGIN IMMEDIATE, append, and commit"
            )
        with _plain(connection), named_errors(self._log.path):
            connection.execute(_LOCK)
            # What was deleted is overwritten in the file, as on foldlog's own connections.
            connection.execute("PRAGMA secure_delete = ON")
            connection.execute("SAVEPOINT foldlog_append")
            try:
                transaction = self._log.transaction(connection)
                yield transaction
            except BaseException:
                # SQLite itself rolls everything back when, for example, the disk is full.
                if connection.in_transaction:
                    connection.execute("ROLLBACK TO foldlog_append")
                    connection.execute("RELEASE foldlog_append")
                raise
            connection.execute("RELEASE foldlog_append")
        # Whether the caller commits is not known here.
        transaction.count()


@contextmanager
def _plain(connection: sqlite3.Connection) -> Iterator[None]:
    """Let rows be tuples and texts be strings, whatever the caller made of them."""
    given = connection.row_factory, connection.text_factory
    connection.row_factory, connection.text_factory = None, str
    try:
        yield
    finally:
        connection.row_factory, connection.text_factory = given


def _check_file(log: Log, connection: sqlite3.Connection) -> None:
    with _plain(connection):
        files = {name: file for _, name, file in connection.execute("PRAGMA database_list")}
    main = files.get("main") or ""
    if not main or not os.path.exists(main) or not os.path.samefile(main, log.path):
        raise JoinRefused(
            f"the connection's database is {main or 'in memory'}, the log is {log.path}: a transaction "
            "can be joined only on the log's own file"
        )


def _check_driver(connection: sqlite3.Connection) -> None:
    """Refuse a driver that begins and commits by itself.

    In the legacy mode a SAVEPOINT outside of a transaction is committed when it is released, whatever the
    caller rolls back afterwards.
    """
    # Python 3.12: True and False are modes that do what they say; -1 is the legacy mode.
    legacy = getattr(connection, "autocommit", -1) == -1
    if legacy and connection.isolation_level is not None:
        raise JoinRefused(
            "the SQLite driver begins and commits by itself here (isolation_level "
            f"{connection.isolation_level!r}): open the connection with isolation_level=None and BEGIN "
            "IMMEDIATE by hand, or call foldlog.configure_engine(engine) before SQLAlchemy connects"
        )
