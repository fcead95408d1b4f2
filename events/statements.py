"""Every SQL statement of the log, by hand: an abstraction costs five times the append itself."""

from __future__ import annotations

from typing import Final

VERSION_TABLE_EXISTS: Final = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = ?"

META: Final = "SELECT log_id, incarnation, created_at, hash_algorithm, format, min_writer FROM foldlog_meta"

# AUTOINCREMENT's counter, not max(position): a position that was ever given out is never given again.
HEAD: Final = """
    SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'foldlog_events'), 0),
        hash, recorded_at, (SELECT min_writer FROM foldlog_meta)
    FROM (SELECT 1) LEFT JOIN
        (SELECT hash, recorded_at FROM foldlog_events ORDER BY position DESC LIMIT 1)
"""
HEAD_POSITION: Final = "SELECT coalesce(max(position), 0) FROM foldlog_events"
HASH_AT: Final = "SELECT hash FROM foldlog_events WHERE position = ?"
RECORDED_AT: Final = "SELECT recorded_at FROM foldlog_events WHERE position = ?"
FIRST_AFTER: Final = "SELECT min(position) FROM foldlog_events WHERE position > ?"

STREAM: Final = """
    SELECT stream_id, name_digest FROM foldlog_streams
    WHERE namespace = ? AND kind = ? AND name = ?
"""
# The second condition is that of the index: without it SQLite would read all streams.
STREAM_OF_ID: Final = """
    SELECT stream_id, namespace FROM foldlog_streams
    WHERE kind = ? AND name = ? AND kind IN ('thread', 'note', 'retained')
"""
INSERT_STREAM: Final = """
    INSERT INTO foldlog_streams (kind, namespace, name, salt, name_digest) VALUES (?, ?, ?, ?, ?)
"""
LAST_OF_STREAM: Final = "SELECT coalesce(max(position), 0) FROM foldlog_events WHERE stream_id = ?"
# A collector only tidies: it decided nothing.
LAST_WRITE_OF_STREAM: Final = """
    SELECT occurred_at FROM foldlog_events WHERE stream_id = ? AND type <> 'FactExpired'
    ORDER BY version DESC LIMIT 1
"""
# From the links, which stay when a message is deleted or erased.
MESSAGE_IDS_OF_STREAM: Final = """
    SELECT DISTINCT json_extract(links, '$.message_id') FROM foldlog_events
    WHERE stream_id = ? AND type = 'MessageSaved'
"""
VERSION: Final = "SELECT coalesce(max(version), 0) FROM foldlog_events WHERE stream_id = ?"

INSERT_EVENT: Final = """
    INSERT INTO foldlog_events (position, event_id, stream_id, version, type, schema_version, links,
        metadata, occurred_at, recorded_at, data_digest, hash)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
INSERT_PAYLOAD: Final = "INSERT INTO foldlog_payloads (position, data, salt) VALUES (?, ?, ?)"
INSERT_RUN: Final = "INSERT INTO foldlog_by_run (run, position) VALUES (?, ?)"
INSERT_CLOCK_STEP: Final = "INSERT INTO foldlog_clock_steps (position) VALUES (?)"

IDEMPOTENCY: Final = "SELECT position, request_digest FROM foldlog_idempotency WHERE key_digest = ?"
INSERT_IDEMPOTENCY: Final = """
    INSERT INTO foldlog_idempotency (key_digest, position, request_digest) VALUES (?, ?, ?)
"""

_EVENT_COLUMNS: Final = """
    e.position, e.event_id, e.stream_id, s.kind, s.namespace, s.name, e.version, e.type,
    e.schema_version, e.links, e.metadata, e.occurred_at, e.recorded_at, e.hash, p.data
"""
_EVENTS: Final = f"""
    SELECT {_EVENT_COLUMNS} FROM foldlog_events e
    JOIN foldlog_streams s USING (stream_id)
    LEFT JOIN foldlog_payloads p USING (position)
"""
# CROSS JOIN fixes the order of the loops: without it the planner may walk all streams first.
PAGE: Final = f"""
    SELECT {_EVENT_COLUMNS} FROM foldlog_events e
    CROSS JOIN foldlog_streams s USING (stream_id)
    LEFT JOIN foldlog_payloads p USING (position)
    WHERE e.position > ? AND e.position <= ? ORDER BY e.position LIMIT ?
"""
EVENT_AT: Final = f"{_EVENTS} WHERE e.position = ?"
STREAM_EVENTS: Final = f"{_EVENTS} WHERE e.stream_id = ? ORDER BY e.version"
RUN_EVENTS: Final = f"""
    SELECT {_EVENT_COLUMNS} FROM foldlog_by_run r
    CROSS JOIN foldlog_events e USING (position)
    CROSS JOIN foldlog_streams s USING (stream_id)
    LEFT JOIN foldlog_payloads p USING (position)
    WHERE r.run = ? AND r.position > ? ORDER BY r.position LIMIT ?
"""
NAMESPACE_EVENTS: Final = f"""
    SELECT {_EVENT_COLUMNS} FROM foldlog_events e
    CROSS JOIN foldlog_streams s USING (stream_id)
    LEFT JOIN foldlog_payloads p USING (position)
    WHERE e.position > ? AND s.namespace = ? ORDER BY e.position LIMIT ?
"""

# Positions of what is read as of a point: by lists of ids, as a JSON array.
_BY_THEN: Final = "e.position <= ?2 AND (?3 IS NULL OR e.occurred_at <= ?3)"
POSITIONS_OF_STREAMS: Final = f"""
    SELECT e.position FROM json_each(?1) i CROSS JOIN foldlog_events e ON e.stream_id = i.value
    WHERE {_BY_THEN}
