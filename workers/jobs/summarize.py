"""The job summarize: a summary stands for what is old in a long thread; the newest messages stay verbatim.

A new summary is made from the messages themselves, never from the summary before, so that nothing is
generalised away a little more each time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from foldlog.errors import ModelUnavailable, SummaryRefused
from foldlog.events.provenance import Provenance
from foldlog.names import FIRST_SUMMARY
from foldlog.projections.local import threads
from foldlog.settings import Settings
from foldlog.workers.jobs import keeping
from foldlog.workers.jobs.job import Result, Work
from foldlog.workers.jobs.limit import SHOWN, every_message, required
from foldlog.workers.jobs.walk import Walk, count
from foldlog.workers.models import registry as models
from foldlog.workers.models.transcript import Spoken
from foldlog.workers.tokens import registry as counters

if TYPE_CHECKING:
    from foldlog.projections.local.threads import Message, Thread
    from foldlog.workers.models.summarizer import Summarizer

BY: Final = Provenance(actor="job:summarize")

#: A model that did not answer so many times in a row is not asked again in this run.
PATIENCE: Final = 3


class SummarizeJob:
    """Appends MessagesSummarized for threads above the threshold."""

    name = "summarize"
    whole = False

    def __init__(self, settings: Settings, summarizer: Summarizer | None = None) -> None:
        """`summarizer` stands over the one that the settings name."""
        self.every_ms = (settings.summarize_every_ms or None) if settings.summarize_above else None
        self._settings = settings
        self._summarizer = summarizer

    def run(self, work: Work) -> Result:
        """Look at every thread that changed; one that fails does not stop the others.

        Raises SettingsError without a threshold, ModelRefused and ModelUnavailable when no thread can be
        summarised for now.
        """
        above = required(
            self._settings.summarize_above,
            "FOLDLOG_SUMMARIZE_ABOVE",
            "the tokens from which on a thread is long",
        )
        counter = counters.create(self._settings)
        summarizer = self._summarizer or models.create(self._settings)
        walk = Walk(work, f"{above} {self._settings.summarize_keep} {counter.name}")
        done = failures = 0
        problems: list[str] = []
        for thread in walk:
            if sum(count(work, thread, counter.name, counter.count).values()) <= above:
                continue
            covered = cover(work, thread, self._settings.summarize_keep)
            if not covered:
                continue
            try:
                done += work.dry_run or self._summarize(work, thread, covered, summarizer)
                failures = 0
            except (SummaryRefused, ModelUnavailable) as error:
                problems.append(f"thread {thread.thread_id} was not summarised: {error}")
                failures += isinstance(error, ModelUnavailable)
                if failures == PATIENCE:
                    raise
        return Result(
            counts={"summarized": done}, problems=problems[:SHOWN], more=not walk.finished, state=walk.state
        )

    def _summarize(
        self, work: Work, thread: Thread, covered: Sequence[Message], summarizer: Summarizer
    ) -> bool:
        made = summarizer.summarize([spoken(item) for item in covered], budget=self._settings.summary_tokens)
        receipt = work.memory.messages.summarize(
            thread.thread_id,
            covered,
            made.text,
            summarizer=f"{made.summarizer}/{made.version}",
            model=made.model,
            sources=made.sources,
            by=BY,
        )
        return receipt.created


def cover(work: Work, thread: Thread, newest: int) -> list[Message]:
    """Return the messages that the next summary is to stand for: empty when there is nothing new to cover.

    Those of the summary before, and what is shown but for what is kept in front and the newest ones; a tool
    call stays with its results.
    """
    shown = every_message(work, thread)
    stays = keeping.kept(shown)
    said = [item for item in shown if item.ordinal < FIRST_SUMMARY]
    verbatim = {item.ordinal for item in said[len(said) - newest :]}
    fresh = [
        item
        for group in keeping.groups(said)
        if not any(item.ordinal in verbatim or item.ordinal in stays for item in group)
        for item in group
    ]
    former = next((item for item in shown if item.ordinal >= FIRST_SUMMARY), None)
    if not fresh or former is None:
        return fresh
    with work.memory.log.read() as connection:
        before = threads.covered(connection, thread.stream_id, former.content[0]["covers"])
    return sorted(before + fresh, key=lambda item: item.ordinal)


def spoken(message: Message) -> Spoken:
    """Return a message as a model is given it."""
    return Spoken(
        message_id=message.message_id,
        role=message.role,
        author=message.author,
        text=message.text,
        happened_at=message.created_at,
    )
