"""Recording who was given which memory: beside the recall, in batches, and only as well as it goes.

These are records of reading, not events: they are in no chain, and are deleted after a while. A recall never
waits for them and never fails because of them; what could not be written is counted.
"""

from __future__ import annotations

import atexit
import os
import sqlite3
import threading
import time
import weakref
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final

from foldlog.errors import LogBusy, LogError, LogUnavailable
from foldlog.events.connection import connect, named_errors
from foldlog.events.encoding import encode
from foldlog.events.log import FORMAT, Log
from foldlog.events.provenance import Provenance

if TYPE_CHECKING:
    from logging import Logger

    from foldlog.projections.recall.answer import Recall

#: Servings that wait to be written; what comes on top is dropped.
MAX_WAITING: Final = 1000

#: Seconds for which servings are collected, so that the write lock is taken seldom.
COLLECT_SECONDS: Final = 0.2

#: Rows of one transaction: it holds the write lock for about a millisecond.
BATCH_ROWS: Final = 100

#: How long the write lock is waited for; then the same servings are tried again.
BUSY_MS: Final = 50

#: Seconds that closing, and the end of the process, wait for what is still to be written.
CLOSE_SECONDS: Final = 2.0

#: Seconds without a recall after which the thread ends.
IDLE_SECONDS: Final = 10.0

#: Seconds between two looks for servings that are too old; how many one transaction deletes, and how many
#: transactions follow a batch: more than a batch writes.
PRUNE_SECONDS: Final = 60.0
PRUNE_SERVINGS: Final = 10
PRUNE_TURNS: Final = 40

Row = tuple[int, int, str, bytes, bytes, str | None, str]
#: (memory id, position, score)
ServedRow = tuple[int, int, float]

_INSERT: Final = """
    INSERT INTO foldlog_servings (served_at, head, status, query_digest, block_digest, run, metadata)
    VALUES (?, ?, ?, ?, ?, ?, ?)
"""
_INSERT_SERVED: Final = """
    INSERT INTO foldlog_served (serving_id, memory_id, position, score) VALUES (?, ?, ?, ?)
"""
_OLD: Final = "SELECT serving_id FROM foldlog_servings WHERE served_at < ? ORDER BY served_at LIMIT ?"
_DELETE_SERVED: Final = "DELETE FROM foldlog_served WHERE serving_id = ?"
_DELETE: Final = "DELETE FROM foldlog_servings WHERE serving_id = ?"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """One answer that was given."""

    #: UTC ms.
    served_at: int
    #: The log's last position when the question was asked: all up to here was taken into account.
    head: int
    query: str
    answer: Recall
    by: Provenance

    @property
    def row(self) -> Row:
        """The row of the serving."""
        answer, by = self.answer, self.by
        query = sha256(self.query.encode()).digest()
        block = bytes.fromhex(answer.digest)
        return self.served_at, self.head, answer.status, query, block, by.run, encode(by.as_dict())

    @property
    def served(self) -> list[ServedRow]:
        """(memory id, position, score) of each memory given."""
        return [(item.memory_id, item.position, item.score) for item in self.answer.memories]


