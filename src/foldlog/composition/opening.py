"""Opening a log, and the memory over it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from foldlog.composition.foreground import ForegroundFolding
from foldlog.composition.lazy_index import LazyIndex
from foldlog.events.log import Clock, Log, wall_clock
from foldlog.events.provenance import NOBODY, Provenance
from foldlog.memory import Memory
from foldlog.memory.recording import Recorder
from foldlog.migrations.upgrade import prepare_log
from foldlog.projections.local.fold import fold
from foldlog.settings import Settings, load

if TYPE_CHECKING:
    from foldlog.memory.schemas import Rule
    from foldlog.projections.recall.answer import Recall
    from foldlog.projections.recall.ranker import Question, Ranked
    from foldlog.projections.recall.reading import Candidate
    from foldlog.projections.recall.recall import Recaller
    from foldlog.projections.scope import Scope


def open_memory(
    path: Path | str | None = None,
    *,
    settings: Settings | None = None,
    by: Provenance = NOBODY,
    clock: Clock = wall_clock,
    count_tokens: Callable[[str], int] | None = None,
    schemas: Mapping[str, Any] | None = None,
) -> Memory:
    """Open a log, or create it, and return the memory over it.

    `path` stands over the setting FOLDLOG_LOG. `count_tokens` counts what a block costs of its budget;
    without it the bytes are counted, of which no tokenizer makes more tokens. Raises LogError when the
    file cannot be used.

    `schemas` are what the values of facts must be, by `namespace/key` as in `user:*/profile`: JSON Schemas,
    pydantic models, msgspec Structs, or functions; before those of FOLDLOG_SCHEMAS.
    """
    if settings is None:
        settings = load(log=None if path is None else Path(path))
    rules = _rules(schemas, settings)
    log = open_log(settings, clock=clock)
    index = LazyIndex(settings, log)
    folding = ForegroundFolding(settings, log, index)
    return Memory(
        log,
        LazyRecaller(log, index),
        folding,
        by=by,
        walker=index,
        recorder=Recorder(log, keep_ms=settings.keep_servings_ms),
        close=folding.close,
        count_tokens=count_tokens,
        rules=rules,
    )


def _rules(schemas: Mapping[str, Any] | None, settings: Settings) -> list[Rule]:
    if not schemas and settings.schemas is None:
        return []
    from foldlog.memory.schemas import from_file, rules

    found = rules(schemas or {})
    return found if settings.schemas is None else found + from_file(Path(settings.schemas).expanduser())


class LazyRecaller:
    """Answers questions; what that needs is imported with the first one."""

    def __init__(self, log: Log, index: LazyIndex) -> None:
        self._log = log
        self._index = index

    @cached_property
    def _recaller(self) -> Recaller:
        from foldlog.projections.recall.recall import Recaller

        return Recaller(self._log, self._index, rank)

    def recall(self, query: str, scope: Scope, *, limit: int, off: Sequence[str] = ()) -> Recall:
        """Return the best memories for a question."""
        return self._recaller.recall(query, scope, limit=limit, off=off)


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
