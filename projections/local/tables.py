"""The read model's tables as SQLAlchemy sees them; the folds use the statements beside them."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Column, ForeignKey, Index, Integer, MetaData, Table, Text, UniqueConstraint, text

read_model = MetaData()

_STRICT: dict[str, Any] = {"sqlite_strict": True}

memories = Table(
    "foldlog_memories",
    read_model,
    Column("memory_id", Integer, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("namespace", Text, nullable=False),
    Column("position", Integer, nullable=False),
    Column("touched", Integer, nullable=False),
    Column("expires_at", Integer),
    Column("visible", Integer, nullable=False),
    **_STRICT,
)
Index("foldlog_memories_touched", memories.c.touched)
Index("foldlog_memories_expiry", memories.c.expires_at, sqlite_where=text("expires_at IS NOT NULL"))

facts = Table(
    "foldlog_facts",
    read_model,
    Column("memory_id", Integer, primary_key=True),
    Column("namespace", Text, nullable=False),
    Column("key", Text, nullable=False),
    Column("value", Text, nullable=False),
    Column("tags", Text, nullable=False),
    Column("version", Integer, nullable=False),
    Column("created_at", Integer, nullable=False),
    Column("updated_at", Integer, nullable=False),
    Column("expires_at", Integer),
    Column("metadata", Text, nullable=False),
    # Last, since it was added by revision 0002.
    Column("schema", Text),
    UniqueConstraint("namespace", "key"),
    **_STRICT,
)

threads = Table(
    "foldlog_threads",
    read_model,
    Column("stream_id", Integer, primary_key=True),
    Column("thread_id", Text, nullable=False, unique=True),
    Column("namespace", Text, nullable=False),
    Column("title", Text),
    Column("created_at", Integer, nullable=False),
    Column("updated_at", Integer, nullable=False),
    Column("last_ordinal", Integer, nullable=False),
    Column("messages", Integer, nullable=False),
    Column("metadata", Text, nullable=False),
    **_STRICT,
)
Index("foldlog_threads_namespace", threads.c.namespace)

messages = Table(
    "foldlog_messages",
    read_model,
    Column("memory_id", Integer, primary_key=True),
    Column("message_id", Text, nullable=False, unique=True),
    Column("role", Text, nullable=False),
    Column("author", Text),
    Column("content", Text, nullable=False),
    Column("tags", Text, nullable=False),
    Column("created_at", Integer, nullable=False),
    Column("updated_at", Integer, nullable=False),
    Column("metadata", Text, nullable=False),
    Column("hidden_by", Integer),
    **_STRICT,
)
Index(
    "foldlog_messages_shown",
    messages.c.memory_id,
    sqlite_where=messages.c.hidden_by.is_(None),
)

notes = Table(
    "foldlog_notes",
    read_model,
    Column("memory_id", Integer, primary_key=True),
    Column("note_id", Text, nullable=False, unique=True),
    Column("namespace", Text, nullable=False),
    Column("kind", Text),
    Column("body", Text, nullable=False),
    Column("author", Text),
    Column("tags", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("status_changed_at", Integer),
    Column("created_at", Integer, nullable=False),
    Column("metadata", Text, nullable=False),
    **_STRICT,
)
Index("foldlog_notes_namespace", notes.c.namespace, notes.c.status, notes.c.created_at)

supersessions = Table(
    "foldlog_supersessions",
    read_model,
    Column("target", Text, primary_key=True),
    Column("superseder", Integer, ForeignKey("foldlog_notes.memory_id"), primary_key=True),
    sqlite_with_rowid=False,
    **_STRICT,
)
Index("foldlog_supersessions_superseder", supersessions.c.superseder)

primers = Table(
    "foldlog_primers",
    read_model,
    Column("stream_id", Integer, primary_key=True),
    Column("namespace", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("question", Text),
    Column("version", Integer, nullable=False),
    Column("created_at", Integer, nullable=False),
    Column("updated_at", Integer, nullable=False),
    Column("metadata", Text, nullable=False),
    UniqueConstraint("namespace", "name"),
    **_STRICT,
)

retained = Table(
    "foldlog_retained",
    read_model,
    Column("memory_id", Integer, primary_key=True),
    Column("retained_id", Text, nullable=False, unique=True),
    Column("namespace", Text, nullable=False),
    Column("document", Text),
    Column("content", Text, nullable=False),
    Column("tags", Text, nullable=False),
    # The caller's metadata; the column of that name holds the provenance, as everywhere.
    Column("details", Text, nullable=False),
    Column("created_at", Integer, nullable=False),
    Column("metadata", Text, nullable=False),
    **_STRICT,
)
Index("foldlog_retained_namespace", retained.c.namespace)
Index(
    "foldlog_retained_document",
    retained.c.namespace,
    retained.c.document,
    sqlite_where=text("document IS NOT NULL"),
)
