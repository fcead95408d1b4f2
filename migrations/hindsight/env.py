"""Alembic environment of the index's control schema."""

from alembic import context

from foldlog.migrations.versions import CONTROL_SCHEMA, CONTROL_VERSION_TABLE

context.configure(
    connection=context.config.attributes["connection"],
    version_table=CONTROL_VERSION_TABLE,
    version_table_schema=CONTROL_SCHEMA,
)
with context.begin_transaction():
    context.run_migrations()
