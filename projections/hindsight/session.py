"""The connections of one process to one database."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

import psycopg
from psycopg.pq import TransactionStatus

from foldlog.errors import IndexUnavailable
from foldlog.projections.hindsight.connection import Connection, connect, named_errors

#: Seconds for telling Postgres to break off a statement.
CANCEL_SECONDS: Final = 0.5


class Session:
    """One Postgres connection a thread, opened when first used and again after a failure."""

    def __init__(self, url: str, *, timeout_ms: int) -> None:
        self.url = url
        self._timeout_ms = timeout_ms
        self._local = threading.local()
        self._opened: set[Connection] = set()
        self._lock = threading.Lock()
        self._pid = os.getpid()
        #: Whether the process stops, and whatever ran was broken off.
        self.interrupted = False

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """Begin a transaction; raises ProjectionError, and drops a connection that failed."""
        if self.interrupted:
            raise IndexUnavailable("this process stops, and asks Postgres for nothing more")
        connection = self._connection()
        with named_errors(self.url):
            try:
                with connection.transaction():
                    yield connection
            except psycopg.Error:
                # After a failover it may sit on a server that is no longer the right one.
                self._drop(connection)
                raise

    def close(self) -> None:
        """Close the connections of all threads; the session can be used again."""
        with self._lock:
            opened, self._opened = self._opened, set()
            self._local = threading.local()
        for connection in opened:
            connection.close()

    def interrupt(self) -> None:
        """Break off what runs, in whatever thread, and begin nothing more; never raises.

        For a process that stops: a transaction is rolled back, so nothing of it is left. A statement that
        begins in this moment is missed, so call it again until the process ends.
        """
        self.interrupted = True
        with self._lock:
            opened = list(self._opened)
        for connection in opened:
            if connection.info.transaction_status is TransactionStatus.ACTIVE:
                with suppress(psycopg.Error):
                    connection.cancel_safe(timeout=CANCEL_SECONDS)

    def _drop(self, connection: Connection) -> None:
        with self._lock:
            self._opened.discard(connection)
            self._local.connection = None
        connection.close()

    def _connection(self) -> Connection:
        """Return this thread's connection; after a fork the child opens its own."""
        if self._pid != os.getpid():
            # The parent's connections are left alone: closing one here would end it there.
            self._pid, self._opened, self._local = os.getpid(), set(), threading.local()
            # Another thread of the parent may have held it.
            self._lock = threading.Lock()
        connection: Connection | None = getattr(self._local, "connection", None)
        if connection is None or connection.closed:
            connection = connect(self.url, timeout_ms=self._timeout_ms)
            with self._lock:
                self._opened.add(connection)
                self._local.connection = connection
        return connection
