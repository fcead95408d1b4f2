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
