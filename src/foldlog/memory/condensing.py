"""Commands that hide messages of a thread: a summary takes their place, or the thread's budget is kept."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Final

from foldlog.errors import InvalidInput, UnknownThread
from foldlog.events.append import Appended, Transaction
from foldlog.events.encoding import check_not_blank, encode
from foldlog.events.provenance import Provenance
from foldlog.events.types import MessagesSummarized, MessagesTrimmed, Stream
from foldlog.memory.writer import Command
from foldlog.names import FIRST_SUMMARY
from foldlog.projections.local import condensing, threads
from foldlog.projections.local.threads import Message, Thread

#: Hexadecimal digits of a digest that a summary's id has.
ID_DIGITS: Final = 24


def digest(messages: Iterable[Message]) -> str:
    """Return the digest of messages as a summarizer is given them: their ids, speakers and contents."""
    found = sha256()
    for item in messages:
        found.update(encode([item.message_id, item.role, item.author, item.content]).encode())
        found.update(b"\n")
    return found.hexdigest()


def ranges(ordinals: Iterable[int]) -> list[list[int]]:
    """Return runs of ordinals as pairs of first and last."""
    found: list[list[int]] = []
    for ordinal in sorted(ordinals):
        if found and found[-1][1] == ordinal - 1:
            found[-1][1] = ordinal
        else:
            found.append([ordinal, ordinal])
    return found


def trim(
    thread_id: str, ordinals: Iterable[int], *, budget: int, tokens: int, tokenizer: str, by: Provenance
) -> Command:
    """Return the command that hides those of some messages that are still shown."""
    if budget < 1:
        raise InvalidInput("budget", f"must be a positive whole number of tokens, not {budget!r}")
    wanted = set(ordinals)

    def command(transaction: Transaction) -> Appended | None:
        thread = _thread(transaction, thread_id)
        shown = condensing.shown(transaction.connection, thread.stream_id, ranges(wanted))
        if not shown:
            return None
        record = MessagesTrimmed(ranges=ranges(shown), budget=budget, tokens=tokens, tokenizer=tokenizer)
        return transaction.append(_stream(thread), record, by=by)

    return command


def summarize(
    thread_id: str,
    covered: Sequence[Message],
    text: str,
    *,
    summarizer: str,
    model: str | None,
    sources: Sequence[str],
    by: Provenance,
) -> Command:
    """Return the command that lets a text stand for messages, instead of the summary before.

    It changes nothing when one of the messages is no longer what the text was made from, or when the
    summary that is shown was made from the same ones.
    """
    check_not_blank(text, "text")
    if not covered:
        raise InvalidInput("covered", "must name at least one message")
    expected = digest(covered)
    covers = ranges(item.ordinal for item in covered)

    def command(transaction: Transaction) -> Appended | None:
        thread = _thread(transaction, thread_id)
        now = threads.covered(transaction.connection, thread.stream_id, covers)
        former = threads.summary(transaction.connection, thread.stream_id)
        if digest(now) != expected:
            return None
        if former is not None and former.content[0]["digest"] == expected:
            return None
        stream = _stream(thread)
        number = transaction.version(stream) + 1
        record = MessagesSummarized(
            message_id=f"summary-{expected[:ID_DIGITS]}-{number}",
            # Its place in the stream, so that none is ever given twice.
            ordinal=FIRST_SUMMARY + number,
            ranges=covers,
            replaces=former.ordinal if former else None,
            digest=expected,
            text=text,
            summarizer=summarizer,
            model=model,
            sources=list(sources),
        )
        return transaction.append(stream, record, by=by)

    return command


def _thread(transaction: Transaction, thread_id: str) -> Thread:
    found = threads.get(transaction.connection, thread_id)
    if found is None:
        deleted = threads.ever(transaction.connection, thread_id) is not None
        raise UnknownThread(thread_id, deleted=deleted)
    return found


def _stream(thread: Thread) -> Stream:
    return Stream(kind="thread", namespace=thread.namespace, name=thread.thread_id)
