"""Alembic tree of the Hindsight index's control schema."""
