"""Primers, retained content, and the schema that a fact's value was held against.

Revision ID: 0002
Revises: 0001

From here on a log holds event types that format 1 does not know: its programs may read, not append.
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
    "UPDATE foldlog_meta SET format = 2, min_writer = 2",
)


def upgrade() -> None:
    for statement in CHANGES:
        op.get_bind().exec_driver_sql(statement)


def downgrade() -> None:
    raise NotImplementedError("the log is the only source of truth; restore a backup instead")
