"""Folding in the caller's process: backfill, rebuild, and waiting for a position."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Final

from foldlog.composition.lazy_index import LazyIndex
from foldlog.composition.servers import embedded_postgres
from foldlog.composition.wiring import embed_all, embed_generation, generations, limits, projection, recipe
from foldlog.errors import ProjectionError, WaitTimeout
from foldlog.events.log import Log
from foldlog.migrations.upgrade import prepare_index
from foldlog.settings import Settings

if TYPE_CHECKING:
    from foldlog.embedded.postgres import Postgres
    from foldlog.projections.engine import Folded
    from foldlog.projections.hindsight.projection import HindsightProjection
    from foldlog.projections.rebuild import Progress

#: How many times larger the pages of a rebuild are: nobody waits for them.
BULK: Final = 5

#: Seconds between two looks at the checkpoint while waiting for a position.
WAIT_SECONDS: Final = 0.02


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
        from foldlog.projections import engine

        target = self._projection()
        goal = self._log.head()
        pages = events = 0
        while True:
            done = engine.run_once(self._log, target, limits(self._settings), progress=progress)
            pages, events = pages + done.pages, events + done.events
            position = target.checkpoint()
            if done.outcome != engine.BUSY or position >= goal:
                embed_all(self._settings, self._log, self._index.session())
                return engine.Folded(outcome=engine.CAUGHT_UP, pages=pages, events=events, position=position)
            time.sleep(WAIT_SECONDS)

    def rebuild(
        self,
        progress: Callable[[Progress], None] | None,
        stop: Callable[[], bool] | None,
        take_over: bool,
    ) -> int | None:
        """Build a new generation, verify it, and switch to it."""
        from foldlog.projections.engine import Limits
        from foldlog.projections.rebuild import Rebuild

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
            embed=partial(embed_generation, self._settings, self._log, self._index.session()),
            live=partial(_folded_by_live, target),
            progress=progress or (lambda _: None),
            stop=stop or (lambda: False),
        )
        made = run.run()
        return None if made is None else builds.number(made)

    def back(self) -> int:
        """Bring the generation before up to date, and switch to it."""
        from foldlog.projections import engine

        self._projection().prepare()
        builds = generations(self._settings, self._log, self._index.session())
        former = builds.former()
        target = builds.projection(former)
        while True:
            engine.run_once(self._log, target, limits(self._settings))
            if builds.switch(former):
                return builds.number(former)

    def differences(self) -> Iterator[str]:
        """Yield where the active generation differs from the log, as far as it has folded."""
        from foldlog.projections.verify import differences

        checkpoint, read = self._projection().reader()
        return differences(self._log, read, checkpoint)

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


def _folded_by_live(target: HindsightProjection) -> int:
    """Return how far the live generation is; one that cannot be folded is nobody's to wait for."""
    try:
        return target.checkpoint()
    except ProjectionError:
        return 1 << 62
