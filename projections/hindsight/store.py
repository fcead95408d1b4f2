"""Writing a prepared page: COPY of what is new, a few statements over whole sets for what changes.

Repeating a page changes nothing: a row never replaces one with a later position.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from typing import Final

from foldlog.names import memory_range
from foldlog.projections.hindsight import relations, text
from foldlog.projections.hindsight.binary import copy
from foldlog.projections.hindsight.connection import Connection
from foldlog.projections.hindsight.prepared import Prepared, pack_words
from foldlog.projections.index import IndexedMemory

#: Rows of changes that a bucket of words may have; with more they are merged.
MOST_CHANGES: Final = 16

_KNOWN: Final = "SELECT id, position FROM memories WHERE id = ANY(%s)"
_COLUMNS: Final = (
    "id, kind, namespace, key, thread, speaker, tags, status, text, happened_at, expires_at, position, "
    "touched, visible"
)
_MEMORIES: Final = f"memories ({_COLUMNS})"
# ON COMMIT DELETE ROWS: made once a connection; the catalogue does not churn with every page.
_STAGE: Final = """
    CREATE TEMPORARY TABLE IF NOT EXISTS foldlog_stage (
        id bigint, kind text, namespace text, key text, thread text, speaker text, tags text[], status text,
        text text, happened_at bigint, expires_at bigint, position bigint, touched bigint, visible boolean
    ) ON COMMIT DELETE ROWS
"""
_STAGED: Final = f"pg_temp.foldlog_stage ({_COLUMNS})"
_UPDATE: Final = """
    UPDATE memories m SET namespace = x.namespace, key = x.key, thread = x.thread, speaker = x.speaker,
        tags = x.tags, text = x.text, status = coalesce(m.status, x.status), happened_at = x.happened_at,
        expires_at = x.expires_at, position = x.position, touched = greatest(m.touched, x.position)
    FROM pg_temp.foldlog_stage x WHERE m.id = x.id AND m.position < x.position
"""
_REMOVE: Final = "DELETE FROM memories WHERE id = ANY(%s) AND position < %s RETURNING id"
_REMOVE_STREAM: Final = "DELETE FROM memories WHERE id >= %s AND id < %s RETURNING id"
_UNSEARCH: Final = "DELETE FROM search WHERE id = ANY(%s) RETURNING namespace, keys"
_FORGET: Final = ("DELETE FROM spans WHERE id = ANY(%s)", "DELETE FROM names WHERE id = ANY(%s)")
_FORGET_MENTIONS: Final = "DELETE FROM mentions WHERE id = ANY(%s) RETURNING entity"
_STATUS: Final = """
    UPDATE memories m SET status = x.status, position = greatest(m.position, x.position),
        touched = greatest(m.touched, x.position)
    FROM unnest(%s::bigint[], %s::text[], %s::bigint[]) AS x (id, status, position)
    WHERE m.id = x.id AND m.position <= x.position
        AND (m.status, m.position) IS DISTINCT FROM (x.status, x.position)
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
    WITH decided AS MATERIALIZED (
        SELECT m.id, m.status = 'accepted' AND NOT EXISTS (
            SELECT 1 FROM edges e JOIN memories s ON s.id = e.superseder
            WHERE e.target = m.key AND s.status = 'accepted') AS visible
        FROM memories m WHERE m.id = ANY(%s)),
    moved AS (UPDATE memories m SET visible = d.visible FROM decided d
        WHERE m.id = d.id AND m.visible <> d.visible)
    SELECT id FROM decided WHERE NOT visible
"""
_LIVE: Final = """
    UPDATE search s SET live = m.visible FROM memories m
    WHERE m.id = s.id AND s.id = ANY(%s) AND s.live <> m.visible
"""
_SEARCH: Final = "search (id, passage, namespace, kind, expires_at, keys, weights, live)"
_SPANS: Final = "spans (id, number, span, precision, source)"
_STAGE_ENTITIES: Final = """
    CREATE TEMPORARY TABLE IF NOT EXISTS foldlog_entities
        (entity bigint, namespace text, canonical text, name text, type text)
    ON COMMIT DELETE ROWS
"""
_STAGED_ENTITIES: Final = "pg_temp.foldlog_entities (entity, namespace, canonical, name, type)"
_ENTITIES: Final = """
    INSERT INTO entities (entity, namespace, canonical, name, type)
    SELECT entity, namespace, canonical, name, type FROM pg_temp.foldlog_entities ON CONFLICT DO NOTHING
"""
_CHANGES: Final = "word_changes (bucket, keys, passages)"
_CROWDED: Final = """
    SELECT bucket FROM word_changes WHERE bucket = ANY(%s) GROUP BY bucket HAVING count(*) > %s
