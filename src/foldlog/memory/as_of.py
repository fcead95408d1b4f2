"""As of: memory as it was at a point in the past, with the readers that memory has today.

One mechanism for all: the events of the streams concerned, up to the point, are folded in memory by the
very fold that makes the read model, and read by the very functions that read it. A test holds the readers
against those of today.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from typing import Any, Final, NoReturn, TypeVar

from foldlog.errors import AsOfUnsupported, UnknownNote, UnknownThread
from foldlog.events import past, statements
from foldlog.events.encoding import instant
from foldlog.events.log import Log
from foldlog.events.past import Point
from foldlog.memory.facts import start
from foldlog.memory.history import Histories
from foldlog.memory.notes import check_statuses, relations
from foldlog.memory.paging import check_limit
from foldlog.memory.relates import Relation
from foldlog.memory.retained import joined
from foldlog.names import ORDINAL_BITS
from foldlog.projections.local import facts, notes, primers, private, retained, threads
from foldlog.projections.local.facts import BEFORE_ALL, Fact
from foldlog.projections.local.notes import ACCEPTED, Note, Wanted
from foldlog.projections.local.primers import Primer
from foldlog.projections.local.retained import Retained
from foldlog.projections.local.threads import Message, Thread

#: Streams that are folded at once; a thread may have many events.
CHUNK: Final = 500
CHUNK_OF_THREADS: Final = 20

Item = TypeVar("Item")


class Past:
    """Memory as of a point. What was erased since is missing; everything else is as it was."""

    def __init__(self, log: Log, point: Point) -> None:
        self._point = point
        source = _Source(log, point)
        self.facts: Final = PastFacts(source)
        self.threads: Final = PastThreads(source)
        self.messages: Final = PastMessages(source)
        self.notes: Final = PastNotes(source)
        self.primers: Final = PastPrimers(source)
        self.retained: Final = PastRetained(source)
        self.history: Final = Histories(log, point)

    @property
    def position(self) -> int:
        """The last position that counts."""
        return self._point.position

    @property
    def instant(self) -> datetime:
        """The instant by which expiry is judged."""
        return instant(self._point.now)

    def recall(self, query: str, namespaces: str | Sequence[str], **options: Any) -> NoReturn:
        """Raise AsOfUnsupported: the index keeps no past versions, and today's would be a wrong answer."""
        raise AsOfUnsupported

    def search(self, query: str, namespaces: str | Sequence[str] = (), **options: Any) -> NoReturn:
        """Raise AsOfUnsupported: the words are those of today."""
        raise AsOfUnsupported


class _Source:
    """Folds what was chosen, up to the point."""

    def __init__(self, log: Log, point: Point) -> None:
        self.point = point
        self._log = log

    def ask(self, statement: str, *arguments: object) -> list[Any]:
        """Return rows of the log itself."""
        with self.read() as connection:
            return connection.execute(statement, arguments).fetchall()

    def read(self) -> AbstractContextManager[sqlite3.Connection]:
        """Begin a read transaction of the log itself."""
        return self._log.read()

    def named(self, kind: str, namespace: str, name: str) -> list[int]:
        """Return the stream of a name in a namespace, if there ever was one."""
        return [row[0] for row in self.ask(statements.STREAM, namespace, kind, name)]

    def of_id(self, kind: str, name: str) -> list[int]:
        """Return the stream of an id, if there ever was one."""
        return [row[0] for row in self.ask(statements.STREAM_OF_ID, kind, name)]

    def by_name(self, kind: str, namespace: str, after: str) -> Iterator[list[int]]:
        """Yield the streams of a namespace by name, after a name, in chunks."""
        while rows := self.ask(
            statements.STREAMS_BY_NAME, namespace, kind, self.point.position, after, CHUNK
        ):
            yield [stream for stream, _ in rows]
            after = rows[-1][1]

    def by_age(self, kind: str, namespace: str | None, after: int, size: int) -> Iterator[list[int]]:
        """Yield the streams of a namespace, or of all, the oldest first, after a number, in chunks."""
        statement = statements.STREAMS_OF_KIND if namespace is None else statements.STREAMS_BY_AGE
        found = [row[0] for row in self.ask(statement, namespace, kind, self.point.position, after)]
        for first in range(0, len(found), size):
            yield found[first : first + size]

    @contextmanager
    def streams(self, ids: Sequence[int]) -> Iterator[sqlite3.Connection]:
        """Yield a read model of some streams."""
        with self.fold(lambda log: past.of_streams(log, ids, self.point)) as model:
            yield model

    @contextmanager
    def notes(self, ids: Sequence[int]) -> Iterator[sqlite3.Connection]:
        """Yield a read model of some notes, and of those that supersede them."""
        # Edges are never removed, so that those of today are all there were.
        with self.fold(
            lambda log: past.of_streams(log, {*ids, *notes.superseding_streams(log, ids)}, self.point)
        ) as model:
            yield model

    @contextmanager
    def fold(self, positions: Callable[[sqlite3.Connection], list[int]]) -> Iterator[sqlite3.Connection]:
        """Yield a read model of the events at some positions."""
        with self.read() as log, private.folded(log, past.events(log, positions(log))) as model:
            yield model


