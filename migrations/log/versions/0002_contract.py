"""Primers, retained content, schemas of facts; hidden messages, and what messages count in tokens.

Revision ID: 0002
Revises: 0001

From here on a log holds event types that format 1 does not know, and messages that it would show though
they are hidden: its programs may read, not append.
"""

from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

CHANGES = (
    """
    CREATE TABLE foldlog_primers (
        stream_id INTEGER PRIMARY KEY,
        namespace TEXT NOT NULL,
        name TEXT NOT NULL,
        text TEXT NOT NULL,
        question TEXT,
        version INTEGER NOT NULL,
        created_at INTEGER NOT NULL,
        updated_at INTEGER NOT NULL,
        metadata TEXT NOT NULL,
        UNIQUE (namespace, name)
    ) STRICT
    """,
    """
    CREATE TABLE foldlog_retained (
        memory_id INTEGER PRIMARY KEY,
        retained_id TEXT NOT NULL UNIQUE,
        namespace TEXT NOT NULL,
        document TEXT,
        content TEXT NOT NULL,
        tags TEXT NOT NULL,
        details TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        metadata TEXT NOT NULL
    ) STRICT
    """,
    "CREATE INDEX foldlog_retained_namespace ON foldlog_retained (namespace)",
    """
    CREATE INDEX foldlog_retained_document ON foldlog_retained (namespace, document)
    WHERE document IS NOT NULL
    """,
    "ALTER TABLE foldlog_facts ADD COLUMN schema TEXT",
    # Ids of retained content are unique in the whole log too.
    "DROP INDEX foldlog_streams_id",
    """
    CREATE UNIQUE INDEX foldlog_streams_id ON foldlog_streams (kind, name)
    WHERE kind IN ('thread', 'note', 'retained')
    """,
    # The position of the event that hid a message.
    "ALTER TABLE foldlog_messages ADD COLUMN hidden_by INTEGER",
    # A thread of a hundred thousand messages may show twenty.
    "CREATE INDEX foldlog_messages_shown ON foldlog_messages (memory_id) WHERE hidden_by IS NULL",
    # Counted by jobs, of the version that stands at a position; it can be counted again at any time.
    """
    CREATE TABLE foldlog_tokens (
        memory_id INTEGER NOT NULL,
        tokenizer TEXT NOT NULL,
        position INTEGER NOT NULL,
        tokens INTEGER NOT NULL,
        PRIMARY KEY (memory_id, tokenizer)
    ) STRICT, WITHOUT ROWID
    """,
    # How far a job has come in a thread.
    """
    CREATE TABLE foldlog_job_cursors (
        job TEXT NOT NULL,
        stream_id INTEGER NOT NULL,
        ordinal INTEGER NOT NULL,
        PRIMARY KEY (job, stream_id)
    ) STRICT, WITHOUT ROWID
    """,
    "UPDATE foldlog_meta SET format = 2, min_writer = 2",
)


def upgrade() -> None:
    for statement in CHANGES:
        # The driver's own call: SQLAlchemy would take ':' and '%' in a statement for parameters.
        op.get_bind().exec_driver_sql(statement)


def downgrade() -> None:
    raise NotImplementedError("the log is the only source of truth; restore a backup instead")
