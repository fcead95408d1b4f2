"""A page worked out without the database: every row it makes, packed for COPY.

A pure function of the page's events, so that it can be done ahead, in another process: what is
prepared is exactly what the fold would have made itself, and may be thrown away.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

from foldlog.events.event import Event
from foldlog.projections.document import NOTE, Document
from foldlog.projections.hindsight import effects, graph, text, time
from foldlog.projections.hindsight.binary import (
    boolean,
    int4,
    int4s,
    int8,
    int8range,
    packer,
    raw,
    sparsevec,
    texts,
)
from foldlog.projections.hindsight.binary import text as string
from foldlog.projections.hindsight.effects import Effects

_MEMORY: Final = packer(
    int8, string, string, string, string, string, texts, string, string, int8, int8, int8, int8, boolean
)
_SEARCH: Final = packer(int8, int4, string, string, int8, int4s, sparsevec(text.WORD_SPACE), boolean)
_SPAN: Final = packer(int8, int4, int8range, string, string)
_ENTITY: Final = packer(int8, string, string, string, string)
_PAIR: Final = packer(int8, int8)
_TEXT: Final = packer(int8, int4, raw, string)
_RELATION: Final = packer(int8, int4, string, int8)
_WORDS: Final = packer(int4, int4s, int4s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """The rows of a page, in the order of the columns that store.py names, and what it does to others."""

    #: Memories with new content, and the event of each that gave it.
    documents: dict[int, int]
    #: Their rows, in that order; of `search` one a passage, as of memories that are visible.
    memories: list[bytes]
    search: list[list[bytes]]
    spans: bytes
    entities: bytes
    mentions: bytes
    names: bytes
    #: What is to be embedded.
    texts: bytes
    relations: bytes
    #: By how many each word is in more rows, and in which buckets they are.
    words: bytes
    buckets: set[int]
    #: Passages by namespace.
    passages: dict[str, int]
    #: As in Effects.
    removed: set[int]
    removed_streams: set[int]
    statuses: dict[int, tuple[str, int]]
    verdicts: list[tuple[int, int, int, str]]
    edges: list[tuple[str, int]]
    deciders: dict[int, int]


def prepare(events: list[Event], only: Collection[int] | None = None) -> Prepared:
    """Return a page's rows; with `only` those of some of its memories, and everything else as before."""
    page = effects.of(events)
    documents = [item for item in page.documents.values() if only is None or item.memory_id in only]
    search, words, passages = _search(documents)
    entities, mentions, names = graph.rows(documents)
    return Prepared(
        documents={item.memory_id: item.position for item in documents},
        memories=[_memory(item, page) for item in documents],
        search=search,
        spans=b"".join(_SPAN(row) for item in documents for row in time.rows(item)),
        entities=b"".join(map(_ENTITY, entities)),
        mentions=b"".join(map(_PAIR, mentions)),
        names=b"".join(map(_PAIR, names)),
        texts=b"".join(row for item in documents for row in _texts(item)),
        relations=b"".join(_RELATION(row) for item in documents for row in graph.relations(item)),
        words=pack_words(words),
        buckets=set(map(text.bucket, words)),
        passages=passages,
        removed=page.removed,
        removed_streams=page.removed_streams,
        statuses=page.statuses,
        verdicts=page.verdicts,
        edges=page.edges,
        deciders=page.deciders,
    )


def _memory(item: Document, page: Effects) -> bytes:
    status = page.statuses[item.memory_id][0] if item.kind == NOTE else None
    return _MEMORY((
        item.memory_id, item.kind, item.namespace, item.key, item.thread, item.speaker, item.tags, status,
        item.text, item.happened_at, item.expires_at, item.position, item.position, True,
    ))  # fmt: skip


def _search(documents: list[Document]) -> tuple[list[list[bytes]], dict[int, int], dict[str, int]]:
    """Return the search rows of each memory, and how many rows each word's key and each namespace have."""
    words: Counter[int] = Counter()
    passages: Counter[str] = Counter()
    packed = []
    for item in documents:
        rows = list(text.rows(item, True))
        packed.append([_SEARCH(row) for row in rows])
        passages[item.namespace] += len(rows)
        for row in rows:
            words.update(row[5])
    return packed, {key: count for key, count in words.items() if key >= 0}, dict(passages)


def _texts(item: Document) -> Iterable[bytes]:
    for number, part in enumerate(text.passages(item.embedded())):
        if part.strip():
            yield _TEXT((item.memory_id, number, text_digest(part), part))


def text_digest(part: str) -> bytes:
    """Return the 16 bytes by which equal texts are known."""
    return blake2b(part.encode(), digest_size=16).digest()


def pack_words(words: Mapping[int, int]) -> bytes:
    """Return changes, by the key of a word, as rows of `word_changes`: one for all words of a bucket."""
    keys = sorted(words)
    packed = []
    first = 0
    while first < len(keys):
        bucket = text.bucket(keys[first])
        last = bisect_left(keys, text.first_key(bucket + 1), first)
        packed.append(_WORDS((bucket, keys[first:last], [words[key] for key in keys[first:last]])))
        first = last
    return b"".join(packed)
