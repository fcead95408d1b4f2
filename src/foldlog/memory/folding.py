"""Folding from the facade: what it needs, so that writing memory does not import Postgres' driver."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Protocol

from foldlog.projections.engine import Folded

if TYPE_CHECKING:
    from foldlog.projections.rebuild import Progress


class Folding(Protocol):
    """Folds the log into the index, in the foreground."""

    def catch_up(self, progress: Callable[[Folded], None] | None) -> Folded:
        """Fold up to the head."""
        ...  # pragma: no cover

    def rebuild(
        self,
        progress: Callable[[Progress], None] | None,
        stop: Callable[[], bool] | None,
        take_over: bool,
    ) -> int | None:
        """Build a new generation and switch to it."""
        ...  # pragma: no cover

    def back(self) -> int:
        """Switch to the generation before."""
        ...  # pragma: no cover

    def differences(self) -> Iterator[str]:
        """Yield where the index differs from the log, as far as it has folded."""
        ...  # pragma: no cover

    def wait_for(self, position: int, timeout: float) -> None:
        """Wait until a position is folded."""
        ...  # pragma: no cover
