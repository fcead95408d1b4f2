"""The job verify: is the log what was written, and is the index what the log says?"""

from __future__ import annotations

from itertools import islice
from typing import Final

from foldlog.errors import ProjectionError
from foldlog.settings import Settings
from foldlog.workers.jobs.job import Result, Work

#: Most faults, and most differences, that a result names.
SHOWN: Final = 10


class _Stopped(Exception):
    """The run is to stop."""


class VerifyJob:
    """Walks through the whole log, and compares the index memory by memory; changes nothing."""

    name = "verify"
    #: What was changed long ago is found only by a walk through all of it.
    whole = True

    def __init__(self, settings: Settings) -> None:
        self.every_ms = settings.verify_every_ms or None

    def run(self, work: Work) -> Result:
        """Check both; an index that cannot be reached is left out, since status says so already."""

        def moved(position: int) -> None:
            work.progress(position)
            if work.stop():
                raise _Stopped

        try:
            report = work.memory.verify(progress=moved)
        except _Stopped:
            return Result(more=True)
        problems = [f"the log, at position {item.position}: {item.problem}" for item in report.faults[:SHOWN]]
        try:
            differing = list(islice(work.memory.verify_index(), SHOWN))
        except ProjectionError:
            differing = []
        problems += [f"the index {item}; run `foldlog rebuild`" for item in differing]
        counts = {"events": report.events, "faults": len(report.faults), "differences": len(differing)}
        return Result(counts=counts, problems=problems)
