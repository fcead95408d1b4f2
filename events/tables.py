"""The log's tables as SQLAlchemy sees them: for migrations, and for queries of a caller's own.

The log itself uses the statements beside this file; a test holds the two, and the migrated schema,
against each other.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    REAL,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    text,
)

log = MetaData()

_STRICT: dict[str, Any] = {"sqlite_strict": True}
_CLUSTERED: dict[str, Any] = {"sqlite_strict": True, "sqlite_with_rowid": False}


def _event(name: str = "position", **options: Any) -> Column[int]:
    return Column(name, Integer, ForeignKey("foldlog_events.position"), **options)


meta = Table(
    "foldlog_meta",
    log,
    Column("id", Integer, CheckConstraint("id = 1"), primary_key=True),
    Column("log_id", LargeBinary, CheckConstraint("length(log_id) = 16"), nullable=False),
    Column("incarnation", Integer, nullable=False),
    Column("created_at", Integer, nullable=False),
    Column("hash_algorithm", Text, nullable=False),
    Column("format", Integer, nullable=False),
    Column("min_writer", Integer, nullable=False),
    **_STRICT,
)

streams = Table(
    "foldlog_streams",
    log,
    Column("stream_id", Integer, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("namespace", Text),
    Column("name", Text),
    Column("salt", LargeBinary),
    Column("name_digest", LargeBinary, nullable=False),
    **_STRICT,
)
Index("foldlog_streams_name", streams.c.namespace, streams.c.kind, streams.c.name, unique=True)
Index(
    "foldlog_streams_id",
    streams.c.kind,
    streams.c.name,
    unique=True,
    sqlite_where=text("kind IN ('thread', 'note', 'retained')"),
)

events = Table(
    "foldlog_events",
    log,
    Column("position", Integer, primary_key=True),
    Column("event_id", LargeBinary, CheckConstraint("length(event_id) = 16"), nullable=False, unique=True),
    Column("stream_id", Integer, ForeignKey("foldlog_streams.stream_id"), nullable=False),
    Column("version", Integer, CheckConstraint("version > 0"), nullable=False),
    Column("type", Text, nullable=False),
    Column("schema_version", Integer, nullable=False),
    Column("links", Text, CheckConstraint("json_valid(links)"), nullable=False),
    Column("metadata", Text, CheckConstraint("json_valid(metadata)"), nullable=False),
    Column("occurred_at", Integer, nullable=False),
    Column("recorded_at", Integer, nullable=False),
    Column("data_digest", LargeBinary),
    Column("hash", LargeBinary, CheckConstraint("length(hash) = 32"), nullable=False),
    UniqueConstraint("stream_id", "version"),
    sqlite_autoincrement=True,
    **_STRICT,
)
Index("foldlog_events_recorded", events.c.recorded_at)
Index(
    "foldlog_events_message",
    text("json_extract(links, '$.message_id')"),
    sqlite_where=text("type IN ('MessageSaved', 'MessagesSummarized')"),
    _table=events,
)
Index(
    "foldlog_events_thread",
    events.c.stream_id,
    sqlite_where=text(
        "type IN ('ThreadCreated', 'ThreadDeleted', 'MessagesDeleted', 'MessagesTrimmed', "
        "'MessagesSummarized')"
    ),
)
Index(
    "foldlog_events_expiry",
    text("json_extract(links, '$.expires_at')"),
    sqlite_where=text("type = 'FactSet' AND json_extract(links, '$.expires_at') IS NOT NULL"),
    _table=events,
)
Index("foldlog_events_occurred", events.c.occurred_at, sqlite_where=text("occurred_at <> recorded_at"))

payloads = Table(
    "foldlog_payloads",
    log,
    _event(primary_key=True),
    Column("data", Text, CheckConstraint("json_valid(data)"), nullable=False),
    Column("salt", LargeBinary, nullable=False),
    **_STRICT,
)

idempotency = Table(
    "foldlog_idempotency",
    log,
    Column("key_digest", LargeBinary, primary_key=True),
    _event(nullable=False),
    Column("request_digest", LargeBinary),
    **_CLUSTERED,
)
Index("foldlog_idempotency_position", idempotency.c.position)

by_run = Table(
    "foldlog_by_run", log, Column("run", Text, primary_key=True), _event(primary_key=True), **_CLUSTERED
)

clock_steps = Table("foldlog_clock_steps", log, _event(primary_key=True), **_STRICT)

servings = Table(
    "foldlog_servings",
    log,
    Column("serving_id", Integer, primary_key=True),
    Column("served_at", Integer, nullable=False),
    Column("head", Integer, nullable=False),
    Column("status", Text, nullable=False),
    Column("query_digest", LargeBinary, nullable=False),
    Column("block_digest", LargeBinary, nullable=False),
    Column("run", Text),
    Column("metadata", Text, CheckConstraint("json_valid(metadata)"), nullable=False),
    **_STRICT,
)
Index("foldlog_servings_run", servings.c.run, sqlite_where=text("run IS NOT NULL"))
Index("foldlog_servings_time", servings.c.served_at)

served = Table(
    "foldlog_served",
    log,
    Column("memory_id", Integer, primary_key=True),
    Column("serving_id", Integer, ForeignKey("foldlog_servings.serving_id"), primary_key=True),
    Column("position", Integer, nullable=False),
    Column("score", REAL, nullable=False),
    **_CLUSTERED,
)
Index("foldlog_served_serving", served.c.serving_id)

snapshots = Table(
    "foldlog_snapshots",
    log,
    Column("name", Text, primary_key=True),
    Column("created_at", Integer, nullable=False),
    Column("head", Integer, nullable=False),
    Column("query_digest", LargeBinary, nullable=False),
    Column("memories", Text, CheckConstraint("json_valid(memories)"), nullable=False),
    **_CLUSTERED,
)

jobs = Table(
    "foldlog_jobs",
    log,
    Column("name", Text, primary_key=True),
    Column("lease_owner", Text),
    Column("lease_until", Integer),
    Column("next_run", Integer),
    Column("started_at", Integer),
    Column("finished_at", Integer),
    Column("attempts", Integer, nullable=False, server_default=text("0")),
    Column("result", Text),
    Column("error", Text),
    **_CLUSTERED,
)

cursors = Table(
    "foldlog_job_cursors",
    log,
    Column("job", Text, primary_key=True),
    Column("stream_id", Integer, primary_key=True, autoincrement=False),
    Column("ordinal", Integer, nullable=False),
    **_CLUSTERED,
)

tokens = Table(
    "foldlog_tokens",
    log,
    Column("memory_id", Integer, primary_key=True, autoincrement=False),
    Column("tokenizer", Text, primary_key=True),
    Column("position", Integer, nullable=False),
    Column("tokens", Integer, nullable=False),
    **_CLUSTERED,
)
