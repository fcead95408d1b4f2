"""The connections of one process to one database."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg

from foldlog.projections.hindsight.connection import Connection, connect, named_errors


class Session:
    """One Postgres connection a thread, opened when first used and again after a failure."""

    def __init__(self, url: str, *, timeout_ms: int) -> None:
        self.url = url
        self._timeout_ms = timeout_ms
        self._local = threading.local()
        self._opened: set[Connection] = set()
        self._lock = threading.Lock()
        self._pid = os.getpid()

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """Begin a transaction; raises ProjectionError, and drops a connection that failed."""
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
        connection: Connection | None = getattr(self._local, "connection", None)
        if connection is None or connection.closed:
            connection = connect(self.url, timeout_ms=self._timeout_ms)
            with self._lock:
                self._opened.add(connection)
                self._local.connection = connection
        return connection
