"""The past of the log: which events count at a point, and how they are found without a scan.

A point is a position, or an instant by one of two clocks. By `recorded`, the usual one, everything counts
up to the largest position that was recorded at or before the instant: what the log held then. By `occurred`
everything counts that happened at or before the instant, whenever it was recorded: of imported events, what
was so then as far as the log knows by now.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from foldlog.errors import InvalidInput
from foldlog.events import statements
from foldlog.events.encoding import encode, instant, instant_ms
from foldlog.events.event import Event
from foldlog.events.log import Log

RECORDED: Final = "recorded"
OCCURRED: Final = "occurred"
CLOCKS: Final = (RECORDED, OCCURRED)

#: Events that are fetched by one statement.
PAGE_EVENTS: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """Which events count, and the instant by which expiry is judged."""

    #: Events after this position do not count.
    position: int
    #: Nor do those that happened after this instant, UTC ms; None: whenever they happened.
    occurred: int | None = None
    #: UTC ms.
    now: int

    def __str__(self) -> str:
        if self.occurred is not None:
            return f"{instant(self.occurred).isoformat()} (by when it occurred)"
        return f"position {self.position}"

    def as_dict(self) -> dict[str, Any]:
        """Return the point as JSON."""
        return {
            "position": self.position,
            "clock": RECORDED if self.occurred is None else OCCURRED,
            "now": instant(self.now).isoformat(),
        }


def present(log: Log) -> Point:
    """Return the point of this moment."""
    return Point(position=log.head(), now=log.clock())


def find(log: Log, asked: int | datetime, clock: str = RECORDED) -> Point:
    """Return the point of a position, or of an instant by one of the CLOCKS.

    A position's instant is when it was recorded; before the first event nothing counts. Raises InvalidInput
    for a time without a zone, for what has not come yet, and for a position by the clock `occurred`.
    """
    if clock not in CLOCKS:
        raise InvalidInput("clock", f"must be one of {', '.join(CLOCKS)}, not {clock!r}")
    if isinstance(asked, datetime):
        return _of_instant(log, instant_ms(asked, "as_of"), clock)
    if type(asked) is not int or asked < 0:
        raise InvalidInput("as_of", f"must be a position from 0 or a datetime with a zone, not {asked!r}")
    if clock == OCCURRED:
        raise InvalidInput(
            "clock", "can be `occurred` for an instant only; a position is of what is recorded"
        )
    return _of_position(log, asked)


def _of_position(log: Log, position: int) -> Point:
    with log.read() as connection:
        head = connection.execute(statements.HEAD_POSITION).fetchone()[0]
        if position > head:
            raise InvalidInput("as_of", f"position {position} has not come yet; the log's last one is {head}")
        row = connection.execute(statements.LAST_BY, (position,)).fetchone()
        # Before the first event nothing can expire: any instant would do.
        first = row or connection.execute(statements.FIRST_FROM, (0, 1 << 62)).fetchone()
    return Point(position=position, now=first[1] if first else log.clock())


def _of_instant(log: Log, stamp: int, clock: str) -> Point:
    with log.read() as connection:
        head, last = connection.execute(statements.LAST_BY, (1 << 62,)).fetchone() or (0, 0)
        # A clock that was set back is no reason to refuse what the log has by its own account.
        if stamp > max(last, log.clock()):
            raise InvalidInput(
                "as_of", f"{instant(stamp).isoformat()} has not come yet; leave it out for now"
            )
        if clock == OCCURRED:
            return Point(position=head, occurred=stamp, now=stamp)
        return Point(position=position_at(connection, stamp), now=stamp)


def position_at(connection: sqlite3.Connection, stamp: int) -> int:
    """Return the largest position recorded at or before an instant (UTC ms), 0 when there is none.

    Time only grows between two steps of the clock, so each stretch can be searched by halves; the last
    stretch that begins by the instant has the answer.
    """
    low: int | None = connection.execute(statements.STRETCH, (stamp,)).fetchone()[0]
    if low is None:
        return 0
    end = connection.execute(statements.STRETCH_END, (low,)).fetchone()[0]
    high: int = end or connection.execute(statements.HEAD_POSITION).fetchone()[0] + 1
    while high - low > 1:
        middle = (low + high) // 2
        row = connection.execute(statements.FIRST_FROM, (middle, high)).fetchone()
        if row is not None and row[1] <= stamp:
            low = row[0]
        else:
            high = middle
    return low


def of_streams(connection: sqlite3.Connection, streams: Iterable[int], point: Point) -> list[int]:
    """Return the positions of all events of some streams that count, in order."""
    arguments = (encode(list(streams)), point.position, point.occurred)
    return sorted(row[0] for row in connection.execute(statements.POSITIONS_OF_STREAMS, arguments))


def of_messages(connection: sqlite3.Connection, message_ids: Iterable[str], point: Point) -> list[int]:
    """Return the positions, in order, of all versions of some messages, and of what became of their threads.

    Deleted messages are found too, without looking at the others of their threads.
    """
    arguments = (encode(list(message_ids)), point.position, point.occurred)
    versions = connection.execute(statements.POSITIONS_OF_MESSAGES, arguments).fetchall()
    streams = encode(sorted({stream for _, stream in versions}))
    rows = connection.execute(statements.POSITIONS_OF_THREADS, (streams, *arguments[1:]))
    return sorted({*(position for position, _ in versions), *(position for (position,) in rows)})


def events(connection: sqlite3.Connection, positions: Sequence[int]) -> Iterator[Event]:
    """Yield the events at some positions, in their order; raises UnknownEventType."""
    for start in range(0, len(positions), PAGE_EVENTS):
        chunk = encode(positions[start : start + PAGE_EVENTS])
        rows = connection.execute(statements.EVENTS_AT, (chunk,)).fetchall()
        rows.sort(key=lambda row: row[0])
        yield from map(Event.from_row, rows)
