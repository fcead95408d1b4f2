"""What the facade needs to fold and to recall, so that writing memory imports neither.

The composition root hands in what does it, and that is imported when it is first used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from foldlog.projections.engine import Folded
    from foldlog.projections.rebuild import Progress
    from foldlog.projections.recall.answer import Recall
    from foldlog.projections.scope import Scope


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


class Recalling(Protocol):
    """Answers questions."""

    def recall(self, query: str, scope: Scope, *, limit: int, off: Sequence[str] = ()) -> Recall:
        """Return the best memories for a question; never raises for an outage."""
        ...  # pragma: no cover
