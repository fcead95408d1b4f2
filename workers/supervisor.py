"""The supervisor of one machine: the embedded servers and one worker, started again when they die."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from typing import Final, Protocol

from foldlog import composition
from foldlog.errors import ServerError
from foldlog.settings import Settings, environment
from foldlog.workers.lifeline import VARIABLE
from foldlog.workers.stopping import SAME_SECONDS

logger = logging.getLogger(__name__)

#: Seconds between two looks at the children.
LOOK_SECONDS: Final = 0.25

#: Seconds between two looks at a worker that is to stop.
WAIT_SECONDS: Final = 0.05

#: Seconds until a worker that died is started again: doubled up to the last, reset by a long life.
FIRST_BACKOFF: Final = 0.5
LAST_BACKOFF: Final = 30.0
LONG_LIFE: Final = 60.0


class _Server(Protocol):
    @property
    def url(self) -> str: ...  # pragma: no cover

    def ensure(self) -> None: ...  # pragma: no cover


class WorkerChild:
    """One `foldlog worker` process, started again with backoff when it dies."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._reader, self._writer = os.pipe()
        self._process: subprocess.Popen[bytes] | None = None
        self._started_at = 0.0
        self._start_at = 0.0
        self._backoff = FIRST_BACKOFF

    def keep(self) -> None:
        """Start the worker if it does not run and its time has come."""
        now = time.monotonic()
        if self._process is not None:
            code = self._process.poll()
            if code is None:
                return
            self._died(code, now)
        if now >= self._start_at:
            self._start(now)

    def _start(self, now: float) -> None:
        self._started_at = now
        self._process = subprocess.Popen(
            [sys.executable, "-m", "foldlog", "worker"],
            env=os.environ | environment(self._settings) | {VARIABLE: str(self._reader)},
            pass_fds=[self._reader],
            # A Ctrl-C in the terminal is the supervisor's: it stops the worker in good order.
            start_new_session=True,
        )

    def _died(self, code: int, now: float) -> None:
        self._process = None
        self._backoff = (
            FIRST_BACKOFF if now - self._started_at > LONG_LIFE else min(self._backoff * 2, LAST_BACKOFF)
        )
        self._start_at = now + self._backoff
        logger.warning(
            "the worker died, and is started again",
            extra={"action": "worker_died", "code": code, "in_seconds": self._backoff},
        )

    def stop(self, hurry: threading.Event) -> None:
        """Stop the worker, within the time it may take, or at once when there is a hurry."""
        os.close(self._writer)
        process, self._process = self._process, None
        if process is not None:
            process.terminate()
            deadline = time.monotonic() + self._settings.shutdown_ms / 1000
            while process.poll() is None and not hurry.wait(WAIT_SECONDS):
                if time.monotonic() > deadline:
                    break
            if process.poll() is None:
                logger.warning("the worker was not let come to its end", extra={"action": "worker_killed"})
                # With its processes: it is the leader of a group of its own.
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        os.close(self._reader)


def up(
    settings: Settings,
    *,
    ready: Callable[[Settings], None] = lambda settings: None,
    stop: threading.Event | None = None,
) -> int:
    """Run everything until a signal, or `stop`, ends it.

    Servers that the settings name are used; the others are started here, and shared with whoever
    else runs on this folder. `ready` is told the settings with the servers' addresses. A second
    signal does not let the worker come to its end.
    Raises LogError and ServerError when it cannot begin.
    """
    stopping, hurry = stop or threading.Event(), threading.Event()
    if stop is None:
        _follow_signals(stopping, hurry)
    composition.open_log(settings).close()
    with ExitStack() as stack:
        servers: list[_Server] = []
        if settings.database_url is None:
            postgres = composition.embedded_postgres(settings)
            servers.append(stack.enter_context(postgres))
            settings = replace(settings, database_url=postgres.url)
        if settings.redis_url is None:
            valkey = composition.embedded_valkey(settings)
            servers.append(stack.enter_context(valkey))
            settings = replace(settings, redis_url=valkey.url)
        worker = WorkerChild(settings)
        stack.callback(worker.stop, hurry)
        worker.keep()
        ready(settings)
        while not stopping.wait(LOOK_SECONDS):
            _keep(servers)
            worker.keep()
    return 0


def _follow_signals(stopping: threading.Event, hurry: threading.Event) -> None:
    began: list[float] = []

    def handle(*_: object) -> None:
        began.append(time.monotonic())
        if began[-1] - began[0] > SAME_SECONDS:
            hurry.set()
        stopping.set()

    signal.signal(signal.SIGTERM, handle)
    signal.signal(signal.SIGINT, handle)
    # With nohup a terminal that is closed is none of its business.
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        signal.signal(signal.SIGHUP, handle)


def _keep(servers: list[_Server]) -> None:
    for server in servers:
        try:
            server.ensure()
        except ServerError as error:
            # Tried again with the next look; the log goes on without it, and status says so.
            logger.warning("a server is down", extra={"action": "server_down", "error": str(error)})
