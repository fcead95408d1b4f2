"""Search by words in the log alone: all of them, or where no memory has all, any of the rare ones.

Every filter is inside the query, before its limit, so that what is hidden never takes the place of
what may be shown. The shorter of two texts with the same words goes first.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from foldlog.events.encoding import encode
from foldlog.projections import bm25
from foldlog.projections.condition import Condition
from foldlog.projections.document import FACT, MESSAGE, NOTE, RETAINED
from foldlog.projections.local import facts, memories, notes, retained, tagging, text, threads
from foldlog.projections.local.notes import ACCEPTED

#: Words of a long question that are searched for when no memory has all of them: the rarest so many.
RAREST: Final = 8

#: A word in a larger share of all memories is left out then, if others remain.
COMMON: Final = 0.05

# CROSS JOIN: the full text index goes first. Whether a memory is visible is asked of its row: as a word
# of the index, `live` would be read for every memory there is, to filter and again to score.
_SEARCH: Final = """
    SELECT t.rowid, -bm25(foldlog_text, 0.0, 1.0) AS score
    FROM foldlog_text t CROSS JOIN foldlog_memories m ON m.memory_id = t.rowid
    LEFT JOIN foldlog_notes n ON n.memory_id = t.rowid
    WHERE foldlog_text MATCH :match AND (m.expires_at IS NULL OR m.expires_at >= :now) AND {filters}
    ORDER BY score DESC, t.rowid LIMIT :limit
"""
_SUPERSEDED: Final = """
    EXISTS (SELECT 1 FROM foldlog_supersessions s JOIN foldlog_notes b ON b.memory_id = s.superseder
        WHERE s.target = n.note_id AND b.status = 'accepted')
"""
_AMONG: Final = "IN (SELECT value FROM json_each(:{name}))"

Item = facts.Fact | threads.Message | notes.Note | retained.Retained

_READERS: Final[Mapping[str, Callable[[sqlite3.Connection, list[int]], Sequence[Item]]]] = {
    FACT: facts.by_memory,
    MESSAGE: threads.by_memory,
    NOTE: notes.by_memory,
    RETAINED: retained.by_memory,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """Which memories a search may return; each part narrows it, but for the last two, which widen it."""

    #: Empty: all.
    namespaces: Sequence[str] = ()
    #: `user` for every `user:…`.
    namespace_kind: str | None = None
    kinds: Sequence[str] = ()
    #: A memory must have all of them.
    tags: Sequence[str] = ()
    #: What else their tags must be.
    where: Condition | None = None
    #: The kind that notes were given.
    note_kind: str | None = None
    #: Notes of these statuses.
    statuses: Sequence[str] = (ACCEPTED,)
    #: Also notes that an accepted one supersedes.
    include_superseded: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A memory that a search found."""

    kind: str
    #: BM25; only to be compared within one search.
    score: float
    item: Item

    def as_dict(self) -> dict[str, Any]:
        """Return the memory and its score as JSON."""
        return {"kind": self.kind, "score": self.score, "memory": self.item.as_dict()}


def search(
    connection: sqlite3.Connection, words: Sequence[str], filters: Filters, *, now: int, limit: int
) -> list[Found]:
    """Return the best memories, best first; ties go to the older. `now` is UTC ms."""
    if not words or not limit:
        return []
    hits = _run(connection, " AND ".join(map(_quoted, words)), filters, now, limit)
    if not hits and len(words) > 1:
        hits = _run(connection, " OR ".join(map(_quoted, _rare(connection, words))), filters, now, limit)
    kinds = {memory: kind for memory, (kind, _) in memories.register(connection, hits).items()}
    items: dict[int, Item] = {}
    for kind, read in _READERS.items():
        found = read(connection, [memory for memory in hits if kinds[memory] == kind])
        items.update((item.memory_id, item) for item in found)
    return [
        Found(kind=kinds[memory], score=score, item=items[memory])
        for memory, score in hits.items()
        if memory in items
    ]


def _run(
    connection: sqlite3.Connection, words: str, filters: Filters, now: int, limit: int
) -> dict[int, float]:
    given = {
        "match": " AND ".join([*_scope(filters), f"{{words}} : ({words})"]),
        "now": now,
        "limit": limit,
        "namespaces": encode(list(filters.namespaces)),
        "first": f"{filters.namespace_kind}:",
        # The character after the colon.
        "end": f"{filters.namespace_kind};",
        "statuses": encode(list(filters.statuses)),
        "note_kind": filters.note_kind,
    }
    return dict(connection.execute(_SEARCH.format(filters=" AND ".join(_conditions(filters))), given))


def _scope(filters: Filters) -> list[str]:
    """Return what the full text index itself filters by."""
    must = [text.any_of([text.scope_word("tag", tag)]) for tag in filters.tags]
    if filters.namespaces:
        must.append(text.any_of(text.scope_word("namespace", name) for name in filters.namespaces))
    if filters.kinds:
        must.append(text.any_of(f"kind:{kind}" for kind in filters.kinds))
    if filters.where is not None:
        narrower = tagging.words(filters.where, text.scope_word)
        must += [] if narrower is None else [f"({narrower})"]
    return [f"{{scope}} : {part}" for part in must]


def _conditions(filters: Filters) -> list[str]:
    """Return what is asked of the rows; words of the index are digests, so names are asked once more."""
    if tuple(filters.statuses) == (ACCEPTED,) and not filters.include_superseded:
        found = ["m.visible"]
    else:
        superseded = "" if filters.include_superseded else f" AND NOT {_SUPERSEDED}"
        statuses = f"n.status {_AMONG.format(name='statuses')}"
        found = [f"CASE WHEN n.memory_id IS NULL THEN m.visible ELSE {statuses}{superseded} END"]
    if filters.namespaces:
        found.append(f"m.namespace {_AMONG.format(name='namespaces')}")
    if filters.namespace_kind is not None:
        found.append("m.namespace >= :first AND m.namespace < :end")
    if filters.note_kind is not None:
        found.append("n.kind = :note_kind")
    if filters.where is not None:
        found.append(tagging.sql(filters.where, text.scope_word))
    return found


def _rare(connection: sqlite3.Connection, words: Sequence[str]) -> list[str]:
    """Return the rarest of the words, without those that many memories have, if others remain."""
    rarities = text.rarities(connection, words)
    total = connection.execute(text.TOTAL).fetchone()[0]
    common = bm25.idf(int(total * COMMON), total)
    telling = [word for word in rarities if rarities[word] > common] or list(rarities)
    return sorted(telling, key=lambda word: -rarities[word])[:RAREST]


def _quoted(word: str) -> str:
    # No word of the analyser holds a quotation mark: nothing in it is syntax.
    return f'"{word}"'
