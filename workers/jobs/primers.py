"""The job primers: a primer that answers a question gets what is found for it now."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from foldlog.errors import Conflict
from foldlog.events.provenance import Provenance
from foldlog.settings import Settings
from foldlog.workers.jobs.job import Result, Work

if TYPE_CHECKING:
    from foldlog.projections.local.primers import Primer

BY: Final = Provenance(actor="job:primers")

#: Memories of one answer.
LIMIT: Final = 10

#: Primers read at a time.
PAGE: Final = 100


class PrimersJob:
    """Asks the question of each primer that has one, and sets its text when the answer differs."""

    name = "primers"
    whole = False

    def __init__(self, settings: Settings) -> None:
        self.every_ms = settings.primers_every_ms or None

    def run(self, work: Work) -> Result:
        """Ask question after question; an answer that is not complete changes no primer."""
        refreshed = asked = 0
        problems: list[str] = []
        after = (str(work.state.get("namespace", "")), str(work.state.get("name", "")))
        while page := work.memory.primers.asking(after=after, limit=PAGE):
            for primer in page:
                if work.stop():
                    state = {"namespace": after[0], "name": after[1]}
                    counts = {"asked": asked, "refreshed": refreshed}
                    return Result(counts=counts, problems=problems, more=True, state=state)
                asked += 1
                try:
                    refreshed += self._refresh(work, primer)
                except _Incomplete as error:
                    problems.append(f"primer {primer.name} of {primer.namespace} stays as it is: {error}")
                after = (primer.namespace, primer.name)
                work.progress(asked)
        return Result(counts={"asked": asked, "refreshed": refreshed}, problems=problems)

    def _refresh(self, work: Work, primer: Primer) -> bool:
        assert primer.question is not None
        answer = work.memory.recall(primer.question, primer.namespace, limit=LIMIT)
        if answer.status != "ok":
            raise _Incomplete(f"its answer is {answer.status} ({answer.reason})")
        # In the order of the log, so that an unchanged answer is the same text.
        found = sorted(answer.memories, key=lambda item: item.position)
        text = "\n".join(f"- {' '.join(item.text.split())}" for item in found)
        if not text or text == primer.text or work.dry_run:
            return bool(text) and text != primer.text
        try:
            receipt = work.memory.primers.set(
                primer.namespace,
                primer.name,
                text,
                question=primer.question,
                expected_version=primer.version,
                by=BY,
            )
        except Conflict:
            # Somebody set it meanwhile: theirs stands.
            return False
        return receipt.created


class _Incomplete(Exception):
    """The answer lacks a part."""
