"""Connections to Postgres, and what its errors mean to a user."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import psycopg
from psycopg.conninfo import conninfo_to_dict

from foldlog.errors import IndexUnavailable, IndexUnusable, ProjectionError

#: Versions the index needs: 0.8 brought iterative scans.
MIN_POSTGRES: Final = 150000
MIN_PGVECTOR: Final = (0, 8)
EXTENSION: Final = "vector"

Connection = psycopg.Connection[tuple[Any, ...]]


def connect(url: str, *, timeout_ms: int) -> Connection:
    """Open one connection; raises IndexUnavailable with what to check."""
    try:
        return psycopg.connect(
            url,
            connect_timeout=max(1, round(timeout_ms / 1000)),
            application_name="foldlog",
            # Whatever the environment says: texts are copied as the bytes they are.
            client_encoding="UTF8",
            # A dead owner of the checkpoint must not keep it for hours.
            keepalives_idle=10,
            keepalives_interval=5,
            keepalives_count=3,
        )
    except psycopg.Error as error:
        raise _unavailable(url, error) from error


def _unavailable(url: str, error: psycopg.Error) -> IndexUnavailable:
    reason = " ".join(str(error).split()) or type(error).__name__
    return IndexUnavailable(
        f"Postgres at {place(url)} does not answer ({reason}); start it, or check FOLDLOG_DATABASE_URL. "
        "The log goes on without it"
    )


def place(url: str) -> str:
    """Return where a URL points, without its secrets."""
    try:
        parts = conninfo_to_dict(url)
    except psycopg.Error:
        return "the given URL"
    host = parts.get("host") or "localhost"
    port = f":{parts['port']}" if parts.get("port") else ""
    return f"{host}{port}/{parts.get('dbname') or parts.get('user') or ''}"


@contextmanager
def named_errors(url: str) -> Iterator[None]:
    """Turn the driver's errors into ours; the driver's error stays the cause."""
    try:
        yield
    except psycopg.errors.QueryCanceled as error:
        raise IndexUnavailable(f"Postgres at {place(url)} did not answer in time") from error
    except (psycopg.OperationalError, psycopg.InterfaceError) as error:
        raise _unavailable(url, error) from error
    except (psycopg.errors.UndefinedTable, psycopg.errors.InvalidSchemaName) as error:
        raise IndexUnusable(
            f"Postgres at {place(url)} has no foldlog schema yet; run `foldlog migrate`, or start a worker"
        ) from error
    except psycopg.errors.InsufficientPrivilege as error:
        reason = str(error).splitlines()[0]
        raise IndexUnusable(
            f"the role may not use Postgres at {place(url)} ({reason}); GRANT CREATE ON DATABASE to it"
        ) from error
    except psycopg.Error as error:
        reason = " ".join(str(error).split())
        raise ProjectionError(f"Postgres at {place(url)} refused ({error.sqlstate}): {reason}") from error


def check_server(connection: Connection, url: str) -> None:
    """Raise IndexUnusable unless the server can hold an index."""
    version = connection.info.server_version
    if version < MIN_POSTGRES:
        raise IndexUnusable(
            f"Postgres at {place(url)} is version {version // 10000}; foldlog needs 15 or newer"
        )
    row = connection.execute(
        "SELECT coalesce(installed_version, default_version) FROM pg_available_extensions WHERE name = %s",
        (EXTENSION,),
    ).fetchone()
    if row is None:
        raise IndexUnusable(f"Postgres at {place(url)} has no pgvector; install pgvector 0.8 or newer there")
    found = tuple(int(part) for part in row[0].split(".")[:2])
    if found < MIN_PGVECTOR:
        raise IndexUnusable(
            f"Postgres at {place(url)} has pgvector {row[0]}; foldlog needs 0.8 or newer "
            "(ALTER EXTENSION vector UPDATE)"
        )
    row = connection.execute("SELECT has_database_privilege(current_database(), 'CREATE')").fetchone()
    if row is None or not row[0]:
        raise IndexUnusable(
            f"the role may not create schemas at {place(url)}; as its owner run "
            "GRANT CREATE ON DATABASE ... TO the role"
        )