"""
POSITIONS_OF_MESSAGES: Final = f"""
    SELECT e.position, e.stream_id FROM json_each(?1) i
    CROSS JOIN foldlog_events e ON json_extract(e.links, '$.message_id') = i.value
    WHERE e.type IN ('MessageSaved', 'MessagesSummarized') AND {_BY_THEN}
"""
# The types are those of the index `foldlog_events_thread`: with others SQLite would not use it.
POSITIONS_OF_THREADS: Final = f"""
    SELECT e.position FROM json_each(?1) i CROSS JOIN foldlog_events e ON e.stream_id = i.value
    WHERE e.type IN ('ThreadCreated', 'ThreadDeleted', 'MessagesDeleted', 'MessagesTrimmed',
        'MessagesSummarized') AND {_BY_THEN}
"""
EVENTS_AT: Final = f"""
    SELECT {_EVENT_COLUMNS} FROM json_each(?1) i
    CROSS JOIN foldlog_events e ON e.position = i.value
    CROSS JOIN foldlog_streams s USING (stream_id)
    LEFT JOIN foldlog_payloads p USING (position)
"""
# Streams that had an event by then: the first one is looked up in an index.
_BEGUN: Final = """
    EXISTS (SELECT 1 FROM foldlog_events e
        WHERE e.stream_id = s.stream_id AND e.version = 1 AND e.position <= ?3)
"""
STREAMS_BY_NAME: Final = f"""
    SELECT s.stream_id, s.name FROM foldlog_streams s
    WHERE s.namespace = ?1 AND s.kind = ?2 AND s.name > ?4 AND {_BEGUN} ORDER BY s.name LIMIT ?5
"""
NEXT_NAMESPACE: Final = "SELECT min(namespace) FROM foldlog_streams WHERE namespace > ?"
STREAMS_BY_AGE: Final = f"""
    SELECT s.stream_id FROM foldlog_streams s
    WHERE s.namespace = ?1 AND s.kind = ?2 AND s.stream_id > ?4 AND {_BEGUN} ORDER BY s.stream_id
"""
STREAMS_OF_KIND: Final = f"""
    SELECT s.stream_id FROM foldlog_streams s
    WHERE s.kind = ?2 AND s.kind IN ('thread', 'note', 'retained') AND s.stream_id > ?4 AND {_BEGUN}
    ORDER BY s.stream_id
"""

# All that happened between two points; of threads with the links, which name the messages.
_BETWEEN: Final = """
    SELECT e.stream_id, s.kind, e.type, CASE WHEN s.kind = 'thread' THEN e.links END FROM foldlog_events e
    CROSS JOIN foldlog_streams s USING (stream_id)
"""
BETWEEN: Final = f"{_BETWEEN} WHERE e.position > ? AND e.position <= ?"
OCCURRED_BETWEEN: Final = f"""
    {_BETWEEN} WHERE e.position <= ?3
        AND e.occurred_at <> e.recorded_at AND e.occurred_at > ?1 AND e.occurred_at <= ?2
    UNION ALL
    {_BETWEEN} WHERE e.position <= ?3
        AND e.occurred_at = e.recorded_at AND e.recorded_at > ?1 AND e.recorded_at <= ?2
"""
# Streams of facts with a time, set by a position, that ended between two instants.
EXPIRED_BETWEEN: Final = """
    SELECT DISTINCT stream_id FROM foldlog_events
    WHERE type = 'FactSet' AND json_extract(links, '$.expires_at') IS NOT NULL
        AND json_extract(links, '$.expires_at') >= ? AND json_extract(links, '$.expires_at') < ?
        AND position <= ?
"""
MESSAGES_OF_THREAD: Final = """
    SELECT DISTINCT json_extract(links, '$.message_id'), json_extract(links, '$.ordinal')
    FROM foldlog_events
    WHERE stream_id = ? AND type IN ('MessageSaved', 'MessagesSummarized') AND position <= ?
"""

# Instants and positions.
LAST_BY: Final = """
    SELECT position, recorded_at FROM foldlog_events WHERE position <= ? ORDER BY position DESC LIMIT 1
"""
FIRST_FROM: Final = """
    SELECT position, recorded_at FROM foldlog_events
    WHERE position >= ? AND position < ? ORDER BY position LIMIT 1
"""
# Where the last stretch of growing time begins that has something recorded by an instant.
STRETCH: Final = """
    SELECT max(e.position) FROM foldlog_events e
    WHERE e.recorded_at <= ? AND e.position IN (
        SELECT position FROM foldlog_clock_steps UNION ALL SELECT min(position) FROM foldlog_events)
"""
STRETCH_END: Final = "SELECT min(position) FROM foldlog_clock_steps WHERE position > ?"

CHAIN: Final = """
    SELECT e.position, e.event_id, e.stream_id, e.version, e.type, e.schema_version, e.links,
        e.metadata, e.occurred_at, e.recorded_at, e.data_digest, e.hash,
        s.kind, s.namespace, s.name, s.salt, s.name_digest, p.data, p.salt
    FROM foldlog_events e
    LEFT JOIN foldlog_streams s USING (stream_id)
    LEFT JOIN foldlog_payloads p USING (position)
    WHERE e.position > ? ORDER BY e.position LIMIT ?
"""
ORPHAN_PAYLOADS: Final = """
    SELECT position FROM foldlog_payloads
    WHERE position NOT IN (SELECT position FROM foldlog_events) ORDER BY position
"""
