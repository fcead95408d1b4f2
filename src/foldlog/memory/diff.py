"""Diff: what could be seen at one point and not at another, or was something else there.

It costs what happened between the two points, and the history of the items concerned; not the whole log.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final

from foldlog.errors import InvalidInput
from foldlog.events import past, statements
from foldlog.events.encoding import decode
from foldlog.events.log import Log
from foldlog.events.past import Point
from foldlog.memory import standing
from foldlog.memory.standing import Item, Standing
from foldlog.names import MAX_ORDINAL
from foldlog.projections.local import notes
from foldlog.projections.local.facts import Fact
from foldlog.projections.local.primers import Primer
from foldlog.projections.local.threads import Message

CREATED: Final = "created"
CHANGED: Final = "changed"
HIDDEN: Final = "hidden"
REAPPEARED: Final = "reappeared"

#: What can be compared, in the order in which changes are yielded.
KINDS: Final = ("fact", "thread", "message", "note", "retained", "primer")

#: Items that are compared at once.
CHUNK: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One item that could be seen at one of two points only, or was something else there."""

    #: `created` (seen for the first time), `changed`, `hidden` or `reappeared`.
    change: str
    #: `fact`, `thread`, `message`, `note`, `retained` or `primer`.
    kind: str
    namespace: str
    #: The fact's key, the primer's name, or the id of the others.
    name: str
    #: The item at the first and at the second point; None where it could not be seen.
    before: Item | None
    after: Item | None
    #: Why it is hidden, or was until it reappeared: `expired`, `deleted`, `deleted with its thread`,
    #: `erased`, `trimmed`, `summarised by` and the summary's id, `pending`, `rejected`, or `superseded by`
    #: and the notes' ids.
    why: str | None = None
    #: The accepted notes that supersede it, or did until it reappeared.
    superseded_by: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return the difference as JSON."""
        return {
            "change": self.change,
            "kind": self.kind,
            "namespace": self.namespace,
            "name": self.name,
            "before": None if self.before is None else self.before.as_dict(),
            "after": None if self.after is None else self.after.as_dict(),
            "why": self.why,
            "superseded_by": list(self.superseded_by),
        }


def between(
    log: Log,
    first: int | datetime,
    second: int | datetime | None,
    *,
    clock: str,
    namespace: str | None,
    kinds: Sequence[str],
) -> Iterator[Difference]:
    """Return what differs between two points, the second None for now; reads while it is iterated.

    Raises InvalidInput at once.
    """
    for kind in kinds:
        if kind not in KINDS:
            raise InvalidInput("kinds", f"must be among {', '.join(KINDS)}, not {kind!r}")
    start, end = past.find(log, first, clock), _end(log, second, clock)
    if (start.position, start.occurred or 0) > (end.position, end.occurred or 0):
        raise InvalidInput("diff", f"its first point ({start}) must not be after its second ({end})")
    if start.occurred is not None:
        # Both of what the log knows by now.
        start = replace(start, position=end.position)
    return _differences(log, start, end, namespace, frozenset(kinds or KINDS))


def _end(log: Log, asked: int | datetime | None, clock: str) -> Point:
    if asked is not None:
        return past.find(log, asked, clock)
    now = past.present(log)
    return replace(now, occurred=now.now) if clock == past.OCCURRED else now


def _differences(
    log: Log, first: Point, second: Point, namespace: str | None, kinds: frozenset[str]
) -> Iterator[Difference]:
    with log.read() as connection:
        touched = _touched(connection, first, second)
        streams = touched.streams(connection)
        names = touched.messages(connection, second) if "message" in kinds else []
    for kind in KINDS:
        if kind not in kinds:
            continue
        items: Sequence[Any] = names if kind == "message" else streams[kind]
        for start in range(0, len(items), CHUNK):
            chunk = items[start : start + CHUNK]
            with log.read() as connection:
                before, after = (_standings(connection, kind, chunk, point) for point in (first, second))
            for key in sorted(before.keys() | after.keys()):
                found = _compare(before.get(key), after.get(key))
                if found is not None and namespace in (None, found.namespace):
                    yield found


def _standings(
    connection: sqlite3.Connection, kind: str, items: Sequence[Any], point: Point
) -> dict[Any, Standing]:
    if kind == "message":
        return dict(standing.of_messages(connection, items, point))
    beside = notes.superseding_streams(connection, items) if kind == "note" else []
    return dict(standing.of_streams(connection, items, beside, point))


@dataclass(slots=True, kw_only=True)
class _Touched:
    """What may differ: streams by their kind, and what happened to threads."""

    by_kind: dict[str, set[int]] = field(default_factory=lambda: {kind: set() for kind in KINDS})
    #: Messages that were saved, and summaries.
    saved: set[str] = field(default_factory=set)
    #: By thread, first and last ordinal of what was deleted or hidden; of a deleted thread all.
    gone: dict[int, list[tuple[int, int]]] = field(default_factory=dict)

    def add(self, stream_id: int, kind: str, type_name: str, links: str | None) -> None:
        """Add what an event touched."""
        if kind != "thread":
            self.by_kind.setdefault(kind, set()).add(stream_id)
            return
        fields = decode(links or "{}")
        if "message_id" in fields:
            self.saved.add(fields["message_id"])
        gone = self.gone.setdefault(stream_id, [])
        gone += [(ordinal, ordinal) for ordinal in fields.get("ordinals", ())]
        gone += [(first, last) for first, last in fields.get("ranges", ())]
        if "replaces" in fields:
            gone.append((fields["replaces"], fields["replaces"]))
        if type_name.startswith("Thread"):
            self.by_kind["thread"].add(stream_id)
        if type_name == "ThreadDeleted":
            gone.append((0, MAX_ORDINAL))

    def streams(self, connection: sqlite3.Connection) -> dict[str, list[int]]:
        """Return the streams whose items may differ, the oldest first."""
        changed = self.by_kind["note"]
        self.by_kind["note"] = changed.union(notes.superseded_streams(connection, changed))
        return {kind: sorted(streams) for kind, streams in self.by_kind.items()}

    def messages(self, connection: sqlite3.Connection, point: Point) -> list[str]:
        """Return the messages that may differ."""
        found = set(self.saved)
        for stream, gone in self.gone.items():
            rows = connection.execute(statements.MESSAGES_OF_THREAD, (stream, point.position)) if gone else ()
            found.update(
                name for name, ordinal in rows if any(first <= ordinal <= last for first, last in gone)
            )
        return sorted(found)


def _touched(connection: sqlite3.Connection, first: Point, second: Point) -> _Touched:
    found = _Touched()
    if first.occurred is not None and second.occurred is not None:
        rows = connection.execute(
            statements.OCCURRED_BETWEEN, (first.occurred, second.occurred, second.position)
        )
    else:
        rows = connection.execute(statements.BETWEEN, (first.position, second.position))
    for row in rows:
        found.add(*row)
    # With a clock that was set back the second instant may be the earlier one: what had expired is back.
    span = sorted((first.now, second.now))
    if first.position:
        expired = connection.execute(statements.EXPIRED_BETWEEN, (*span, first.position))
        found.by_kind["fact"].update(stream for (stream,) in expired)
    return found


def _compare(before: Standing | None, after: Standing | None) -> Difference | None:
    """Return the difference between how an item stood at two points, None when a reader sees none."""
    old = None if before is None else before.item
    new = None if after is None else after.item
    known = after or before
    if known is None or (old is None and new is None):
        return None
    change, why = CHANGED, None
    if new is None:
        change, why = HIDDEN, after
    elif old is None:
        change, why = (REAPPEARED, before) if before is not None and before.was_seen else (CREATED, None)
    elif _content(old) == _content(new):
        return None
    return Difference(
        change=change,
        kind=known.kind,
        namespace=known.namespace,
        name=known.name,
        before=old,
        after=new,
        why=why.why if why else None,
        superseded_by=why.superseded_by if why else (),
    )


def _content(item: Item) -> tuple[Any, ...]:
    """Return what an item says, apart from when and by whom it was said."""
    if isinstance(item, Fact):
        return item.value, item.tags, item.expires_at
    if isinstance(item, Message):
        return item.thread_id, item.ordinal, item.role, item.author, item.content, item.tags
    if isinstance(item, Primer):
        return item.text, item.question
    # The title of a thread, the body of a note and a retained text never change.
    return ()
