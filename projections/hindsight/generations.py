"""Generations: made beside each other, compared with the log, switched by one row, dropped.

These are the rare statements; SQLAlchemy writes them from the table definitions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from typing import Any

from sqlalchemy import Connection, Row, create_engine, func
from sqlalchemy.pool import NullPool
from sqlalchemy.schema import CreateSchema, CreateTable, DropSchema

from foldlog.errors import IndexUnusable
from foldlog.events.log import Log, Meta
from foldlog.projections import analysis
from foldlog.projections.hindsight import connection as postgres
from foldlog.projections.hindsight import control, store, tables
from foldlog.projections.hindsight.control import LAYOUT, Generation, Recipe, utc_now
from foldlog.projections.hindsight.projection import HindsightProjection
from foldlog.projections.hindsight.session import Session
from foldlog.projections.index import IndexedMemory

#: Returns the next memories after an id, in the order of ids, at most so many.
Reader = Callable[[int, int], list[IndexedMemory]]


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
            "FOLDLOG_NAME, or, if that log is gone for good, run `foldlog rebuild --take-over`"
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
    connection: Connection, name: str, meta: Meta, genesis: bytes, recipe: Recipe, *, state: str
) -> int:
    """Create an empty generation in a schema of its own, its checkpoint at the log's beginning.

    An `active` one is complete from the start; one that is `building` gets its search indexes when it
    is loaded, since making them once is far cheaper than keeping them up. Returns its id.
    """
    generations = tables.generations
    earlier = connection.scalar(
        generations.select()
        .with_only_columns(func.max(generations.c.number))
        .where(generations.c.log_id == meta.log_id)
    )
    number = (earlier or 0) + 1
    now = utc_now()
    complete = state == "active"
    row = connection.execute(
        generations.insert()
        .values(
            log_id=meta.log_id,
            number=number,
            schema_name=f"foldlog_{name}_g{number}",
            layout=LAYOUT,
            analysis=analysis.VERSION,
            embedder=recipe.embedder,
            dimension=recipe.dimension,
            state=state,
            created_at=now,
            loaded_at=now if complete else None,
            activated_at=now if complete else None,
        )
        .returning(generations.c.generation_id, generations.c.schema_name)
    ).one()
    connection.execute(CreateSchema(row.schema_name))
    _create_tables(connection, row.schema_name, recipe.dimension, complete=complete)
    connection.execute(
        tables.checkpoints.insert().values(
            generation_id=row.generation_id,
            position=0,
            hash=genesis,
            incarnation=meta.incarnation,
            moved_at=now,
        )
    )
    return int(row.generation_id)


def _create_tables(connection: Connection, schema: str, dimension: int | None, *, complete: bool) -> None:
    translated = connection.execution_options(schema_translate_map={"generation": schema})
    wanted = tables.generation.sorted_tables
    if dimension is not None:
        wanted = [*wanted, tables.vectors(dimension)]
    for table in wanted:
        translated.execute(CreateTable(table))
        for index in table.indexes:
            if complete or index not in tables.AFTER_LOADING:
                index.create(translated)


def take_over(connection: Connection, name: str, meta: Meta) -> None:
    """Remove what another log left in the index under this log's name."""
    logs, generations = tables.logs, tables.generations
    found = connection.execute(logs.select().where(logs.c.name == name)).first()
    if found is None or bytes(found.log_id) == meta.log_id:
        return
    theirs = generations.select().where(generations.c.log_id == found.log_id)
    for row in connection.execute(theirs).all():
        connection.execute(DropSchema(row.schema_name, cascade=True, if_exists=True))
    connection.execute(generations.delete().where(generations.c.log_id == found.log_id))
    connection.execute(logs.delete().where(logs.c.log_id == found.log_id))


