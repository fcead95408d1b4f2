"""The index as a projection: it is prepared, folded a page at a time, and asked where it stands."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Final

from foldlog.errors import IndexUnusable, ProjectionError
from foldlog.events.log import Log, Meta
from foldlog.events.reader import Page
from foldlog.projections.hindsight import ahead, control, store
from foldlog.projections.hindsight.ahead import Ahead
from foldlog.projections.hindsight.connection import Connection
from foldlog.projections.hindsight.control import Generation, State, WorkerState
from foldlog.projections.hindsight.prepared import prepare
from foldlog.projections.hindsight.session import Session
from foldlog.projections.index import IndexedMemory

logger = logging.getLogger(__name__)

#: Workers that gave no sign for so long are forgotten.
FORGET_AFTER: Final = timedelta(days=1)

#: Memories of a page after which the GIN index's pending list is merged.
TIDY_ABOVE: Final = 500

#: How long a fold that lost its client may keep the checkpoint, and a note may wait for its lock.
_IDLE_TIMEOUT: Final = "SET LOCAL idle_in_transaction_session_timeout = '60s'"
_LOCK_TIMEOUT: Final = "SET LOCAL lock_timeout = '1s'"


class HindsightTurn:
    """One transaction that has the checkpoint locked."""

    def __init__(
        self, connection: Connection, generation: Generation, meta: Meta, position: int, hashed: bytes
    ) -> None:
        self._connection = connection
        self._generation = generation
        self._meta = meta
        self.position = position
        self.hash = hashed
        self.documents = 0

    def fold(self, page: Page) -> None:
        """Fold a page and move the checkpoint to its end."""
        prepared = ahead.prepared(page)
        control.use(self._connection, self._generation)
        store.apply(
            self._connection,
            prepared,
            lambda only: prepare(page.events(), only),
            end=page.position,
            counting=self._generation.loaded_at is not None,
            embedding=self._generation.embedder is not None,
        )
        control.move(
            self._connection,
            self._generation.generation_id,
            page.position,
            page.hash,
            self._meta.incarnation,
        )
        self.documents = len(prepared.documents)


class HindsightProjection:
    """A log's index in one Postgres database: its active generation, or one that is named."""

    def __init__(
        self, session: Session, meta: Meta, prepare: Callable[[], None], *, generation_id: int | None = None
    ) -> None:
        """`prepare` migrates the control schema and makes the log's first generation, if need be."""
        self.session = session
        self._meta = meta
        self._prepare = prepare
        self._generation_id = generation_id
        self._prepared = False

    def prepare(self) -> None:
        """Make the database ready, once; raises ProjectionError."""
        if not self._prepared:
            self._prepare()
            self._prepared = True

    def checkpoint(self) -> int:
        """Return the position folded so far; raises ProjectionError."""
        self.prepare()
        with self.session.transaction() as connection:
            return self._checkpoint(connection)[1]

    @contextmanager
    def pages(self, log: Log, *, events: int, size: int) -> Iterator[Ahead]:
        """Return the log's pages; many are prepared ahead, by processes that end with this."""
        pages = Ahead(log, events=events, size=size)
        try:
            yield pages
        finally:
            pages.close()

    def _checkpoint(self, connection: Connection) -> tuple[Generation, int, bytes]:
        generation = self._generation(connection)
        row = control.checkpoint(connection, generation.generation_id)
        if row is None:
            raise IndexUnusable(
                f"generation {generation.number} of the index has no checkpoint; run `foldlog rebuild`"
            )
        return generation, *row

    def _generation(self, connection: Connection) -> Generation:
        if self._generation_id is None:
            found = control.active(connection, self._meta.log_id)
        else:
            found = control.by_id(connection, self._generation_id)
        if found is None:
            self._prepared = False
            raise IndexUnusable("the index has no generation for this log yet; a worker makes the first one")
        if not found.current:
            raise IndexUnusable(
                f"generation {found.number} of the index was built by another foldlog (layout "
                f"{found.layout}, words {found.analysis}); run `foldlog rebuild`"
            )
        return found

    @contextmanager
    def turn(self) -> Iterator[HindsightTurn | None]:
        """Begin a transaction and lock the checkpoint; None when somebody else has it."""
        self.prepare()
        with self.session.transaction() as connection:
            connection.execute(_IDLE_TIMEOUT)
            generation = self._generation(connection)
            row = control.lock(connection, generation.generation_id)
            turn = None if row is None else HindsightTurn(connection, generation, self._meta, *row)
            yield turn
        if turn is not None and generation.loaded_at is not None and turn.documents > TIDY_ABOVE:
            with self.session.transaction() as connection:
                control.use(connection, generation)
                store.tidy(connection)

    def failed(self, error: Exception) -> None:
        """Note a failure in the checkpoint's row, when Postgres can be reached."""
        if self.session.interrupted:
            # Nothing is wrong: the process stops, and the next one folds the page.
            return
        try:
            with self.session.transaction() as connection:
                connection.execute(_LOCK_TIMEOUT)
                generation = control.active(connection, self._meta.log_id)
                if generation is not None:
                    control.failed(connection, generation.generation_id, str(error) or type(error).__name__)
        except ProjectionError as unreachable:
            logger.warning(
                "a fold failed, which could not be noted",
                extra={"action": "fold_failed", "error": str(error), "unnoted": str(unreachable)},
            )

    def state(self, workers_since: datetime) -> tuple[State | None, list[WorkerState]]:
        """Return where the active generation stands, and the workers seen since an instant."""
        with self.session.transaction() as connection:
            state = control.state(connection, self._meta.log_id)
            return state, control.workers(connection, self._meta.log_id, workers_since)

    def reader(self) -> tuple[int, Callable[[int, int], list[IndexedMemory]]]:
        """Return the checkpoint, and what reads the memories page by page while folding goes on."""
        with self.session.transaction() as connection:
            generation, position, _ = self._checkpoint(connection)

        def read(after: int, limit: int) -> list[IndexedMemory]:
            with self.session.transaction() as connection:
                control.use(connection, generation)
                return store.rows(connection, after, limit)

        return position, read

    def unembedded(self) -> tuple[int, str | None]:
        """Return how many texts of the active generation have no vector yet, and why the last one failed."""
        with self.session.transaction() as connection:
            generation = self._generation(connection)
            control.use(connection, generation)
            row = connection.execute("SELECT count(*), max(error) FROM embed_todo").fetchone()
        assert row is not None
        return int(row[0]), row[1]


class Workers:
    """The signs of life of a log's workers."""

    def __init__(self, session: Session, log_id: bytes) -> None:
        self._session = session
        self._log_id = log_id

    def seen(self, worker: str, trouble: str | None) -> None:
        """Note a worker's sign of life; raises ProjectionError."""
        with self._session.transaction() as connection:
            control.seen(connection, worker, self._log_id, trouble)
            # Those that were killed could not say goodbye.
            control.forget_workers(connection, control.utc_now() - FORGET_AFTER)

    def gone(self, worker: str) -> None:
        """Note that a worker stopped; raises ProjectionError."""
        with self._session.transaction() as connection:
            control.gone(connection, worker)
