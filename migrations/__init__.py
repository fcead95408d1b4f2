"""The two Alembic trees: log/ for the SQLite log, hindsight/ for the control schema in Postgres."""
