"""The audit: what memory says of its past. The memory facade has all of this, imported when it is used."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from foldlog.events.log import Log
    from foldlog.memory.as_of import Past
    from foldlog.memory.blame import Blames
    from foldlog.memory.diff import Difference
    from foldlog.memory.history import Histories
    from foldlog.memory.recording import Recorder
    from foldlog.memory.servings import Servings


class Audit:
    """How memory came to say what it says, what it said before, and to whom."""

    log: Log
    _recorder: Recorder | None

    @cached_property
    def history(self) -> Histories:
        """How each item came to say what it says."""
        from foldlog.memory.history import Histories

        return Histories(self.log)

    @cached_property
    def servings(self) -> Servings:
        """Who was given which memory."""
        from foldlog.memory.servings import Servings

        return Servings(self.log, self._recorder)

    @cached_property
    def blame(self) -> Blames:
        """Who wrote what an item says, and where it went."""
        from foldlog.memory.blame import Blames

        return Blames(self.log, self.history, self.servings)

    def as_of(self, point: int | datetime, *, clock: str = "recorded") -> Past:
        """Return memory as it was at a position, or at an instant, with the readers that it has today.

        By the clock `recorded` it is what the log held then; by `occurred` what had happened then, whenever
        it was recorded. Raises InvalidInput for a time without a zone, and for what has not come yet.
        """
        from foldlog.events import past
        from foldlog.memory.as_of import Past

        return Past(self.log, past.find(self.log, point, clock))

    def diff(
        self,
        first: int | datetime,
        second: int | datetime | None = None,
        *,
        clock: str = "recorded",
        namespace: str | None = None,
        kinds: Sequence[str] = (),
    ) -> Iterator[Difference]:
        """Yield what was created, changed, hidden or reappeared from one point to another, or to now.

        Points are as for `as_of`. What was seen in between only is no difference. Kinds are `fact`,
        `thread`, `message`, `note`, `retained` and `primer`. Raises InvalidInput.
        """
        from foldlog.memory.diff import between

        return between(self.log, first, second, clock=clock, namespace=namespace, kinds=kinds)
