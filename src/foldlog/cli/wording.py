"""Events in words: when, who, and what changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from foldlog.events.encoding import encode, instant
from foldlog.events.event import Event
from foldlog.events.provenance import Provenance
from foldlog.events.types import (
    ContentRetained,
    FactDeleted,
    FactExpired,
    FactSet,
    MessageSaved,
    MessagesDeleted,
    MessagesSummarized,
    MessagesTrimmed,
    NoteSaved,
    NoteStatusChanged,
    PrimerDeleted,
    PrimerSet,
    Record,
    RetainedDeleted,
    ThreadCreated,
    ThreadDeleted,
)
from foldlog.projections.document import message_text

#: Stands for a text whose payload was erased.
ERASED: Final = "(erased)"


def when(stamp: int) -> str:
    """Return UTC milliseconds as ISO 8601."""
    return instant(stamp).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def day(stamp: int) -> str:
    """Return the UTC date."""
    return instant(stamp).date().isoformat()


def who(provenance: Provenance) -> str:
    """Return who caused a change and from where, `-` for nobody known."""
    given = provenance.as_dict()
    actor = given.pop("actor", None)
    parts = [] if actor is None else [actor]
    return " ".join(parts + [f"{name}={value}" for name, value in given.items()]) or "-"


def content(event: Event) -> str | None:
    """Return the text that an event gives to a fact or message, None for events of other kinds."""
    record = event.record
    if isinstance(record, FactSet):
        return ERASED if event.erased else encode(record.value)
    if isinstance(record, MessageSaved):
        return ERASED if event.erased else message_text(record.content)
    return None


def what(event: Event) -> str:
    """Return what an event changed."""
    return _WORDS[type(event.record)](event, event.record)


def _fact_set(event: Event, record: FactSet) -> str:
    expiry = "" if record.expires_at is None else f", expires {when(record.expires_at)}"
    checked = "" if record.schema is None else f", checked by schema {record.schema}"
    return f"set to {content(event)}{expiry}{_tagged(record.tags)}{checked}"


def _fact_deleted(event: Event, record: FactDeleted) -> str:
    return "deleted"


def _fact_expired(event: Event, record: FactExpired) -> str:
    return f"collected: version {record.expired_version} had expired"


def _thread_created(event: Event, record: ThreadCreated) -> str:
    title = ERASED if event.erased else record.title
    return "created" if title is None else f"created: {title}"


def _thread_deleted(event: Event, record: ThreadDeleted) -> str:
    return "deleted with its messages"


def _message_saved(event: Event, record: MessageSaved) -> str:
    speaker = record.author or record.role
    said = ERASED if event.erased else f"{speaker}: {content(event)}"
    return f"message {record.message_id} ({record.ordinal}) {said}{_tagged(record.tags)}"


def _messages_deleted(event: Event, record: MessagesDeleted) -> str:
    return f"deleted messages ({', '.join(map(str, record.ordinals))})"


def _messages_trimmed(event: Event, record: MessagesTrimmed) -> str:
    why = f"{record.tokens} tokens, to keep within {record.budget}"
    return f"trimmed messages ({_runs(record.ranges)}): {why}"


def _messages_summarized(event: Event, record: MessagesSummarized) -> str:
    text = ERASED if event.erased else record.text
    return f"summarised messages ({_runs(record.ranges)}) by {record.summarizer}: {text}"


def _runs(ranges: list[list[int]]) -> str:
    return ", ".join(str(first) if first == last else f"{first} to {last}" for first, last in ranges)


def _note_saved(event: Event, record: NoteSaved) -> str:
    body = ERASED if event.erased else record.body
    targets = f", supersedes {', '.join(record.supersedes)}" if record.supersedes else ""
    kind = f" {record.kind}" if record.kind else ""
    author = f" by {record.author}" if record.author else ""
    stated = ", ".join(f"{item['kind']}:{item['entity']}" for item in record.relates)
    relates = f", relates {stated}" if stated else ""
    return f"saved{kind}{author} as {record.status}{targets}{relates}{_tagged(record.tags)}: {body}"


def _note_status_changed(event: Event, record: NoteStatusChanged) -> str:
    reason = ERASED if event.erased else record.reason
    return f"became {record.status}" if reason is None else f"became {record.status}: {reason}"


def _primer_set(event: Event, record: PrimerSet) -> str:
    return f"set to {ERASED if event.erased else record.text}"


def _primer_deleted(event: Event, record: PrimerDeleted) -> str:
    return "deleted"


def _content_retained(event: Event, record: ContentRetained) -> str:
    place = "" if record.document is None else f" in document {record.document}"
    return f"retained{place}{_tagged(record.tags)}: {ERASED if event.erased else record.content}"


def _retained_deleted(event: Event, record: RetainedDeleted) -> str:
    return "deleted" if record.replaced_by is None else f"replaced by {record.replaced_by}"


def _tagged(tags: list[str]) -> str:
    return f", tagged {', '.join(tags)}" if tags else ""


_WORDS: Final[Mapping[type[Record], Callable[[Event, Any], str]]] = {
    FactSet: _fact_set,
    FactDeleted: _fact_deleted,
    FactExpired: _fact_expired,
    ThreadCreated: _thread_created,
    ThreadDeleted: _thread_deleted,
    MessageSaved: _message_saved,
    MessagesDeleted: _messages_deleted,
    MessagesTrimmed: _messages_trimmed,
    MessagesSummarized: _messages_summarized,
    NoteSaved: _note_saved,
    NoteStatusChanged: _note_status_changed,
    PrimerSet: _primer_set,
    PrimerDeleted: _primer_deleted,
    ContentRetained: _content_retained,
    RetainedDeleted: _retained_deleted,
}
