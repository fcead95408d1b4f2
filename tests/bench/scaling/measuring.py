"""Measuring: memories are written, folded, embedded and asked for, each beside its bare counterpart."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace

import psycopg

from foldlog import composition
from foldlog.events.log import Log
from foldlog.memory import Memory
from foldlog.projections.hindsight.session import Session
from foldlog.projections.hindsight.tables import AFTER_LOADING
from foldlog.projections.recall.recall import Recaller
from foldlog.settings import Settings
from scaling import asking, bare, stages
from scaling.data import HUNDREDTH, Data
from scaling.report import Measured
from scaling.writing import Written, write

#: What embedding writes; everything else is written by the fold.
VECTORS = "vectors"


def measure(memories: int, seed: int, questions: int, settings: Settings) -> Measured:
    """Measure everything; `settings` name a log that does not exist yet, and no database is running."""
    data = Data(memories, seed)
    with _running(settings) as settings, closing(composition.open_log(settings)) as log:
        _say("writing")
        written = _written(settings, log, data)
        _say(f"folding {written.events} events")
        fold = stages.run("fold", settings)
        session = Session(composition.database_url(settings), timeout_ms=settings.connect_timeout_ms)
        with closing(session), psycopg.connect(session.url, autocommit=True) as connection:
            _say("writing the same rows by bare COPY")
            names = [name for name in bare.tables(connection) if name != VECTORS]
            copied = bare.copy(connection, names)
            prepare = stages.run("prepare", settings)
            _say("rebuilding")
            rebuild = stages.run("rebuild", settings)
            loaded = bare.copy(connection, names, later=frozenset(str(item.name) for item in AFTER_LOADING))
            _say("embedding")
            model = stages.run("model", settings)
            embed = stages.run("embed", settings)
            inserted = bare.copy(connection, [VECTORS])
            index_seconds = _index(settings, log, session)
            _say("asking")
            tables, indexes = bare.sizes(connection)
            asked = asking.ask(
                settings, log, session, data.questions(questions), data.questions(questions, HUNDREDTH)
            )
        return Measured(
            memories=memories,
            seed=seed,
            written=written,
            log_mb=settings.log.stat().st_size / 1e6,
            fold=fold,
            prepare=prepare,
            copied=copied,
            rebuild=rebuild,
            loaded=loaded,
            model=model,
            embed=embed,
            inserted=inserted,
            index_seconds=index_seconds,
            tables=tables,
            indexes=indexes,
            asked=asked,
        )


@contextmanager
def _running(settings: Settings) -> Iterator[Settings]:
    """Keep one Postgres running for all stages; the embedded one when no other is named."""
    if settings.database_url is not None:
        yield settings
        return
    server = composition.embedded_postgres(settings)
    server.acquire()
    try:
        yield replace(settings, database_url=server.url)
    finally:
        server.release()


def _written(settings: Settings, log: Log, data: Data) -> Written:
    without = Recaller(log, None, composition.rank, why_no_index="the benchmark only writes here")
    folding = composition.ForegroundFolding(settings, log, composition.LazyIndex(settings, log))
    return write(Memory(log, without, folding), data.items())


def _index(settings: Settings, log: Log, session: Session) -> float | None:
    """Make the approximate index of the vectors as the product does; return how long it took."""
    began = time.perf_counter()
    made = [stage.index_if_large() for stage in composition.stages(settings, log.meta.log_id, session)]
    return time.perf_counter() - began if any(made) else None


def _say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)
