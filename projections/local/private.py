"""A private read model: some events folded in memory, to be read by the functions that read the log's own.

So what was visible at a point in the past is decided by the code that decides it today.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Final

from foldlog.events.encoding import encode
from foldlog.events.event import Event
from foldlog.events.types import MessageSaved
from foldlog.names import memory_id
from foldlog.projections.local import threads
from foldlog.projections.local.fold import fold
from foldlog.projections.local.memories import Unsearched

#: The tables that events are folded into, without the full text: nobody searches here. A test compares them.
TABLES: Final = (
    "foldlog_memories",
    "foldlog_facts",
    "foldlog_threads",
    "foldlog_messages",
    "foldlog_notes",
    "foldlog_supersessions",
    "foldlog_primers",
    "foldlog_retained",
)

#: As the log's own file has them, so that no migration has to be repeated here.
_SCHEMA: Final = """
    SELECT sql FROM sqlite_schema
    WHERE sql IS NOT NULL AND tbl_name IN (SELECT value FROM json_each(?)) ORDER BY type DESC
"""


@contextmanager
def folded(log: sqlite3.Connection, events: Iterable[Event]) -> Iterator[sqlite3.Connection]:
    """Fold some events of a log, and yield the connection to read them from; nothing is kept."""
    connection = sqlite3.connect(":memory:", isolation_level=None, factory=Unsearched)
    try:
        connection.execute("BEGIN")
        for (statement,) in log.execute(_SCHEMA, (encode(TABLES),)).fetchall():
            connection.execute(statement)
        for event in events:
            record = event.record
            if isinstance(record, MessageSaved):
                # By the clock `occurred` a deletion may not count, and the id was given anew since.
                threads.release(connection, record.message_id, memory_id(event.stream_id, record.ordinal))
            fold(connection, event)
        yield connection
    finally:
        connection.close()
