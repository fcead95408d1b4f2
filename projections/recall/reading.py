"""What the log says of the candidates: their rows, and the words and texts around them.

A message is judged with its neighbours and its session. A session is a block of a thread's places,
so that one question never reads a thread of a hundred thousand messages.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from foldlog.names import MAX_ORDINAL, ORDINAL_BITS
from foldlog.projections.document import FACT, KINDS, MESSAGE, NOTE, RETAINED
from foldlog.projections.local import facts, memories, notes, text, threads

#: Places of a thread that count as one session.
SESSION: Final = 64

#: How far around a message its neighbours reach.
WINDOW: Final = 2

if TYPE_CHECKING:
    from foldlog.projections.local.retained import Retained

    Item = facts.Fact | threads.Message | notes.Note | Retained


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A memory that may be part of the answer."""

    item: Item
    kind: str
    #: The position it was last changed at.
    position: int
    #: Its text as it is shown, and its words.
    text: str
    words: list[str]
    #: The message before it in its thread, and its words; empty for facts and notes.
    before: str
    before_words: list[str]
    #: The words of its neighbours and itself, and of its whole session.
    window: list[str]
    session: list[str]
    #: How well what it says of time meets the question's, from 0 to 1.
    said: float = 0.0
    #: How much the best memories name it.
    hop: float = 0.0

    @property
    def memory_id(self) -> int:
        """The memory's number."""
        return self.item.memory_id

    @property
    def name(self) -> str:
        """The fact's key, or the id of the others."""
        return self.item.name

    @property
    def speaker(self) -> str | None:
        """Who said or wrote it."""
        if isinstance(self.item, threads.Message):
            return self.item.author or self.item.role
        return self.item.author if isinstance(self.item, notes.Note) else None

    @property
    def happened_at(self) -> int:
        """When it happened, UTC ms."""
        if isinstance(self.item, facts.Fact | threads.Message):
            return self.item.updated_at
        return self.item.created_at


def read(connection: sqlite3.Connection, ids: Iterable[int]) -> list[Candidate]:
    """Return the candidates that the log still has, in the order of ids."""
    register = memories.register(connection, ids)
    by_kind: dict[str, list[int]] = {kind: [] for kind in KINDS}
    for memory, (kind, _) in register.items():
        by_kind[kind].append(memory)
    items: list[Item] = [
        *facts.by_memory(connection, by_kind[FACT]),
        *threads.by_memory(connection, by_kind[MESSAGE]),
        *notes.by_memory(connection, by_kind[NOTE]),
    ]
    if by_kind[RETAINED]:
        from foldlog.projections.local import retained

        items += retained.by_memory(connection, by_kind[RETAINED])
    around = _Surroundings(connection, by_kind[MESSAGE])
    found = []
    for item in sorted(items, key=lambda item: item.memory_id):
        kind, position = register[item.memory_id]
        if kind == MESSAGE:
            found.append(around.candidate(item, position))
        else:
            words = around.own(item.memory_id)
            found.append(
                Candidate(
                    item=item,
                    kind=kind,
                    position=position,
                    text=item.text,
                    words=words,
                    before="",
                    before_words=[],
                    window=words,
                    session=words,
                )
            )
    return found


class _Surroundings:
    """The words of the sessions, and the texts before the candidates."""

    def __init__(self, connection: sqlite3.Connection, messages: list[int]) -> None:
        self._connection = connection
        self._sessions = {
            block: text.words_between(connection, block, block + SESSION)
            for block in {_block(memory) for memory in messages}
        }
        self._session_words = {
            block: [word for words in session.values() for word in words]
            for block, session in self._sessions.items()
        }
        before = [memory - 1 for memory in messages if memory & MAX_ORDINAL > 1]
        self._texts = threads.texts(connection, before)

    def own(self, memory: int) -> list[str]:
        """Return the words of one memory."""
        return text.words_between(self._connection, memory, memory + 1).get(memory, [])

    def candidate(self, item: Item, position: int) -> Candidate:
        """Return a message with what is around it."""
        memory = item.memory_id
        session = self._sessions[_block(memory)]
        near = [session.get(memory + step, []) for step in range(-WINDOW, WINDOW + 1)]
        return Candidate(
            item=item,
            kind=MESSAGE,
            position=position,
            text=item.text,
            words=session.get(memory, []),
            before=self._texts.get(memory - 1, ""),
            before_words=session.get(memory - 1, []),
            window=[word for words in near for word in words],
            session=self._session_words[_block(memory)],
        )


def _block(memory: int) -> int:
    """Return the first id of a message's session; ordinals begin at 1."""
    first = (memory >> ORDINAL_BITS << ORDINAL_BITS) + 1
    return first + (memory - first) // SESSION * SESSION
