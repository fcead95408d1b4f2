"""What belongs together in a thread, and what is never taken out of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from foldlog.names import FIRST_SUMMARY
from foldlog.projections.document import SYSTEM
from foldlog.projections.local.threads import Message

USER: Final = "user"
TOOL: Final = "tool"

#: The fields in which parts of messages name a tool call, as the usual interfaces write them.
CALL_IDS: Final = ("tool_use_id", "tool_call_id", "call_id")
CALL_TYPES: Final = frozenset({"tool_use", "tool_call", "tool-call", "function_call"})


def kept(messages: Sequence[Message]) -> set[int]:
    """Return the ordinals of what stays: leading system messages, the first user request, the summary."""
    found = {item.ordinal for item in messages if item.ordinal >= FIRST_SUMMARY}
    for item in messages:
        if item.ordinal >= FIRST_SUMMARY:
            continue
        if item.role != SYSTEM:
            break
        found.add(item.ordinal)
    first = next((item.ordinal for item in messages if item.role == USER), None)
    return found if first is None else found | {first}


def groups(messages: Sequence[Message]) -> list[list[Message]]:
    """Return messages in runs that stay or go together: a tool call and all of its results are one."""
    # Where a run has to end at the earliest: behind the last message that answers a call made in it.
    last: dict[str, int] = {}
    for place, item in enumerate(messages):
        for call in _calls(item):
            last[call] = place
    found: list[list[Message]] = []
    ends = -1
    for place, item in enumerate(messages):
        # A result that names no call answers what stands before it.
        answers = item.role == TOOL and not set(_calls(item)) and place > 0
        if place <= ends or (answers and found):
            found[-1].append(item)
        else:
            found.append([item])
        ends = max([ends, *(last[call] for call in _calls(item))])
    return found


def _calls(message: Message) -> Iterator[str]:
    """Yield the ids of the tool calls that a message makes or answers."""
    if not isinstance(message.content, list):
        return
    for part in message.content:
        if isinstance(part, dict):
            yield from _named(part)


def _named(part: dict[str, Any]) -> Iterator[str]:
    for field in CALL_IDS:
        if isinstance(part.get(field), str):
            yield part[field]
    if part.get("type") in CALL_TYPES and isinstance(part.get("id"), str):
        yield part["id"]
