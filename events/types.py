"""The event types: past tense, one per mutation, and the one table that lists them.

A record's fields are stored in two parts. Links (ids, status, ranges, instants) are hashed and
never erased, and folds decide visibility from them alone; the rest is data, which can be erased.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, ClassVar, Final, Self

from foldlog.errors import UnknownEventType


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """What an event belongs to: the history of one fact, thread, note, primer or retained text."""

    #: `fact`, `thread`, `note`, `primer` or `retained`.
    kind: str
    #: `kind:id`, as in `user:alice`.
    namespace: str
    #: The fact's key, the primer's name, or the id of the thread, note or retained text.
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace} {self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """Base of all event records; a field left at its default is not stored."""

    #: The newest version that this program reads.
    SCHEMA_VERSION: ClassVar[int] = 1
    LINKS: ClassVar[frozenset[str]] = frozenset()

    @property
    def schema_version(self) -> int:
        """The version that this record is stored as: the oldest that has all of its fields."""
        return 1

    def parts(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return (links, data)."""
        links: dict[str, Any] = {}
        data: dict[str, Any] = {}
        for name, default, link in _layout(type(self)):
            value = getattr(self, name)
            if value != default or type(value) is not type(default):
                (links if link else data)[name] = value
        return links, data

    @classmethod
    def of(cls, links: Mapping[str, Any], data: Mapping[str, Any]) -> Self:
        """Return the record; fields that are missing, or were erased, have their default."""
        return cls(**links, **data)


@dataclass(frozen=True, slots=True, kw_only=True)
class FactSet(Record):
    SCHEMA_VERSION: ClassVar = 2
    LINKS: ClassVar = frozenset({"expires_at", "created_at"})
    #: The fact's value, any JSON.
    value: Any = None
    tags: list[str] = field(default_factory=list)
    #: Last millisecond at which the fact is alive; None: it does not expire.
    expires_at: int | None = None
    #: When an imported fact first came to be, UTC ms; None: with this event, or with one before it.
    created_at: int | None = None
    #: Fingerprint of the schema that the value was held against; since version 2.
    schema: str | None = None

    @property
    def schema_version(self) -> int:
        """Version 2 only with a schema, so that others stay readable by older programs."""
        return 1 if self.schema is None else 2


@dataclass(frozen=True, slots=True, kw_only=True)
class FactDeleted(Record):
    """A fact was deleted by somebody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FactExpired(Record):
    LINKS: ClassVar = frozenset({"expired_version"})
    #: The version whose time had passed; a fact set again since then is left alone.
    expired_version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadCreated(Record):
    title: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadDeleted(Record):
    """A thread and all its messages were deleted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageSaved(Record):
    LINKS: ClassVar = frozenset({"message_id", "ordinal"})
    message_id: str
    #: Place in the thread, from 1; the same for every version of one message.
    ordinal: int
    role: str = "user"
    author: str | None = None
    #: A string, or a list of parts.
    content: Any = None
    tags: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class MessagesDeleted(Record):
    LINKS: ClassVar = frozenset({"ordinals"})
    ordinals: list[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class MessagesTrimmed(Record):
    """Messages left a thread's default reads, to keep it within its budget; they stay in its history."""

    LINKS: ClassVar = frozenset({"ranges"})
    #: First and last ordinal, both included, of each run of messages.
    ranges: list[list[int]]
    #: The thread's budget, and what was cut, in tokens of `tokenizer`.
    budget: int
    tokens: int
    tokenizer: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MessagesSummarized(Record):
    """A summary stands for messages, which leave a thread's default reads; they stay in its history."""

    LINKS: ClassVar = frozenset({"message_id", "ordinal", "ranges", "replaces", "digest"})
    #: Of the summary, which is a message of the thread.
    message_id: str
    ordinal: int
    #: First and last ordinal, both included, of each run of messages that it covers.
    ranges: list[list[int]]
    #: The summary it was made instead of; never a source of this one.
    replaces: int | None = None
    #: Of the covered messages and their versions, as the summarizer was given them.
    digest: str
    text: str = ""
    #: What made it, as in `extractive/1`, and the language model, if one did.
    summarizer: str = ""
    model: str | None = None
    #: Ids of the messages that it is made from.
    sources: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteSaved(Record):
    LINKS: ClassVar = frozenset({"status", "supersedes", "sources"})
    body: str = ""
    kind: str | None = None
    author: str | None = None
    tags: list[str] = field(default_factory=list)
    status: str = "accepted"
    #: Ids of the notes this one replaces while it is accepted.
    supersedes: list[str] = field(default_factory=list)
    #: What it says of things by name: `{"kind": ..., "entity": ...}` each.
    relates: list[dict[str, str]] = field(default_factory=list)
    #: Ids of the messages it was made from, by a job or a person.
    sources: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteStatusChanged(Record):
    LINKS: ClassVar = frozenset({"status"})
    status: str
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PrimerSet(Record):
    #: What goes into a block, letter by letter.
    text: str = ""
    #: What the text answers: asked anew by a job. None: the text is a person's.
    question: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PrimerDeleted(Record):
    """A primer was deleted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContentRetained(Record):
    LINKS: ClassVar = frozenset({"document"})
    content: str = ""
    #: The document it is a unit of; other units of it stand in events of their own.
    document: str | None = None
    tags: list[str] = field(default_factory=list)
    #: The caller's own, any JSON object.
    metadata: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class RetainedDeleted(Record):
    LINKS: ClassVar = frozenset({"replaced_by"})
    #: Id of the retained text that its document was replaced with; None: it was deleted by somebody.
    replaced_by: str | None = None


#: Every event type there is; the folds in projections/ are tested to cover exactly these.
EVENT_TYPES: Final[Mapping[str, type[Record]]] = {
    record.__name__: record
    for record in (
        FactSet,
        FactDeleted,
        FactExpired,
        ThreadCreated,
        ThreadDeleted,
        MessageSaved,
        MessagesDeleted,
        MessagesTrimmed,
        MessagesSummarized,
        NoteSaved,
        NoteStatusChanged,
        PrimerSet,
        PrimerDeleted,
        ContentRetained,
        RetainedDeleted,
    )
}

_LAYOUTS: dict[type[Record], list[tuple[str, Any, bool]]] = {}


def _layout(cls: type[Record]) -> list[tuple[str, Any, bool]]:
    """Return (name, default, is it a link) of each field, made once per type."""
    found = _LAYOUTS.get(cls)
    if found is None:
        found = [(item.name, _default(item), item.name in cls.LINKS) for item in fields(cls)]
        _LAYOUTS[cls] = found
    return found


def _default(item: Any) -> Any:
    return item.default_factory() if item.default_factory is not MISSING else item.default


def upcast(
    position: int, type_name: str, schema_version: int, links: Mapping[str, Any], data: Mapping[str, Any]
) -> Record:
    """Return the current record of a stored event; the only place that knows old schema versions.

    Raises UnknownEventType for a type or version of the future.
    """
    cls = EVENT_TYPES.get(type_name)
    if cls is None or schema_version > cls.SCHEMA_VERSION:
        raise UnknownEventType(position, type_name, schema_version)
    return cls.of(links, data)


def carries_data(type_name: str) -> bool:
    """Say whether events of this type have a payload that could be erased."""
    return any(not link for _, _, link in _layout(EVENT_TYPES[type_name]))
