"""Alembic environment of the log: one transaction, the write lock taken first."""

from alembic import context

from foldlog.migrations.versions import LOG_VERSION_TABLE

context.configure(
    connection=context.config.attributes["connection"],
    version_table=LOG_VERSION_TABLE,
    # A failing revision must leave nothing behind; SQLite can do that, Alembic assumes it cannot.
    transactional_ddl=True,
    render_as_batch=True,
)
with context.begin_transaction():
    context.run_migrations()
