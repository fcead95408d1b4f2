"""Full text search in the log's own file: always there, no Postgres needed.

FTS5 holds the words our analyser found. Namespace, kind, tags and visibility are words too, in a
column of their own, so that the index itself narrows the search.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from foldlog.projections import analysis, bm25
from foldlog.projections.document import Document

if TYPE_CHECKING:
    from foldlog.projections.scope import Scope

#: Words of a question whose rarity the log counts; counting one costs as much as searching for it.
COUNTED_WORDS: Final = 32

#: Up to so many memories that hold a name are counted; more of them tell no less.
MOST_MENTIONS: Final = 1_000

LIVE: Final = "live"
HIDDEN: Final = "hidden"

_PUT: Final = "INSERT OR REPLACE INTO foldlog_text (rowid, scope, words) VALUES (?, ?, ?)"
_DELETE: Final = "DELETE FROM foldlog_text WHERE rowid = ?"
_SCOPE: Final = "SELECT scope FROM foldlog_text WHERE rowid = ?"
_BETWEEN: Final = "SELECT rowid, words FROM foldlog_text WHERE rowid >= ? AND rowid < ?"
TOTAL: Final = "SELECT count(*) FROM foldlog_memories"
_FREQUENCY: Final = "SELECT count(*) FROM foldlog_text WHERE foldlog_text MATCH ?"
_MENTIONS: Final = "SELECT count(*) FROM (SELECT 1 FROM foldlog_text WHERE foldlog_text MATCH ? LIMIT ?)"
_SET_SCOPE: Final = "UPDATE foldlog_text SET scope = ? WHERE rowid = ?"
# CROSS JOIN: the full text index goes first. Ties are broken by age, so that a repeat is equal.
_SEARCH: Final = """
    SELECT t.rowid, -bm25(foldlog_text, 0.0, 1.0) AS score, m.touched, t.words
    FROM foldlog_text t CROSS JOIN foldlog_memories m ON m.memory_id = t.rowid
    WHERE foldlog_text MATCH ? AND m.visible AND (m.expires_at IS NULL OR m.expires_at >= ?)
        AND m.namespace IN ({marks}) AND m.touched > ? AND {where}
    ORDER BY score DESC, t.rowid LIMIT ?
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One memory that a search found."""

    memory_id: int
    score: float
    touched: int
    #: The words it was found by, with repeats.
    words: list[str]


def put(connection: sqlite3.Connection, document: Document, visible: bool) -> None:
    """Store or replace the words of a memory."""
    words = " ".join(analysis.words(document.searched()))
    connection.execute(_PUT, (document.memory_id, _scope(document, visible), words))


def remove(connection: sqlite3.Connection, memory: int) -> None:
    """Forget the words of a memory."""
    connection.execute(_DELETE, (memory,))


def set_visible(connection: sqlite3.Connection, memory: int, visible: bool) -> None:
    """Say whether default searches find a memory."""
    row = connection.execute(_SCOPE, (memory,)).fetchone()
    if row is not None:
        _, _, rest = row[0].partition(" ")
        connection.execute(_SET_SCOPE, (f"{LIVE if visible else HIDDEN} {rest}", memory))


def search(
    connection: sqlite3.Connection,
    words: Sequence[str],
    scope: Scope,
    *,
    now: int,
    limit: int,
    after: int = 0,
) -> list[Hit]:
    """Return the best memories that hold any of the words, best first.

    `after` keeps only what was touched after a position. `now` is UTC ms.
    """
    if not words or not scope.namespaces:
        return []
    statement = _SEARCH.format(marks=",".join("?" * len(scope.namespaces)), where=_where(scope))
    arguments = (_match(words, scope), now, *scope.namespaces, after, limit)
    return [
        Hit(memory_id=memory, score=score, touched=touched, words=text.split(" "))
        for memory, score, touched, text in connection.execute(statement, arguments)
    ]


def words_between(connection: sqlite3.Connection, first: int, end: int) -> dict[int, list[str]]:
    """Return the words of all memories in a half-open range of ids: of a thread, or of a part of one."""
    return {memory: text.split(" ") for memory, text in connection.execute(_BETWEEN, (first, end))}


def rarities(connection: sqlite3.Connection, words: Sequence[str]) -> dict[str, float]:
    """Return the idf of each word over all memories of the log."""
    total = connection.execute(TOTAL).fetchone()[0]
    return {
        word: bm25.idf(
            connection.execute(_FREQUENCY, (f"{{words}} : {any_of([word])}",)).fetchone()[0], total
        )
        for word in words[:COUNTED_WORDS]
    }


def mentions(connection: sqlite3.Connection, names: Iterable[str]) -> dict[str, int]:
    """Return how many memories of the log hold each name whole, counted up to MOST_MENTIONS.

    A name of stop words only counts as held by all.
    """
    return {name: _mentions(connection, analysis.words(name)) for name in names}


def _mentions(connection: sqlite3.Connection, words: Sequence[str]) -> int:
    if not words:
        return MOST_MENTIONS
    phrase = f'{{words}} : "{" ".join(words)}"'
    count: int = connection.execute(_MENTIONS, (phrase, MOST_MENTIONS)).fetchone()[0]
    return count


def _scope(document: Document, visible: bool) -> str:
    words = [
        LIVE if visible else HIDDEN,
        f"kind:{document.kind}",
        scope_word("namespace", document.namespace),
    ]
    return " ".join(words + [scope_word("tag", tag) for tag in document.tags])


@lru_cache(maxsize=4096)
def scope_word(label: str, name: str) -> str:
    """Return a name as one word, whatever characters it has."""
    return f"{label}:{blake2b(name.encode(), digest_size=12).hexdigest()}"


def _match(words: Sequence[str], scope: Scope) -> str:
    """Return an FTS5 expression; every word is quoted, so that nothing in it is syntax."""
    must = [any_of([LIVE])] + [any_of([scope_word("tag", tag)]) for tag in scope.tags]
    must.append(any_of(scope_word("namespace", name) for name in scope.namespaces))
    if scope.kinds:
        must.append(any_of(f"kind:{kind}" for kind in scope.kinds))
    if scope.where is not None:
        from foldlog.projections.local import tagging

        narrower = tagging.words(scope.where, scope_word)
        must += [] if narrower is None else [f"({narrower})"]
    return f"{{scope}} : ({' AND '.join(must)}) AND {{words}} : {any_of(words)}"


def _where(scope: Scope) -> str:
    if scope.where is None:
        return "true"
    from foldlog.projections.local import tagging

    return tagging.sql(scope.where, scope_word)


def any_of(words: Iterable[str]) -> str:
    return "(" + " OR ".join(f'"{word}"' for word in words) + ")"
