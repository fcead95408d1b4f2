"""The recaller: asks the index, lets the log veto, adds what the index has not seen.

Why an answer is never stale: a hit leaves only if the log says that this memory is visible, alive,
and was last touched where the index thinks it was. Why it is never incomplete: what was touched
after the index's checkpoint is searched in the log itself.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from foldlog.errors import ProjectionError
from foldlog.events import statements
from foldlog.events.log import Log
from foldlog.projections import analysis, bm25
from foldlog.projections.document import FACT, MESSAGE, NOTE
from foldlog.projections.index import Index, IndexAnswer
from foldlog.projections.local import facts, memories, notes, text, threads
from foldlog.projections.recall import block
from foldlog.projections.recall.answer import DEGRADED, OK, PARTIAL, Recall, Recalled, Staleness
from foldlog.projections.scope import Scope

#: How many more hits than asked for the index is asked for, so that a veto leaves enough.
MARGIN: Final = 20

#: How many times more it is asked for when the veto left too few.
WIDER: Final = 4

#: How many of the memories that the index has not folded are scored.
TAIL: Final = 500

#: Seconds for which an index that failed is not asked again.
BREAKER_SECONDS: Final = 1.0

#: Memory id -> score.
Scores = dict[int, float]


class Recaller:
    """Answers questions from an index and the log, or from the log alone."""

    def __init__(self, log: Log, index: Index | None, *, why_no_index: str = "") -> None:
        self._log = log
        self._index = index
        self._why_no_index = why_no_index
        self._failure = ""
        self._ask_again_at = 0.0

    def recall(self, query: str, scope: Scope, *, limit: int) -> Recall:
        """Return the best memories for a question; an index that is down degrades the answer.

        Never raises for an outage. Raises LogError when the log itself cannot be read.
        """
        question = _Question(
            words=analysis.query_words(query), scope=scope, now=self._log.clock(), limit=limit
        )
        answer, reason = self._ask(question, limit + MARGIN)
        if answer is None:
            return self._from_log(question, reason)
        found, staleness, vetoed = self._confirm(answer, question)
        if vetoed:
            # The veto took too many: ask again, wider, then fill from the log.
            again, _ = self._ask(question, WIDER * (limit + MARGIN))
            found, staleness, _ = self._confirm(again or answer, question, fill=True)
        if not question.words:
            return _answer(PARTIAL, "the question has no word to search for", found, staleness, ("text",))
        return _answer(OK, None, found, staleness, ("text",))

    def _ask(self, question: _Question, limit: int) -> tuple[IndexAnswer | None, str]:
        """Return the index's answer, or None and the reason."""
        if self._index is None:
            return None, self._why_no_index
        if time.monotonic() < self._ask_again_at:
            return None, self._failure
        try:
            answer = self._index.search(question.words, question.scope, now=question.now, limit=limit)
        except ProjectionError as error:
            self._failure = str(error)
            self._ask_again_at = time.monotonic() + BREAKER_SECONDS
            return None, self._failure
        return answer, ""

    def _from_log(self, question: _Question, reason: str) -> Recall:
        with self._log.read() as connection:
            hits = question.search(connection, question.limit)
            found = _load(connection, {hit.memory_id: hit.score for hit in hits}, "log")
        return _answer(DEGRADED, reason, found, Staleness(), ("log",))

    def _confirm(
        self, answer: IndexAnswer, question: _Question, *, fill: bool = False
    ) -> tuple[list[Recalled], Staleness, bool]:
        """Return what the log confirms and adds, and whether its veto left too few."""
        with self._log.read() as connection:
            kept = _vetoed(connection, answer, question)
            # What was touched after the checkpoint is scored as the index would have.
            tail = {
                hit.memory_id: bm25.score(hit.words, answer.rarities)
                for hit in question.search(connection, TAIL, after=answer.checkpoint)
            }
            scores = _best(kept | tail, question.limit)
            too_few = len(kept) < len(answer.hits) and len(scores) < question.limit <= len(answer.hits)
            if fill:
                scores |= _filling(connection, scores, question)
            channels = {memory: "text" if memory in kept else "log" for memory in scores}
            found = _load(connection, scores, channels)
            return found, _staleness(connection, answer.checkpoint, question.now), too_few


