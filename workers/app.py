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

from foldlog import composition, logs, metrics
from foldlog.errors import FoldlogError, QueueUnavailable
from foldlog.memory import Memory
from foldlog.projections.hindsight.projection import Workers
from foldlog.projections.hindsight.session import Session
from foldlog.settings import Settings, load
from foldlog.workers import doorbell
from foldlog.workers.doorbell import Doorbell
from foldlog.workers.duties import EmbedDuty, FoldDuty, JobDuty
from foldlog.workers.embedder import Embedder
from foldlog.workers.folder import Folder
from foldlog.workers.jobs import registry
from foldlog.workers.jobs.runner import Runner
from foldlog.workers.lifeline import Lifeline
from foldlog.workers.pulse import Pulse
from foldlog.workers.queues import EMBED, JOBS, LIVE, NEED_LOG, QUEUES, VARIABLE
from foldlog.workers.stopping import Stopping
from foldlog.workers.watcher import Duty, Waker, Watcher, worker_name

logger = logging.getLogger(__name__)

#: The exit code of a command that failed.
FAILED: Final = 3

#: Seconds for the watcher to say goodbye.
GOODBYE_SECONDS: Final = 1.0

#: Milliseconds without a sign of life after which a worker's messages are given to others.
HEARTBEAT_MS: Final = 15_000

#: Of a million commands, how many look for such messages; the default left them for a quarter hour.
MAINTENANCE_CHANCE: Final = 20_000


class WatcherMiddleware(Middleware):
    """Starts the watcher with the process, and waits for its end."""

    def __init__(self, watcher: Watcher, stopping: threading.Event) -> None:
        self._watcher = watcher
        self._stopping = stopping

    def after_process_boot(self, broker: dramatiq.Broker) -> None:
        """Called after a worker process has booted."""
        self._watcher.start()

    def before_worker_shutdown(self, broker: dramatiq.Broker, worker: Any) -> None:
        """Called before a worker stops: whatever made it stop, nothing new is begun."""
        self._stopping.set()

    def after_worker_shutdown(self, broker: dramatiq.Broker, worker: Any) -> None:
        """Called after a worker has stopped."""
        self._watcher.join(timeout=GOODBYE_SECONDS)


def setup() -> None:
    """Set the process's broker up from its environment; Dramatiq calls it in each worker process."""
    queues = os.environ.get(VARIABLE, "").split() or QUEUES
    settings = load()
    # Dramatiq has made stderr of this process a pipe to the command, whose lines are then whole.
    logs.configure(settings)
    stopping = Stopping(settings.shutdown_ms / 1000)
    stopping.install()
    try:
        dramatiq.set_broker(Worker(settings, frozenset(queues), stopping).broker)
    except FoldlogError as error:
        # A server went away since the command looked; whoever keeps the command starts it again.
        logger.error("the worker cannot start", extra={"action": "start_failed", "error": str(error)})  # noqa: TRY400
        sys.exit(FAILED)


class Worker:
    """One worker process: its connections, its broker with the actors, and its watcher."""

    def __init__(self, settings: Settings, queues: frozenset[str], stopping: Stopping) -> None:
        """Only a worker that folds or runs jobs opens the log: embedding needs Postgres and Redis alone."""
        self._settings = settings
        self._stopping = stopping.event
        self._alarm = threading.Event()
        self._session = Session(composition.database_url(settings), timeout_ms=settings.connect_timeout_ms)
        self._redis = doorbell.client(composition.redis_url(settings))
        memory = composition.open_memory(settings=settings) if queues & NEED_LOG else None
        log_id = memory.log.meta.log_id if memory else composition.log_id(settings, self._session)
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
        if memory is not None and LIVE in queues:
            duties.append(self._fold_duty(memory))
        if EMBED in queues:
            duties.append(self._embed_duty(stopping))
        if memory is not None and JOBS in queues:
            duties.append(self._job_duty(memory, stopping))
        # Last: what is let go is let go through it.
        stopping.interrupts.append(self._session.interrupt)
        watcher = Watcher(
            duties,
            Workers(self._session, log_id),
            Doorbell(self._redis, log_id, LIVE),
            Lifeline(settings.shutdown_ms / 1000),
            Pulse(),
            stopping=self._stopping,
            alarm=self._alarm,
            poll_seconds=settings.poll_ms / 1000,
        )
        self.broker.add_middleware(WatcherMiddleware(watcher, self._stopping))

    def _fold_duty(self, memory: Memory) -> FoldDuty:
        folder = Folder(
            settings=self._settings,
            log=memory.log,
            projection=composition.projection(self._settings, memory.log, self._session),
            generations=composition.generations(self._settings, memory.log, self._session),
            stopping=self._stopping,
        )
        return FoldDuty(folder, self._waker(LIVE, folder.fold_slice, folder.fold_while_written))

    def _embed_duty(self, stopping: Stopping) -> EmbedDuty:
        embedder = Embedder(self._settings, self._log_id, self._session, self._stopping)
        stopping.interrupts.append(embedder.let_go)
        return EmbedDuty(embedder, self._waker(EMBED, embedder.embed_slice, embedder.embed_after))

    def _job_duty(self, memory: Memory, stopping: Stopping) -> JobDuty:
        runner = Runner(
            memory,
            registry.create(self._settings),
            worker_name(),
            slice_ms=self._settings.slice_ms,
            stop=self._stopping.is_set,
        )
        stopping.interrupts.append(runner.let_go)

        def answer(bell: Doorbell) -> bool:
            # Before anything is read: what is due from now on rings again.
            bell.clear()
            runner.run_due()
            return bool(runner.due())

        return JobDuty(runner, self._waker(JOBS, runner.run_due, answer))

    def _waker(self, queue: str, work: Callable[[], object], answer: Callable[[Doorbell], bool]) -> Waker:
        """Declare the actor of a queue, and return what wakes it.

        It is never retried by the queue: what is to do, and how far it is done, stands in the stores.
        `answer` does a message's work, clears the bell before it last looks, and says whether there is
        more. `work` does a slice without any bell.
        """
        bell = Doorbell(self._redis, self._log_id, queue)

        def send() -> None:
            try:
                actor.send()
            except (redis.RedisError, dramatiq.BrokerConnectionError) as error:
                raise doorbell.unavailable(error) from error
            metrics.count("doorbell_messages", queue=queue)

        def act() -> None:
            try:
                if answer(bell) and bell.ring():
                    send()
            except QueueUnavailable as error:
                logger.warning("no message sent", extra={"action": "ring_failed", "error": str(error)})

        actor = dramatiq.actor(broker=self.broker, queue_name=queue, actor_name=queue)(act)
        return Waker(bell, send, work, self._alarm)
