"""The composition root: the one place that names concrete classes and wires them together.

Whatever needs Postgres is imported when it is first used: a program that only writes never loads it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from foldlog.errors import (
    IndexUnavailable,
    IndexUnusable,
    ProjectionError,
    QueueUnavailable,
    ServerError,
    SettingsError,
    WaitTimeout,
)
from foldlog.events.log import Clock, Log, wall_clock
from foldlog.events.provenance import NOBODY, Provenance
from foldlog.memory import Memory
from foldlog.migrations.upgrade import prepare_index, prepare_log
from foldlog.projections import engine
from foldlog.projections.engine import Folded, Limits
from foldlog.projections.index import Hop, IndexAnswer, Query
from foldlog.projections.local.fold import fold
from foldlog.projections.rebuild import Progress, Rebuild
from foldlog.projections.recall.ranker import Question, Ranked
from foldlog.projections.recall.reading import Candidate
from foldlog.projections.recall.recall import Recaller
from foldlog.projections.scope import Scope
from foldlog.settings import Settings, load

if TYPE_CHECKING:
    from foldlog.embedded.home import Home
    from foldlog.embedded.postgres import Postgres
    from foldlog.embedded.valkey import Valkey
    from foldlog.projections.embedding.embedder import Embedder
    from foldlog.projections.hindsight.control import Recipe
    from foldlog.projections.hindsight.embedding import EmbeddingStage
    from foldlog.projections.hindsight.generations import Generations
    from foldlog.projections.hindsight.projection import HindsightProjection
    from foldlog.projections.hindsight.search import HindsightIndex
    from foldlog.projections.hindsight.session import Session

NO_INDEX: Final = (
    "no index is running: the log answers alone. Run `foldlog up`, or set FOLDLOG_DATABASE_URL to a "
    "Postgres with pgvector"
)

NO_QUEUE: Final = "no queue is running: run `foldlog up`, or set FOLDLOG_REDIS_URL to a Redis or Valkey"

#: How many times larger the pages of a rebuild are: nobody waits for them.
BULK: Final = 5

#: Seconds between two looks at the checkpoint while waiting for a position.
WAIT_SECONDS: Final = 0.02


def open_memory(
    path: Path | str | None = None,
    *,
    settings: Settings | None = None,
    by: Provenance = NOBODY,
    clock: Clock = wall_clock,
) -> Memory:
    """Open a log, or create it, and return the memory over it.

    `path` stands over the setting FOLDLOG_LOG. Raises LogError when the file cannot be used.
    """
    if settings is None:
        settings = load(log=None if path is None else Path(path))
    log = open_log(settings, clock=clock)
    index = LazyIndex(settings, log)
    folding = ForegroundFolding(settings, log, index)
    return Memory(log, Recaller(log, index, rank), folding, by=by, close=folding.close)


def rank(question: Question, candidates: Sequence[Candidate], limit: int) -> list[Ranked]:
    """Rank by features; numpy is imported with the first question."""
    from foldlog.projections.recall.ranking import rank

    return rank(question, candidates, limit)


def open_log(settings: Settings, *, clock: Clock = wall_clock) -> Log:
    """Open the log, creating or upgrading it if need be."""
    prepare_log(settings.log, busy_timeout_ms=settings.busy_timeout_ms)
    return Log(
        settings.log,
        fold=fold,
        clock=clock,
        busy_timeout_ms=settings.busy_timeout_ms,
        max_payload_bytes=settings.max_payload_bytes,
    )


def home(settings: Settings) -> Home:
    """Return where the embedded servers of this log live."""
    from foldlog.embedded.home import Home

    return Home.of(settings.log.absolute().parent)


def embedded_postgres(settings: Settings) -> Postgres:
    """Return the embedded Postgres beside the log; it is not started."""
    from foldlog.embedded.postgres import Postgres

    return Postgres(home(settings))


def database_url(settings: Settings) -> str:
    """Return where the index is; raises IndexUnavailable when nothing is set and nothing runs."""
    if settings.database_url is not None:
        return settings.database_url
    try:
        server = embedded_postgres(settings)
    except ServerError as error:
        # An outage like any other: who may only read the log's folder still gets the log's answer.
        raise IndexUnavailable(
            f"no index can run beside this log ({error}); set FOLDLOG_DATABASE_URL"
        ) from error
    if not server.answers():
        raise IndexUnavailable(NO_INDEX)
    return server.url


def embedded_valkey(settings: Settings) -> Valkey:
    """Return the embedded Valkey beside the log; it is not started."""
    from foldlog.embedded.valkey import Valkey

    return Valkey(home(settings))


def redis_url(settings: Settings) -> str:
    """Return where the queue is; raises QueueUnavailable when nothing is set and nothing runs."""
    if settings.redis_url is not None:
        return settings.redis_url
    server = embedded_valkey(settings)
    if not server.answers():
        raise QueueUnavailable(NO_QUEUE)
    return server.url


def projection(settings: Settings, log: Log, session: Session) -> HindsightProjection:
    """Return the log's index as something to fold into."""
    from foldlog.projections.hindsight.projection import HindsightProjection

    def prepare() -> None:
        wait = settings.connect_timeout_ms
        prepare_index(session, log, settings.name, recipe(settings), timeout_ms=wait)

    return HindsightProjection(session, log.meta, prepare)


