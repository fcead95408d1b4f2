"""Alembic tree of the log."""
