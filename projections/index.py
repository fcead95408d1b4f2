"""What recall needs of an index; implementations are handed in by the composition root."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol

from foldlog.projections.scope import Scope

#: The channels of an index.
TEXT: Final = "text"
SEMANTIC: Final = "semantic"
TIME: Final = "time"
GRAPH: Final = "graph"
CHANNELS: Final = (TEXT, SEMANTIC, GRAPH, TIME)


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexHit:
    """One memory that the index found, as the index knew it."""

    memory_id: int
    score: float
    #: The last position that changed it, as far as the index has folded.
    touched: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A question, as it was asked and in words."""

    text: str
    words: Sequence[str]
    #: Half-open spans of time that it names, UTC ms.
    spans: Sequence[tuple[int, int]] = ()
    #: Channels that are not to be used.
    off: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexAnswer:
    """What an index found, best first, and how far it has folded the log."""

    #: The position up to which the index has folded, read before the search.
    checkpoint: int
    #: What each channel found, best first.
    channels: Mapping[str, list[IndexHit]]
    #: Channels that could not answer, and why.
    missing: Mapping[str, str] = field(default_factory=dict)
    #: The idf of each word of the query, to score with it what the index has not folded yet.
    rarities: Mapping[str, float] = field(default_factory=dict)


class IndexedMemory(NamedTuple):
    """A memory as a store has it, to be compared with another store's."""

    memory_id: int
    position: int
    touched: int
    visible: bool
    expires_at: int | None
    namespace: str
    kind: str
    key: str
    speaker: str | None
    tags: list[str]
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Hop:
    """A memory whose name stands in the text of another."""

    #: The other memory, whose text it is.
    seed: int
    memory_id: int
    touched: int
    #: The name, in canonical form.
    name: str
    #: How many memories share it, as far as the index knows.
    shared: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AsOf:
    """A moment in the past to ask about."""

    #: The instant, UTC ms; what happened until then counts.
    instant: int
    #: Or a position of the log, which was written at that instant: what it held then counts.
    position: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Path:
    """What is asked of the graph: what is around a name, how far, and when."""

    name: str
    #: None: in every namespace.
    namespaces: Sequence[str] | None
    #: How many steps to go.
    hops: int
    #: Most edges that are followed from one end.
    limit: int
    #: None: what holds now.
    as_of: AsOf | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """One step of the graph: a memory mentions a name, bears it, or states a relation to it."""

    #: How many steps from what was asked for, from 1.
    depth: int
    #: The memory: `note:ID`, `fact:KEY` or `message:ID`.
    source: str
    #: `mentions`, `bears`, `supersedes`, or what was stated.
    kind: str
    #: The name, as written; `note:ID` for a note.
    target: str
    namespace: str
    #: UTC ms: from when it holds, and until when; None: no end is known.
    since: int
    until: int | None
    #: What found it, with its version: `rules 1` or `words` in the text, `key`, or `stated`.
    extractor: str
    #: From which of its ends it was found: the memory, or else the name.
    from_source: bool
    memory_id: int
    touched: int

    @property
    def via(self) -> str:
        """The end that is nearer to what was asked for."""
        return self.source if self.from_source else self.target

    @property
    def reached(self) -> str:
        """The other end."""
        return self.target if self.from_source else self.source


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """What an index knows around a name, nearest first."""

    #: The position up to which the index has folded.
    checkpoint: int
    #: Those of one step begin at what was asked for: the name, or another one of the same thing.
    edges: list[Edge]
    #: Of which (namespace, end) only the first edges are here, and how many there are in all.
    cut: Mapping[tuple[str, str], int]
    #: All that was reached was followed, as far as was asked.
    followed: bool


class Index(Protocol):
    """A folded copy of the log that answers faster, or better, than the log itself."""

    def search(self, query: Query, scope: Scope, *, now: int, limit: int) -> IndexAnswer:
        """Return the best `limit` memories of each channel; every filter is part of the query.

        `now` is UTC ms. Raises ProjectionError when the index cannot answer in time.
        """
        ...  # pragma: no cover

    def hop(self, seeds: Mapping[int, str], scope: Scope, *, now: int, limit: int) -> list[Hop]:
        """Return the memories whose names stand in the texts of others; `seeds` are texts by memory id.

        Raises ProjectionError when the index cannot answer in time.
        """
        ...  # pragma: no cover

    def walk(self, path: Path, *, now: int) -> Walk:
        """Return what is around a name; raises ProjectionError when the index cannot answer in time."""
        ...  # pragma: no cover
