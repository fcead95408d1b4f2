"""What a job is: one bounded piece of work that says what it did."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from foldlog.memory import Memory


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What a run of a job is given."""

    memory: Memory
    #: The instant the run began, UTC ms.
    now: int
    #: Look, but change nothing.
    dry_run: bool = False
    #: What the last run that succeeded left for the next.
    state: Mapping[str, Any] = field(default_factory=dict)
    #: Say whether to stop: a signal came, or the run has had its time. Also keeps the lease.
    stop: Callable[[], bool] = lambda: False
    #: Told how many items are done.
    progress: Callable[[int], None] = lambda done: None


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What a run did."""

    #: What was done, as in {"expired": 3}.
    counts: Mapping[str, int] = field(default_factory=dict)
    #: What could not be done, each in one line that says why. They do not stop the rest.
    problems: list[str] = field(default_factory=list)
    #: Say whether there is more to do at once.
    more: bool = False
    #: What the next run begins with.
    state: Mapping[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Return the result as JSON, without what is only for the next run."""
        return {"counts": dict(self.counts), "problems": self.problems, "more": self.more}


class Job(Protocol):
    """One kind of work; `run` is safe to repeat, and to be doubled by another process."""

    @property
    def name(self) -> str:
        """What it is called, as in `foldlog run ttl`."""
        ...  # pragma: no cover

    @property
    def every_ms(self) -> int | None:
        """Milliseconds between two runs; None: only when asked for."""
        ...  # pragma: no cover

    @property
    def whole(self) -> bool:
        """Say whether a scheduled run goes to its end, however long; else it is stopped after a slice."""
        ...  # pragma: no cover

    def run(self, work: Work) -> Result:
        """Do one bounded piece of work; raises FoldlogError when nothing could be done."""
        ...  # pragma: no cover
