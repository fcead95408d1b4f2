"""Making generations: the rare statements that SQLAlchemy writes, from the table definitions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, create_engine
from sqlalchemy.pool import NullPool
from sqlalchemy.schema import CreateSchema

from foldlog.errors import IndexUnusable
from foldlog.events.log import Meta
from foldlog.projections.hindsight import connection as postgres
from foldlog.projections.hindsight import tables
from foldlog.projections.hindsight.control import LAYOUT, RECIPE, Generation, utc_now


@contextmanager
def transaction(url: str, *, timeout_ms: int) -> Iterator[Connection]:
    """Begin an SQLAlchemy transaction on a connection of its own; raises ProjectionError."""
    with postgres.named_errors(url):
        raw = postgres.connect(url, timeout_ms=timeout_ms)
        engine = create_engine("postgresql+psycopg://", creator=lambda: raw, poolclass=NullPool)
        try:
            postgres.check_server(raw, url)
            raw.rollback()
            with engine.begin() as connection:
                yield connection
        except Exception as error:
            # SQLAlchemy wraps what the driver raised; ours are named by the driver's.
            original = getattr(error, "orig", None)
            if original is None:
                raise
            raise original from error
        finally:
            raw.close()


def register(connection: Connection, name: str, meta: Meta) -> None:
    """Make the log known to the index under its short name.

    Raises IndexUnusable when another log has that name: two logs in one index need two names.
    """
    logs = tables.logs
    found = connection.execute(logs.select().where(logs.c.name == name)).first()
    if found is not None and bytes(found.log_id) != meta.log_id:
        raise IndexUnusable(
            f"the index holds another log under the name {name!r}; give this one its own name with "
            "FOLDLOG_NAME, or use another database"
        )
    known = connection.execute(logs.select().where(logs.c.log_id == meta.log_id)).first()
    if known is None:
        connection.execute(
            logs.insert().values(
                log_id=meta.log_id, name=name, incarnation=meta.incarnation, created_at=utc_now()
            )
        )


def active(connection: Connection, meta: Meta) -> int | None:
    """Return the id of the log's active generation."""
    generations = tables.generations
    found: int | None = connection.scalar(
        generations.select()
        .with_only_columns(generations.c.generation_id)
        .where(generations.c.log_id == meta.log_id, generations.c.state == "active")
    )
    return found


def create_generation(
    connection: Connection, name: str, meta: Meta, genesis: bytes, state: str
) -> Generation:
    """Create an empty generation with its own schema and its checkpoint at the log's beginning."""
    generations = tables.generations
    earlier = connection.execute(
        generations.select().where(generations.c.log_id == meta.log_id).order_by(generations.c.number.desc())
    ).first()
    number = 1 if earlier is None else earlier.number + 1
    now = utc_now()
    row = connection.execute(
        generations.insert()
        .values(
            log_id=meta.log_id,
            number=number,
            schema_name=f"foldlog_{name}_g{number}",
            layout=LAYOUT,
            recipe=RECIPE,
            state=state,
            created_at=now,
            activated_at=now if state == "active" else None,
        )
        .returning(generations.c.generation_id, generations.c.schema_name)
    ).one()
    connection.execute(CreateSchema(row.schema_name))
    translated = connection.execution_options(schema_translate_map={"generation": row.schema_name})
    tables.generation.create_all(translated, checkfirst=False)
    connection.execute(
        tables.checkpoints.insert().values(
            generation_id=row.generation_id,
            position=0,
            hash=genesis,
            incarnation=meta.incarnation,
            moved_at=now,
        )
    )
    return Generation(
        generation_id=row.generation_id,
        number=number,
        schema_name=row.schema_name,
        layout=LAYOUT,
        recipe=RECIPE,
        state=state,
    )