"""
# Words that no passage holds any more stay, with 0: otherwise a bucket without any would keep its old counts.
_MERGE: Final = """
    WITH gone AS (DELETE FROM word_changes WHERE bucket = ANY(%(buckets)s) RETURNING keys, passages),
    summed AS (
        SELECT key, sum(passages)::int AS passages FROM (
            SELECT x.key, x.passages FROM gone g, unnest(g.keys, g.passages) AS x (key, passages)
            UNION ALL
            SELECT x.key, x.passages FROM frequencies f, unnest(f.keys, f.passages) AS x (key, passages)
            WHERE f.bucket = ANY(%(buckets)s)
        ) u GROUP BY key)
    INSERT INTO frequencies (bucket, keys, passages)
    SELECT key >> %(shift)s, array_agg(key ORDER BY key), array_agg(passages ORDER BY key)
    FROM summed GROUP BY 1
    ON CONFLICT (bucket) DO UPDATE SET keys = excluded.keys, passages = excluded.passages
"""
_COUNT_PASSAGES: Final = """
    INSERT INTO sizes AS z (namespace, passages) SELECT * FROM unnest(%s::text[], %s::bigint[])
    ON CONFLICT (namespace) DO UPDATE SET passages = z.passages + excluded.passages
"""
_TODO: Final = "embed_todo (id, passage, digest, text)"
_STAGE_TEXTS: Final = """
    CREATE TEMPORARY TABLE IF NOT EXISTS foldlog_texts (id bigint, passage int, digest bytea, text text)
    ON COMMIT DELETE ROWS
"""
_STAGED_TEXTS: Final = "pg_temp.foldlog_texts (id, passage, digest, text)"
_DROP_TODO: Final = "DELETE FROM embed_todo WHERE id = ANY(%s)"
_DROP_VECTORS: Final = "DELETE FROM vectors v WHERE v.id = ANY(%s)"
_DROP_OTHER_VECTORS: Final = f"""
    {_DROP_VECTORS} AND NOT EXISTS (SELECT 1 FROM pg_temp.foldlog_texts t
        WHERE t.id = v.id AND t.passage = v.passage AND t.digest = v.digest)
"""
# What has the vector of this very text already needs no other.
_MISSING_TODO: Final = """
    INSERT INTO embed_todo (id, passage, digest, text)
    SELECT t.id, t.passage, t.digest, t.text FROM pg_temp.foldlog_texts t
    WHERE NOT EXISTS (SELECT 1 FROM vectors v WHERE v.id = t.id AND v.passage = t.passage)
"""
COUNT_ALL_WORDS: Final = f"""
    INSERT INTO frequencies (bucket, keys, passages)
    SELECT key >> {text.KEY_SHIFT}, array_agg(key ORDER BY key), array_agg(passages ORDER BY key) FROM (
        SELECT key, count(*)::int AS passages FROM search, unnest(keys) AS key WHERE key >= 0 GROUP BY 1
    ) w GROUP BY 1
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

#: (namespace, keys) of search rows that are gone.
_Gone = list[tuple[str, list[int]]]


def apply(
    connection: Connection,
    page: Prepared,
    narrowed: Callable[[Collection[int]], Prepared],
    *,
    end: int,
    counting: bool,
    embedding: bool,
) -> None:
    """Write a page; `end` is its last position, `narrowed` prepares it anew with some of its memories only.

    Without `counting` the counts of words and passages are left to COUNT_ALL_WORDS and COUNT_ALL_PASSAGES.
    With `embedding`, new texts are put on the list of what is to be embedded; nothing is embedded here.

    The caller's transaction has the checkpoint locked and the generation's tables in its path.
    """
    removed = _remove(connection, page, end)
    known = _known(connection, page)
    news = {memory for memory, position in page.documents.items() if known.get(memory, -1) < position}
    if len(news) < len(page.documents):
        # The page is repeated: what has come later stays.
        page = narrowed(news)
    replaced = sorted(news & known.keys())
    gone, left = _forget(connection, [*removed, *replaced])
    _write_memories(connection, page, known)
    _edges(connection, page)
    hidden = _visibility(connection, page)
    copy(connection, _SEARCH, _search_rows(page, hidden))
    copy(connection, _SPANS, page.spans)
    _write_graph(connection, page)
    relations.apply(connection, page, removed, replaced, left)
    if embedding:
        _write_texts(connection, page, removed, replaced)
    if counting:
        _count(connection, page, gone)


def _remove(connection: Connection, page: Prepared, end: int) -> list[int]:
    """Remove what the page removes; return the memories that were there, and are not any more."""
    found = []
    if page.removed:
        found += connection.execute(_REMOVE, (list(page.removed), end)).fetchall()
    for stream_id in page.removed_streams:
        found += connection.execute(_REMOVE_STREAM, memory_range(stream_id)).fetchall()
    return [memory for (memory,) in found]


def _known(connection: Connection, page: Prepared) -> dict[int, int]:
    """Return the position of each of the page's memories that the index has already."""
    if not page.documents:
        return {}
    return dict(connection.execute(_KNOWN, (list(page.documents),)).fetchall())


