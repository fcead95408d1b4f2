"""A server that its users share: the first starts it, the last one stops it, however the others died.

Three locks, all dropped by the kernel with their holder:

- `start.lock`: held for a moment by whoever starts, stops or counts.
- `ref.lock`: every user holds it shared; who gets it alone was the last.
- `alive`: held by the server's own processes, which inherit it. Free means that none of them lives, not even
  one that a killed parent left behind; no process id can tell that.
"""

from __future__ import annotations

import enum
import logging
import os
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, ClassVar, Final, Self

from foldlog.embedded.binaries import ENVIRONMENT
from foldlog.embedded.home import Home
from foldlog.embedded.listener import listener
from foldlog.embedded.lock import Lock
from foldlog.errors import ServerError

logger = logging.getLogger(__name__)

#: Seconds a server may say nothing while it starts; one that says it is recovering may take longer.
START_SECONDS: Final = 30.0

#: Seconds a server may take to stop before a harder signal follows.
STOP_SECONDS: Final = 20.0

#: Seconds that processes which listen no more may take to end; there is no one to signal.
LINGER_SECONDS: Final = 2.0

#: Seconds another process may hold `start.lock`: a start with recovery is in it.
LOCK_SECONDS: Final = 600.0

#: Seconds between two looks at a server that is starting or stopping.
POLL_SECONDS: Final = 0.02

#: Seconds between a start that failed and the next.
RETRY_SECONDS: Final = 0.25

#: Seconds a server may take to answer one question.
ANSWER_SECONDS: Final = 2

#: A log larger than this, in bytes, is put aside before a start; one former log is kept.
LOG_BYTES: Final = 4 << 20

#: How much of the log's end an error quotes, in lines, and in bytes where they are long.
TAIL_LINES: Final = 8
TAIL_BYTES: Final = 4096


class Answer(enum.Enum):
    """What a server said to a connection."""

    #: It serves.
    READY = "ready"
    #: It lives, and serves nobody yet (or no more).
    BUSY = "busy"
    #: Nobody listens, or nobody answers.
    NONE = "none"


