"""Reading the log: pages after a position, one stream, one run, and what is being committed now."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Final

from foldlog.events import statements
from foldlog.events.event import Event
from foldlog.events.log import Log

#: Most events, and most bytes of links and payload, of one page.
PAGE_EVENTS: Final = 1000
PAGE_BYTES: Final = 4 << 20

#: Seconds between two looks at the head; one look costs 13 microseconds.
POLL_SECONDS: Final = 0.05


def page(
    log: Log, after: int, *, upto: int | None = None, events: int = PAGE_EVENTS, size: int = PAGE_BYTES
) -> list[Event]:
    """Return the next events after a position, in order, read in one short transaction.

    Bounded by count and by bytes, but never empty while there is an event. Raises UnknownEventType.
    """
    found: list[Event] = []
    with log.read() as connection:
        last = (1 << 62) if upto is None else upto
        total = 0
        for row in connection.execute(statements.PAGE, (after, last, events)):
            event = Event.from_row(row)
            total += event.size
            if found and total > size:
                break
            found.append(event)
    return found


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
