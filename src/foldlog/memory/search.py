"""Search: memories that hold the words asked for, from the log alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from foldlog.errors import InvalidInput
from foldlog.events.log import Access
from foldlog.memory.notes import check_statuses
from foldlog.memory.tags import tag_filter
from foldlog.names import NAMESPACE_KINDS, check_name
from foldlog.projections import analysis
from foldlog.projections.document import KINDS
from foldlog.projections.local import search as local
from foldlog.projections.local.notes import ACCEPTED
from foldlog.projections.local.search import Filters, Found

#: Memories of one search, unless asked for more; and most of them.
LIMIT: Final = 20
MAX_LIMIT: Final = 1000

#: Longest part of a query that is searched for, in characters.
MAX_QUERY: Final = 20_000


def search(
    log: Access,
    query: str,
    namespaces: str | Iterable[str] = (),
    *,
    namespace_kind: str | None = None,
    kinds: Sequence[str] = (),
    tags: Iterable[str] = (),
    tags_match: str = "all_strict",
    where: Any = None,
    note_kind: str | None = None,
    status: str | Iterable[str] = ACCEPTED,
    include_superseded: bool = False,
    limit: int = LIMIT,
) -> list[Found]:
    """Return the best memories; see `Memory.search`."""
    given = (namespaces,) if isinstance(namespaces, str) else tuple(namespaces)
    if type(limit) is not int or not 0 <= limit <= MAX_LIMIT:
        raise InvalidInput("limit", f"must be a whole number from 0 to {MAX_LIMIT}, not {limit!r}")
    if namespace_kind is not None and namespace_kind not in NAMESPACE_KINDS:
        kinds_of = ", ".join(NAMESPACE_KINDS)
        raise InvalidInput("namespace_kind", f"must be among {kinds_of}, not {namespace_kind!r}")
    for kind in kinds:
        if kind not in KINDS:
            raise InvalidInput("kinds", f"must be among {', '.join(KINDS)}, not {kind!r}")
    must_have, condition = tag_filter(tags, tags_match, where)
    filters = Filters(
        namespaces=[check_name(name, "namespace") for name in given],
        namespace_kind=namespace_kind,
        kinds=tuple(kinds),
        tags=must_have,
        where=condition,
        note_kind=None if note_kind is None else check_name(note_kind, "note_kind"),
        statuses=check_statuses(status),
        include_superseded=include_superseded,
    )
    words = analysis.query_words(query[:MAX_QUERY])
    with log.read() as connection:
        return local.search(connection, words, filters, now=log.clock(), limit=limit)
