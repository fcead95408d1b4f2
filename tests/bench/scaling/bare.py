"""The same rows without foldlog: a bare COPY of each table into a fresh copy with the same indexes.

With the indexes kept up meanwhile, as live folding does, or those of search made afterwards, as a rebuild
does.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO

import psycopg
from psycopg import sql

Connection = psycopg.Connection[tuple[object, ...]]

#: Bytes sent at a time.
CHUNK = 1 << 20

#: Where the copies stand while they are measured.
COPIES = "scale_copies"

_SCHEMA = "SELECT schema_name FROM foldlog.generations WHERE state = 'active'"
_TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = %s ORDER BY 1"
_INDEXES = "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = %s AND tablename = %s"
_SIZES = """
    SELECT t.relname, pg_table_size(t.oid) FROM pg_class t
    JOIN pg_namespace n ON n.oid = t.relnamespace
    WHERE n.nspname = %s AND t.relkind = 'r' ORDER BY 2 DESC
"""
_INDEX_SIZES = """
    SELECT i.relname, pg_relation_size(i.oid) FROM pg_class i
    JOIN pg_namespace n ON n.oid = i.relnamespace
    WHERE n.nspname = %s AND i.relkind = 'i' ORDER BY 2 DESC
"""


@dataclass(frozen=True, kw_only=True)
class Copied:
    """What a bare COPY cost."""

    rows: int
    seconds: float
    #: Seconds by table, and of the indexes made afterwards.
    tables: dict[str, float]


@dataclass(frozen=True, kw_only=True)
class Size:
    """What one table or index takes on disk."""

    name: str
    megabytes: float


def schema(connection: Connection) -> str:
    """Return the schema of the active generation; the database has only one log."""
    row = connection.execute(_SCHEMA).fetchone()
    assert row is not None
    return str(row[0])


def tables(connection: Connection) -> list[str]:
    """Return the names of the generation's tables."""
    return [str(name) for (name,) in connection.execute(_TABLES, (schema(connection),)).fetchall()]


def copy(connection: Connection, names: list[str], *, later: frozenset[str] = frozenset()) -> Copied:
    """Copy tables, rows and indexes, by one COPY each; only the writing is timed.

    The indexes named `later` are made when all rows are there.
    """
    source, times, rows = schema(connection), {}, 0
    late: list[sql.SQL] = []
    with _copies(connection):
        for name in names:
            original, target = sql.Identifier(source, name), sql.Identifier(COPIES, name)
            connection.execute(
                sql.SQL("CREATE TABLE {} (LIKE {} INCLUDING ALL EXCLUDING INDEXES)").format(target, original)
            )
            for index, definition in connection.execute(_INDEXES, (source, name)).fetchall():
                statement = sql.SQL(str(definition).replace(f" {source}.", f" {COPIES}."))
                if index in later:
                    late.append(statement)
                else:
                    connection.execute(statement)
            with tempfile.TemporaryFile() as file:
                _read(connection, original, file)
                began = time.perf_counter()
                rows += _write(connection, target, file)
                times[name] = time.perf_counter() - began
        began = time.perf_counter()
        for statement in late:
            connection.execute(statement)
        if late:
            times["indexes"] = time.perf_counter() - began
    return Copied(rows=rows, seconds=sum(times.values()), tables=times)


@contextmanager
def _copies(connection: Connection) -> Iterator[None]:
    connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(COPIES)))
    try:
        yield
    finally:
        connection.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(sql.Identifier(COPIES)))


def _read(connection: Connection, table: sql.Identifier, file: IO[bytes]) -> None:
    with connection.cursor() as cursor, cursor.copy(sql.SQL("COPY {} TO STDOUT").format(table)) as rows:
        for data in rows:
            file.write(data)
    file.seek(0)


def _write(connection: Connection, table: sql.Identifier, file: IO[bytes]) -> int:
    with connection.cursor() as cursor:
        with cursor.copy(sql.SQL("COPY {} FROM STDIN").format(table)) as rows:
            while data := file.read(CHUNK):
                rows.write(data)
        return cursor.rowcount


def sizes(connection: Connection) -> tuple[list[Size], list[Size]]:
    """Return the sizes of the tables and of the indexes, the largest first."""
    where = (schema(connection),)
    found = connection.execute(_SIZES, where).fetchall()
    indexes = connection.execute(_INDEX_SIZES, where).fetchall()
    return [_size(name, size) for name, size in found], [_size(name, size) for name, size in indexes]


def _size(name: object, size: object) -> Size:
    return Size(name=str(name), megabytes=int(str(size)) / 1e6)