@lru_cache(maxsize=8)
def embedder_of(settings: Settings, fingerprint: str) -> Embedder | None:
    """Return the embedder with a fingerprint: the one the settings name, or one that needs no settings."""
    from foldlog.projections.embedding.registry import create

    for name in (settings.embedder, "static", "hash", "onnx"):
        try:
            found = create(replace(settings, embedder=name))
        except SettingsError:
            continue
        if found is not None and found.fingerprint == fingerprint:
            return found
    return None


def recipe(settings: Settings) -> Recipe:
    """Return what the settings want vectors to be made with; raises SettingsError."""
    from foldlog.projections.embedding.registry import create
    from foldlog.projections.hindsight.control import Recipe

    embedder = create(settings)
    if embedder is None:
        return Recipe(embedder=None, dimension=None)
    return Recipe(embedder=embedder.fingerprint, dimension=embedder.dimension)


def generations(settings: Settings, log: Log, session: Session) -> Generations:
    """Return the builds of the log's index."""
    from foldlog.projections.hindsight.generations import Generations

    wait = settings.connect_timeout_ms
    return Generations(session, log, settings.name, recipe(settings), timeout_ms=wait)


def log_id(settings: Settings, session: Session) -> bytes:
    """Return the id of the log that the settings name, from the index: this host may not have the log.

    Raises IndexUnusable when the index does not know it yet.
    """
    from foldlog.projections.hindsight import control

    with session.transaction() as connection:
        found = control.log_id(connection, settings.name)
    if found is None:
        raise IndexUnusable(
            f"the index knows no log named {settings.name!r} yet; start a worker that folds first"
        )
    return found


def stages(settings: Settings, log_id: bytes, session: Session) -> list[EmbeddingStage]:
    """Return the embedding of every generation whose embedder is to be had here."""
    from foldlog.projections.hindsight import control
    from foldlog.projections.hindsight.embedding import EmbeddingStage

    with session.transaction() as connection:
        every = control.every(connection, log_id)
    found = []
    for generation in every:
        embedder = embedder_of(settings, generation.embedder) if generation.embedder else None
        if embedder is not None and generation.current:
            found.append(EmbeddingStage(session, generation, embedder))
    return found


def embed_all(settings: Settings, log: Log, session: Session) -> None:
    """Embed everything that is due, in this process."""
    for stage in stages(settings, log.meta.log_id, session):
        while stage.run_once().claimed:
            pass
        stage.index_if_large()


def limits(settings: Settings, *, seconds: float | None = None) -> Limits:
    """Return how much one run of the fold may do."""
    return Limits(page_events=settings.page_events, page_bytes=settings.page_bytes, seconds=seconds)


def _folded_by_live(target: HindsightProjection) -> int:
    """Return how far the live generation is; one that cannot be folded is nobody's to wait for."""
    try:
        return target.checkpoint()
    except ProjectionError:
        return 1 << 62


