"""The job limit: threads are kept within a budget of tokens by hiding what is oldest.

Never hidden: leading system messages, the first user request, the summary, the newest message; and a tool
call only together with its results.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from foldlog.events.provenance import Provenance
from foldlog.settings import Settings
from foldlog.workers.jobs import keeping
from foldlog.workers.jobs.job import Result, Work
from foldlog.workers.jobs.walk import Walk, count
from foldlog.workers.tokens import registry

if TYPE_CHECKING:
    from foldlog.projections.local.threads import Message, Thread

BY: Final = Provenance(actor="job:limit")

#: Most problems that a result names.
SHOWN: Final = 10


class LimitJob:
    """Appends MessagesTrimmed for threads above the budget."""

    name = "limit"
    whole = False

    def __init__(self, settings: Settings) -> None:
        self.every_ms = (settings.limit_every_ms or None) if settings.thread_tokens else None
        self._settings = settings

    def run(self, work: Work) -> Result:
        """Look at every thread that changed; raises SettingsError without a budget."""
        budget = required(
            self._settings.thread_tokens, "FOLDLOG_THREAD_TOKENS", "the budget of a thread in tokens"
        )
        counter = registry.create(self._settings)
        walk = Walk(work, f"{budget} {counter.name}")
        trimmed = threads = 0
        problems: list[str] = []
        for thread in walk:
            counts = count(work, thread, counter.name, counter.count)
            total = sum(counts.values())
            if total <= budget:
                continue
            messages = every_message(work, thread)
            chosen, left = choose(messages, counts, budget)
            if left > budget:
                over = f"thread {thread.thread_id} keeps {left} tokens, over its budget of {budget}"
                problems.append(f"{over}: what is left may not be hidden")
            if chosen:
                trimmed += len(chosen)
                threads += 1
                if not work.dry_run:
                    work.memory.messages.trim(
                        thread.thread_id,
                        [item.ordinal for item in chosen],
                        budget=budget,
                        tokens=total - left,
                        tokenizer=counter.name,
                        by=BY,
                    )
        return Result(
            counts={"threads": threads, "trimmed": trimmed},
            problems=problems[:SHOWN],
            more=not walk.finished,
            state=walk.state,
        )


def choose(messages: Sequence[Message], counts: dict[int, int], budget: int) -> tuple[list[Message], int]:
    """Return what is to be hidden, the oldest first, and the tokens that are left then."""
    left = sum(counts.get(item.memory_id, 0) for item in messages)
    stays = keeping.kept(messages)
    chosen: list[Message] = []
    # The last run stays: a thread without its newest message would answer nothing.
    for group in keeping.groups(messages)[:-1]:
        if left <= budget:
            break
        if not any(item.ordinal in stays for item in group):
            chosen += group
            left -= sum(counts.get(item.memory_id, 0) for item in group)
    return chosen, left


def every_message(work: Work, thread: Thread) -> list[Message]:
    """Return all messages of a thread that are shown, in order."""
    found: list[Message] = work.memory.messages.list(thread.thread_id, limit=max(1, thread.messages))
    return found


def required(value: int | None, name: str, meaning: str) -> int:
    """Return a setting that a job cannot do without; raises SettingsError."""
    from foldlog.errors import SettingsError

    if value is None:
        raise SettingsError(f"{name} is not set: {meaning}; the job does nothing without it")
    return value