class Generations:
    """The generations of one log: made, loaded, compared with the log, switched and dropped."""

    def __init__(self, session: Session, log: Log, name: str, recipe: Recipe, *, timeout_ms: int) -> None:
        self._session = session
        self._log = log
        self._name = name
        self._recipe = recipe
        self._timeout_ms = timeout_ms

    def every(self) -> list[Generation]:
        """Return those that exist, the oldest first; raises ProjectionError."""
        with self._session.transaction() as connection:
            return control.every(connection, self._log.meta.log_id)

    def number(self, generation_id: int) -> int:
        """Return the number by which people know a generation."""
        return next(item.number for item in self.every() if item.generation_id == generation_id)

    def former(self) -> int:
        """Return the id of the newest one that was replaced; raises IndexUnusable without any."""
        retired = [item for item in self.every() if item.state == "retired" and item.current]
        if not retired:
            raise IndexUnusable("there is no former generation that this foldlog can go back to")
        return retired[-1].generation_id

    def kept(self) -> list[int]:
        """Return the ids of those that were replaced and are still folded."""
        return [item.generation_id for item in self.every() if item.state == "retired" and item.current]

    def drop_old(self, before: datetime) -> list[int]:
        """Drop those that were replaced before an instant; return their numbers."""
        old = [item for item in self.every() if item.retired_at is not None and item.retired_at < before]
        for item in old:
            self.drop(item.generation_id)
        return [item.number for item in old]

    def resume(self) -> int | None:
        """Return the id of one that was left half built and that this code can go on with."""
        unfinished = [item for item in self.every() if item.state in ("building", "verified")]
        return next(
            (item.generation_id for item in unfinished if item.current and item.recipe == self._recipe), None
        )

    def create(self) -> int:
        """Create an empty one beside the active one, and return its id."""
        genesis = self._log.hash_at(0)
        assert genesis is not None
        with transaction(self._session.url, timeout_ms=self._timeout_ms) as connection:
            register(connection, self._name, self._log.meta)
            return create_generation(
                connection, self._name, self._log.meta, genesis, self._recipe, state="building"
            )

    def projection(self, generation_id: int) -> HindsightProjection:
        """Return it as something to fold into."""
        return HindsightProjection(self._session, self._log.meta, _prepared, generation_id=generation_id)

    def finish_loading(self, generation_id: int) -> None:
        """Make the search indexes and the counts of a generation that was loaded without them."""
        with transaction(self._session.url, timeout_ms=self._timeout_ms) as connection:
            row = _lock(connection, generation_id)
            if row.loaded_at is not None:
                return
            translated = connection.execution_options(schema_translate_map={"generation": row.schema_name})
            for index in tables.AFTER_LOADING:
                index.create(translated)
            quoted = connection.dialect.identifier_preparer.quote(row.schema_name)
            connection.exec_driver_sql(f"SET LOCAL search_path TO {quoted}, public")
            for statement in (store.COUNT_ALL_WORDS, store.COUNT_ALL_PASSAGES, store.ANALYZE):
                connection.exec_driver_sql(statement)
            _set(connection, generation_id, loaded_at=utc_now())

    @contextmanager
    def locked(self, generation_id: int) -> Iterator[tuple[int, Reader]]:
        """Lock one, and return its checkpoint and a reader of its memories."""
        with self._session.transaction() as connection:
            generation = control.by_id(connection, generation_id)
            row = control.lock(connection, generation_id)
            if generation is None or row is None:
                raise IndexUnusable("the generation is being folded by somebody else; try again")
            control.use(connection, generation)
            yield row[0], partial(store.rows, connection)

    def verified(self, generation_id: int) -> None:
        """Note that it was found equal to the log."""
        with transaction(self._session.url, timeout_ms=self._timeout_ms) as connection:
            _set(connection, generation_id, state="verified", verified_at=utc_now())

    def switch(self, generation_id: int) -> bool:
        """Let it answer from now on, unless the active one has folded more; say whether it does.

        One transaction that holds both checkpoints: no question is answered by neither or by both.
        """
        with transaction(self._session.url, timeout_ms=self._timeout_ms) as connection:
            old = active(connection, self._log.meta)
            ids = sorted({generation_id, *([old] if old else [])})
            positions = {item: _lock(connection, item).position for item in ids}
            if old is not None and positions[generation_id] < positions[old]:
                return False
            now = utc_now()
            if old is not None and old != generation_id:
                _set(connection, old, state="retired", retired_at=now)
            _set(connection, generation_id, state="active", activated_at=now, retired_at=None)
            return True

    def drop(self, generation_id: int) -> None:
        """Remove one with its schema; never the active one."""
        with transaction(self._session.url, timeout_ms=self._timeout_ms) as connection:
            row = _lock(connection, generation_id)
            if row.state == "active":
                raise IndexUnusable(f"generation {row.number} is active, and cannot be dropped")
            connection.execute(DropSchema(row.schema_name, cascade=True))
            generations = tables.generations
            connection.execute(generations.delete().where(generations.c.generation_id == generation_id))


def _prepared() -> None:
    """A generation that exists needs no preparation."""


def _lock(connection: Connection, generation_id: int) -> Row[Any, Any, Any, Any, Any]:
    """Wait for a generation's checkpoint, lock it, and return both their columns."""
    generations, checkpoints = tables.generations, tables.checkpoints
    statement = (
        generations.join(checkpoints)
        .select()
        .where(generations.c.generation_id == generation_id)
        .with_only_columns(
            generations.c.number,
            generations.c.schema_name,
            generations.c.state,
            generations.c.loaded_at,
            checkpoints.c.position,
        )
        .with_for_update()
    )
    row = connection.execute(statement).first()
    if row is None:
        raise IndexUnusable("the generation does not exist any more")
    return row


def _set(connection: Connection, generation_id: int, **values: Any) -> None:
    generations = tables.generations
    connection.execute(
        generations.update().where(generations.c.generation_id == generation_id).values(**values)
    )
