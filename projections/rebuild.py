"""Rebuild: a new generation is built beside the live one, and takes over when it is equal to the log.

Nobody notices: questions are answered by the active generation until one row is switched, and live
folding keeps its share. Killed at any moment, it goes on where it stopped.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import islice
from typing import Final, Protocol

from foldlog.errors import IndexUnusable
from foldlog.events.log import Log
from foldlog.projections import engine
from foldlog.projections.engine import Folded, Limits, Projection
from foldlog.projections.verify import Reader, differences

#: How many differences an error shows.
SHOWN: Final = 5

#: Seconds between two attempts to get a checkpoint that another process has.
BUSY_SECONDS: Final = 0.05


class Generations(Protocol):
    """A projection of which several builds can stand side by side."""

    def resume(self) -> int | None:
        """Return the id of a build that was left unfinished."""
        ...  # pragma: no cover

    def create(self) -> int:
        """Create an empty build and return its id."""
        ...  # pragma: no cover

    def projection(self, generation_id: int) -> Projection:
        """Return a build as something to fold into."""
        ...  # pragma: no cover

    def finish_loading(self, generation_id: int) -> None:
        """Make the indexes of a build that was loaded."""
        ...  # pragma: no cover

    def locked(self, generation_id: int) -> AbstractContextManager[tuple[int, Reader]]:
        """Lock a build, and return its checkpoint and a reader of its memories."""
        ...  # pragma: no cover

    def verified(self, generation_id: int) -> None:
        """Note that a build is equal to the log."""
        ...  # pragma: no cover

    def switch(self, generation_id: int) -> bool:
        """Let a build answer from now on, unless the active one has folded more."""
        ...  # pragma: no cover


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """What a rebuild is doing."""

    #: `loading`, `indexing`, `catching up`, `embedding`, `verifying` or `switched`.
    phase: str
    position: int
    head: int


class Rebuild:
    """One run of a rebuild."""

    def __init__(
        self,
        log: Log,
        generations: Generations,
        limits: Limits,
        *,
        embed: Callable[[int, Callable[[], bool]], bool] = lambda generation_id, stop: True,
        live: Callable[[], int] = lambda: 1 << 62,
        progress: Callable[[Progress], None] = lambda progress: None,
        stop: Callable[[], bool] = lambda: False,
    ) -> None:
        """`embed` gives a generation its vectors; it says whether it came to the end.

        `live` tells how far the active generation has folded: while it lags, this halves its pace."""
        self._log = log
        self._generations = generations
        self._limits = limits
        self._embed = embed
        self._live = live
        self._progress = progress
        self._stop = stop
        self._page_began = time.monotonic()

    def run(self) -> int | None:
        """Build, verify and switch; return the new generation's id, or None when stopped: it resumes.

        Raises ProjectionError, and IndexUnusable when the build differs from the log: the active
        generation then stays.
        """
        generation_id = self._generations.resume() or self._generations.create()
        if self._fold(generation_id, "loading") is None:
            return None
        self._tell("indexing", 0)
        self._generations.finish_loading(generation_id)
        while True:
            if self._fold(generation_id, "catching up") is None:
                return None
            # Before the switch: a generation without vectors would answer worse than the one it replaces.
            self._tell("embedding", self._log.head())
            if not self._embed(generation_id, self._stop) or self._fold(generation_id, "catching up") is None:
                return None
            self._verify(generation_id)
            if self._generations.switch(generation_id):
                self._tell("switched", self._log.head())
                return generation_id

    def _fold(self, generation_id: int, phase: str) -> Folded | None:
        """Fold up to the head; None when stopped."""
        target = self._generations.projection(generation_id)
        while True:
            self._page_began = time.monotonic()
            done = engine.run_once(
                self._log,
                target,
                self._limits,
                stop=self._stop,
                progress=lambda page: self._page(page, phase),
            )
            if done.outcome == engine.STOPPED:
                return None
            if done.outcome == engine.CAUGHT_UP:
                return done
            time.sleep(BUSY_SECONDS)

    def _page(self, page: Folded, phase: str) -> None:
        self._tell(phase, page.position)
        if self._live() < self._log.head():
            # Live folding gets as much time as the page took.
            time.sleep(time.monotonic() - self._page_began)
        self._page_began = time.monotonic()

    def _verify(self, generation_id: int) -> None:
        self._tell("verifying", self._log.head())
        with self._generations.locked(generation_id) as (checkpoint, read):
            found = list(islice(differences(self._log, read, checkpoint), SHOWN))
        if found:
            raise IndexUnusable(
                "the new generation differs from the log, and was not switched to: " + "; ".join(found)
            )
        self._generations.verified(generation_id)

    def _tell(self, phase: str, position: int) -> None:
        self._progress(Progress(phase=phase, position=position, head=self._log.head()))
