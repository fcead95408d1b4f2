"""Messages that are hidden, by a summary or a budget, and what messages count in tokens.

An older program would show what is hidden, and not know the events that hide: it may no longer append.

Revision ID: 0002
Revises: 0001
"""

from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

STATEMENTS = (
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
    "UPDATE foldlog_meta SET format = 2, min_writer = 2",
)


def upgrade() -> None:
    for statement in STATEMENTS:
        # The driver's own call: SQLAlchemy would take ':' and '%' in a statement for parameters.
        op.get_bind().exec_driver_sql(statement)


def downgrade() -> None:
    raise NotImplementedError("what is hidden would be shown again; restore a backup instead")
