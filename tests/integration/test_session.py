"""A process's connections to the index: after a fork, and when the process stops."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator

import psycopg
import pytest

from fixtures.workers import eventually
from foldlog.errors import IndexUnavailable
from foldlog.projections.hindsight.session import Session


@pytest.fixture
def session(database_url: str) -> Iterator[Session]:
    found = Session(database_url, timeout_ms=5000)
    yield found
    found.close()


def backend(session: Session) -> int:
    """Return the id of the server's process behind this thread's connection."""
    with session.transaction() as connection:
        return connection.info.backend_pid


def test_a_fork_opens_connections_of_its_own(session: Session) -> None:
    """Even if another thread held the lock; the parent's connection goes on."""
    mine = backend(session)
    session._lock.acquire()
    child = os.fork()
    if child == 0:
        os._exit(0 if backend(session) != mine else 1)
    session._lock.release()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert backend(session) == mine


def test_interrupting_breaks_off_what_runs(session: Session, database_url: str) -> None:
    """In whatever thread; what it had written is rolled back, and nothing more is begun."""
    with session.transaction() as connection:
        connection.execute("CREATE TABLE seen (x int)")
    failed: list[Exception] = []

    def work() -> None:
        try:
            with session.transaction() as connection:
                connection.execute("INSERT INTO seen VALUES (1)")
                connection.execute("SELECT pg_sleep(600)")
        except IndexUnavailable as error:
            failed.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    eventually(lambda: sleeping(database_url) == 1, "the statement")
    session.interrupt()
    thread.join(timeout=30)
    assert len(failed) == 1
    assert sleeping(database_url) == 0
    with psycopg.connect(database_url) as other:
        assert other.execute("SELECT count(*) FROM seen").fetchone() == (0,)
    with pytest.raises(IndexUnavailable, match="this process stops"), session.transaction():
        pass


def sleeping(url: str) -> int:
    statement = (
        "SELECT count(*) FROM pg_stat_activity "
        "WHERE datname = current_database() AND query LIKE 'SELECT pg_sleep%' AND state = 'active'"
    )
    with psycopg.connect(url) as connection:
        row = connection.execute(statement).fetchone()
    assert row is not None
    count: int = row[0]
    return count
