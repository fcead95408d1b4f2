"""Threads: ordered conversations, and their messages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from sqlite3 import Connection
from typing import Any

from foldlog.errors import (
    DeletedThread,
    InvalidInput,
    MessageElsewhere,
    MessageSealed,
    ThreadExists,
    UnknownThread,
)
from foldlog.events.append import Appended, Transaction
from foldlog.events.encoding import check_json, check_not_blank, check_text, request_digest
from foldlog.events.provenance import Provenance
from foldlog.events.types import MessageSaved, MessagesDeleted, Stream, ThreadCreated, ThreadDeleted
from foldlog.memory.counters import MESSAGE_SAVES
from foldlog.memory.paging import check_limit
from foldlog.memory.tags import check_tags, namespace_tags
from foldlog.memory.writer import Receipt, Writer, occurred
from foldlog.names import FIRST_SUMMARY, check_name, check_names, check_namespace, new_id
from foldlog.projections import document
from foldlog.projections.local import threads
from foldlog.projections.local.threads import Message, Thread


class Threads:
    """Create, read and delete threads."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._log = writer.log

    def create(
        self,
        namespace: str,
        *,
        thread_id: str | None = None,
        title: str | None = None,
        by: Provenance | None = None,
        occurred_at: datetime | None = None,
    ) -> Receipt:
        """Create a thread; the same id with the same namespace and title again is `unchanged`.

        Raises ThreadExists when the id is taken by another thread, and DeletedThread when it was given
        to one that is deleted.
        """
        name = new_id() if thread_id is None else check_name(thread_id, "thread_id")
        stream = Stream(kind="thread", namespace=check_namespace(namespace), name=name)
        record = ThreadCreated(title=None if title is None else check_text(title, "title"))
        at = occurred(occurred_at)

        def command(transaction: Transaction) -> Appended | None:
            found = threads.get(transaction.connection, name)
            if found is not None:
                if (found.namespace, found.title) == (namespace, title):
                    return None
                raise ThreadExists(name, found.namespace)
            before = threads.ever(transaction.connection, name)
            if before is not None:
                raise DeletedThread(name, before)
            return transaction.append(stream, record, by=by or self._writer.by, occurred_at=at)

        return self._writer.submit(name, command)

    def delete(self, thread_id: str, *, by: Provenance | None = None) -> Receipt:
        """Delete a thread and its messages; a missing one is left alone (`unchanged`)."""
        check_name(thread_id, "thread_id")

        def command(transaction: Transaction) -> Appended | None:
            found = threads.get(transaction.connection, thread_id)
            if found is None:
                return None
            return transaction.append(_stream(found), ThreadDeleted(), by=by or self._writer.by)

        return self._writer.submit(thread_id, command)

    def get(self, thread_id: str) -> Thread | None:
        """Return a thread, None when there is none."""
        with self._log.read() as connection:
            return threads.get(connection, thread_id)

    def list(self, namespace: str | None = None, *, after: int = 0, limit: int = 1000) -> list[Thread]:
        """Return threads in the order of their creation, after a thread's `stream_id`."""
        check_limit(limit)
        with self._log.read() as connection:
            return threads.page(connection, namespace, after, limit)


