"""Where Postgres and Redis are: as the settings say, or embedded beside the log."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Final

from foldlog.errors import IndexUnavailable, ProjectionError, QueueUnavailable, ServerError
from foldlog.settings import Settings

if TYPE_CHECKING:
    from foldlog.embedded.home import Home
    from foldlog.embedded.postgres import Postgres
    from foldlog.embedded.valkey import Valkey

NO_INDEX: Final = (
    "no index is running: the log answers alone. Run `foldlog up`, or set FOLDLOG_DATABASE_URL to a "
    "Postgres with pgvector"
)

NO_QUEUE: Final = "no queue is running: run `foldlog up`, or set FOLDLOG_REDIS_URL to a Redis or Valkey"


def home(settings: Settings) -> Home:
    """Return where the embedded servers of this log live."""
    from foldlog.embedded.home import Home

    return Home.of(settings.log.absolute().parent)


def embedded_postgres(settings: Settings) -> Postgres:
    """Return the embedded Postgres beside the log; it is not started."""
    from foldlog.embedded.postgres import Postgres

    return Postgres(home(settings))


def database_url(settings: Settings) -> str:
    """Return where the index is; raises IndexUnavailable when nothing is set and nothing runs."""
    if settings.database_url is not None:
        return settings.database_url
    try:
        server = embedded_postgres(settings)
    except ServerError as error:
        # An outage like any other: who may only read the log's folder still gets the log's answer.
        raise IndexUnavailable(
            f"no index can run beside this log ({error}); set FOLDLOG_DATABASE_URL"
        ) from error
    if not server.answers():
        raise IndexUnavailable(NO_INDEX)
    return server.url


def index_clock(settings: Settings) -> int | None:
    """Return Postgres' clock in UTC ms; None when it does not answer."""
    from foldlog.projections.hindsight.session import Session

    try:
        session = Session(database_url(settings), timeout_ms=settings.connect_timeout_ms)
        with closing(session), session.transaction() as connection:
            row = connection.execute(
                "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint"
            ).fetchone()
    except ProjectionError:
        return None
    return int(row[0]) if row else None


def embedded_valkey(settings: Settings) -> Valkey:
    """Return the embedded Valkey beside the log; it is not started."""
    from foldlog.embedded.valkey import Valkey

    return Valkey(home(settings))


def redis_url(settings: Settings) -> str:
    """Return where the queue is; raises QueueUnavailable when nothing is set and nothing runs."""
    if settings.redis_url is not None:
        return settings.redis_url
    server = embedded_valkey(settings)
    if not server.answers():
        raise QueueUnavailable(NO_QUEUE)
    return server.url
