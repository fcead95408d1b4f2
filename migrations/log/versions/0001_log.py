"""The log and its read model.

Revision ID: 0001
Revises:
"""

import os
import time

from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

#: The log itself. Frozen: events written under it must verify for ever.
LOG = (
    """
    CREATE TABLE foldlog_meta (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        log_id BLOB NOT NULL CHECK (length(log_id) = 16),
        incarnation INTEGER NOT NULL,
        created_at INTEGER NOT NULL,
        hash_algorithm TEXT NOT NULL,
        format INTEGER NOT NULL,
        min_writer INTEGER NOT NULL
    ) STRICT
    """,
    # Name and salt go when the name is erased; the digest stays, so that the chain still verifies.
    """
    CREATE TABLE foldlog_streams (
        stream_id INTEGER PRIMARY KEY,
        kind TEXT NOT NULL,
        namespace TEXT,
        name TEXT,
        salt BLOB,
        name_digest BLOB NOT NULL
    ) STRICT
    """,
    "CREATE UNIQUE INDEX foldlog_streams_name ON foldlog_streams (namespace, kind, name)",
    # Ids of threads and notes are unique in the whole log, whatever their namespace.
    """
    CREATE UNIQUE INDEX foldlog_streams_id ON foldlog_streams (kind, name)
    WHERE kind IN ('thread', 'note')
    """,
    """
    CREATE TABLE foldlog_events (
        position INTEGER PRIMARY KEY AUTOINCREMENT,
        event_id BLOB NOT NULL UNIQUE CHECK (length(event_id) = 16),
        stream_id INTEGER NOT NULL REFERENCES foldlog_streams (stream_id),
        version INTEGER NOT NULL CHECK (version > 0),
        type TEXT NOT NULL,
        schema_version INTEGER NOT NULL,
        links TEXT NOT NULL CHECK (json_valid(links)),
        metadata TEXT NOT NULL CHECK (json_valid(metadata)),
        occurred_at INTEGER NOT NULL,
        recorded_at INTEGER NOT NULL,
        data_digest BLOB,
        hash BLOB NOT NULL CHECK (length(hash) = 32),
        UNIQUE (stream_id, version)
    ) STRICT
    """,
    "CREATE INDEX foldlog_events_recorded ON foldlog_events (recorded_at)",
    """
    CREATE TABLE foldlog_payloads (
        position INTEGER PRIMARY KEY REFERENCES foldlog_events (position),
        data TEXT NOT NULL CHECK (json_valid(data)),
        salt BLOB NOT NULL
    ) STRICT
    """,
    # The key's digest covers the namespace. The request's digest goes when the payload is erased:
    # the key must still answer, but a short private request must not be guessable from the digest.
    """
    CREATE TABLE foldlog_idempotency (
        key_digest BLOB PRIMARY KEY,
        position INTEGER NOT NULL REFERENCES foldlog_events (position),
        request_digest BLOB
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX foldlog_idempotency_position ON foldlog_idempotency (position)",
    """
    CREATE TABLE foldlog_by_run (
        run TEXT NOT NULL,
        position INTEGER NOT NULL REFERENCES foldlog_events (position),
        PRIMARY KEY (run, position)
    ) STRICT, WITHOUT ROWID
    """,
    # Where the wall clock stepped back. Between two steps time only grows, so that an instant's
    # position is found by a binary search in each stretch.
    """
    CREATE TABLE foldlog_clock_steps (
        position INTEGER PRIMARY KEY REFERENCES foldlog_events (position)
    ) STRICT
    """,
    # Records of reading: not mutations, not in the chain.
    """
    CREATE TABLE foldlog_servings (
        serving_id INTEGER PRIMARY KEY,
        served_at INTEGER NOT NULL,
        head INTEGER NOT NULL,
        status TEXT NOT NULL,
        query_digest BLOB NOT NULL,
        block_digest BLOB NOT NULL,
        run TEXT,
        metadata TEXT NOT NULL CHECK (json_valid(metadata))
    ) STRICT
    """,
    "CREATE INDEX foldlog_servings_run ON foldlog_servings (run) WHERE run IS NOT NULL",
    "CREATE INDEX foldlog_servings_time ON foldlog_servings (served_at)",
    """
    CREATE TABLE foldlog_served (
        memory_id INTEGER NOT NULL,
        serving_id INTEGER NOT NULL REFERENCES foldlog_servings (serving_id),
        position INTEGER NOT NULL,
        score REAL NOT NULL,
        PRIMARY KEY (memory_id, serving_id)
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX foldlog_served_serving ON foldlog_served (serving_id)",
    """
    CREATE TABLE foldlog_snapshots (
        name TEXT PRIMARY KEY,
        created_at INTEGER NOT NULL,
        head INTEGER NOT NULL,
        query_digest BLOB NOT NULL,
        memories TEXT NOT NULL CHECK (json_valid(memories))
    ) STRICT, WITHOUT ROWID
    """,
    """
    CREATE TABLE foldlog_jobs (
        name TEXT PRIMARY KEY,
        lease_owner TEXT,
        lease_until INTEGER,
        next_run INTEGER,
        started_at INTEGER,
        finished_at INTEGER,
        attempts INTEGER NOT NULL DEFAULT 0,
        result TEXT,
        error TEXT
    ) STRICT, WITHOUT ROWID
    """,
)

APPEND_ONLY = (
    *(
        f"""
        CREATE TRIGGER {table}_no_{verb.lower()} BEFORE {verb} ON {table}
        BEGIN SELECT RAISE(ABORT, '{table} is append-only'); END
        """
        for table, verb in (
            ("foldlog_events", "UPDATE"),
            ("foldlog_events", "DELETE"),
            ("foldlog_payloads", "UPDATE"),
            ("foldlog_streams", "DELETE"),
        )
    ),
    """
    CREATE TRIGGER foldlog_streams_only_erase BEFORE UPDATE ON foldlog_streams
    WHEN NEW.name IS NOT NULL OR NEW.stream_id <> OLD.stream_id
        OR NEW.kind <> OLD.kind OR NEW.name_digest <> OLD.name_digest
    BEGIN SELECT RAISE(ABORT, 'a stream''s name can only be erased'); END
    """,
)

#: The read model: everything here is folded from the events and can be rebuilt.
READ_MODEL = (
    # One row per current memory, whatever its kind: what a hit of an index is checked against.
    """
    CREATE TABLE foldlog_memories (
        memory_id INTEGER PRIMARY KEY,
        kind TEXT NOT NULL,
        namespace TEXT NOT NULL,
        position INTEGER NOT NULL,
        touched INTEGER NOT NULL,
        expires_at INTEGER,
        visible INTEGER NOT NULL
    ) STRICT
    """,
    "CREATE INDEX foldlog_memories_touched ON foldlog_memories (touched)",
    "CREATE INDEX foldlog_memories_expiry ON foldlog_memories (expires_at) WHERE expires_at IS NOT NULL",
    """
    CREATE TABLE foldlog_facts (
        memory_id INTEGER PRIMARY KEY,
        namespace TEXT NOT NULL,
        key TEXT NOT NULL,
        value TEXT NOT NULL,
        tags TEXT NOT NULL,
        version INTEGER NOT NULL,
        created_at INTEGER NOT NULL,
        updated_at INTEGER NOT NULL,
        expires_at INTEGER,
        metadata TEXT NOT NULL,
        UNIQUE (namespace, key)
    ) STRICT
    """,
    """
    CREATE TABLE foldlog_threads (
        stream_id INTEGER PRIMARY KEY,
        thread_id TEXT NOT NULL UNIQUE,
        namespace TEXT NOT NULL,
        title TEXT,
        created_at INTEGER NOT NULL,
        updated_at INTEGER NOT NULL,
        last_ordinal INTEGER NOT NULL,
        messages INTEGER NOT NULL,
        metadata TEXT NOT NULL
    ) STRICT
    """,
    "CREATE INDEX foldlog_threads_namespace ON foldlog_threads (namespace)",
    """
    CREATE TABLE foldlog_messages (
        memory_id INTEGER PRIMARY KEY,
        message_id TEXT NOT NULL UNIQUE,
        role TEXT NOT NULL,
        author TEXT,
        content TEXT NOT NULL,
        tags TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        updated_at INTEGER NOT NULL,
        metadata TEXT NOT NULL
    ) STRICT
    """,
    """
    CREATE TABLE foldlog_notes (
        memory_id INTEGER PRIMARY KEY,
        note_id TEXT NOT NULL UNIQUE,
        namespace TEXT NOT NULL,
        kind TEXT,
        body TEXT NOT NULL,
        author TEXT,
        tags TEXT NOT NULL,
        status TEXT NOT NULL,
        status_changed_at INTEGER,
        created_at INTEGER NOT NULL,
        metadata TEXT NOT NULL
    ) STRICT
    """,
    "CREATE INDEX foldlog_notes_namespace ON foldlog_notes (namespace, status, created_at)",
    # Targets are named, not numbered: an imported note may supersede one that arrives later.
    """
    CREATE TABLE foldlog_supersessions (
        target TEXT NOT NULL,
        superseder INTEGER NOT NULL REFERENCES foldlog_notes (memory_id),
        PRIMARY KEY (target, superseder)
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX foldlog_supersessions_superseder ON foldlog_supersessions (superseder)",
    # Words come from our own analyser, so the tokenizer only splits at spaces: everything a word
    # can hold is a token character. Namespace, kind and visibility are words of `scope`.
    """
    CREATE VIRTUAL TABLE foldlog_text USING fts5 (
        scope, words, tokenize = "ascii tokenchars '_-./:@#+='"
    )
    """,
)


def upgrade() -> None:
    for statement in LOG + APPEND_ONLY + READ_MODEL:
        # The driver's own call: SQLAlchemy would take ':' and '%' in a statement for parameters.
        op.get_bind().exec_driver_sql(statement)
    op.get_bind().exec_driver_sql(
        "INSERT INTO foldlog_meta VALUES (1, ?, 1, ?, 'sha256', 1, 1)",
        (os.urandom(16), time.time_ns() // 1_000_000),
    )


def downgrade() -> None:
    raise NotImplementedError("the first revision holds the log itself; there is nothing below it")
