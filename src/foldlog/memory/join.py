"""Memory inside a caller's transaction: rows of a program and what its agent remembers commit together."""

from __future__ import annotations

import sqlite3
import sys
from contextlib import AbstractContextManager
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from foldlog.errors import JoinRefused
from foldlog.events.joined import JoinedLog
from foldlog.events.log import Log
from foldlog.events.provenance import Provenance
from foldlog.memory.facts import Facts
from foldlog.memory.notes import Notes
from foldlog.memory.threads import Messages, Threads
from foldlog.memory.writer import Writer

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine
    from sqlalchemy.orm import Session

    from foldlog.memory.primers import Primers
    from foldlog.memory.retained import Retention
    from foldlog.memory.schemas import Rule

#: Milliseconds for which a connection of a configured engine waits for another writer.
BUSY_TIMEOUT_MS: Final = 5000


class Joined:
    """What a memory can write and read, but for recall and history, in somebody's transaction.

    For the thread and the transaction it was made in. What a receipt says is provisional until the
    caller commits.
    """

    def __init__(self, log: JoinedLog, by: Provenance, rules: list[Rule]) -> None:
        self._log = log
        self._writer = Writer(log, by)
        self.facts: Final = Facts(self._writer, rules)
        self.threads: Final = Threads(self._writer)
        self.messages: Final = Messages(self._writer)
        self.notes: Final = Notes(self._writer)

    @cached_property
    def primers(self) -> Primers:
        """Named texts that stand in every block that asks for them."""
        from foldlog.memory.primers import Primers

        return Primers(self._writer)

    @cached_property
    def retained(self) -> Retention:
        """Texts that agents keep."""
        from foldlog.memory.retained import Retention

        return Retention(self._writer)

    def by(self, provenance: Provenance) -> Joined:
        """Return the same, with its changes attributed to a run, node or actor."""
        return Joined(self._log, provenance, self.facts.rules)

    def batch(self) -> AbstractContextManager[None]:
        """Collect commands; at the end all of them are appended, or none."""
        return self._writer.batch()


def join(
    log: Log, target: Connection | Session | sqlite3.Connection, by: Provenance, rules: list[Rule]
) -> Joined:
    """Return the memory inside the transaction of a connection or session; raises JoinRefused."""
    return Joined(JoinedLog(log, _driver(target)), by, rules)


def _driver(target: Any) -> sqlite3.Connection:
    """Return the sqlite3 connection of what a caller works with; SQLAlchemy's has then begun."""
    if isinstance(target, sqlite3.Connection):
        return target
    # Who holds an object of SQLAlchemy has imported it: nobody else pays for that.
    orm = sys.modules.get("sqlalchemy.orm")
    if orm is not None and isinstance(target, orm.scoped_session):
        target = target()
    if orm is not None and isinstance(target, orm.Session):
        target = target.connection()
    sqlalchemy = sys.modules.get("sqlalchemy")
    if sqlalchemy is None or not isinstance(target, sqlalchemy.Connection):
        raise JoinRefused(
            f"cannot join {type(target).__name__}: give a sqlite3 connection, or a synchronous SQLAlchemy "
            "Connection or Session"
        )
    _check_dialect(target.engine)
    if not target.in_transaction():
        # As the caller's own first statement would.
        target.exec_driver_sql("SELECT 1")
    driver = target.connection.driver_connection
    assert isinstance(driver, sqlite3.Connection)
    return driver


def configure_engine(engine: Engine, *, read_only: bool = False) -> None:
    """Make an SQLAlchemy engine's transactions such that appends can join them; call it before use.

    The driver commits nothing by itself, writers take the lock first (BEGIN IMMEDIATE), a commit is on
    disk when it returns. `read_only` is for a second engine that only reads: its transactions keep no
    writer waiting, and cannot write. Connections the engine has open are replaced. Raises JoinRefused
    for an engine that is not SQLite's synchronous one.
    """
    from sqlalchemy import event

    _check_dialect(engine)
    connect, begin = (_connect_reader, _begin_reader) if read_only else (_connect_writer, _begin_writer)
    if event.contains(engine, "begin", begin):
        return
    if event.contains(engine, "begin", _begin_writer) or event.contains(engine, "begin", _begin_reader):
        raise JoinRefused("the engine is configured already, the other way; make one engine for each")
    event.listen(engine, "connect", connect)
    event.listen(engine, "begin", begin)
    engine.dispose()


def _check_dialect(engine: Engine) -> None:
    name = f"{engine.dialect.name}+{engine.dialect.driver}"
    if name != "sqlite+pysqlite":
        raise JoinRefused(
            f"the engine is {name}; only sqlite+pysqlite on the log's own file can carry an append"
        )


def _connect_writer(driver: Any, record: Any) -> None:
    # The driver would commit before some statements, and begin too late for others.
    driver.isolation_level = None
    for pragma in ("journal_mode = WAL", "synchronous = FULL", "secure_delete = ON"):
        driver.execute(f"PRAGMA {pragma}")
    driver.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")


def _connect_reader(driver: Any, record: Any) -> None:
    driver.isolation_level = None
    driver.execute("PRAGMA query_only = ON")
    driver.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")


def _begin_writer(connection: Connection) -> None:
    # A transaction that reads first and writes later fails when somebody else wrote in between.
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def _begin_reader(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN")
