"""Writing the memories into the log, in batches, as a program that imports would."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice

from foldlog.memory import Memory
from scaling.data import Item

#: Memories of one transaction.
BATCH = 1_000

EXPIRED = timedelta(milliseconds=1)


@dataclass(frozen=True, kw_only=True)
class Written:
    """What writing cost."""

    events: int
    seconds: float
    #: Milliseconds of each batch.
    batches: list[float]


def write(memory: Memory, items: Iterable[Item]) -> Written:
    """Append every memory; making them is not counted."""
    times = []
    last_notes: dict[str, str] = {}
    waiting = iter(items)
    while batch := list(islice(waiting, BATCH)):
        began = time.perf_counter()
        with memory.batch():
            for item in batch:
                _put(memory, item, last_notes)
        times.append((time.perf_counter() - began) * 1000)
    return Written(events=memory.log.head(), seconds=sum(times) / 1000, batches=times)


def _put(memory: Memory, item: Item, last_notes: dict[str, str]) -> None:
    if item.kind == "fact":
        ttl = EXPIRED if item.expires else None
        memory.facts.set(item.namespace, item.name, item.text, tags=item.tags, ttl=ttl, occurred_at=item.at)
    elif item.kind == "note":
        before = last_notes.pop(item.namespace, None) if item.supersedes else None
        receipt = memory.notes.save(
            item.namespace,
            item.text,
            author=item.speaker,
            tags=item.tags,
            supersedes=[before] if before else [],
            occurred_at=item.at,
        )
        last_notes[item.namespace] = receipt.id
    else:
        if item.opens:
            memory.threads.create(item.namespace, thread_id=item.name, occurred_at=item.at)
        memory.messages.save(item.name, item.text, author=item.speaker, tags=item.tags, occurred_at=item.at)