class Server(ABC):
    """A server of one home, and this object's share in it.

    Use one object in one thread. A share ends with `release` or with the process. If every user was
    killed, the server goes on until the next user, who adopts it, is the last to release it.
    """

    #: The noun in file names, logs and errors.
    name: ClassVar[str]
    #: The signals that end it, the gentlest first.
    signals: ClassVar[tuple[int, ...]]

    def __init__(self, home: Home) -> None:
        self.home = home
        self._share: Lock | None = None
        self._owner = 0

    @property
    @abstractmethod
    def url(self) -> str:
        """The URL a client connects to."""

    @property
    @abstractmethod
    def socket_path(self) -> Path:
        """The socket the server listens on; only its account and root can reach it."""

    @property
    def log(self) -> Path:
        """The file that holds what the server says."""
        return self.home.data / f"{self.name}.log"

    def answers(self) -> bool:
        """Return whether the server serves a connection made now."""
        return self._ask() is Answer.READY

    def pid(self) -> int | None:
        """Return the id of the process that listens, for people; it says nothing about its health."""
        return listener(self.socket_path)

    def abandoned(self) -> bool:
        """Return whether the server runs for nobody, its users killed; acquire and release stops it."""
        return not self.in_use() and self.answers()

    def in_use(self) -> bool:
        """Return whether any process has a share in it, or is about to get one."""
        # Under `start.lock`, or a user who looks at the same moment whether he is the last would see us.
        starting = Lock.attempt(self._lock("start.lock"))
        if starting is None:
            return True
        with starting:
            alone = Lock.attempt(self._lock("ref.lock"))
            if alone is None:
                return True
            alone.close()
            return False

    def acquire(self) -> None:
        """Return once the server answers; from then on it stays until `release`.

        It starts when nobody runs it. Raises ServerError, with the end of its log, when it does not come to
        answer in time; then this object has no share in it.
        """
        if self._has_share():
            return
        self.home.make()
        with self._starting():
            share = Lock.shared(self._lock("ref.lock"))
            try:
                self._start()
            except BaseException:
                # Why it failed is the better message than that it does not stop either.
                with suppress(ServerError):
                    self._leave(share)
                raise
        self._share, self._owner = share, os.getpid()

    def ensure(self) -> None:
        """Start the server again if it does not answer, and acquire it if this object has no share."""
        if not self._has_share():
            self.acquire()
        elif not self.answers():
            self.home.make()
            with self._starting():
                self._start()

    def release(self) -> None:
        """Give up this share and stop the server if it was the last; without a share do nothing.

        Raises ServerError when the server survives every signal; the share is given up nevertheless.
        """
        if self._share is None or not self._has_share():
            return
        share, self._share = self._share, None
        with share:
            if not self.home.locks.is_dir():
                # The folder was deleted under the server, and with it the data of all its users.
                self._end(self._is_silent)
                return
            with self._starting():
                self._leave(share)

    def __enter__(self) -> Self:
        self.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    @abstractmethod
    def _ask(self) -> Answer:
        """Connect, and return what the server says."""

    @abstractmethod
    def _prepare(self, alive: Lock) -> list[str]:
        """Return the command, having made the data and removed what a killed server left.

        No process of the server lives. Programs that change the data must inherit `alive`.
        """

    def _settle(self) -> None:
        """Complete a server that has just come to answer, or was adopted."""

    def _has_share(self) -> bool:
        # A forked child has a copy of this object, but the share stays its parent's.
        return self._share is not None and self._owner == os.getpid()

    def _lock(self, kind: str) -> Path:
        return self.home.locks / f"{self.name}.{kind}"

    def _starting(self) -> Lock:
        return Lock.exclusive(self._lock("start.lock"), LOCK_SECONDS)

    def _lives(self) -> bool:
        alive = Lock.attempt(self._lock("alive"))
        if alive is None:
            return True
        alive.close()
        return False

    def _is_silent(self) -> bool:
        return self.pid() is None

    def _is_gone(self) -> bool:
        return self._is_silent() and not self._lives()

    def _start(self) -> None:
        give_up = time.monotonic() + START_SECONDS
        while True:
            began = time.monotonic()
            self._launch()
            # Making the data takes what it takes; the patience is for the server.
            give_up += time.monotonic() - began
            if self._came(give_up):
                break
            if time.monotonic() >= give_up:
                raise ServerError(self._silence())
            time.sleep(RETRY_SECONDS)
        self._settle()

    def _launch(self) -> None:
        """Start the server, unless one of its processes lives: then it is adopted, or gone in a moment."""
        alive = Lock.attempt(self._lock("alive"))
        if alive is None:
            return
        with alive:
            # Who listens without the lock serves a folder that was deleted under it.
            self._end(self._is_silent)
            try:
                self._spawn(self._prepare(alive), alive)
            except OSError as error:
                raise ServerError(f"{self.name} cannot be started: {error}") from error
        logger.info("server started", extra={"action": "server_started", "server": self.name})

    def _spawn(self, command: list[str], alive: Lock) -> None:
        # The shell ends at once, so the server is no child of ours that we would have to wait for. Its own
        # session keeps a Ctrl-C in our terminal from it.
        with self._open_log() as log:
            subprocess.run(
                ["/bin/sh", "-c", 'exec "$@" &', "sh", *command],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/", env=ENVIRONMENT, umask=0o077,
                start_new_session=True, pass_fds=[alive.fileno()], check=False, **self.home.identity(),
            )  # fmt: skip

    def _came(self, give_up: float) -> bool:
        """Wait for an answer; return False when the server died, or said nothing until `give_up`."""
        while (answer := self._ask()) is not Answer.READY:
            now = time.monotonic()
            if answer is Answer.BUSY:
                give_up = max(give_up, now + START_SECONDS)
            elif now >= give_up or not self._lives():
                return False
            time.sleep(POLL_SECONDS)
        return True

    def _leave(self, share: Lock) -> None:
        """Close the share and stop the server if nobody else has one; `start.lock` must be held."""
        with share:
            if share.upgrade():
                self._end(self._is_gone)
                logger.info("server stopped", extra={"action": "server_stopped", "server": self.name})

    def _end(self, is_gone: Callable[[], bool]) -> None:
        """Signal who listens until `is_gone`; raise ServerError if it never is."""
        for number in self.signals:
            pid = self.pid()
            if pid is not None:
                with suppress(ProcessLookupError):
                    os.kill(pid, number)
            if _comes_true(is_gone, STOP_SECONDS if pid else LINGER_SECONDS):
                return
        raise ServerError(f"{self.name} does not stop; end the processes that hold {self._lock('alive')}")

    def _open_log(self) -> BinaryIO:
        with suppress(FileNotFoundError):
            if self.log.stat().st_size > LOG_BYTES:
                self.log.replace(self.log.with_suffix(".log.1"))
        return open(self.log, "ab", opener=_private)

    def _silence(self) -> str:
        alive = self._lock("alive")
        hint = f" though it still runs (end the processes that hold {alive})" if self._lives() else ""
        return (
            f"{self.name} does not answer at {self.socket_path}{hint}; the end of {self.log}:\n{self._tail()}"
        )

    def _tail(self) -> str:
        if not self.log.exists():
            return "(no log)"
        with open(self.log, "rb") as log:
            log.seek(max(0, self.log.stat().st_size - TAIL_BYTES))
            lines = log.read().decode(errors="replace").splitlines()
        return "\n".join(lines[-TAIL_LINES:])


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW, 0o600)


def _comes_true(condition: Callable[[], bool], patience_seconds: float) -> bool:
    give_up = time.monotonic() + patience_seconds
    while not condition():
        if time.monotonic() >= give_up:
            return False
        time.sleep(POLL_SECONDS)
    return True
