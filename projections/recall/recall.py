"""The recaller: asks the index, lets the log veto, adds what the index has not seen, and ranks.

Why an answer is never stale: a hit leaves only if the log says that this memory is visible, alive,
and was last touched where the index thinks it was. Why it is never incomplete: what was touched
after the index's checkpoint is searched in the log itself.
"""

from __future__ import annotations

import math
import sqlite3
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from foldlog import metrics
from foldlog.errors import ProjectionError
from foldlog.events import statements
from foldlog.events.log import Log
from foldlog.names import MAX_ORDINAL
from foldlog.projections.document import MESSAGE
from foldlog.projections.index import GRAPH, TEXT, TIME, Index, IndexAnswer
from foldlog.projections.local import memories, text
from foldlog.projections.recall import block, reading
from foldlog.projections.recall.answer import DEGRADED, OK, PARTIAL, Recall, Recalled, Staleness
from foldlog.projections.recall.asked import Asked
from foldlog.projections.recall.ranker import Ranked, Ranker
from foldlog.projections.scope import Scope

#: How many memories each channel is asked for, at least; twice as many as are wanted in any case.
CANDIDATES: Final = 100

#: How many times more are asked for when the veto left too few.
WIDER: Final = 4

#: How many of the memories that the index has not folded are looked at.
TAIL: Final = 300

#: How many of the best memories are asked which others they name, and how many of these are looked at.
SEEDS: Final = 3
FAN_OUT: Final = 100

#: Seconds for which an index that failed is not asked again.
BREAKER_SECONDS: Final = 1.0

#: Characters of a token, about: a block's size is counted, not measured with any model's tokenizer.
TOKEN_CHARS: Final = 4

#: The log's own search, as a channel of the answer.
LOG: Final = "log"

#: Memory id -> channel -> what the channel scored.
Found = dict[int, dict[str, float]]


class Recaller:
    """Answers questions from an index and the log, or from the log alone."""

    def __init__(self, log: Log, index: Index | None, ranker: Ranker, *, why_no_index: str = "") -> None:
        self._log = log
        self._index = index
        self._ranker = ranker
        self._why_no_index = why_no_index
        self._failure = ""
        self._ask_again_at = 0.0

    def recall(self, query: str, scope: Scope, *, limit: int, off: Sequence[str] = ()) -> Recall:
        """Return the best memories for a question; an index that is down degrades the answer.

        Channels in `off` are not used. Never raises for an outage. Raises LogError when the log itself
        cannot be read.
        """
        began = time.monotonic()
        found = self._recall(Asked.of(query, scope, now=self._log.clock(), limit=limit, off=off))
        metrics.count("recalls", status=found.status)
        metrics.observe("recall_seconds", time.monotonic() - began)
        metrics.observe("recall_block_tokens", len(found.block) / TOKEN_CHARS)
        for name in found.channels:
            metrics.count("recall_channels", channel=name)
        return found

    def _recall(self, asked: Asked) -> Recall:
        answer, reason = self._ask(asked, max(CANDIDATES, 2 * asked.limit))
        if answer is None:
            return self._from_log(asked, reason)
        recalled = self._confirm(answer, asked)
        if recalled is None:
            # The veto took too many: ask again, wider, then fill from the log.
            again, _ = self._ask(asked, WIDER * max(CANDIDATES, 2 * asked.limit))
            recalled = self._confirm(again or answer, asked, fill=True)
        assert recalled is not None
        return recalled

    def _ask(self, asked: Asked, limit: int) -> tuple[IndexAnswer | None, str]:
        """Return the index's answer, or None and the reason."""
        if self._index is None:
            return None, self._why_no_index
        if time.monotonic() < self._ask_again_at:
            return None, self._failure
        try:
            return self._index.search(asked.query, asked.scope, now=asked.now, limit=limit), ""
        except ProjectionError as error:
            self._failure = str(error)
            self._ask_again_at = time.monotonic() + BREAKER_SECONDS
            return None, self._failure

    def _from_log(self, asked: Asked, reason: str) -> Recall:
        with self._log.read() as connection:
            hits = asked.search(connection, max(CANDIDATES, 2 * asked.limit))
            found: Found = {hit.memory_id: {LOG: hit.score} for hit in hits}
            _add_neighbours(connection, found, asked)
            rarities = text.rarities(connection, asked.query.words)
            candidates = _read(connection, found)
        ranked = self._ranker(asked.question(rarities), candidates, asked.limit)
        recalled = _memories(ranked, found)
        return Recall(
            status=DEGRADED,
            reason=reason,
            memories=recalled,
            block=block.render(recalled),
            channels=(LOG,),
        )

    def _confirm(self, answer: IndexAnswer, asked: Asked, *, fill: bool = False) -> Recall | None:
        """Return the answer that the log confirms and adds to; None when its veto left too few."""
        with self._log.read() as connection:
            found = _vetoed(connection, answer, asked)
            kept = len(found)
            tail = (
                asked.search(connection, TAIL, after=answer.checkpoint) if TEXT not in asked.query.off else []
            )
            for hit in tail:
                found.setdefault(hit.memory_id, {})[LOG] = hit.score
            if fill:
                for hit in asked.search(connection, asked.limit):
                    found.setdefault(hit.memory_id, {LOG: hit.score})
            elif _too_few(answer, kept, len(found), asked.limit):
                return None
            _add_neighbours(connection, found, asked)
            candidates = _read(connection, found)
            staleness = _staleness(connection, answer.checkpoint, asked.now)
        question = asked.question(answer.rarities)
        ranked = self._ranker(question, candidates, max(asked.limit, SEEDS))
        hops = self._hop(ranked[:SEEDS], asked)
        if hops:
            ranked = self._ranker(question, self._with_hops(candidates, found, hops, asked), asked.limit)
        for name in answer.missing:
            metrics.count("recall_missing_channels", channel=name)
        missing = [f"{name}: {why}" for name, why in answer.missing.items()]
        if not asked.query.words:
            missing.append("text: the question has no word to search for")
        status, reason = (PARTIAL, "; ".join(missing)) if missing else (OK, None)
        recalled = _memories(ranked[: asked.limit], found)
        return Recall(
            status=status,
            reason=reason,
            memories=recalled,
            block=block.render(recalled),
            staleness=staleness,
            channels=tuple(answer.channels),
        )

    def _hop(self, seeds: Sequence[Ranked], asked: Asked) -> dict[int, tuple[int, float]]:
        """Return (touched, worth) of the memories that the best ones name: one step, never back."""
        if self._index is None or not seeds or GRAPH in asked.query.off:
            return {}
        texts = {item.candidate.memory_id: item.candidate.text for item in seeds}
        best = seeds[0].score
        # Scores are scaled over the candidates: of one alone, or of equals, they say nothing.
        shares = {
            item.candidate.memory_id: max(0.0, item.score / best) if best > 0 else 1.0 for item in seeds
        }
        try:
            hops = self._index.hop(texts, asked.scope, now=asked.now, limit=FAN_OUT)
        except ProjectionError:
            # The first search has just answered; the answer stands without the second step.
            return {}
        with self._log.read() as connection:
            mentions = text.mentions(connection, {hop.name for hop in hops})
        worth: dict[int, tuple[int, float]] = {}
        for hop in hops:
            # What is stated of a thing need not stand in any text: then those it leads to are counted.
            value = shares[hop.seed] / math.log(2 + max(mentions[hop.name], hop.shared))
            if value > worth.get(hop.memory_id, (0, 0.0))[1]:
                worth[hop.memory_id] = (hop.touched, value)
        return worth

    def _with_hops(
        self,
        candidates: list[reading.Candidate],
        found: Found,
        hops: Mapping[int, tuple[int, float]],
        asked: Asked,
    ) -> list[reading.Candidate]:
        """Return the candidates with what they are named for, and the named ones that the log confirms."""
        with self._log.read() as connection:
            touched = memories.current(connection, hops, asked.now)
            confirmed = {
                memory: value for memory, (stamp, value) in hops.items() if touched.get(memory) == stamp
            }
            new: Found = {memory: {} for memory in confirmed if memory not in found}
            found |= new
            candidates = candidates + _read(connection, found, new)
        for memory, value in confirmed.items():
            found[memory].setdefault(GRAPH, value)
        return [replace(item, hop=confirmed.get(item.memory_id, 0.0)) for item in candidates]