class LazyIndex:
    """The index as recall asks it; Postgres' driver is imported, and reached, with the first question."""

    def __init__(self, settings: Settings, log: Log) -> None:
        self._settings = settings
        self._log = log
        self._lock = threading.Lock()
        self._session: Session | None = None
        self._embedders = partial(embedder_of, settings)

    def session(self) -> Session:
        """Return connections to the index; raises IndexUnavailable when there is none."""
        with self._lock:
            if self._session is None:
                from foldlog.projections.hindsight.session import Session

                url = database_url(self._settings)
                self._session = Session(url, timeout_ms=self._settings.connect_timeout_ms)
            return self._session

    def search(self, query: Query, scope: Scope, *, now: int, limit: int) -> IndexAnswer:
        """Search the log's active generation."""
        return self._index().search(query, scope, now=now, limit=limit)

    def _index(self) -> HindsightIndex:
        from foldlog.projections.hindsight.search import HindsightIndex

        return HindsightIndex(
            self.session(),
            self._log.meta.log_id,
            self._embedders,
            timeout_ms=self._settings.recall_timeout_ms,
        )

    def hop(self, seeds: Mapping[int, str], scope: Scope, *, now: int, limit: int) -> list[Hop]:
        """Follow the names in some texts, in the log's active generation."""
        return self._index().hop(seeds, scope, now=now, limit=limit)

    def close(self) -> None:
        """Close the connections."""
        with self._lock:
            session, self._session = self._session, None
        if session is not None:
            session.close()


class ForegroundFolding:
    """Folds in the caller's process; without a Postgres of its own it starts the embedded one."""

    def __init__(self, settings: Settings, log: Log, index: LazyIndex) -> None:
        self._settings = settings
        self._log = log
        self._index = index
        self._server: Postgres | None = None

    def _projection(self) -> HindsightProjection:
        """Return the index, on an embedded server if no other is named."""
        if self._settings.database_url is None and self._server is None:
            server = embedded_postgres(self._settings)
            server.acquire()
            self._server = server
        return projection(self._settings, self._log, self._index.session())

    def catch_up(self, progress: Callable[[Folded], None] | None) -> Folded:
        """Fold up to the head, whoever does it: another process may have the checkpoint."""
        target = self._projection()
        goal = self._log.head()
        pages = events = 0
        while True:
            done = engine.run_once(self._log, target, limits(self._settings), progress=progress)
            pages, events = pages + done.pages, events + done.events
            position = target.checkpoint()
            if done.outcome != engine.BUSY or position >= goal:
                embed_all(self._settings, self._log, self._index.session())
                return Folded(outcome=engine.CAUGHT_UP, pages=pages, events=events, position=position)
            time.sleep(WAIT_SECONDS)

    def rebuild(
        self,
        progress: Callable[[Progress], None] | None,
        stop: Callable[[], bool] | None,
        take_over: bool,
    ) -> int | None:
        """Build a new generation, verify it, and switch to it."""
        target = self._projection()
        if take_over:
            wait = self._settings.connect_timeout_ms
            session = self._index.session()
            prepare_index(
                session,
                self._log,
                self._settings.name,
                recipe(self._settings),
                timeout_ms=wait,
                take_over=True,
            )
        target.prepare()
        builds = generations(self._settings, self._log, self._index.session())
        pages = Limits(
            page_events=BULK * self._settings.page_events, page_bytes=BULK * self._settings.page_bytes
        )
        run = Rebuild(
            self._log,
            builds,
            pages,
            live=partial(_folded_by_live, target),
            progress=progress or (lambda _: None),
            stop=stop or (lambda: False),
        )
        made = run.run()
        return None if made is None else builds.number(made)

    def back(self) -> int:
        """Bring the generation before up to date, and switch to it."""
        self._projection().prepare()
        builds = generations(self._settings, self._log, self._index.session())
        former = builds.former()
        target = builds.projection(former)
        while True:
            engine.run_once(self._log, target, limits(self._settings))
            if builds.switch(former):
                return builds.number(former)

    def wait_for(self, position: int, timeout: float) -> None:
        """Wait until a position is folded."""
        target = projection(self._settings, self._log, self._index.session())
        deadline = time.monotonic() + timeout
        while (folded := target.checkpoint()) < position:
            if time.monotonic() >= deadline:
                raise WaitTimeout(
                    f"position {position} was not folded within {timeout:g} s (the index is at {folded}); "
                    "is a worker running? See `foldlog status`"
                )
            time.sleep(WAIT_SECONDS)

    def close(self) -> None:
        """Close connections, and let go of the embedded server."""
        self._index.close()
        server, self._server = self._server, None
        if server is not None:
            server.release()