class Messages:
    """Save, read and delete the messages of threads."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._log = writer.log

    def save(
        self,
        thread_id: str,
        content: Any,
        *,
        role: str = "user",
        author: str | None = None,
        message_id: str | None = None,
        tags: Iterable[str] = (),
        by: Provenance | None = None,
        occurred_at: datetime | None = None,
    ) -> Receipt:
        """Save a message at the end of a thread; `content` is a string or a list of parts.

        The same id with equal content again is `unchanged`; with other content it is a new version
        of that message, in its old place. Raises UnknownThread for an unknown or deleted thread, and
        MessageElsewhere for an id that belongs to another thread, whatever the content. One that a
        summary covers, or that was trimmed, does not change any more: MessageSealed.
        """
        check_name(thread_id, "thread_id")
        name = new_id() if message_id is None else check_name(message_id, "message_id")
        _check_content(content)
        given_tags = check_tags(tags)
        fields = {
            "role": check_name(role, "role"),
            "author": None if author is None else check_name(author, "author"),
            "content": content,
        }
        at = occurred(occurred_at)

        def command(transaction: Transaction) -> Appended | None:
            thread = _thread(transaction, thread_id)
            fields["tags"] = namespace_tags(thread.namespace, given_tags)
            found = threads.message(transaction.connection, name)
            if found is not None and found.thread_id != thread_id:
                raise MessageElsewhere(name, found.thread_id)
            if found is not None and _same(found, fields):
                return None
            if found is not None and found.sealed:
                raise MessageSealed(name, thread_id, found.hidden_by)
            ordinal = found.ordinal if found else thread.last_ordinal + 1
            if ordinal >= FIRST_SUMMARY:
                raise InvalidInput("thread", f"has {FIRST_SUMMARY - 1} messages, the most a thread can hold")
            record = MessageSaved(message_id=name, ordinal=ordinal, **fields)
            return transaction.append(_stream(thread), record, by=by or self._writer.by, occurred_at=at)

        return self._writer.submit(name, command, MESSAGE_SAVES)

    def delete(self, thread_id: str, message_ids: Iterable[str], *, by: Provenance | None = None) -> Receipt:
        """Delete those of the messages that the thread has; the receipt's `count` says how many.

        Ids that are unknown, or belong to another thread, are left alone; none deleted is `unchanged`.
        """
        names = check_names(message_ids, "message_ids")

        def command(transaction: Transaction) -> Appended | None:
            thread = threads.get(transaction.connection, thread_id)
            if thread is None:
                return None
            ordinals = threads.ordinals(transaction.connection, thread.stream_id, names)
            if not ordinals:
                return None
            record = MessagesDeleted(ordinals=ordinals)
            appended = transaction.append(_stream(thread), record, by=by or self._writer.by)
            return replace(appended, count=len(ordinals))

        return self._writer.submit(thread_id, command)

    def trim(
        self,
        thread_id: str,
        ordinals: Iterable[int],
        *,
        budget: int,
        tokens: int,
        tokenizer: str,
        by: Provenance | None = None,
    ) -> Receipt:
        """Hide messages to keep a thread within a budget; they stay in its history.

        `tokens` is what they count. Those that are hidden already are left alone; none is `unchanged`.
        Raises UnknownThread, and InvalidInput for a budget that is not positive.
        """
        from foldlog.memory.condensing import trim

        command = trim(
            check_name(thread_id, "thread_id"),
            ordinals,
            budget=budget,
            tokens=tokens,
            tokenizer=tokenizer,
            by=by or self._writer.by,
        )
        return self._writer.submit(thread_id, command)

    def summarize(
        self,
        thread_id: str,
        covered: Sequence[Message],
        text: str,
        *,
        summarizer: str,
        model: str | None = None,
        sources: Sequence[str] = (),
        by: Provenance | None = None,
    ) -> Receipt:
        """Let a text stand for messages, and for the summary before; they stay in the thread's history.

        One event hides the messages and shows the summary. `unchanged` when a message is no longer what
        the text was made from, or the same ones are summarised already. Raises UnknownThread, and
        InvalidInput for a blank text.
        """
        from foldlog.memory.condensing import summarize

        command = summarize(
            check_name(thread_id, "thread_id"),
            covered,
            text,
            summarizer=summarizer,
            model=model,
            sources=sources,
            by=by or self._writer.by,
        )
        return self._writer.submit(thread_id, command)

    def get(self, message_id: str, *, include_hidden: bool = False) -> Message | None:
        """Return a message in its last version, None when there is none.

        With `include_hidden` also one that a summary covers, or that was trimmed.
        """
        with self._log.read() as connection:
            found = threads.message(connection, message_id)
        return found if found is None or include_hidden or found.hidden_by is None else None

    def list(
        self,
        thread_id: str,
        *,
        limit: int = 1000,
        latest: bool = False,
        after: int = 0,
        include_hidden: bool = False,
    ) -> list[Message]:
        """Return messages of a thread in order, after an ordinal: the first `limit`, or the latest.

        A summary stands where the first message was that it covers. With `include_hidden` also the
        messages that it covers, former summaries, and what was trimmed. Raises UnknownThread for an
        unknown or deleted thread.
        """
        check_limit(limit)
        with self._log.read() as connection:
            thread = threads.get(connection, thread_id)
            if thread is None:
                raise _unknown(connection, thread_id)
            return threads.messages(
                connection,
                thread.stream_id,
                after=after,
                limit=limit,
                latest=latest,
                include_hidden=include_hidden,
            )

    def count(self, thread_id: str) -> int:
        """Return how many messages a thread has; an unknown or deleted one has none."""
        with self._log.read() as connection:
            thread = threads.get(connection, thread_id)
        return thread.messages if thread else 0


def _thread(transaction: Transaction, thread_id: str) -> Thread:
    found = threads.get(transaction.connection, thread_id)
    if found is None:
        raise _unknown(transaction.connection, thread_id)
    return found


def _unknown(connection: Connection, thread_id: str) -> UnknownThread:
    return UnknownThread(thread_id, deleted=threads.ever(connection, thread_id) is not None)


def _stream(thread: Thread) -> Stream:
    return Stream(kind="thread", namespace=thread.namespace, name=thread.thread_id)


def _check_content(content: Any) -> None:
    if not isinstance(content, str | list):
        raise InvalidInput("content", f"must be a string or a list of parts, not {type(content).__name__}")
    check_json(content, "content")
    check_not_blank(document.message_text(content), "content")


def _same(found: Message, fields: dict[str, Any]) -> bool:
    """Say whether a message is what is to be saved, as JSON: 1 is neither true nor 1.0."""
    stored = [found.role, found.author, found.content, list(found.tags)]
    return request_digest(stored) == request_digest(
        [fields["role"], fields["author"], fields["content"], fields["tags"]]
    )
