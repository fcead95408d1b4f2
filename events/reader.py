"""Reading the log: pages after a position, one stream, one run, and what is being committed now."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, Final

from foldlog.events import statements
from foldlog.events.event import Event
from foldlog.events.log import Log

#: Most events, and most bytes of links and payload, of one page.
PAGE_EVENTS: Final = 1000
PAGE_BYTES: Final = 4 << 20

#: Where these columns stand in a row of statements.PAGE.
_POSITION: Final = 0
_LINKS: Final = 9
_HASH: Final = 13
_DATA: Final = 14

#: Seconds between two looks at the head; one look costs 13 microseconds.
POLL_SECONDS: Final = 0.05


class Page:
    """Events that follow each other, as the log has them; they are decoded when they are asked for."""

    def __init__(self, rows: list[tuple[Any, ...]]) -> None:
        """`rows` are those of statements.PAGE."""
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def position(self) -> int:
        """The position of the last event."""
        position: int = self.rows[-1][_POSITION]
        return position

    @property
    def hash(self) -> bytes:
        """The log's hash at that position."""
        hashed: bytes = self.rows[-1][_HASH]
        return hashed

    @property
    def size(self) -> int:
        """Bytes of links and payload."""
        return sum(map(_size, self.rows))

    def events(self) -> list[Event]:
        """Return the events; raises UnknownEventType."""
        return [Event.from_row(row) for row in self.rows]


def read(
    log: Log, after: int, *, upto: int | None = None, events: int = PAGE_EVENTS, size: int = PAGE_BYTES
) -> Page:
    """Return the page after a position, read in one short transaction.

    Bounded by count and by bytes, but never empty while there is an event.
    """
    rows: list[tuple[Any, ...]] = []
    with log.read() as connection:
        last = (1 << 62) if upto is None else upto
        total = 0
        for row in connection.execute(statements.PAGE, (after, last, events)):
            total += _size(row)
            if rows and total > size:
                break
            rows.append(row)
    return Page(rows)


def _size(row: tuple[Any, ...]) -> int:
    return len(row[_LINKS]) + len(row[_DATA] or "")


def page(
    log: Log, after: int, *, upto: int | None = None, events: int = PAGE_EVENTS, size: int = PAGE_BYTES
) -> list[Event]:
    """Return the events of the page after a position, in order; raises UnknownEventType."""
    return read(log, after, upto=upto, events=events, size=size).events()


def pages(
    log: Log, after: int = 0, *, upto: int | None = None, events: int = PAGE_EVENTS, size: int = PAGE_BYTES
) -> Iterator[list[Event]]:
    """Yield pages until `upto`, or until the head is reached."""
    while found := page(log, after, upto=upto, events=events, size=size):
        yield found
        after = found[-1].position


def follow(
    log: Log, after: int = 0, *, stop: Callable[[], bool] = lambda: False, events: int = PAGE_EVENTS
) -> Iterator[list[Event]]:
    """Yield pages as they are committed, for ever, until `stop` says so."""
    while not stop():
        found = page(log, after, events=events)
        if found:
            yield found
            after = found[-1].position
        else:
            time.sleep(POLL_SECONDS)


def at(log: Log, position: int) -> Event | None:
    """Return the event at a position."""
    with log.read() as connection:
        row = connection.execute(statements.EVENT_AT, (position,)).fetchone()
    return Event.from_row(row) if row else None


def of_stream(log: Log, stream_id: int) -> list[Event]:
    """Return all events of a stream, in order."""
    with log.read() as connection:
        return [Event.from_row(row) for row in connection.execute(statements.STREAM_EVENTS, (stream_id,))]


def of_run(log: Log, run: str, after: int = 0, limit: int = PAGE_EVENTS) -> list[Event]:
    """Return events that a run wrote, after a position, in order."""
    with log.read() as connection:
        rows = connection.execute(statements.RUN_EVENTS, (run, after, limit))
        return [Event.from_row(row) for row in rows]


def of_namespace(log: Log, namespace: str, after: int = 0, limit: int = PAGE_EVENTS) -> list[Event]:
    """Return events of a namespace, after a position, in order."""
    with log.read() as connection:
        rows = connection.execute(statements.NAMESPACE_EVENTS, (after, namespace, limit))
        return [Event.from_row(row) for row in rows]
