"""What a memory looks like to a reader and to a search: the same in every store.

A document is made from one event; the read model, the index and a remote server all take it
from here, so that they cannot disagree about a memory's text.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from foldlog.events.encoding import encode, instant
from foldlog.events.event import Event
from foldlog.events.types import ContentRetained, FactSet, MessageSaved, MessagesSummarized, NoteSaved
from foldlog.names import memory_id

FACT: Final = "fact"
MESSAGE: Final = "message"
NOTE: Final = "note"
RETAINED: Final = "retained"
KINDS: Final = (FACT, MESSAGE, NOTE, RETAINED)

#: The role of instructions, and of summaries.
SYSTEM: Final = "system"

#: The relation of a note to one that it replaces.
SUPERSEDES: Final = "supersedes"

_DAY_MS: Final = 86_400_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One recallable memory, as its last event left it."""

    memory_id: int
    #: `fact`, `message`, `note` or `retained`.
    kind: str
    namespace: str
    #: The fact's key, the id of the others.
    key: str
    #: The thread's id, and the place in it; None and 0 for all but messages.
    thread: str | None = None
    ordinal: int = 0
    #: Who said or wrote it.
    speaker: str | None = None
    tags: tuple[str, ...] = ()
    #: What a note states: (kind, name) each; `supersedes` and the notes it supersedes first.
    relates: tuple[tuple[str, str], ...] = ()
    #: The text as shown.
    text: str
    #: When it happened, UTC ms.
    happened_at: int
    #: Last millisecond at which it is alive, UTC ms.
    expires_at: int | None = None
    #: The last event of its own that changed it.
    position: int

    def searched(self) -> str:
        """Return the text as searched: date, speaker or key, text."""
        label = self.key if self.kind == FACT else self.speaker or ""
        return f"{date_words(self.happened_at)} {label} {self.text}"

    def embedded(self) -> str:
        """Return the text whose meaning is searched: speaker or key, text; empty for a blank one.

        The speaker matters: without him half of what is said in a conversation means nothing.
        """
        if self.kind == FACT:
            # A blank value is data, but there is nothing in it to mean anything.
            return self.text if self.text.removeprefix(f"{self.key}:").strip() else ""
        return f"{self.speaker}: {self.text}" if self.speaker else self.text


def date_words(stamp: int) -> str:
    """Return a date as a person would ask for it: `8 May 2023`."""
    return _day_words(stamp // _DAY_MS)


@lru_cache(maxsize=1024)
def _day_words(day: int) -> str:
    when = instant(day * _DAY_MS)
    return f"{when.day} {when:%B} {when.year}"


def of_fact(event: Event, record: FactSet) -> Document:
    """Return the document of a fact's value."""
    return Document(
        memory_id=memory_id(event.stream_id),
        kind=FACT,
        namespace=event.stream.namespace,
        key=event.stream.name,
        tags=tuple(record.tags),
        text=fact_text(event.stream.name, record.value),
        happened_at=event.occurred_at,
        expires_at=record.expires_at,
        position=event.position,
    )


def of_message(event: Event, record: MessageSaved) -> Document:
    """Return the document of a message."""
    speaker = record.author or record.role
    return Document(
        memory_id=memory_id(event.stream_id, record.ordinal),
        kind=MESSAGE,
        namespace=event.stream.namespace,
        key=record.message_id,
        thread=event.stream.name,
        ordinal=record.ordinal,
        speaker=speaker,
        tags=tuple(record.tags),
        text=message_text(record.content),
        happened_at=event.occurred_at,
        position=event.position,
    )


def of_summary(event: Event, record: MessagesSummarized) -> Document:
    """Return the document of a summary: a message that the system speaks."""
    return Document(
        memory_id=memory_id(event.stream_id, record.ordinal),
        kind=MESSAGE,
        namespace=event.stream.namespace,
        key=record.message_id,
        thread=event.stream.name,
        ordinal=record.ordinal,
        speaker=SYSTEM,
        text=shown(record.text),
        happened_at=event.occurred_at,
        position=event.position,
    )


def of_note(event: Event, record: NoteSaved) -> Document:
    """Return the document of a note's body."""
    return Document(
        memory_id=memory_id(event.stream_id),
        kind=NOTE,
        namespace=event.stream.namespace,
        key=event.stream.name,
        speaker=record.author,
        tags=tuple(record.tags),
        relates=(
            *((SUPERSEDES, note_name(target)) for target in record.supersedes),
            *((item["kind"], item["entity"]) for item in record.relates),
        ),
        text=shown(record.body),
        happened_at=event.occurred_at,
        position=event.position,
    )


def of_retained(event: Event, record: ContentRetained) -> Document:
    """Return the document of a retained text."""
    return Document(
        memory_id=memory_id(event.stream_id),
        kind=RETAINED,
        namespace=event.stream.namespace,
        key=event.stream.name,
        tags=tuple(record.tags),
        text=shown(record.content),
        happened_at=event.occurred_at,
        position=event.position,
    )


def note_name(note_id: str) -> str:
    """Return the name by which a note is spoken of: `note:` and its id."""
    return f"{NOTE}:{note_id}"


def fact_text(key: str, value: Any) -> str:
    """Return a fact as one line: key and value."""
    return shown(f"{key}: {value if isinstance(value, str) else encode(value)}")


def message_text(content: Any) -> str:
    """Return a message's text; of parts, every string in them."""
    return shown(content if isinstance(content, str) else "\n".join(_strings(content)))


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            # What a part is, `text` or `tool_use`, is not something that was said.
            if key != "type":
                yield from _strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)
    elif value is not None and not isinstance(value, bool):
        yield str(value)


def shown(text: str) -> str:
    """Return text that every store can hold: Postgres has no NUL. The log keeps the original."""
    return text.replace("\x00", "\ufffd")
