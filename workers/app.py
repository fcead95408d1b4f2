"""What each worker process makes for itself after the fork: broker, actors and watcher."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any, Final

import dramatiq
import redis
from dramatiq.brokers.redis import RedisBroker
from dramatiq.middleware import Middleware, ShutdownNotifications

from foldlog import composition
from foldlog.errors import QueueUnavailable
from foldlog.projections.engine import OUT_OF_TIME
from foldlog.projections.hindsight.session import Session
from foldlog.settings import Settings, load
from foldlog.workers import doorbell
from foldlog.workers.doorbell import Doorbell
from foldlog.workers.folder import Folder
from foldlog.workers.lifeline import Lifeline
from foldlog.workers.watcher import Watcher

logger = logging.getLogger(__name__)

LIVE: Final = "live"
#: Every queue there is.
QUEUES: Final = (LIVE,)

#: Milliseconds without a sign of life after which a worker's messages are given to others.
HEARTBEAT_MS: Final = 15_000

#: Of a million commands, how many look for such messages; the default left them for a quarter hour.
MAINTENANCE_CHANCE: Final = 20_000


class WatcherMiddleware(Middleware):
    """Starts the watcher with the process, and stops folding before the workers stop."""

    def __init__(self, watcher: Watcher, folder: Folder) -> None:
        self._watcher = watcher
        self._folder = folder

    def after_process_boot(self, broker: dramatiq.Broker) -> None:
        """Called after a worker process has booted."""
        self._watcher.start()

    def before_worker_shutdown(self, broker: dramatiq.Broker, worker: Any) -> None:
        """Called before a worker stops."""
        self._folder.stopping.set()

    def after_worker_shutdown(self, broker: dramatiq.Broker, worker: Any) -> None:
        """Called after a worker has stopped."""
        self._watcher.join(timeout=self._folder.settings.shutdown_ms / 1000)
        self._folder.log.close()


def setup() -> None:
    """Set the process's broker up from its environment; Dramatiq calls it in each worker process."""
    dramatiq.set_broker(make_broker(load()))


def make_broker(settings: Settings) -> RedisBroker:
    """Return a broker with the actors and the watcher of one log."""
    log = composition.open_log(settings)
    session = Session(composition.database_url(settings), timeout_ms=settings.connect_timeout_ms)
    folder = Folder(
        settings=settings,
        log=log,
        projection=composition.projection(settings, log, session),
        generations=composition.generations(settings, log, session),
        stopping=threading.Event(),
    )
    connection = doorbell.client(composition.redis_url(settings))
    broker = RedisBroker(  # type: ignore[no-untyped-call]
        client=connection,
        # Two logs may share one Redis.
        namespace=f"foldlog:{log.meta.log_id.hex()}",
        middleware=[ShutdownNotifications()],
        heartbeat_timeout=HEARTBEAT_MS,
        maintenance_chance=MAINTENANCE_CHANCE,
    )
    bell = Doorbell(connection, log.meta.log_id)
    fold = declare_fold(broker, folder, bell)
    broker.add_middleware(WatcherMiddleware(Watcher(folder, bell, fold, Lifeline()), folder))
    return broker


def declare_fold(broker: RedisBroker, folder: Folder, bell: Doorbell) -> Callable[[], None]:
    """Declare the actor that folds, and return what sends it a message.

    It is never retried by the queue: what is to do stands in the log, and how far it is done stands
    beside the index.
    """

    def send() -> None:
        try:
            actor.send()
        except (redis.RedisError, dramatiq.BrokerConnectionError) as error:
            raise doorbell.unavailable(error) from error

    def fold() -> None:
        try:
            # Before the log is read: an append from now on rings again.
            bell.clear()
            done = folder.fold_slice()
            if done is not None and done.outcome == OUT_OF_TIME and bell.ring():
                send()
        except QueueUnavailable as error:
            logger.warning("no message sent: %s", error, extra={"action": "ring_failed"})

    actor = dramatiq.actor(broker=broker, queue_name=LIVE, actor_name="fold")(fold)
    return send
