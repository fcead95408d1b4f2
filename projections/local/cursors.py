"""How far jobs have come in threads: records of work beside the read model, never part of an event."""

from __future__ import annotations

import sqlite3
from typing import Final

_GET: Final = "SELECT ordinal FROM foldlog_job_cursors WHERE job = ? AND stream_id = ?"
_PUT: Final = """
    INSERT INTO foldlog_job_cursors (job, stream_id, ordinal) VALUES (?, ?, ?)
    ON CONFLICT (job, stream_id) DO UPDATE SET ordinal = max(ordinal, excluded.ordinal)
"""


def get(connection: sqlite3.Connection, job: str, stream_id: int) -> int:
    """Return the ordinal of the last message that a job has done, 0 for none."""
    row = connection.execute(_GET, (job, stream_id)).fetchone()
    return row[0] if row else 0


def put(connection: sqlite3.Connection, job: str, stream_id: int, ordinal: int) -> None:
    """Note how far a job has come; it never goes back."""
    connection.execute(_PUT, (job, stream_id, ordinal))
