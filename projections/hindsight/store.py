"""Writing a page's effects: COPY into a staging table, then a few statements over whole sets.

Repeating a page changes nothing: a row never replaces one with a later position.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Any, Final

from foldlog.names import memory_range
from foldlog.projections.document import NOTE, Document
from foldlog.projections.hindsight import graph, relations, text, time
from foldlog.projections.hindsight.connection import Connection
from foldlog.projections.hindsight.effects import Effects
from foldlog.projections.index import IndexedMemory

# ON COMMIT DELETE ROWS: made once a connection; the catalogue does not churn with every page.
_STAGE: Final = """
    CREATE TEMPORARY TABLE IF NOT EXISTS foldlog_stage (
        id bigint, kind text, namespace text, key text, thread text, speaker text, tags text[],
        status text, text text, happened_at bigint, expires_at bigint, position bigint
    ) ON COMMIT DELETE ROWS
"""
_COPY_STAGE: Final = "COPY pg_temp.foldlog_stage FROM STDIN"
_UPSERT: Final = """
    INSERT INTO memories AS m (id, kind, namespace, key, thread, speaker, tags, status, text, happened_at,
        expires_at, position, touched, visible)
    SELECT id, kind, namespace, key, thread, speaker, tags, status, text, happened_at, expires_at,
        position, position, true FROM pg_temp.foldlog_stage
    ON CONFLICT (id) DO UPDATE SET namespace = excluded.namespace, key = excluded.key,
        thread = excluded.thread, speaker = excluded.speaker, tags = excluded.tags, text = excluded.text,
        status = coalesce(m.status, excluded.status), happened_at = excluded.happened_at,
        expires_at = excluded.expires_at, position = excluded.position,
        touched = greatest(m.touched, excluded.position)
    WHERE m.position < excluded.position
    RETURNING id
"""
_REMOVE: Final = "DELETE FROM memories WHERE id = ANY(%s) AND position < %s RETURNING id"
_REMOVE_STREAM: Final = "DELETE FROM memories WHERE id >= %s AND id < %s"
_UNSEARCH: Final = "DELETE FROM search WHERE id = ANY(%s) RETURNING namespace, keys"
_UNSEARCH_STREAM: Final = "DELETE FROM search WHERE id >= %s AND id < %s RETURNING namespace, keys"
_STATUS: Final = """
    UPDATE memories m SET status = x.status, position = greatest(m.position, x.position),
        touched = greatest(m.touched, x.position)
    FROM unnest(%s::bigint[], %s::text[], %s::bigint[]) AS x (id, status, position)
    WHERE m.id = x.id AND m.position <= x.position
"""
_EDGES: Final = """
    INSERT INTO edges (target, superseder) SELECT * FROM unnest(%s::text[], %s::bigint[])
    ON CONFLICT DO NOTHING
"""
_TOUCH_TARGETS: Final = """
    UPDATE memories m SET touched = greatest(m.touched, x.position)
    FROM (SELECT e.target, max(d.position) AS position FROM edges e
        JOIN unnest(%s::bigint[], %s::bigint[]) AS d (id, position) ON e.superseder = d.id
        GROUP BY e.target) x
    WHERE m.kind = 'note' AND m.key = x.target
    RETURNING m.id
"""
# Recomputed from the edges, never taken from the order of arrival.
_VISIBILITY: Final = """
    UPDATE memories m SET visible = m.status = 'accepted' AND NOT EXISTS (
        SELECT 1 FROM edges e JOIN memories s ON s.id = e.superseder
        WHERE e.target = m.key AND s.status = 'accepted')
    WHERE m.id = ANY(%s) RETURNING m.id, m.visible
"""
_LIVE: Final = """
    UPDATE search s SET live = m.visible FROM memories m
    WHERE m.id = s.id AND s.id = ANY(%s) AND s.live <> m.visible
"""
_COPY_SEARCH: Final = """
    COPY search (id, passage, namespace, kind, expires_at, live, keys, weights) FROM STDIN
