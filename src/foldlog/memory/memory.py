"""Memory: facts, threads, notes, their history, and recall, over one log."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from foldlog.errors import AsOfUnsupported, InvalidInput
from foldlog.events import reader
from foldlog.events.encoding import check_not_blank
from foldlog.events.event import Event
from foldlog.events.log import Log
from foldlog.events.provenance import NOBODY, Provenance
from foldlog.memory.audit import Audit
from foldlog.memory.counters import RECALLS, RECALLS_INCOMPLETE, Counters
from foldlog.memory.facts import Facts
from foldlog.memory.folding import Folding, Recalling
from foldlog.memory.notes import Notes
from foldlog.memory.tags import tag_filter
from foldlog.memory.threads import Messages, Threads
from foldlog.memory.writer import Writer
from foldlog.names import check_name
from foldlog.projections.document import KINDS

if TYPE_CHECKING:
    import sqlite3

    from sqlalchemy import Connection
    from sqlalchemy.orm import Session

    from foldlog.events.verification import Anchor, Report
    from foldlog.memory.graph import Graph, Walker
    from foldlog.memory.join import Joined
    from foldlog.memory.primers import Primers
    from foldlog.memory.recording import Recorder
    from foldlog.memory.retained import Retention
    from foldlog.memory.schemas import Rule
    from foldlog.memory.tools import Tools
    from foldlog.projections.condition import Condition
    from foldlog.projections.engine import Folded
    from foldlog.projections.local.search import Found
    from foldlog.projections.rebuild import Progress
    from foldlog.projections.recall.answer import Recall
    from foldlog.projections.scope import Scope

#: Most memories of one answer.
MAX_LIMIT: Final = 1000

#: Longest part of a question that is searched for, in characters.
MAX_QUERY: Final = 20_000


class Memory(Audit):
    """Durable memory for agents: every change is an event in an SQLite log.

    Writing needs nothing but the log's file. May be used from many threads; a batch belongs to
    the thread that began it.
    """

    def __init__(
        self,
        log: Log,
        recaller: Recalling,
        folding: Folding,
        *,
        by: Provenance = NOBODY,
        walker: Walker | None = None,
        recorder: Recorder | None = None,
        close: Callable[[], None] = lambda: None,
        counters: Counters | None = None,
        count_tokens: Callable[[str], int] | None = None,
        rules: list[Rule] | None = None,
    ) -> None:
        """Without a recorder it is not recorded who was given which memory."""
        self.log = log
        self._recaller = recaller
        self._folding = folding
        self._walker = walker
        self._recorder = recorder
        self._close = close
        self._count_tokens = count_tokens
        #: What was done through this object, and those that `by` made of it.
        self.counters: Final = counters or Counters()
        self._writer = Writer(self.log, by, self.counters)
        self.facts: Final = Facts(self._writer, rules)
        self.threads: Final = Threads(self._writer)
        self.messages: Final = Messages(self._writer)
        self.notes: Final = Notes(self._writer)

    @cached_property
    def primers(self) -> Primers:
        """Named texts that stand in every block that asks for them."""
        from foldlog.memory.primers import Primers

        return Primers(self._writer)

    @cached_property
    def retained(self) -> Retention:
        """Texts that agents keep."""
        from foldlog.memory.retained import Retention

        return Retention(self._writer)

    @cached_property
    def graph(self) -> Graph:
        """Who relates to whom since when."""
        from foldlog.memory.graph import Graph

        return Graph(self.log, self._walker)

    def by(self, provenance: Provenance) -> Memory:
        """Return the same memory, with its changes and recalls attributed to a run, node or actor."""
        return Memory(
            self.log,
            self._recaller,
            self._folding,
            by=provenance,
            walker=self._walker,
            recorder=self._recorder,
            counters=self.counters,
            count_tokens=self._count_tokens,
            rules=self.facts.rules,
        )

    def join(self, transaction: Connection | Session | sqlite3.Connection) -> Joined:
        """Return the memory inside a caller's transaction on the log's file: both commit, or neither.

        Takes an SQLAlchemy Connection or Session whose engine went through `foldlog.configure_engine`, or
        a sqlite3 connection with isolation_level=None in a transaction. Raises JoinRefused for others.
        """
        from foldlog.memory.join import join

        return join(self.log, transaction, self._writer.by, self.facts.rules)

    def tools(
        self,
        namespaces: str | Sequence[str],
        *,
        tags: Sequence[str] = (),
        document: str | None = None,
        primers: Sequence[str] | bool | None = None,
        max_tokens: float = 2048,
    ) -> Tools:
        """Return `remember` and `recall` as tools for an agent, bound to namespaces and tags.

        What is remembered is a unit of `document`, which is the run's unless named, and is attributed to
        whom this memory writes for: `memory.by(Provenance(run=...)).tools(...)`. Raises InvalidInput.
        """
        from foldlog.memory.tools import bind

        return bind(
            self,
            self._writer.by,
            namespaces,
            tags=tags,
            document=document,
            primers=primers,
            max_tokens=max_tokens,
            count=self._count_tokens,
        )

    def batch(self) -> AbstractContextManager[None]:
        """Collect this thread's commands; at the end all are written in one transaction, or none."""
        return self._writer.batch()

    def recall(
        self,
        query: str,
        namespaces: str | Sequence[str],
        *,
        tags: Sequence[str] = (),
        tags_match: str = "all_strict",
        where: Any = None,
        kinds: Sequence[str] = (),
        limit: int = 10,
        off: Sequence[str] = (),
        primers: Sequence[str] | bool | None = None,
        max_tokens: float | None = None,
        as_of: int | datetime | None = None,
    ) -> Recall:
        """Return the memories that answer a question best, and a block of text for a prompt.

        A memory must have all of the `tags`, or match them as `tags_match` says: `any` or `all` of them, or
        untagged; `any_strict`, `all_strict`; `exact`ly these. `where` is a tree of such lists:
        `{"or": [{"tags": ["a", "b"], "match": "any_strict"}, {"not": {"tags": ["c"]}}]}`.
        `primers` (names, or True for all) go into the block as they are; `max_tokens` is a cap of the
        whole block: of bytes, unless the memory was opened with `count_tokens`; memories that do not fit
        are in the answer, and counted in `omitted`.
        Channels in `off` (`text`, `semantic`, `graph`, `time`) are not used. Never raises because a
        server is down: the answer's status says `degraded` and why. Raises InvalidInput for a blank
        question, an impossible limit or filter, or an unknown kind or channel, and AsOfUnsupported for
        the past.
        """
        if as_of is not None:
            raise AsOfUnsupported
        _check_question(query, limit, kinds, off)
        scope = _scope(namespaces, kinds, tag_filter(tags, tags_match, where))
        cap = None if max_tokens is None else _cap(max_tokens)
        # Looked at before: all up to here is taken into account.
        asked_at, head = self.log.clock(), self.log.head()
        answer = self._recaller.recall(query[:MAX_QUERY], scope, limit=limit, off=off)
        if primers or cap is not None:
            answer = self._dress(answer, scope.namespaces, primers, cap)
        if self._recorder is not None:
            self._recorder.add(query, answer, at=asked_at, head=head, by=self._writer.by)
        return self._counted(answer)

    def _counted(self, answer: Recall) -> Recall:
        self.counters.add(RECALLS)
        if not answer.complete:
            self.counters.add(RECALLS_INCOMPLETE)
        return answer

    def _dress(
        self, answer: Recall, namespaces: Sequence[str], primers: Sequence[str] | bool | None, cap: int | None
    ) -> Recall:
        from foldlog.memory.blocks import dress

        return dress(self.log, answer, namespaces, primers=primers, cap=cap, count=self._count_tokens)

    def search(
        self,
        query: str,
        namespaces: str | Sequence[str] = (),
        *,
        namespace_kind: str | None = None,
        kinds: Sequence[str] = (),
        tags: Sequence[str] = (),
        tags_match: str = "all_strict",
        where: Any = None,
        note_kind: str | None = None,
        status: str | Sequence[str] = "accepted",
        include_superseded: bool = False,
        limit: int = 20,
    ) -> list[Found]:
        """Return the memories that hold the words of a query, best first, from the log alone.

        All words, or where no memory has all of them any of the rarest eight. Words are literal: there is
        no syntax. Without namespaces the whole log is searched, or with `namespace_kind` all of `user:…`.
        `status` (one, several, or `any`) and `include_superseded` widen what is shown of notes; tags are
        as in `recall`. A blank query finds nothing. Raises InvalidInput.
        """
        from foldlog.memory.search import search

        return search(
            self.log,
            query,
            namespaces,
            namespace_kind=namespace_kind,
            kinds=kinds,
            tags=tags,
            tags_match=tags_match,
            where=where,
            note_kind=note_kind,
            status=status,
            include_superseded=include_superseded,
            limit=limit,
        )

    def catch_up(self, *, progress: Callable[[Folded], None] | None = None) -> Folded:
        """Fold the log into the index in this process, up to the head; needs no Redis.

        Raises ProjectionError when Postgres cannot be used.
        """
        return self._folding.catch_up(progress)

    def rebuild(
        self,
        *,
        progress: Callable[[Progress], None] | None = None,
        stop: Callable[[], bool] | None = None,
        take_over: bool = False,
    ) -> int | None:
        """Build a new generation of the index beside the live one; switch when it is equal to the log.

        Recall goes on meanwhile. Returns its number, or None when `stop` said so: the next call goes on
        with it. `take_over` first removes what another log, which is gone for good, left in the index
        under this log's name. Raises ProjectionError; the live generation then stays.
        """
        return self._folding.rebuild(progress, stop, take_over)

    def rebuild_back(self) -> int:
        """Switch back to the generation before, brought up to date first; return its number.

        Raises IndexUnusable when there is none that this version can use.
        """
        return self._folding.back()

    def wait_for(self, position: int, timeout: float) -> None:
        """Wait until the index has folded a position (as receipts have it), at most `timeout` seconds.

        Raises WaitTimeout, or ProjectionError when Postgres cannot be used.
        """
        self._folding.wait_for(position, timeout)

    def follow(self, position: int = 0, *, stop: Callable[[], bool] = lambda: False) -> Iterator[list[Event]]:
        """Yield pages of events after a position as they are committed, until `stop` says so."""
        return reader.follow(self.log, position, stop=stop)

    def verify(
        self, *, expect: Anchor | None = None, progress: Callable[[int], None] | None = None
    ) -> Report:
        """Check that the log still says what was written; `progress` is told the position."""
        from foldlog.events.verification import verify

        return verify(self.log, expect=expect, progress=progress)

    def verify_index(self) -> Iterator[str]:
        """Yield where the index is not what the log says, memory by memory, as far as it has folded.

        Folding goes on meanwhile. Raises ProjectionError when Postgres cannot be used.
        """
        return self._folding.differences()

    def close(self) -> None:
        """Record what was served, in bounded time, and close the log's and the index's connections."""
        if self._recorder is not None:
            self._recorder.close()
        self.log.close()
        self._close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _scope(
    namespaces: str | Sequence[str],
    kinds: Sequence[str],
    filters: tuple[tuple[str, ...], Condition | None],
) -> Scope:
    from foldlog.projections.scope import Scope

    given = (namespaces,) if isinstance(namespaces, str) else tuple(namespaces)
    must_have, condition = filters
    return Scope(
        namespaces=tuple(dict.fromkeys(check_name(name, "namespace") for name in given)),
        kinds=tuple(kinds),
        tags=must_have,
        where=condition,
    )


def _check_question(query: str, limit: int, kinds: Sequence[str], off: Sequence[str]) -> None:
    from foldlog.projections.index import CHANNELS

    check_not_blank(query, "query")
    if type(limit) is not int or not 1 <= limit <= MAX_LIMIT:
        raise InvalidInput("limit", f"must be a whole number from 1 to {MAX_LIMIT}, not {limit!r}")
    for kind in kinds:
        if kind not in KINDS:
            raise InvalidInput("kinds", f"must be among {', '.join(KINDS)}, not {kind!r}")
    for name in off:
        if name not in CHANNELS:
            raise InvalidInput("off", f"must be among {', '.join(CHANNELS)}, not {name!r}")


def _cap(max_tokens: float) -> int | None:
    from foldlog.memory.blocks import check_tokens

    return check_tokens(max_tokens)
