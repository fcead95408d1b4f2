"""The parts of the index, put together; what needs Postgres is imported when it is first used."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from foldlog.errors import IndexUnusable, SettingsError
from foldlog.events.log import Log
from foldlog.migrations.upgrade import prepare_index
from foldlog.settings import Settings

if TYPE_CHECKING:
    from foldlog.projections.embedding.embedder import Embedder
    from foldlog.projections.engine import Limits
    from foldlog.projections.hindsight.control import Recipe
    from foldlog.projections.hindsight.embedding import EmbeddingStage
    from foldlog.projections.hindsight.generations import Generations
    from foldlog.projections.hindsight.projection import HindsightProjection
    from foldlog.projections.hindsight.session import Session


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


def embed_generation(
    settings: Settings, log: Log, session: Session, generation_id: int, stop: Callable[[], bool]
) -> bool:
    """Give one generation all its vectors; say whether that came to the end before `stop`.

    Raises EmbeddingUnavailable or EmbeddingRefused when the embedder gives none.
    """
    for stage in stages(settings, log.meta.log_id, session):
        if stage.generation_id == generation_id:
            while stage.run_once().claimed:
                if stop():
                    return False
            stage.index_if_large()
    return True


def limits(settings: Settings, *, seconds: float | None = None) -> Limits:
    """Return how much one run of the fold may do."""
    from foldlog.projections.engine import Limits

    return Limits(page_events=settings.page_events, page_bytes=settings.page_bytes, seconds=seconds)
