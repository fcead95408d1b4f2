"""Bring a store to the newest schema; safe when many processes start at once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from foldlog.errors import IndexUnusable, LogTooNew
from foldlog.events.connection import check_path, create_file, named_errors
from foldlog.events.log import SCHEMA_VERSION, schema_version

if TYPE_CHECKING:
    from alembic.config import Config
    from sqlalchemy import Connection

    from foldlog.events.log import Log
    from foldlog.projections.hindsight.control import Recipe
    from foldlog.projections.hindsight.session import Session

#: Number of the advisory lock under which the control schema is migrated ("foldlog" in ASCII).
_CONTROL_LOCK: Final = 0x666F6C646C6F67


def prepare_log(path: Path, *, busy_timeout_ms: int) -> None:
    """Create the log at `path` or upgrade it, if it needs that.

    Looks at the version by plain SQL first: Alembic costs a second and a half to import.
    Raises LogUnavailable for what is no log, and LogTooNew for one whose schema is not known here.
    """
    found = schema_version(path, busy_timeout_ms)
    if found == SCHEMA_VERSION:
        return
    if found is not None and found > SCHEMA_VERSION:
        raise LogTooNew(
            f"the log {path} has schema {found}, this foldlog knows {SCHEMA_VERSION}; upgrade foldlog"
        )
    check_path(path)
    create_file(path)
    upgrade_log(path, busy_timeout_ms=busy_timeout_ms)


def upgrade_log(path: Path, *, busy_timeout_ms: int) -> None:
    """Run the tree `log` on an existing file, in one transaction that holds the write lock."""
    from sqlalchemy import create_engine, event
    from sqlalchemy.pool import NullPool

    from foldlog.events.connection import connect

    # A WAL database is what connect() makes of the file, before any transaction.
    engine = create_engine(
        "sqlite://",
        creator=lambda: connect(path, busy_timeout_ms=max(busy_timeout_ms, 30_000)),
        poolclass=NullPool,
    )
    # Without it two processes would read the same old version and both migrate.
    event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN IMMEDIATE"))
    with named_errors(path), engine.begin() as connection:
        _run("log", connection)


def upgrade_control(connection: Connection) -> None:
    """Run the tree `hindsight` on a Postgres connection, in the transaction it is in."""
    from sqlalchemy import text

    connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _CONTROL_LOCK})
    connection.execute(text("CREATE SCHEMA IF NOT EXISTS foldlog"))
    _run("hindsight", connection)


def prepare_index(
    session: Session, log: Log, name: str, recipe: Recipe, *, timeout_ms: int, take_over: bool = False
) -> None:
    """Migrate the control schema, register the log and make its first generation, if it needs that.

    The generation answers questions at once: the log fills what it lacks. `take_over` removes what
    another log left under this one's name. Raises ProjectionError.
    """
    from foldlog.projections.hindsight import generations

    if _index_ready(session, log, name):
        return
    with generations.transaction(session.url, timeout_ms=timeout_ms) as connection:
        upgrade_control(connection)
        if take_over:
            generations.take_over(connection, name, log.meta)
        generations.register(connection, name, log.meta)
        if generations.active(connection, log.meta) is None:
            genesis = log.hash_at(0)
            assert genesis is not None
            generations.create_generation(connection, name, log.meta, genesis, recipe, state="active")


def _index_ready(session: Session, log: Log, name: str) -> bool:
    """Look by plain SQL first: SQLAlchemy and Alembic cost seconds to import."""
    from foldlog.projections.hindsight import control

    try:
        with session.transaction() as connection:
            return control.ready(connection, log.meta.log_id, name)
    except IndexUnusable:
        return False


def heads() -> dict[str, str]:
    """Return the newest revision of each tree."""
    from alembic.script import ScriptDirectory

    found = {}
    for tree in ("log", "hindsight"):
        head = ScriptDirectory.from_config(_config(tree)).get_current_head()
        assert head is not None
        found[tree] = head
    return found


def _config(tree: str) -> Config:
    from alembic.config import Config

    config = Config()
    # Alembic interpolates '%' in option values.
    config.set_main_option("script_location", str(Path(__file__).parent / tree).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config


def _run(tree: str, connection: Connection) -> None:
    from alembic import command

    config = _config(tree)
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
