"""What each worker process makes for itself after the fork: broker, actors and watcher."""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Callable
from typing import Any, Final

import dramatiq
import redis
from dramatiq.brokers.redis import RedisBroker
from dramatiq.middleware import Middleware, ShutdownNotifications

from foldlog import composition
from foldlog.errors import FoldlogError, QueueUnavailable
from foldlog.projections.engine import OUT_OF_TIME
from foldlog.projections.hindsight.projection import Workers
from foldlog.projections.hindsight.session import Session
from foldlog.settings import Settings, load
from foldlog.workers import doorbell
from foldlog.workers.doorbell import Doorbell
from foldlog.workers.duties import EmbedDuty, FoldDuty
from foldlog.workers.embedder import Embedder
from foldlog.workers.folder import Folder
from foldlog.workers.lifeline import Lifeline
from foldlog.workers.queues import EMBED, LIVE, QUEUES, VARIABLE
from foldlog.workers.watcher import Duty, Waker, Watcher

logger = logging.getLogger(__name__)

#: The exit code of a command that failed.
FAILED: Final = 3

#: Milliseconds without a sign of life after which a worker's messages are given to others.
HEARTBEAT_MS: Final = 15_000

#: Of a million commands, how many look for such messages; the default left them for a quarter hour.
MAINTENANCE_CHANCE: Final = 20_000


class WatcherMiddleware(Middleware):
    """Starts the watcher with the process, and stops the work before the workers stop."""

    def __init__(self, watcher: Watcher, stopping: threading.Event, patience_seconds: float) -> None:
        self._watcher = watcher
        self._stopping = stopping
        self._patience_seconds = patience_seconds

    def after_process_boot(self, broker: dramatiq.Broker) -> None:
        """Called after a worker process has booted."""
        self._watcher.start()

    def before_worker_shutdown(self, broker: dramatiq.Broker, worker: Any) -> None:
        """Called before a worker stops."""
        self._stopping.set()

    def after_worker_shutdown(self, broker: dramatiq.Broker, worker: Any) -> None:
        """Called after a worker has stopped."""
        self._watcher.join(timeout=self._patience_seconds)


def setup() -> None:
    """Set the process's broker up from its environment; Dramatiq calls it in each worker process."""
    queues = os.environ.get(VARIABLE, "").split() or QUEUES
    # It would say at every look of an unready index that it has nothing to do.
    logging.getLogger("alembic").setLevel(logging.WARNING)
    try:
        dramatiq.set_broker(Worker(load(), frozenset(queues)).broker)
    except FoldlogError as error:
        # A server went away since the command looked; whoever keeps the command starts it again.
        logger.error("the worker cannot start: %s", error, extra={"action": "start_failed"})  # noqa: TRY400
        sys.exit(FAILED)


class Worker:
    """One worker process: its connections, its broker with the actors, and its watcher."""

    def __init__(self, settings: Settings, queues: frozenset[str]) -> None:
        """Only a worker that folds opens the log: embedding needs Postgres and Redis alone."""
        self._settings = settings
        self._stopping = threading.Event()
        self._alarm = threading.Event()
        self._session = Session(composition.database_url(settings), timeout_ms=settings.connect_timeout_ms)
        self._redis = doorbell.client(composition.redis_url(settings))
        log = composition.open_log(settings) if LIVE in queues else None
        log_id = log.meta.log_id if log else composition.log_id(settings, self._session)
        self._log_id = log_id
        self.broker = RedisBroker(  # type: ignore[no-untyped-call]
            client=self._redis,
            # Two logs may share one Redis.
            namespace=f"foldlog:{log_id.hex()}",
            middleware=[ShutdownNotifications()],
            heartbeat_timeout=HEARTBEAT_MS,
            maintenance_chance=MAINTENANCE_CHANCE,
        )
        duties: list[Duty] = []
        if log is not None:
            folder = Folder(
                settings=settings,
                log=log,
                projection=composition.projection(settings, log, self._session),
                generations=composition.generations(settings, log, self._session),
                stopping=self._stopping,
            )
            duties.append(FoldDuty(folder, self._waker(LIVE, lambda: _folded_all(folder))))
        if EMBED in queues:
            embedder = Embedder(settings, log_id, self._session, self._stopping)
            duties.append(EmbedDuty(embedder, self._waker(EMBED, embedder.embed_slice)))
        watcher = Watcher(
            duties,
            Workers(self._session, log_id),
            Doorbell(self._redis, log_id, LIVE),
            Lifeline(settings.shutdown_ms / 1000),
            stopping=self._stopping,
            alarm=self._alarm,
            poll_seconds=settings.poll_ms / 1000,
        )
        self.broker.add_middleware(WatcherMiddleware(watcher, self._stopping, settings.shutdown_ms / 1000))

    def _waker(self, queue: str, work: Callable[[], bool]) -> Waker:
        """Declare the actor of a queue, and return what wakes it.

        It is never retried by the queue: what is to do, and how far it is done, stands in the stores.
        `work` does a slice, and says whether there is more.
        """
        bell = Doorbell(self._redis, self._log_id, queue)

        def send() -> None:
            try:
                actor.send()
            except (redis.RedisError, dramatiq.BrokerConnectionError) as error:
                raise doorbell.unavailable(error) from error

        def act() -> None:
            try:
                # Before anything is read: what is written from now on rings again.
                bell.clear()
                if work() and bell.ring():
                    send()
            except QueueUnavailable as error:
                logger.warning("no message sent: %s", error, extra={"action": "ring_failed"})

        actor = dramatiq.actor(broker=self.broker, queue_name=queue, actor_name=queue)(act)
        return Waker(bell, send, work, self._alarm)


def _folded_all(folder: Folder) -> bool:
    """Fold a slice; say whether there is more."""
    done = folder.fold_slice()
    return done is not None and done.outcome == OUT_OF_TIME
