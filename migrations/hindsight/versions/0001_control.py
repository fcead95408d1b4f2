"""The control schema of the index.

Revision ID: 0001
Revises:
"""

from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

SCHEMA = "foldlog"


def _instant(name: str, *, nullable: bool = False) -> sa.Column[Any]:
    return sa.Column(name, sa.DateTime(timezone=True), nullable=nullable)


def _generation() -> sa.Column[Any]:
    key = sa.ForeignKey("foldlog.generations.generation_id", ondelete="CASCADE")
    return sa.Column("generation_id", sa.BigInteger, key, primary_key=True)


def upgrade() -> None:
    op.execute("CREATE EXTENSION IF NOT EXISTS vector")
    _logs_and_generations()
    _checkpoints()
    _workers()


def _logs_and_generations() -> None:
    op.create_table(
        "logs",
        sa.Column("log_id", sa.LargeBinary, primary_key=True),
        sa.Column("name", sa.Text, nullable=False, unique=True),
        sa.Column("incarnation", sa.Integer, nullable=False),
        _instant("created_at"),
        schema=SCHEMA,
    )
    op.create_table(
        "generations",
        sa.Column("generation_id", sa.BigInteger, sa.Identity(always=True), primary_key=True),
        sa.Column("log_id", sa.LargeBinary, sa.ForeignKey("foldlog.logs.log_id"), nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("schema_name", sa.Text, nullable=False, unique=True),
        sa.Column("layout", sa.Integer, nullable=False),
        sa.Column("analysis", sa.Integer, nullable=False),
        sa.Column("embedder", sa.Text),
        sa.Column("dimension", sa.Integer),
        sa.Column("state", sa.Text, nullable=False),
        _instant("created_at"),
        _instant("loaded_at", nullable=True),
        _instant("verified_at", nullable=True),
        _instant("activated_at", nullable=True),
        _instant("retired_at", nullable=True),
        sa.Column("counts", postgresql.JSONB),
        sa.UniqueConstraint("log_id", "number", name="generations_number"),
        sa.CheckConstraint(
            "state IN ('building', 'verified', 'active', 'retired')", name="generations_state"
        ),
        schema=SCHEMA,
    )
    op.create_index(
        "generations_one_active",
        "generations",
        ["log_id"],
        unique=True,
        schema=SCHEMA,
        postgresql_where=sa.text("state = 'active'"),
    )


def _checkpoints() -> None:
    op.create_table(
        "checkpoints",
        _generation(),
        sa.Column("position", sa.BigInteger, nullable=False),
        sa.Column("hash", sa.LargeBinary, nullable=False),
        sa.Column("incarnation", sa.Integer, nullable=False),
        _instant("moved_at"),
        sa.Column("attempts", sa.Integer, nullable=False, server_default="0"),
        sa.Column("last_error", sa.Text),
        _instant("failed_at", nullable=True),
        _instant("next_try", nullable=True),
        schema=SCHEMA,
    )
    op.create_table(
        "parked",
        _generation(),
        sa.Column("position", sa.BigInteger, primary_key=True),
        sa.Column("stream_id", sa.BigInteger, nullable=False),
        sa.Column("error", sa.Text, nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        _instant("first_at"),
        _instant("last_at"),
        schema=SCHEMA,
    )
    op.create_index("parked_stream", "parked", ["generation_id", "stream_id"], schema=SCHEMA)


def _workers() -> None:
    op.create_table(
        "workers",
        sa.Column("worker_id", sa.Text, primary_key=True),
        sa.Column("log_id", sa.LargeBinary, nullable=False),
        _instant("started_at"),
        _instant("seen_at"),
        sa.Column("trouble", sa.Text),
        schema=SCHEMA,
    )


def downgrade() -> None:
    for table in ("workers", "parked", "checkpoints", "generations", "logs"):
        op.drop_table(table, schema=SCHEMA)