@dataclass(frozen=True, slots=True, kw_only=True)
class _Question:
    """What is asked, of the index and of the log."""

    words: Sequence[str]
    scope: Scope
    now: int
    limit: int

    def search(self, connection: sqlite3.Connection, limit: int, after: int = 0) -> list[text.Hit]:
        return text.search(connection, self.words, self.scope, now=self.now, limit=limit, after=after)


def _vetoed(connection: sqlite3.Connection, answer: IndexAnswer, question: _Question) -> Scores:
    """Return the hits of which the log says that they are visible, alive, and as the index knows them."""
    touched = memories.current(connection, [hit.memory_id for hit in answer.hits], question.now)
    return {hit.memory_id: hit.score for hit in answer.hits if touched.get(hit.memory_id) == hit.touched}


def _filling(connection: sqlite3.Connection, scores: Scores, question: _Question) -> Scores:
    """Return memories from the log's own search for the places that are left, below all others."""
    lowest = min(scores.values(), default=0.0)
    hits = question.search(connection, question.limit)
    others = [hit.memory_id for hit in hits if hit.memory_id not in scores]
    return dict.fromkeys(others[: question.limit - len(scores)], lowest)


def _answer(
    status: str, reason: str | None, found: list[Recalled], staleness: Staleness, channels: tuple[str, ...]
) -> Recall:
    return Recall(
        status=status,
        reason=reason,
        memories=found,
        block=block.render(found),
        staleness=staleness,
        channels=channels,
    )


def _best(scores: Scores, limit: int) -> Scores:
    """Return the best `limit`; ties go to the older memory, so that a repeat is equal."""
    return dict(sorted(scores.items(), key=lambda item: (-item[1], item[0]))[:limit])


def _staleness(connection: sqlite3.Connection, checkpoint: int, now: int) -> Staleness:
    head = connection.execute(statements.HEAD_POSITION).fetchone()[0]
    if head <= checkpoint:
        return Staleness()
    first = connection.execute(statements.FIRST_AFTER, (checkpoint,)).fetchone()[0]
    recorded_at = connection.execute(statements.RECORDED_AT, (first,)).fetchone()[0]
    return Staleness(events=head - checkpoint, seconds=max(0, now - recorded_at) / 1000)


def _load(connection: sqlite3.Connection, scores: Scores, channel: str | dict[int, str]) -> list[Recalled]:
    """Return the log's own rows of the memories, in the order of the scores."""
    positions = memories.register(connection, scores)
    ids: dict[str, list[int]] = {FACT: [], MESSAGE: [], NOTE: []}
    for memory, (kind, _) in positions.items():
        ids[kind].append(memory)
    rows = {
        item.memory_id: item
        for found in (
            facts.by_memory(connection, ids[FACT]),
            threads.by_memory(connection, ids[MESSAGE]),
            notes.by_memory(connection, ids[NOTE]),
        )
        for item in found
    }
    return [
        _recalled(
            rows[memory],
            *positions[memory],
            score,
            channel if isinstance(channel, str) else channel[memory],
        )
        for memory, score in scores.items()
        if memory in rows
    ]


def _recalled(
    item: facts.Fact | threads.Message | notes.Note, kind: str, position: int, score: float, channel: str
) -> Recalled:
    name, speaker, happened = _label(item)
    return Recalled(
        memory_id=item.memory_id,
        kind=kind,
        namespace=item.namespace,
        id=name,
        text=item.text,
        speaker=speaker,
        happened_at=happened,
        position=position,
        score=score,
        channels={channel: score},
    )


def _label(item: facts.Fact | threads.Message | notes.Note) -> tuple[str, str | None, int]:
    """Return the memory's name, its speaker and when it happened."""
    if isinstance(item, facts.Fact):
        return item.key, None, item.updated_at
    if isinstance(item, threads.Message):
        return item.message_id, item.author or item.role, item.updated_at
    return item.note_id, item.author, item.created_at