class PastFacts:
    """Read facts as they were."""

    def __init__(self, source: _Source) -> None:
        self._source = source

    def get(self, namespace: str, key: str, *, include_expired: bool = False) -> Fact | None:
        """Return a fact, None when there was none or its time had passed.

        With `include_expired` also one whose time had passed and that was not collected yet.
        """
        with self._source.streams(self._source.named("fact", namespace, key)) as model:
            return facts.get(model, namespace, key, self._now(include_expired))

    def _page(self, namespace: str, now: int, after: str, limit: int) -> list[Fact]:
        chunks = self._source.by_name("fact", namespace, after)

        def read(chunk: Sequence[int], left: int) -> list[Fact]:
            with self._source.streams(chunk) as model:
                return facts.page(model, namespace, now, after, left)

        return _gather(chunks, read, limit)

    def _now(self, include_expired: bool) -> int:
        return BEFORE_ALL if include_expired else self._source.point.now

    def list(
        self,
        namespace: str | None = None,
        *,
        after: str | tuple[str, str] = "",
        limit: int = 1000,
        include_expired: bool = False,
    ) -> list[Fact]:
        """Return the facts of a namespace by key (in binary order), after a key.

        Without a namespace those of all, by namespace and key, after such a pair.
        """
        check_limit(limit)
        now = self._now(include_expired)
        place: str | None
        place, key = start(namespace, after)
        found = [] if place == "" else self._page(place, now, key, limit)
        while namespace is None and len(found) < limit:
            place = self._source.ask(statements.NEXT_NAMESPACE, place)[0][0]
            if place is None:
                break
            found += self._page(place, now, "", limit - len(found))
        return found


class PastThreads:
    """Read threads as they were."""

    def __init__(self, source: _Source) -> None:
        self._source = source

    def get(self, thread_id: str) -> Thread | None:
        """Return a thread, None when there was none."""
        with self._source.streams(self._source.of_id("thread", thread_id)) as model:
            return threads.get(model, thread_id)

    def list(self, namespace: str | None = None, *, after: int = 0, limit: int = 1000) -> list[Thread]:
        """Return threads in the order of their creation, after a thread's `stream_id`."""
        check_limit(limit)

        def read(chunk: Sequence[int], left: int) -> list[Thread]:
            with self._source.streams(chunk) as model:
                return threads.page(model, namespace, after, left)

        return _gather(self._source.by_age("thread", namespace, after, CHUNK_OF_THREADS), read, limit)


class PastMessages:
    """Read messages as they were."""

    def __init__(self, source: _Source) -> None:
        self._source = source

    def get(self, message_id: str, *, include_hidden: bool = False) -> Message | None:
        """Return a message in the version that was its last, None when there was none.

        With `include_hidden` also one that a summary covered, or that was trimmed.
        """
        source = self._source
        with source.fold(lambda log: past.of_messages(log, [message_id], source.point)) as model:
            found = threads.message(model, message_id)
        return found if found is None or include_hidden or found.hidden_by is None else None

    def list(
        self,
        thread_id: str,
        *,
        limit: int = 1000,
        latest: bool = False,
        after: int = 0,
        include_hidden: bool = False,
    ) -> list[Message]:
        """Return messages of a thread in order, after an ordinal: the first `limit`, or the latest.

        A summary stands where the first message was that it covered. With `include_hidden` also the
        messages that it covered, former summaries, and what was trimmed. Raises UnknownThread for a
        thread that was not there.
        """
        check_limit(limit)
        with self._source.streams(self._source.of_id("thread", thread_id)) as model:
            thread = threads.get(model, thread_id)
            if thread is None:
                raise UnknownThread(thread_id, as_of=self._source.point)
            return threads.messages(
                model,
                thread.stream_id,
                after=after,
                limit=limit,
                latest=latest,
                include_hidden=include_hidden,
            )

    def count(self, thread_id: str) -> int:
        """Return how many messages a thread had; one that was not there had none."""
        with self._source.streams(self._source.of_id("thread", thread_id)) as model:
            thread = threads.get(model, thread_id)
        return thread.messages if thread else 0


