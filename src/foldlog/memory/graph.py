"""The graph: who relates to whom since when, as the index knows it and the log confirms it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Protocol

from foldlog.errors import IndexUnavailable, InvalidInput, NotFound
from foldlog.events import past
from foldlog.events.encoding import instant
from foldlog.events.log import Log
from foldlog.names import check_name
from foldlog.projections.index import AsOf, Edge, Path, Walk
from foldlog.projections.local import memories

#: Most steps from a name: further away everything relates to everything.
MAX_HOPS: Final = 4

#: Edges that are shown of one end, unless more are asked for, and at most.
LIMIT: Final = 20
MAX_LIMIT: Final = 1000


class Walker(Protocol):
    """What can be asked for a walk: an index."""

    def walk(self, path: Path, *, now: int) -> Walk:
        """Return what is around a name; raises ProjectionError."""
        ...  # pragma: no cover


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbourhood:
    """What is around a name, nearest first."""

    #: As it was asked for.
    name: str
    as_of: AsOf | None
    edges: list[Edge]
    #: Of which (namespace, end) only the first edges are here, and how many there are in all.
    cut: Mapping[tuple[str, str], int]
    #: All that was reached was followed, as far as was asked.
    followed: bool
    #: Events that the index has not folded yet: what they say is missing.
    behind: int

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {
            "name": self.name,
            "as_of": None if self.as_of is None else _as_of(self.as_of),
            "edges": [_edge(edge) for edge in self.edges],
            "cut": [
                {"namespace": namespace, "end": end, "edges": total}
                for (namespace, end), total in self.cut.items()
            ],
            "followed": self.followed,
            "behind": self.behind,
        }


class Graph:
    """Walks through the graph of the index; what is hidden, gone or expired is no part of it."""

    def __init__(self, log: Log, index: Walker | None) -> None:
        """Without an index every walk raises IndexUnavailable."""
        self._log = log
        self._index = index

    def show(
        self,
        name: str,
        namespaces: str | Sequence[str] | None = None,
        *,
        hops: int = 1,
        as_of: datetime | int | None = None,
        clock: str = past.RECORDED,
        limit: int = LIMIT,
    ) -> Neighbourhood:
        """Return what is up to `hops` steps around a name, in some namespaces or all.

        At most `limit` edges of each end. `as_of` is a position of the log, or an instant: by the clock
        `recorded` what the log held then counts, by `occurred` what had happened by then, whenever it was
        written. Raises NotFound when nothing is known of the name, InvalidInput, and ProjectionError when
        the index cannot answer.
        """
        if self._index is None:
            raise IndexUnavailable("the graph is in the index, and there is none; run `foldlog up`")
        given = (namespaces,) if isinstance(namespaces, str) else namespaces
        path = Path(
            name=check_name(name, "name"),
            namespaces=None if given is None else [check_name(item, "namespace") for item in given],
            hops=_whole(hops, "hops", MAX_HOPS),
            limit=_whole(limit, "limit", MAX_LIMIT),
            as_of=None if as_of is None else self._moment(as_of, clock),
        )
        now = self._log.clock()
        walk = self._index.walk(path, now=now)
        edges = walk.edges if path.as_of else self._confirmed(walk.edges, now)
        found = Neighbourhood(
            name=name,
            as_of=path.as_of,
            edges=_connected(edges),
            cut=walk.cut,
            followed=walk.followed,
            behind=max(0, self._log.head() - walk.checkpoint),
        )
        if not found.edges:
            raise NotFound(_nothing(found, given))
        return found

    def _moment(self, as_of: datetime | int, clock: str) -> AsOf:
        point = past.find(self._log, as_of, clock)
        if point.occurred is not None:
            return AsOf(instant=point.occurred)
        return AsOf(instant=point.now, position=point.position)

    def _confirmed(self, edges: list[Edge], now: int) -> list[Edge]:
        """Return the edges of memories of which the log says that they are as the index knows them."""
        with self._log.read() as connection:
            touched = memories.current(connection, {edge.memory_id for edge in edges}, now)
        return [edge for edge in edges if touched.get(edge.memory_id) == edge.touched]


def _connected(edges: list[Edge]) -> list[Edge]:
    """Return the edges that still hang on what was asked for, when some in between are gone."""
    reached: set[tuple[str, str]] = set()
    found = []
    for edge in edges:
        if edge.depth == 1 or (edge.namespace, edge.via) in reached:
            reached.add((edge.namespace, edge.reached))
            found.append(edge)
    return found


def _nothing(found: Neighbourhood, namespaces: Sequence[str] | None) -> str:
    where = f" in {', '.join(namespaces)}" if namespaces else ""
    when = "" if found.as_of is None else ", as of then"
    behind = f"; the index is {found.behind} events behind the log" if found.behind else ""
    return f"nothing relates to {found.name}{where}{when}{behind}"


def _whole(value: int, path: str, most: int) -> int:
    if type(value) is not int or not 1 <= value <= most:
        raise InvalidInput(path, f"must be a whole number from 1 to {most}, not {value!r}")
    return value


def _as_of(moment: AsOf) -> dict[str, Any]:
    return {"instant": instant(moment.instant).isoformat(), "position": moment.position}


def _edge(edge: Edge) -> dict[str, Any]:
    return {
        "depth": edge.depth,
        "from": edge.source,
        "kind": edge.kind,
        "to": edge.target,
        "namespace": edge.namespace,
        "since": instant(edge.since).isoformat(),
        "until": None if edge.until is None else instant(edge.until).isoformat(),
        "extractor": edge.extractor,
        "via": edge.via,
        "memory_id": edge.memory_id,
    }
