"""Threads and messages of the source; the order in a thread is by created_at_ms, then id."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar, Final

from foldlog.events.types import MessageSaved, ThreadCreated
from foldlog.imports.smithers import naming
from foldlog.imports.smithers.item import Item, Step
from foldlog.imports.smithers.row import CORRELATION, Refused, Row, importer, quoted
from foldlog.imports.smithers.source import MESSAGES, THREADS
from foldlog.projections.document import message_text

if TYPE_CHECKING:
    from foldlog.imports.smithers.lookup import Lookup
    from foldlog.imports.smithers.source import Source
    from foldlog.memory import Memory
    from foldlog.memory.writer import Receipt
    from foldlog.projections.local.threads import Message, Thread

#: Where a thread is made for messages whose own does not exist.
ORPHANS: Final = "global:smithers-orphans"

#: Of a message whose role is empty.
NO_ROLE: Final = "unknown"


@dataclass(frozen=True, kw_only=True)
class ThreadItem(Item):
    """A thread as it will stand in the log."""

    kind: ClassVar[str] = "thread"
    title: str | None
    created_at: datetime

    def steps(self, here: Lookup) -> list[Step]:
        """Create the thread unless it is there."""
        found = here.thread(self.name)
        if found is None:
            if here.had_thread(self.name):
                raise Refused(f"the thread {self.name} was deleted here")
            return [self._create, *self.kept_steps(here, replaces=False)]
        if (found.namespace, found.title) != (self.namespace, self.title):
            raise Refused(
                f"a thread {self.name} is here already, in {found.namespace} and titled {found.title!r}"
            )
        return self.kept_steps(here, replaces=False)

    def _create(self, memory: Memory) -> Receipt:
        return memory.threads.create(
            self.namespace,
            thread_id=self.name,
            title=self.title,
            by=self.by,
            occurred_at=self.created_at,
        )


class Threads:
    """Reads threads."""

    kind: ClassVar[str] = "thread"

    def __init__(self, source: Source, *, actor: str | None, limit: int) -> None:
        self._actor = actor
        self._limit = limit
        self._repeated = source.repeated(THREADS)
        self._seen: set[str] = set()
        #: Ids of threads that could not be read.
        self.lost: set[str] = set()

    def item(self, row: Row) -> ThreadItem:
        """Return what becomes of a row; raises Refused."""
        once(row, "thread_id", self._repeated, self._seen)
        try:
            return self._item(row)
        except Refused:
            self.lost.add(row.text("thread_id"))
            raise

    def _item(self, row: Row) -> ThreadItem:
        item = ThreadItem(
            row=row,
            namespace=row.namespace(),
            name=row.name("thread_id"),
            title=row.optional("title"),
            created_at=row.instant("created_at_ms"),
            by=importer(self._actor),
        )
        metadata, updated = row.values["metadata_json"], row.values["updated_at_ms"]
        if metadata is not None:
            row.keep("metadata_json", metadata, f"metadata_json {quoted(metadata)} has no place here")
        if updated not in (None, row.values["created_at_ms"]):
            row.keep("updated_at_ms", updated, f"updated_at_ms {quoted(updated)} has no place here")
        row.check_size(ThreadCreated(title=item.title), len(item.title or ""), self._limit)
        item.settle(self._limit)
        return item


@dataclass(frozen=True, kw_only=True)
class MessageItem(Item):
    """A message as it will stand in the log."""

    kind: ClassVar[str] = "message"
    thread_id: str
    #: Its thread does not exist in the source, and is made.
    orphan: bool
    role: str
    content: Any
    created_at: datetime

    def steps(self, here: Lookup) -> list[Step]:
        """Save the message unless this version of it is there, or was deleted here."""
        thread, found = self._thread(here), here.message(self.name)
        if found is None:
            if thread is not None and here.was_deleted(thread, self.name):
                return []
            made = [self._make_thread] if self.orphan and thread is None else []
            return [*made, self._save, *self.kept_steps(here, replaces=False)]
        if found.thread_id != self.thread_id:
            raise Refused(f"a message {self.name} is here already, in the thread {found.thread_id}")
        if (found.role, found.content) == (self.role, self.content):
            return self.kept_steps(here, replaces=False)
        if not self._is_ours(here, found):
            return []
        return [self._save, *self.kept_steps(here, replaces=True)]

    def _thread(self, here: Lookup) -> Thread | None:
        """Return the thread; raises Refused when the one of this id is another, or was deleted."""
        found = here.thread(self.thread_id)
        if found is None and here.had_thread(self.thread_id):
            raise Refused(f"its thread {self.thread_id} was deleted here")
        if found is not None and found.namespace not in (self.namespace, ORPHANS):
            raise Refused(f"its thread {self.thread_id} is another one here, in {found.namespace}")
        return found

    def _is_ours(self, here: Lookup, found: Message) -> bool:
        """Say whether the version here came from an import, so that the source's is the newer one."""
        if found.sealed:
            raise Refused("it was summarised or trimmed here, and changed in the source since: it is sealed")
        if found.provenance.correlation == CORRELATION:
            return True
        before = here.last_imported(self.name)
        if before is not None and (before.role, before.content) == (self.role, self.content):
            return False
        raise Refused(
            f"a message {self.name} of other content is here, not from an import"
            if before is None
            else "it was changed here, and in the source too"
        )

    def _make_thread(self, memory: Memory) -> Receipt:
        return memory.threads.create(
            ORPHANS, thread_id=self.thread_id, by=importer(self.by.actor), occurred_at=self.created_at
        )

    def _save(self, memory: Memory) -> Receipt:
        return memory.messages.save(
            self.thread_id,
            self.content,
            role=self.role,
            message_id=self.name,
            by=self.by,
            occurred_at=self.created_at,
        )


