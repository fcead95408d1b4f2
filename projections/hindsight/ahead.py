"""Pages ahead: while one page is folded, processes of their own prepare those that follow.

Only for a backlog, as such a process takes as long to start as a few pages to fold. Order is kept: a
page is folded when its turn comes, whoever prepared it. Whatever happens to such a process, the fold
prepares the page itself.
"""

from __future__ import annotations

import logging
import os
import pickle
import subprocess
import sys
import threading
from collections import deque
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Final

from foldlog.events import reader
from foldlog.events.log import Log
from foldlog.events.reader import Page
from foldlog.projections.hindsight.prepared import Prepared, prepare

logger = logging.getLogger(__name__)

#: Events that must be waiting for processes to be started.
BACKLOG: Final = 8_000

#: Most processes, one for each processor; Postgres has one for all that they prepare.
MOST_PROCESSES: Final = 3

#: Most pages, and bytes of links and payload, that are read ahead for each process.
PAGES_EACH: Final = 2
BYTES_EACH: Final = 16 << 20

#: What a process runs.
PROGRAM: Final = "foldlog.projections.hindsight.preparer"


class PageAhead(Page):
    """A page that a process prepares."""

    def __init__(self, page: Page, after: int, prepared: Future[Prepared | None]) -> None:
        super().__init__(page.rows)
        self.after = after
        self.bytes = page.size
        self.prepared = prepared


def prepared(page: Page) -> Prepared:
    """Return a page's rows, of the process that prepares it or made here; raises UnknownEventType."""
    found = None
    if isinstance(page, PageAhead) and not page.prepared.cancel():
        found = page.prepared.result()
    return prepare(page.events()) if found is None else found


class Ahead:
    """The log's pages in order, read and prepared ahead while there are many."""

    def __init__(self, log: Log, *, events: int, size: int) -> None:
        self._log = log
        self._limits = {"events": events, "size": size}
        self._waiting: deque[PageAhead] = deque()
        self._processes: _Processes | None = None

    def after(self, position: int) -> Page:
        """Return the page after a position; empty at the head."""
        if self._waiting and self._waiting[0].after != position:
            # Somebody else folded some of them.
            self._waiting.clear()
        page = self._waiting.popleft() if self._waiting else reader.read(self._log, position, **self._limits)
        if page:
            self._read_ahead(page.position)
        return page

    def _read_ahead(self, position: int) -> None:
        if self._processes is None:
            if self._log.head() - position < BACKLOG:
                return
            self._processes = _Processes(min(MOST_PROCESSES, _processors()))
        while self._waiting_is_short(self._processes.alive):
            after = self._waiting[-1].position if self._waiting else position
            page = reader.read(self._log, after, **self._limits)
            if not page:
                return
            self._waiting.append(PageAhead(page, after, self._processes.prepare(page)))

    def _waiting_is_short(self, processes: int) -> bool:
        return (
            len(self._waiting) < PAGES_EACH * processes
            and sum(page.bytes for page in self._waiting) < BYTES_EACH * processes
        )

    def close(self) -> None:
        """End the processes; what they prepared is dropped."""
        self._waiting.clear()
        if self._processes is not None:
            self._processes.close()


def _processors() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class _Processes:
    """Processes that prepare pages, each with a thread of this one that talks to it."""

    def __init__(self, count: int) -> None:
        #: How many there are; none any more once one of them failed.
        self.alive = count
        self._pages: SimpleQueue[tuple[Page, Future[Prepared | None]] | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._started: list[subprocess.Popen[bytes]] = []
        self._closing = False
        self._threads = [threading.Thread(target=self._talk, daemon=True) for _ in range(count)]
        for thread in self._threads:
            thread.start()

    def prepare(self, page: Page) -> Future[Prepared | None]:
        """Return what will be the page prepared, or None when no process could do it."""
        future: Future[Prepared | None] = Future()
        self._pages.put((page, future))
        return future

    def close(self) -> None:
        """End all of them, whatever they are at: nothing that they do is needed."""
        with self._lock:
            self._closing = True
            started, self._started = self._started, []
        for process in started:
            process.kill()
        for _ in self._threads:
            self._pages.put(None)
        for thread in self._threads:
            thread.join()
        for process in started:
            process.communicate()

    def _talk(self) -> None:
        process = self._start()
        while (asked := self._pages.get()) is not None:
            page, future = asked
            if future.set_running_or_notify_cancel():
                future.set_result(self._ask(process, page) if self.alive else None)

    def _start(self) -> subprocess.Popen[bytes] | None:
        with self._lock:
            if self._closing:
                return None
            try:
                process = subprocess.Popen(
                    [sys.executable, "-P", "-m", PROGRAM],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                    # A Ctrl-C in the terminal is for whoever folds.
                    start_new_session=True,
                )
            except OSError as error:
                self._failed(error)
                return None
            self._started.append(process)
            return process

    def _ask(self, process: subprocess.Popen[bytes] | None, page: Page) -> Prepared | None:
        if process is None or process.stdin is None or process.stdout is None:
            return None
        try:
            pickle.dump(page.rows, process.stdin, pickle.HIGHEST_PROTOCOL)
            process.stdin.flush()
            found: Prepared | None = pickle.load(process.stdout)
        except (OSError, EOFError, pickle.UnpicklingError) as error:
            self._failed(error)
            return None
        return found

    def _failed(self, error: Exception) -> None:
        """Do without them from now on."""
        self.alive = 0
        if not self._closing:
            logger.warning(
                "a process that prepares pages failed; the fold goes on without",
                extra={"action": "preparing_failed", "error": f"{type(error).__name__}: {error}"},
            )