"""
_COUNT_WORDS: Final = """
    INSERT INTO frequencies AS f (word, n0, n1, n2, n3)
    SELECT * FROM unnest(%s::int[], %s::int[], %s::int[], %s::int[], %s::int[])
    ON CONFLICT (word) DO UPDATE SET n0 = f.n0 + excluded.n0, n1 = f.n1 + excluded.n1,
        n2 = f.n2 + excluded.n2, n3 = f.n3 + excluded.n3
"""
_COUNT_PASSAGES: Final = """
    INSERT INTO sizes AS z (namespace, passages) SELECT * FROM unnest(%s::text[], %s::bigint[])
    ON CONFLICT (namespace) DO UPDATE SET passages = z.passages + excluded.passages
"""
_DROP_SPANS: Final = "DELETE FROM spans WHERE id = ANY(%s)"
_DROP_STREAM_SPANS: Final = "DELETE FROM spans WHERE id >= %s AND id < %s"
_COPY_SPANS: Final = "COPY spans (id, number, span, precision, source) FROM STDIN"
_DROP_MENTIONS: Final = "DELETE FROM mentions WHERE id = ANY(%s) RETURNING entity"
_DROP_STREAM_MENTIONS: Final = "DELETE FROM mentions WHERE id >= %s AND id < %s RETURNING entity"
_DROP_NAMES: Final = "DELETE FROM names WHERE id = ANY(%s)"
_STAGE_ENTITIES: Final = """
    CREATE TEMPORARY TABLE IF NOT EXISTS foldlog_entities
        (entity bigint, namespace text, canonical text, name text, type text)
    ON COMMIT DELETE ROWS
"""
_COPY_ENTITIES: Final = "COPY pg_temp.foldlog_entities FROM STDIN"
_ENTITIES: Final = "INSERT INTO entities SELECT * FROM pg_temp.foldlog_entities ON CONFLICT DO NOTHING"
_COPY_MENTIONS: Final = "COPY mentions (entity, id) FROM STDIN"
_COPY_NAMES: Final = "COPY names (entity, id) FROM STDIN"
_STAGE_TEXTS: Final = """
    CREATE TEMPORARY TABLE IF NOT EXISTS foldlog_texts (id bigint, passage int, digest bytea, text text)
    ON COMMIT DELETE ROWS
"""
_COPY_TEXTS: Final = "COPY pg_temp.foldlog_texts FROM STDIN"
_DROP_VECTORS: Final = """
    DELETE FROM vectors v WHERE v.id = ANY(%s) AND NOT EXISTS (
        SELECT 1 FROM pg_temp.foldlog_texts t
        WHERE t.id = v.id AND t.passage = v.passage AND t.digest = v.digest)
"""
_DROP_TODO: Final = "DELETE FROM embed_todo WHERE id = ANY(%s)"
_DROP_STREAM: Final = (
    "DELETE FROM vectors WHERE id >= %s AND id < %s",
    "DELETE FROM embed_todo WHERE id >= %s AND id < %s",
)
# What has the vector of this very text already needs no other.
_TODO: Final = """
    INSERT INTO embed_todo (id, passage, digest, text)
    SELECT t.id, t.passage, t.digest, t.text FROM pg_temp.foldlog_texts t
    WHERE NOT EXISTS (SELECT 1 FROM vectors v WHERE v.id = t.id AND v.passage = t.passage)
"""
COUNT_ALL_WORDS: Final = """
    INSERT INTO frequencies (word, n0, n1, n2, n3)
    SELECT key >> 2, count(*) FILTER (WHERE key & 3 = 0), count(*) FILTER (WHERE key & 3 = 1),
        count(*) FILTER (WHERE key & 3 = 2), count(*) FILTER (WHERE key & 3 = 3)
    FROM search, unnest(keys) AS key WHERE key >= 0 GROUP BY 1
"""
COUNT_ALL_PASSAGES: Final = "INSERT INTO sizes SELECT namespace, count(*) FROM search GROUP BY 1"
ANALYZE: Final = (
    "ANALYZE memories, edges, search, spans, entities, mentions, names, relations, verdicts, periods, "
    "frequencies, sizes, embed_todo"
)
_ROWS: Final = """
    SELECT id, position, touched, visible, expires_at, namespace, kind, key, speaker, tags, text
    FROM memories WHERE id > %s ORDER BY id LIMIT %s