class Messages:
    """Reads messages, a thread after the other."""

    kind: ClassVar[str] = "message"

    def __init__(self, source: Source, *, actor: str | None, limit: int, lost: set[str]) -> None:
        """`lost` are the ids of threads that could not be read."""
        self._source = source
        self._actor = actor
        self._limit = limit
        self._lost = lost
        self._repeated = source.repeated(MESSAGES)
        self._seen: set[str] = set()
        #: The last thread that was asked for, and its namespace in the source.
        self._thread: tuple[str | None, str | None] = (None, None)

    def item(self, row: Row) -> MessageItem:
        """Return what becomes of a row; raises Refused."""
        thread_id = row.text("thread_id")
        if thread_id in self._lost:
            raise Refused(f"its thread {thread_id} was refused")
        namespace = self._namespace(thread_id)
        item = MessageItem(
            row=row,
            namespace=ORPHANS if namespace is None else naming.namespace(namespace),
            name=self._name(row),
            thread_id=self._thread_id(row, namespace is None),
            orphan=namespace is None,
            role=row.label("role") or NO_ROLE,
            content=self._content(row),
            created_at=row.instant("created_at_ms"),
            by=row.by(self._actor),
        )
        if item.orphan:
            row.change(f"its thread {quoted(thread_id)} does not exist: there is one for it in {ORPHANS}")
        record = MessageSaved(message_id=item.name, ordinal=1, role=item.role, content=item.content)
        row.check_size(record, len(row.text("content_json")), self._limit)
        item.settle(self._limit)
        return item

    def _thread_id(self, row: Row, orphan: bool) -> str:
        text = row.text("thread_id")
        found = naming.stored(text)
        if found != text and orphan:
            return row.name("thread_id")
        if found != text:
            # As the source has it, it is kept with the thread.
            row.change(f"thread_id {quoted(text)} is {quoted(found)} here")
        return found

    def _namespace(self, thread_id: str) -> str | None:
        if self._thread[0] != thread_id:
            self._thread = (thread_id, self._source.thread(thread_id))
        return self._thread[1]

    def _name(self, row: Row) -> str:
        """Return the message's id; the second of one id gets another."""
        text = row.text("id")
        if text not in self._repeated or text not in self._seen:
            self._seen |= {text} & self._repeated
            return row.name("id")
        found = naming.renamed(text, row.digest())
        row.keep("id", text, f"id {quoted(text)} stands twice: this one is {quoted(found)}")
        return found

    def _content(self, row: Row) -> Any:
        content = row.json("content_json")
        if isinstance(content, dict):
            row.change("content_json is an object: it is taken as a list of one part")
            content = [content]
        elif not isinstance(content, str | list):
            content = row.raw("content_json", row.text("content_json"), "is neither a text nor parts")
        row.not_blank("content_json", message_text(content))
        return content


def once(row: Row, column: str, repeated: set[Any], seen: set[str]) -> None:
    """Refuse the second row of an id."""
    text = row.text(column)
    if text in seen:
        raise Refused(f"{column} {quoted(text)} stands twice; the first one is taken")
    if text in repeated:
        seen.add(text)
