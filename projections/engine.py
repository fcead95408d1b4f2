"""The fold engine: moves a projection along the log, page by page, one transaction a page.

The projection's checkpoint row is lease, fence and checkpoint in one: it is locked before a page is
folded and moves in the same transaction as the rows, so every event has its effect exactly once,
whatever is killed and however often a message arrives.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Final, Protocol

from foldlog import metrics
from foldlog.errors import Diverged
from foldlog.events import reader
from foldlog.events.log import Log
from foldlog.events.reader import Page

logger = logging.getLogger(__name__)

#: The fold reached the head it saw when it began, or ran out of its time.
CAUGHT_UP: Final = "caught up"
OUT_OF_TIME: Final = "out of time"
#: Somebody else is folding.
BUSY: Final = "busy"
STOPPED: Final = "stopped"


class Turn(Protocol):
    """One transaction in which the checkpoint is locked."""

    @property
    def position(self) -> int:
        """Where the checkpoint stands."""
        ...  # pragma: no cover

    @property
    def hash(self) -> bytes:
        """The log's hash at that position, when it was folded."""
        ...  # pragma: no cover

    def fold(self, page: Page) -> None:
        """Fold a page that follows the checkpoint, and move the checkpoint to its end."""
        ...  # pragma: no cover


class Pages(Protocol):
    """The log's pages, in order, as a projection is to fold them."""

    def after(self, position: int) -> Page:
        """Return the page after a position; empty at the head."""
        ...  # pragma: no cover


class Projection(Protocol):
    """A copy of the log's content that is folded elsewhere."""

    def pages(self, log: Log, *, events: int, size: int) -> AbstractContextManager[Pages]:
        """Return the log's pages, of at most so many events and bytes; it may work them out ahead."""
        ...  # pragma: no cover

    def checkpoint(self) -> int:
        """Return the position folded so far; raises ProjectionError."""
        ...  # pragma: no cover

    def turn(self) -> AbstractContextManager[Turn | None]:
        """Begin a transaction and lock the checkpoint; None when somebody else has it."""
        ...  # pragma: no cover

    def failed(self, error: Exception) -> None:
        """Note a failure where a user can see it, if that is possible; never raises."""
        ...  # pragma: no cover


@dataclass(frozen=True, slots=True, kw_only=True)
class Folded:
    """What one run folded."""

    outcome: str
    pages: int = 0
    events: int = 0
    position: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much one run may do."""

    page_events: int = reader.PAGE_EVENTS
    page_bytes: int = reader.PAGE_BYTES
    #: Seconds after which no further page is begun; None: until the head.
    seconds: float | None = None


def run_once(
    log: Log,
    projection: Projection,
    limits: Limits,
    *,
    stop: Callable[[], bool] = lambda: False,
    progress: Callable[[Folded], None] | None = None,
) -> Folded:
    """Fold until the head, the time limit, or `stop`.

    Raises ProjectionError (noted with the projection), Diverged when the index was folded from
    another history, and UnknownEventType; the checkpoint then stands where the last page ended.
    """
    try:
        done = _fold_pages(log, projection, limits, stop, progress)
    except Exception as error:
        metrics.count("folds", outcome="failed")
        # Also what nobody expected: a fold that stands still must say why where a user looks.
        projection.failed(error)
        raise
    metrics.count("folds", outcome=done.outcome)
    return done


def _fold_pages(
    log: Log,
    projection: Projection,
    limits: Limits,
    stop: Callable[[], bool],
    progress: Callable[[Folded], None] | None,
) -> Folded:
    began = time.monotonic()
    position = projection.checkpoint()
    done = Folded(outcome=CAUGHT_UP, position=position)
    with projection.pages(log, events=limits.page_events, size=limits.page_bytes) as pages:
        while True:
            if stop():
                return replace(done, outcome=STOPPED)
            if limits.seconds is not None and time.monotonic() - began > limits.seconds:
                return replace(done, outcome=OUT_OF_TIME)
            page_began = time.monotonic()
            page = pages.after(done.position)
            if not page and done.pages:
                return done
            turned = _fold_page(log, projection, done.position, page)
            if turned is None:
                return replace(done, outcome=BUSY)
            moved, folded = turned
            if moved == done.position:
                return done
            if folded:
                metrics.count("folded_events", folded)
                metrics.observe("fold_seconds", time.monotonic() - page_began)
            done = replace(done, pages=done.pages + bool(folded), events=done.events + folded, position=moved)
            if progress is not None:
                progress(done)


def _fold_page(log: Log, projection: Projection, position: int, page: Page) -> tuple[int, int] | None:
    """Fold one page; return (the checkpoint, events folded), None when somebody else has the checkpoint."""
    if page:
        # Nothing may be projected that a power cut could still take from the log.
        log.flush()
    with projection.turn() as turn:
        if turn is None:
            return None
        _check_history(log, turn)
        if turn.position != position:
            # Somebody else moved it since the page was read, maybe just as far: drop the page.
            return turn.position, 0
        if page:
            turn.fold(page)
            return page.position, len(page)
        return position, 0


def _check_history(log: Log, turn: Turn) -> None:
    expected = log.hash_at(turn.position)
    if expected != turn.hash:
        problem = "ends before" if expected is None else "has another event at"
        raise Diverged(
            f"the index was folded from another history: the log {problem} position {turn.position}. "
            "If the log was restored from a backup, rebuild the index with `foldlog rebuild`"
        )
