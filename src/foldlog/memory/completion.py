"""Retain on complete: what a task gave is kept when it is done, and no failure of that reaches the task."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any, Final

from foldlog.memory.counters import RETAIN_FAILURES
from foldlog.projections.recall.block import CUT
from foldlog.projections.recall.graphemes import boundary

if TYPE_CHECKING:
    from foldlog.memory.binding import Binding
    from foldlog.memory.writer import Receipt

logger = logging.getLogger(__name__)

#: Longest part of a task's output that is kept, in characters.
MAX_OUTPUT: Final = 12_000

#: Says how the text came about.
TAG: Final = "source:run"


def retain_completed(binding: Binding, task: str, output: Any, session: str | None) -> Receipt | None:
    """Retain a task's output in the first namespace, once an iteration; None when that failed."""
    try:
        metadata = {"task": task} if session is None else {"task": task, "session": session}
        key = None if binding.by.run is None else binding.key("completed", task)
        return binding.retain(binding.namespaces[0], digest(task, output), [TAG], metadata, key)
    except Exception as error:
        # The task is done: whatever is wrong with its output, or with the log, is not its failure.
        binding.memory.counters.add(RETAIN_FAILURES)
        extra = {"action": "retain_failed", "task": task, "error": str(error)}
        logger.warning("the output of a task was not retained", extra=extra)
        return None


def digest(task: str, output: Any) -> str:
    """Return a task's output as a text to be kept."""
    text = (
        output if isinstance(output, str) else json.dumps(output, ensure_ascii=False, indent=2, default=str)
    )
    if len(text) > MAX_OUTPUT:
        text = text[: boundary(text, MAX_OUTPUT)] + CUT
    return f"Task {task} completed successfully.\n\n{text}"
