"""The doorbell: a hint that there is something to do. The log is the queue; a lost ring costs only time."""

from __future__ import annotations

from typing import Any, Final

import redis

from foldlog import metrics
from foldlog.errors import QueueUnavailable

#: Milliseconds after which a bell that nobody answered may be rung again.
BELL_MS: Final = 1000

#: Seconds for a connection to Redis and for one answer: a black hole must not hold a watcher up.
CONNECT_SECONDS: Final = 0.3
ANSWER_SECONDS: Final = 1.0


class Client(redis.Redis):
    """A client whose errors all say that Redis cannot be used now: it is away, hangs, or is full.

    Dramatiq knows what to do then; other errors it would take for its own mistakes.
    """

    def execute_command(self, *args: Any, **options: Any) -> Any:
        """Run a command; raises ConnectionError, and NoScriptError, which asks for the script."""
        try:
            return super().execute_command(*args, **options)  # type: ignore[no-untyped-call]
        except (redis.ConnectionError, redis.exceptions.NoScriptError):
            raise
        except redis.RedisError as error:
            raise redis.ConnectionError(str(error)) from error


def client(url: str) -> redis.Redis:
    """Return a Redis client that gives up soon, and does not try again by itself."""
    return Client.from_url(
        url, socket_connect_timeout=CONNECT_SECONDS, socket_timeout=ANSWER_SECONDS, health_check_interval=10
    )


class Doorbell:
    """One bell a log and queue, shared by all watchers: while it rings, nobody rings again."""

    def __init__(self, connection: redis.Redis, log_id: bytes, queue: str) -> None:
        self._connection = connection
        self._key = f"foldlog:bell:{log_id.hex()}:{queue}"

    def ring(self) -> bool:
        """Say whether the caller is to send the message; raises QueueUnavailable."""
        try:
            return bool(self._connection.set(self._key, 1, nx=True, px=BELL_MS))
        except redis.RedisError as error:
            raise unavailable(error) from error

    def hold(self) -> None:
        """Let nobody ring for a moment, as somebody is there. Raises QueueUnavailable."""
        try:
            self._connection.set(self._key, 1, px=BELL_MS)
        except redis.RedisError as error:
            raise unavailable(error) from error

    def clear(self) -> None:
        """Let the next append ring again; called before the log is read. Raises QueueUnavailable."""
        try:
            self._connection.delete(self._key)
        except redis.RedisError as error:
            raise unavailable(error) from error

    def check(self) -> None:
        """Raise QueueUnavailable when Redis does not answer, or takes no more writes."""
        try:
            self._connection.set(f"{self._key}:check", 1, px=BELL_MS)
        except redis.RedisError as error:
            raise unavailable(error) from error


def unavailable(error: Exception) -> QueueUnavailable:
    """Count a failure, and return our error for one of the client's."""
    metrics.count("doorbell_failures")
    reason = " ".join(str(error).split()) or type(error).__name__
    return QueueUnavailable(f"Redis does not answer ({reason}); start it, or check FOLDLOG_REDIS_URL")
