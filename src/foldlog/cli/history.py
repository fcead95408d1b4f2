"""`foldlog history`: how one item came to say what it says."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from typing import TYPE_CHECKING

from foldlog.cli import options, output
from foldlog.cli.parser import add_command, add_noun

if TYPE_CHECKING:
    from foldlog.cli.parser import Commands
    from foldlog.events.event import Event
    from foldlog.memory import Memory
    from foldlog.memory.history import History, Link


def add(commands: Commands) -> None:
    """Add the command, with the kinds of items as its verbs."""
    kinds = add_noun(commands, "history", "how a note, fact, thread or message came to say what it says")
    note = add_command(kinds, "note", "a note's history, and what it supersedes and is superseded by")
    fact = add_command(kinds, "fact", "a fact's history")
    fact.add_argument("namespace", metavar="NS")
    fact.add_argument("key", metavar="KEY")
    thread = add_command(kinds, "thread", "a thread's history with all its messages")
    message = add_command(kinds, "message", "a message's versions, and what happened to its thread")
    for parser in (note, thread, message):
        parser.add_argument("id", metavar="ID")
    for parser in (note, fact, thread, message):
        options.add_common(parser)
        parser.set_defaults(handler=run)


def run(args: Namespace) -> int:
    """Print the history."""
    with options.memory(args) as memory:
        found = _find(memory, args)
    if args.json:
        output.record(found.as_dict())
        return 0
    for text in lines(found):
        output.say(text)
    return 0


def _find(memory: Memory, args: Namespace) -> History:
    if args.verb == "fact":
        return memory.history.fact(args.namespace, args.key)
    if args.verb == "thread":
        return memory.history.thread(args.id)
    if args.verb == "message":
        return memory.history.message(args.id)
    return memory.history.note(args.id)


def lines(history: History) -> Iterator[str]:
    """Yield the history as lines for a person: a heading, the events, for a note its links."""
    yield f"{history.kind} {history.name} in {history.namespace}"
    for event, before in _with_before(history.events):
        yield f"  {_event(event, before)}"
    statuses = {link.note_id: link.status for link in history.links} | {history.name: _status(history)}
    for link in history.links:
        yield f"  {_link(history.name, statuses, link)}"


def _with_before(events: list[Event]) -> Iterator[tuple[Event, str | None]]:
    """Yield each event with the text that it replaces; the messages of a thread each have their own."""
    from foldlog.cli import wording
    from foldlog.events.types import FactDeleted, FactExpired, MessageSaved

    texts: dict[int, str | None] = {}
    for event in events:
        place = event.record.ordinal if isinstance(event.record, MessageSaved) else 0
        yield event, texts.get(place)
        text = wording.content(event)
        if text is not None or isinstance(event.record, FactDeleted | FactExpired):
            texts[place] = text


def _event(event: Event, before: str | None) -> str:
    from foldlog.cli import wording

    was = f" (was {before})" if before is not None and wording.content(event) is not None else ""
    happened = ""
    if event.occurred_at != event.recorded_at:
        happened = f" (happened {wording.when(event.occurred_at)})"
    cells = (
        f"{event.position:>6}",
        wording.when(event.recorded_at),
        wording.who(event.provenance),
        f"{wording.what(event)}{was}{happened}",
    )
    return "  ".join(cells)


def _status(history: History) -> str | None:
    """Return the note's status after its last event."""
    from foldlog.events.types import NoteSaved, NoteStatusChanged

    status = None
    for event in history.events:
        if isinstance(event.record, NoteSaved | NoteStatusChanged):
            status = event.record.status
    return status


def _link(name: str, statuses: dict[str, str | None], link: Link) -> str:
    """Return one edge of the supersession graph in words; `statuses` are those of the notes so far."""
    other = f"{link.note_id} ({link.status or 'not in this log'})"
    if link.relation == "supersedes":
        return _edge(link.via, statuses.get(link.via), other)
    edge = _edge(link.note_id, link.status, link.via)
    if link.status == "accepted" and link.via == name:
        return f"{edge}; {name} is superseded by {other}"
    return edge


def _edge(upper: str, status: str | None, lower: str) -> str:
    if status == "accepted":
        return f"{upper} supersedes {lower}"
    if status == "pending":
        return f"{upper} supersedes {lower} once it is accepted (it is pending)"
    return f"{upper} would supersede {lower}, but is {status or 'not in this log'}"
