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
RECORDED_UP_TO: Final = """
    SELECT recorded_at FROM foldlog_events WHERE position <= ? ORDER BY position DESC LIMIT 1
"""
LAST_RECORDED_BY: Final = """
    SELECT position FROM foldlog_events WHERE recorded_at <= ? ORDER BY position DESC LIMIT 1
"""
FIRST_AFTER: Final = "SELECT min(position) FROM foldlog_events WHERE position > ?"

STREAM: Final = """
    SELECT stream_id, name_digest FROM foldlog_streams
    WHERE namespace = ? AND kind = ? AND name = ?
"""
STREAM_OF_ID: Final = "SELECT stream_id, namespace FROM foldlog_streams WHERE kind = ? AND name = ?"
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