def _forget(connection: Connection, stale: list[int]) -> tuple[_Gone, set[int]]:
    """Delete what was found in the former contents of memories.

    Return their search rows, and the entities that lost a mention.
    """
    if not stale:
        return [], set()
    for statement in _FORGET:
        connection.execute(statement, (stale,))
    left = {entity for (entity,) in connection.execute(_FORGET_MENTIONS, (stale,)).fetchall()}
    return connection.execute(_UNSEARCH, (stale,)).fetchall(), left


def _write_memories(connection: Connection, page: Prepared, known: dict[int, int]) -> None:
    rows = list(zip(page.documents, page.memories, strict=True))
    copy(connection, _MEMORIES, (row for memory, row in rows if memory not in known))
    changed = [row for memory, row in rows if memory in known]
    if changed:
        connection.execute(_STAGE)
        copy(connection, _STAGED, changed)
        connection.execute(_UPDATE)


def _edges(connection: Connection, page: Prepared) -> None:
    if page.edges:
        targets, superseders = zip(*page.edges, strict=True)
        connection.execute(_EDGES, (list(targets), list(superseders)))
    if page.statuses:
        ids = list(page.statuses)
        statuses = [status for status, _ in page.statuses.values()]
        positions = [position for _, position in page.statuses.values()]
        connection.execute(_STATUS, (ids, statuses, positions))


def _visibility(connection: Connection, page: Prepared) -> set[int]:
    """Decide anew which notes are visible; return those that are not."""
    affected = set(page.statuses)
    if page.deciders:
        ids, positions = list(page.deciders), list(page.deciders.values())
        rows = connection.execute(_TOUCH_TARGETS, (ids, positions)).fetchall()
        affected.update(memory for (memory,) in rows)
    if not affected:
        return set()
    hidden = {memory for (memory,) in connection.execute(_VISIBILITY, (sorted(affected),)).fetchall()}
    others = sorted(affected - page.documents.keys())
    if others:
        connection.execute(_LIVE, (others,))
    return hidden


def _search_rows(page: Prepared, hidden: set[int]) -> list[bytes]:
    """Return the page's search rows; of a memory that is hidden, the last byte says so."""
    packed = zip(page.documents, page.search, strict=True)
    return [row[:-1] + b"\0" if memory in hidden else row for memory, rows in packed for row in rows]


def _write_graph(connection: Connection, page: Prepared) -> None:
    if page.entities:
        connection.execute(_STAGE_ENTITIES)
        copy(connection, _STAGED_ENTITIES, page.entities)
        connection.execute(_ENTITIES)
    copy(connection, "mentions (entity, id)", page.mentions)
    copy(connection, "names (entity, id)", page.names)


def _write_texts(connection: Connection, page: Prepared, removed: list[int], replaced: list[int]) -> None:
    """Put the page's texts on the list of what is to be embedded, and drop the vectors of former ones.

    The list first: who embeds one of them meanwhile has its row locked, and stores a vector with it.
    """
    if removed:
        connection.execute(_DROP_TODO, (removed,))
        connection.execute(_DROP_VECTORS, (removed,))
    if not replaced:
        copy(connection, _TODO, page.texts)
        return
    connection.execute(_STAGE_TEXTS)
    copy(connection, _STAGED_TEXTS, page.texts)
    connection.execute(_DROP_TODO, (replaced,))
    connection.execute(_DROP_OTHER_VECTORS, (replaced,))
    connection.execute(_MISSING_TODO)


def _count(connection: Connection, page: Prepared, gone: _Gone) -> None:
    """Count the words and passages that came and went."""
    passages, lost = Counter(page.passages), Counter[int]()
    for namespace, keys in gone:
        passages[namespace] -= 1
        lost.subtract(key for key in keys if key >= 0)
    sizes = {name: passages[name] for name in sorted(passages) if passages[name]}
    if sizes:
        connection.execute(_COUNT_PASSAGES, (list(sizes), list(sizes.values())))
    copy(connection, _CHANGES, page.words + pack_words(lost))
    changed = sorted(page.buckets | {text.bucket(key) for key in lost})
    crowded = connection.execute(_CROWDED, (changed, MOST_CHANGES)).fetchall()
    if crowded:
        buckets = [bucket for (bucket,) in crowded]
        connection.execute(_MERGE, {"buckets": buckets, "shift": text.KEY_SHIFT})


def rows(connection: Connection, after: int, limit: int) -> list[IndexedMemory]:
    """Return the next memories after an id, in the order of ids."""
    return [IndexedMemory(*row) for row in connection.execute(_ROWS, (after, limit)).fetchall()]


def tidy(connection: Connection) -> None:
    """Merge the GIN index's pending list, which every search would scan; in a transaction of its own."""
    connection.execute(_PENDING)
