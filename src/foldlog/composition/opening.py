"""Opening a log, and the memory over it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from foldlog.composition.foreground import ForegroundFolding
from foldlog.composition.lazy_index import LazyIndex
from foldlog.events.log import Clock, Log, wall_clock
from foldlog.events.provenance import NOBODY, Provenance
from foldlog.memory import Memory
from foldlog.memory.graph import Graph
from foldlog.migrations.upgrade import prepare_log
from foldlog.projections.local.fold import fold
from foldlog.projections.recall.ranker import Question, Ranked
from foldlog.projections.recall.reading import Candidate
from foldlog.projections.recall.recall import Recaller
from foldlog.settings import Settings, load


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
    recaller, graph = Recaller(log, index, rank), Graph(log, index)
    return Memory(log, recaller, folding, by=by, graph=graph, close=folding.close)


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