"""
_PENDING: Final = "SELECT gin_clean_pending_list('search_keys'::regclass)"


class _Counts:
    """How many passages, and of each word, a page adds and takes."""

    def __init__(self) -> None:
        self.words: Counter[tuple[int, int]] = Counter()
        self.passages: Counter[str] = Counter()

    def add(self, rows: Iterable[tuple[str, list[int]]], sign: int) -> None:
        for namespace, keys in rows:
            self.passages[namespace] += sign
            self.words.update(text.word_changes([keys], sign))

    def write(self, connection: Connection) -> None:
        words: dict[int, list[int]] = {}
        for (word, bound), change in self.words.items():
            if change:
                words.setdefault(word, [0, 0, 0, 0])[bound] = change
        if words:
            columns = [list(column) for column in zip(*words.values(), strict=True)]
            connection.execute(_COUNT_WORDS, (list(words), *columns))
        sizes = {name: change for name, change in self.passages.items() if change}
        if sizes:
            connection.execute(_COUNT_PASSAGES, (list(sizes), list(sizes.values())))


def apply(connection: Connection, effects: Effects, *, end: int, counting: bool, embedding: bool) -> None:
    """Write a page's effects; `end` is the page's last position.

    Without `counting` the counts of words and passages are left to COUNT_ALL_WORDS and COUNT_ALL_PASSAGES.
    With `embedding`, new texts are put on the list of what is to be embedded; nothing is embedded here.

    The caller's transaction has the checkpoint locked and the generation's tables in its path.
    """
    counts = _Counts()
    _remove(connection, effects, counts, end)
    changed = _upsert(connection, effects)
    _edges(connection, effects)
    hidden = _visibility(connection, effects, changed)
    documents = [item for memory, item in effects.documents.items() if memory in changed]
    _search_rows(connection, documents, hidden, counts)
    _spans(connection, effects, documents)
    left = _graph(connection, effects, documents)
    relations.apply(connection, effects, documents, left)
    if embedding:
        _texts(connection, effects, documents)
    if counting:
        counts.write(connection)


def _remove(connection: Connection, effects: Effects, counts: _Counts, end: int) -> None:
    if effects.removed:
        rows = connection.execute(_REMOVE, (list(effects.removed), end)).fetchall()
        gone = [memory for (memory,) in rows]
        # What was written again since then stays, with all that belongs to it: the page is a repeat.
        effects.removed.intersection_update(gone)
        counts.add(connection.execute(_UNSEARCH, (gone,)).fetchall(), -1)
    for stream_id in effects.removed_streams:
        bounds = memory_range(stream_id)
        connection.execute(_REMOVE_STREAM, bounds)
        counts.add(connection.execute(_UNSEARCH_STREAM, bounds).fetchall(), -1)


def _upsert(connection: Connection, effects: Effects) -> set[int]:
    """Write the page's documents; return the ids of those that were news."""
    if not effects.documents:
        return set()
    connection.execute(_STAGE)
    with connection.cursor() as cursor:
        with cursor.copy(_COPY_STAGE) as copy:
            for item in effects.documents.values():
                copy.write_row(_row(item, effects.statuses))
        cursor.execute(_UPSERT)
        return {memory for (memory,) in cursor.fetchall()}


def _row(item: Document, statuses: Mapping[int, tuple[str, int]]) -> tuple[Any, ...]:
    status = statuses[item.memory_id][0] if item.kind == NOTE else None
    return (
        item.memory_id, item.kind, item.namespace, item.key, item.thread, item.speaker, list(item.tags),
        status, item.text, item.happened_at, item.expires_at, item.position,
    )  # fmt: skip


def _edges(connection: Connection, effects: Effects) -> None:
    if effects.edges:
        targets, superseders = zip(*effects.edges, strict=True)
        connection.execute(_EDGES, (list(targets), list(superseders)))
    if effects.statuses:
        ids = list(effects.statuses)
        statuses = [status for status, _ in effects.statuses.values()]
        positions = [position for _, position in effects.statuses.values()]
        connection.execute(_STATUS, (ids, statuses, positions))