class Recorder:
    """Writes servings in a thread of its own, which lives while there is something to write.

    May be used from many threads, and after a fork: the child has a recorder that is empty.
    """

    def __init__(self, log: Log, *, keep_ms: int) -> None:
        """`keep_ms` is how long servings are kept; 0: none are recorded."""
        self._log = log
        self._keep_ms = keep_ms
        self._prune_at = 0.0
        #: Why nothing can be recorded, as on a log that may only be read; None while it can.
        self.refusal: str | None = None
        self._start_over()
        _recorders.add(self)

    def _start_over(self) -> None:
        """Begin empty: after a fork the thread, what waits and perhaps the lock are the parent's."""
        self._pid = os.getpid()
        self._changed = threading.Condition()
        self._waiting: deque[Answered] = deque()
        self._thread: threading.Thread | None = None
        self._hurry = False
        #: Servings that were not recorded: too many waited, or the log could not be written.
        self.dropped = 0

    @property
    def is_on(self) -> bool:
        """Say whether servings are recorded."""
        if self._keep_ms == 0 or self.refusal is not None:
            return False
        return self._log.meta.min_writer <= FORMAT

    def add(self, query: str, answer: Recall, *, at: int, head: int, by: Provenance) -> None:
        """Record soon that somebody was given an answer; never waits and never raises.

        `at` is when it was asked for, UTC ms, and `head` the log's last position then.
        """
        if not self.is_on:
            return
        if self._pid != os.getpid():
            self._start_over()
        serving = Answered(served_at=at, head=head, query=query, answer=answer, by=by)
        with self._changed:
            if len(self._waiting) >= MAX_WAITING:
                self._drop(1, "too many wait to be written")
                return
            self._waiting.append(serving)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="foldlog-servings", daemon=True)
                try:
                    self._thread.start()
                except RuntimeError as error:
                    # No thread can be started: at the end of the interpreter, or when there are too many.
                    self._thread = None
                    self._drop(len(self._waiting), str(error))
                    self._waiting.clear()
            self._changed.notify_all()

    def flush(self, timeout: float = CLOSE_SECONDS) -> bool:
        """Wait until everything that was added is written, at most `timeout` seconds; say whether it is."""
        if self._pid != os.getpid():
            return True
        with self._changed:
            self._hurry = True
            self._changed.notify_all()
            done = self._changed.wait_for(lambda: not self._waiting, timeout)
            self._hurry = False
        return done

    def close(self) -> None:
        """Write what waits, in bounded time, and end the thread; the recorder can be used again."""
        if self._pid != os.getpid():
            return
        self.flush(CLOSE_SECONDS)
        with self._changed:
            self._drop(len(self._waiting), "the memory was closed")
            self._waiting.clear()
            thread, self._thread = self._thread, None
            self._changed.notify_all()
        if thread is not None:
            thread.join(BUSY_MS / 1000 + CLOSE_SECONDS)

    def _drop(self, count: int, why: str) -> None:
        if count and not self.dropped:
            _logger().warning("servings were not recorded", extra={"action": "drop_servings", "why": why})
        self.dropped += count

    def _run(self) -> None:
        """Write batches until there was nothing to write for a while, or the memory is closed."""
        me = threading.current_thread()
        try:
            with self._connected() as connection:
                while batch := self._next(me):
                    self._record(connection, batch, me)
                    self._prune(connection)
        except LogUnavailable as error:
            self.refusal = str(error)
            self._give_up(str(error))
        except LogError as error:
            self._give_up(str(error))
        finally:
            with self._changed:
                if self._thread is me:
                    self._thread = None

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        with _no_fork, named_errors(self._log.path):
            connection = connect(self._log.path, busy_timeout_ms=BUSY_MS)
            # A power cut may take the last servings; no append waits for the disk because of them.
            connection.execute("PRAGMA synchronous = NORMAL")
        try:
            yield connection
        finally:
            with _no_fork:
                connection.close()

    def _next(self, me: threading.Thread) -> list[Answered]:
        """Return what waits, which stays until it is written; empty when the thread is to end."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._thread is not me, IDLE_SECONDS)
            if self._waiting:
                self._changed.wait_for(lambda: self._hurry or self._thread is not me, COLLECT_SECONDS)
            if self._thread is not me:
                return []
            if not self._waiting:
                self._thread = None
            return list(self._waiting)

    def _record(
        self, connection: sqlite3.Connection, batch: Sequence[Answered], me: threading.Thread
    ) -> None:
        """Write servings; those that another writer left no room for stay for the next turn."""
        for group in _groups(batch):
            # All that can be done before the lock is taken.
            rows = [(serving.row, serving.served) for serving in group]
            try:
                with _transaction(connection, self._log.path):
                    last = _write(connection, rows)
            except LogBusy:
                return
            except LogUnavailable:
                raise
            except LogError as error:
                self._settle(group, me, str(error))
            else:
                self._settle(group, me, None)
                self._write_rest(connection, last, rows[-1][1][BATCH_ROWS:])

    def _write_rest(self, connection: sqlite3.Connection, number: int, rest: Sequence[ServedRow]) -> None:
        """Write what a very long answer has on top, which is alone in its group; without it, it is cut."""
        for start in range(0, len(rest), BATCH_ROWS):
            rows = [(number, *item) for item in rest[start : start + BATCH_ROWS]]
            try:
                with _transaction(connection, self._log.path):
                    connection.executemany(_INSERT_SERVED, rows)
            except LogBusy as error:
                with self._changed:
                    self._drop(1, str(error))
                return

    def _settle(self, group: Sequence[Answered], me: threading.Thread, trouble: str | None) -> None:
        """Take servings out of what waits: they are written, or never will be."""
        with self._changed:
            # After closing, what waits are others.
            if self._thread is me:
                for _ in group:
                    self._waiting.popleft()
            if trouble is not None:
                self._drop(len(group), trouble)
            self._changed.notify_all()

    def _prune(self, connection: sqlite3.Connection) -> None:
        """Delete servings that are too old, a few in each transaction."""
        if time.monotonic() < self._prune_at:
            return
        oldest = self._log.clock() - self._keep_ms
        try:
            for _ in range(PRUNE_TURNS):
                with _no_fork, named_errors(self._log.path):
                    old = connection.execute(_OLD, (oldest, PRUNE_SERVINGS)).fetchall()
                if not old:
                    self._prune_at = time.monotonic() + PRUNE_SECONDS
                    return
                with _transaction(connection, self._log.path):
                    connection.executemany(_DELETE_SERVED, old)
                    connection.executemany(_DELETE, old)
        except LogUnavailable:
            raise
        except LogError as error:
            # They are looked for again after the next batch.
            _logger().debug("old servings stay", extra={"action": "keep_servings", "why": str(error)})

    def _give_up(self, why: str) -> None:
        """Drop what waits: the log cannot be written."""
        with self._changed:
            self._drop(len(self._waiting), why)
            self._waiting.clear()
            self._changed.notify_all()


def _logger() -> Logger:
    """Return the logger; a program that only writes does not load it."""
    from logging import getLogger

    return getLogger(__name__)


@contextmanager
def _transaction(connection: sqlite3.Connection, path: Path) -> Iterator[None]:
    with _no_fork, named_errors(path):
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            connection.execute("COMMIT")
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")


def _groups(batch: Sequence[Answered]) -> Iterator[list[Answered]]:
    """Yield the servings in groups of so many rows, or of one serving."""
    group: list[Answered] = []
    rows = 0
    for serving in batch:
        size = 1 + len(serving.answer.memories)
        if group and rows + size > BATCH_ROWS:
            yield group
            group, rows = [], 0
        group.append(serving)
        rows += size
    if group:
        yield group


def _write(connection: sqlite3.Connection, rows: Iterable[tuple[Row, list[ServedRow]]]) -> int:
    """Write answers, of a very long one the beginning; return the number of the last."""
    number = 0
    for row, served in rows:
        number = connection.execute(_INSERT, row).lastrowid or 0
        connection.executemany(_INSERT_SERVED, [(number, *item) for item in served[:BATCH_ROWS]])
    return number


#: Held while SQLite is at work. A child that is forked in a transaction would inherit SQLite's record that
#: this process has the write lock, and could never write itself: so a fork waits, for milliseconds.
_no_fork = threading.Lock()

os.register_at_fork(
    before=_no_fork.acquire, after_in_parent=_no_fork.release, after_in_child=_no_fork.release
)

#: All recorders of the process, to be flushed at its end.
_recorders: weakref.WeakSet[Recorder] = weakref.WeakSet()


def _flush_all() -> None:
    """Write what waits before the process ends; together within the time that one may take."""
    deadline = time.monotonic() + CLOSE_SECONDS
    for recorder in list(_recorders):
        recorder.flush(max(0.0, deadline - time.monotonic()))


atexit.register(_flush_all)
