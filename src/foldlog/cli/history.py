"""`foldlog history`: how one item came to say what it says."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from typing import TYPE_CHECKING

from foldlog.cli import options, output
from foldlog.cli.parser import add_command, add_noun

if TYPE_CHECKING:
    from foldlog.cli.parser import Commands
    from foldlog.memory import Memory
    from foldlog.memory.as_of import Past
    from foldlog.memory.history import History


def add(commands: Commands) -> None:
    """Add the command, with the kinds of items as its verbs."""
    kinds = add_noun(commands, "history", "how a note, a fact or something else came to say what it says")
    note = add_command(kinds, "note", "a note's history, and what it supersedes and is superseded by")
    fact = add_command(kinds, "fact", "a fact's history")
    fact.add_argument("namespace", metavar="NS")
    fact.add_argument("key", metavar="KEY")
    thread = add_command(kinds, "thread", "a thread's history with all its messages")
    message = add_command(kinds, "message", "a message's versions, and what happened to its thread")
    retained = add_command(kinds, "retained", "a retained text's history")
    primer = add_command(kinds, "primer", "a primer's history")
    primer.add_argument("namespace", metavar="NS")
    primer.add_argument("name", metavar="NAME")
    for parser in (note, thread, message, retained):
        parser.add_argument("id", metavar="ID")
    for parser in (note, fact, thread, message, retained, primer):
        options.add_as_of(parser)
        options.add_common(parser)
        parser.set_defaults(handler=run)


def run(args: Namespace) -> int:
    """Print the history."""
    with options.memory(args) as memory:
        found = _find(options.view(memory, args), args)
    if args.json:
        output.record(found.as_dict())
        return 0
    from foldlog.cli import timeline

    for parts in timeline.rows(found):
        output.paint(parts)
    return 0


def _find(view: Memory | Past, args: Namespace) -> History:
    histories = view.history
    if args.verb == "fact":
        return histories.fact(args.namespace, args.key)
    if args.verb == "primer":
        return histories.primer(args.namespace, args.name)
    by_id = {
        "note": histories.note,
        "thread": histories.thread,
        "message": histories.message,
        "retained": histories.retained,
    }
    return by_id[args.verb](args.id)


def lines(history: History) -> Iterator[str]:
    """Yield the history as plain lines."""
    from foldlog.cli import timeline

    yield from map(output.plain, timeline.rows(history))