class PastNotes:
    """Read notes as they were."""

    def __init__(self, source: _Source) -> None:
        self._source = source

    def get(self, note_id: str) -> Note | None:
        """Return a note with the status it had, None when there was none."""
        with self._source.notes(self._source.of_id("note", note_id)) as model:
            return notes.get(model, note_id)

    def heads(self, note_id: str) -> list[Note]:
        """Return the notes that stood in a note's place: itself, or what accepted notes made of it.

        Raises UnknownNote for one that was not there.
        """

        def positions(log: sqlite3.Connection) -> list[int]:
            connected = notes.connected(log, note_id).values()
            ids = [memory >> ORDINAL_BITS for memory in connected if memory is not None]
            return past.of_streams(log, {*ids, *notes.superseding_streams(log, ids)}, self._source.point)

        with self._source.fold(positions) as model:
            found = notes.heads(model, note_id)
            if not found and notes.get(model, note_id) is None:
                raise UnknownNote(note_id, as_of=self._source.point)
        return found

    def relates(self, note_id: str) -> list[Relation]:
        """Return what a note stated about things by name; raises UnknownNote for one that was not there."""
        found = self.get(note_id)
        if found is None:
            raise UnknownNote(note_id, as_of=self._source.point)
        with self._source.read() as log:
            return relations(log, found)

    def list(
        self,
        namespace: str,
        *,
        status: str | Iterable[str] = ACCEPTED,
        kind: str | None = None,
        include_superseded: bool = False,
        after: int = 0,
        limit: int = 1000,
    ) -> list[Note]:
        """Return notes of a namespace in the order of the log, after a note's `memory_id`.

        `status` is one, several, or `any`, as it was; without `include_superseded` a note that an
        accepted one superseded is left out. `kind` keeps those of one kind.
        """
        wanted = Wanted(statuses=check_statuses(status), include_superseded=include_superseded, kind=kind)
        check_limit(limit)

        def read(chunk: Sequence[int], left: int) -> list[Note]:
            with self._source.notes(chunk) as model:
                page = notes.page(model, namespace, wanted, after=after, limit=-1)
            # What supersedes them has its own place, in this namespace perhaps.
            inside = set(chunk)
            return [note for note in page if note.memory_id >> ORDINAL_BITS in inside][:left]

        return _gather(self._source.by_age("note", namespace, after >> ORDINAL_BITS, CHUNK), read, limit)


class PastPrimers:
    """Read primers as they were."""

    def __init__(self, source: _Source) -> None:
        self._source = source

    def get(self, namespace: str, name: str) -> Primer | None:
        """Return a primer, None when there was none."""
        with self._source.streams(self._source.named("primer", namespace, name)) as model:
            return primers.get(model, namespace, name)

    def list(self, namespace: str, *, after: str = "", limit: int = 1000) -> list[Primer]:
        """Return the primers of a namespace by name (in binary order), after a name."""
        check_limit(limit)

        def read(chunk: Sequence[int], left: int) -> list[Primer]:
            with self._source.streams(chunk) as model:
                return primers.page(model, namespace, after, left)

        return _gather(self._source.by_name("primer", namespace, after), read, limit)


class PastRetained:
    """Read retained texts as they were."""

    def __init__(self, source: _Source) -> None:
        self._source = source

    def get(self, retained_id: str) -> Retained | None:
        """Return a text, None when there was none."""
        with self._source.streams(self._source.of_id("retained", retained_id)) as model:
            return retained.get(model, retained_id)

    def list(
        self, namespace: str, document: str | None = None, *, after: int = 0, limit: int = 1000
    ) -> list[Retained]:
        """Return texts of a namespace, or of one document, in the order of the log, after a `memory_id`."""
        check_limit(limit)

        def read(chunk: Sequence[int], left: int) -> list[Retained]:
            with self._source.streams(chunk) as model:
                return retained.page(model, namespace, document, after, left)

        return _gather(self._source.by_age("retained", namespace, after >> ORDINAL_BITS, CHUNK), read, limit)

    def text(self, namespace: str, document: str) -> str | None:
        """Return a document's units, in the order of the log, as one text; None when it had none."""
        return joined(self.list(namespace, document, limit=1 << 62))


def _gather(
    chunks: Iterator[list[int]], read: Callable[[Sequence[int], int], list[Item]], limit: int
) -> list[Item]:
    """Return the items of chunk after chunk, until there are enough."""
    found: list[Item] = []
    while len(found) < limit and (chunk := next(chunks, None)) is not None:
        found += read(chunk, limit - len(found))
    return found
