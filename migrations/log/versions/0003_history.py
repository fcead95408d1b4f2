"""Indexes for the audit: the history of one item is found without a scan.

All of them are kept by SQLite itself, from the columns of the events: making them fills them from what is
there, and a program that had the log open before, of whatever version, keeps them by appending. So nothing
can be missing from them, and the oldest format that may append stays what it was.

Revision ID: 0003
Revises: 0002
"""

from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

INDEXES = (
    # Every version of a message, and each summary, by its id: of a deleted one too, and in each thread that
    # ever had the id.
    """
    CREATE INDEX foldlog_events_message ON foldlog_events (json_extract(links, '$.message_id'))
    WHERE type IN ('MessageSaved', 'MessagesSummarized')
    """,
    # What happened to a thread, apart from its messages, of which there may be a hundred thousand.
    """
    CREATE INDEX foldlog_events_thread ON foldlog_events (stream_id)
    WHERE type IN ('ThreadCreated', 'ThreadDeleted', 'MessagesDeleted', 'MessagesTrimmed',
        'MessagesSummarized')
    """,
    # Which facts' times end between two instants, also of values that were replaced since.
    """
    CREATE INDEX foldlog_events_expiry ON foldlog_events (json_extract(links, '$.expires_at'))
    WHERE type = 'FactSet' AND json_extract(links, '$.expires_at') IS NOT NULL
    """,
    # What happened between two instants and was recorded at another time: imports.
    """
    CREATE INDEX foldlog_events_occurred ON foldlog_events (occurred_at)
    WHERE occurred_at <> recorded_at
    """,
)


def upgrade() -> None:
    for statement in INDEXES:
        # The driver's own call: SQLAlchemy would take ':' and '%' in a statement for parameters.
        op.get_bind().exec_driver_sql(statement)


def downgrade() -> None:
    for name in ("message", "thread", "expiry", "occurred"):
        op.get_bind().exec_driver_sql(f"DROP INDEX foldlog_events_{name}")
