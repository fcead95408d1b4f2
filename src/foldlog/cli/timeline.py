"""A history as lines for a person: what happened, when, by whom and why, and which notes superseded which."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from foldlog.cli import wording
from foldlog.cli.output import Parts
from foldlog.events.event import Event
from foldlog.events.types import FactDeleted, FactExpired, MessageSaved
from foldlog.memory.history import History
from foldlog.memory.supersession import Change, Node

#: Digits of a hash that are shown; `--json` has all of them.
HASH_DIGITS: Final = 12

#: Deepest indentation of the tree: a chain of a thousand notes stays readable.
MAX_INDENT: Final = 12

_STATUS_STYLES: Final = {"accepted": "green", "pending": "yellow", "rejected": "red"}


def rows(history: History) -> Iterator[Parts]:
    """Yield the lines: a heading, the events, and for a note that has links the tree of them."""
    yield [(f"{history.kind} {history.name}", "bold"), (f" in {history.namespace}", "")]
    for event, before in _with_before(history.events):
        yield event_row(event, before)
    if history.links:
        yield from _tree(history)


def _with_before(events: Sequence[Event]) -> Iterator[tuple[Event, str | None]]:
    """Yield each event with the text that it replaces; the messages of a thread each have their own."""
    texts: dict[int, str | None] = {}
    for event in events:
        place = event.record.ordinal if isinstance(event.record, MessageSaved) else 0
        yield event, texts.get(place)
        text = wording.content(event)
        if text is not None or isinstance(event.record, FactDeleted | FactExpired):
            texts[place] = text


def event_row(event: Event, before: str | None = None, *, named: bool = False) -> Parts:
    """Return one event as a line: position, time, hash, who, what; `named` says of which item."""
    was = f" (was {before})" if before is not None and wording.content(event) is not None else ""
    happened = ""
    if event.occurred_at != event.recorded_at:
        happened = f" (happened {wording.when(event.occurred_at)})"
    return [
        (f"  {event.position:>6}", "bold"),
        (f"  {wording.when(event.recorded_at)}", "cyan"),
        (f"  {event.hash.hex()[:HASH_DIGITS]}", "dim"),
        (f"  {wording.who(event.provenance)}", "magenta"),
        (f"  {event.stream.kind} {event.stream.name}" if named else "", "bold"),
        (f"  {wording.what(event)}", ""),
        (was, "dim"),
        (happened, "dim"),
    ]


def _tree(history: History) -> Iterator[Parts]:
    """Yield the notes as a tree, the same from whichever note it is asked for: superseders first."""
    nodes = {node.note_id: node for node in history.notes}
    below = {target for node in history.notes for target in node.supersedes}
    # In a circle nobody is first.
    roots = [name for name in nodes if name not in below] or [history.name]
    yield [("  who supersedes whom, and how each note stood:", "")]
    shown: set[str] = set()
    # What is next stands last: no recursion, since chains can be long.
    waiting = [(name, "", "", 0) for name in reversed(roots)]
    while waiting:
        name, indent, hook, depth = waiting.pop()
        again = name in shown
        shown.add(name)
        yield _node(nodes[name], f"  {indent}{hook}", asked=name == history.name, again=again)
        if again:
            continue
        inner = indent + {"": "", "├─ ": "│  ", "└─ ": "   "}[hook]
        children = nodes[name].supersedes
        for place, child in reversed(list(enumerate(children))):
            last = place == len(children) - 1
            if depth < MAX_INDENT:
                waiting.append((child, inner, "└─ " if last else "├─ ", depth + 1))
            else:
                waiting.append((child, indent, hook, depth))


def _node(node: Node, indent: str, *, asked: bool, again: bool) -> Parts:
    parts = [(indent, "dim"), (node.note_id, "bold" if asked else "")]
    if again:
        parts.append(("  (above)", "dim"))
    elif not node.changes:
        parts.append(("  not in this log", "dim"))
    else:
        for place, change in enumerate(node.changes):
            parts += [("  " if place == 0 else ", ", ""), _change(change)]
    if asked:
        parts.append(("  <- asked for", "bold"))
    return parts


def _change(change: Change) -> tuple[str, str]:
    """Return one change of how a note stood, in words, and its style."""
    at = f"{wording.when(change.recorded_at)} ({change.position})"
    if change.because is None:
        reason = "" if change.reason is None else f": {change.reason}"
        hidden = ", yet hidden" if change.status == "accepted" and change.visible is False else ""
        return f"{change.status}{hidden} {at}{reason}", _STATUS_STYLES[change.status]
    if change.visible:
        return f"back {at}, since {change.because} was rejected", "green"
    return f"superseded {at} by {change.because}", "dim"