def _vetoed(connection: sqlite3.Connection, answer: IndexAnswer, asked: Asked) -> Found:
    """Return the hits of which the log says that they are visible, alive, and as the index knows them."""
    hits = [(name, hit) for name, found in answer.channels.items() for hit in found]
    touched = memories.current(connection, {hit.memory_id for _, hit in hits}, asked.now)
    found: Found = {}
    for name, hit in hits:
        if touched.get(hit.memory_id) == hit.touched:
            found.setdefault(hit.memory_id, {})[name] = hit.score
    return found


def _too_few(answer: IndexAnswer, kept: int, found: int, limit: int) -> bool:
    """Say whether the veto took hits, and what is left would not fill an answer that the index could."""
    asked = {hit.memory_id for hits in answer.channels.values() for hit in hits}
    return kept < len(asked) and found < limit <= len(asked)


def _add_neighbours(connection: sqlite3.Connection, found: Found, asked: Asked) -> None:
    """Let the messages before and after a message that was found take part, if the filters allow them."""
    if asked.scope.tags or asked.scope.where or (asked.scope.kinds and MESSAGE not in asked.scope.kinds):
        return
    near = {
        memory + step
        for memory in found
        if memory & MAX_ORDINAL
        for step in (-1, 1)
        if memory + step & MAX_ORDINAL
    }
    for memory in memories.current(connection, near - found.keys(), asked.now):
        found[memory] = {}


def _read(
    connection: sqlite3.Connection, found: Found, ids: Iterable[int] | None = None
) -> list[reading.Candidate]:
    """Return candidates, those of some ids or all, with what the time channel says of them."""
    return [
        replace(item, said=found[item.memory_id].get(TIME, 0.0)) if TIME in found[item.memory_id] else item
        for item in reading.read(connection, found if ids is None else ids)
    ]


def _memories(ranked: Iterable[Ranked], found: Found) -> list[Recalled]:
    return [_recalled(item, found[item.candidate.memory_id]) for item in ranked]


def _recalled(ranked: Ranked, channels: dict[str, float]) -> Recalled:
    item = ranked.candidate
    return Recalled(
        memory_id=item.memory_id,
        kind=item.kind,
        namespace=item.item.namespace,
        id=item.name,
        text=item.text,
        speaker=item.speaker,
        happened_at=item.happened_at,
        position=item.position,
        score=ranked.score,
        channels=channels,
        parts=ranked.parts,
    )


def _staleness(connection: sqlite3.Connection, checkpoint: int, now: int) -> Staleness:
    head = connection.execute(statements.HEAD_POSITION).fetchone()[0]
    if head <= checkpoint:
        return Staleness()
    first = connection.execute(statements.FIRST_AFTER, (checkpoint,)).fetchone()[0]
    recorded_at = connection.execute(statements.RECORDED_AT, (first,)).fetchone()[0]
    return Staleness(events=head - checkpoint, seconds=max(0, now - recorded_at) / 1000)