def _visibility(connection: Connection, effects: Effects, changed: set[int]) -> set[int]:
    """Decide anew which notes are visible; return the new ones that are not."""
    affected = set(effects.statuses)
    if effects.deciders:
        ids, positions = list(effects.deciders), list(effects.deciders.values())
        rows = connection.execute(_TOUCH_TARGETS, (ids, positions)).fetchall()
        affected.update(memory for (memory,) in rows)
    if not affected:
        return set()
    decided = connection.execute(_VISIBILITY, (list(affected),)).fetchall()
    connection.execute(_LIVE, (list(affected - changed),))
    return {memory for memory, visible in decided if not visible}


def _search_rows(
    connection: Connection, documents: list[Document], hidden: set[int], counts: _Counts
) -> None:
    if not documents:
        return
    ids = [item.memory_id for item in documents]
    counts.add(connection.execute(_UNSEARCH, (ids,)).fetchall(), -1)
    with connection.cursor() as cursor, cursor.copy(_COPY_SEARCH) as copy:
        for item in documents:
            for row in text.rows(item, item.memory_id not in hidden):
                keys = row[6]
                # The driver would take four times as long to write a list of numbers.
                copy.write_row((*row[:6], "{" + ",".join(map(str, keys)) + "}", row[7]))
                counts.add([(row[2], keys)], 1)


def _spans(connection: Connection, effects: Effects, documents: list[Document]) -> None:
    for stream_id in effects.removed_streams:
        connection.execute(_DROP_STREAM_SPANS, memory_range(stream_id))
    stale = [*effects.removed, *(item.memory_id for item in documents)]
    if stale:
        connection.execute(_DROP_SPANS, (stale,))
    _copy(connection, _COPY_SPANS, (row for item in documents for row in time.rows(item)))


def _graph(connection: Connection, effects: Effects, documents: list[Document]) -> set[int]:
    """Write what memories mention and what names they bear; return the entities that lost a mention."""
    left: set[int] = set()
    for stream_id in effects.removed_streams:
        # A thread's messages bear no names.
        rows = connection.execute(_DROP_STREAM_MENTIONS, memory_range(stream_id))
        left |= {entity for (entity,) in rows.fetchall()}
    stale = [*effects.removed, *(item.memory_id for item in documents)]
    if not stale:
        return left
    left |= {entity for (entity,) in connection.execute(_DROP_MENTIONS, (stale,)).fetchall()}
    connection.execute(_DROP_NAMES, (stale,))
    entities, mentions, names = graph.rows(documents)
    connection.execute(_STAGE_ENTITIES)
    _copy(connection, _COPY_ENTITIES, entities)
    connection.execute(_ENTITIES)
    _copy(connection, _COPY_MENTIONS, mentions)
    _copy(connection, _COPY_NAMES, names)
    return left


def _copy(connection: Connection, statement: str, rows: Iterable[tuple[Any, ...]]) -> None:
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        for row in rows:
            copy.write_row(row)


def _texts(connection: Connection, effects: Effects, documents: list[Document]) -> None:
    for stream_id in effects.removed_streams:
        for statement in _DROP_STREAM:
            connection.execute(statement, memory_range(stream_id))
    stale = [*effects.removed, *(item.memory_id for item in documents)]
    if not stale:
        return
    connection.execute(_STAGE_TEXTS)
    with connection.cursor() as cursor, cursor.copy(_COPY_TEXTS) as copy:
        for item in documents:
            for number, part in enumerate(text.passages(item.embedded())):
                if part.strip():
                    copy.write_row((item.memory_id, number, text_digest(part), part))
    connection.execute(_DROP_VECTORS, (stale,))
    connection.execute(_DROP_TODO, (stale,))
    connection.execute(_TODO)


def text_digest(part: str) -> bytes:
    """Return the 16 bytes by which equal texts are known."""
    return blake2b(part.encode(), digest_size=16).digest()


def rows(connection: Connection, after: int, limit: int) -> list[IndexedMemory]:
    """Return the next memories after an id, in the order of ids."""
    return [IndexedMemory(*row) for row in connection.execute(_ROWS, (after, limit)).fetchall()]


def tidy(connection: Connection) -> None:
    """Merge the GIN index's pending list, which every search would scan; in a transaction of its own."""
    connection.execute(_PENDING)
