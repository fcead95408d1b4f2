"""`foldlog blame`: who wrote what an item says, from what, and who was given it."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from typing import TYPE_CHECKING

from foldlog.cli import options, output
from foldlog.cli.parser import add_command, add_noun

if TYPE_CHECKING:
    from foldlog.cli.output import Parts
    from foldlog.cli.parser import Commands
    from foldlog.events.event import Event
    from foldlog.memory import Memory
    from foldlog.memory.blame import Blame
    from foldlog.memory.servings import Serving


def add(commands: Commands) -> None:
    """Add the command, with the kinds of items as its verbs."""
    kinds = add_noun(commands, "blame", "who wrote what an item says, from what, and who was given it")
    note = add_command(kinds, "note", "who wrote a note, from what, and who was given it")
    fact = add_command(kinds, "fact", "who set a fact last, from what, and who was given it")
    fact.add_argument("namespace", metavar="NS")
    fact.add_argument("key", metavar="KEY")
    message = add_command(kinds, "message", "who said a message, and who was given it")
    retained = add_command(kinds, "retained", "who kept a text, and who was given it")
    primer = add_command(kinds, "primer", "who set a primer last, and what else that run wrote")
    primer.add_argument("namespace", metavar="NS")
    primer.add_argument("name", metavar="NAME")
    for parser in (note, message, retained):
        parser.add_argument("id", metavar="ID")
    for parser in (note, fact, message, retained, primer):
        options.add_limit(parser, "at most so many events and answers each; 20 unless given")
        options.add_common(parser)
        parser.set_defaults(handler=run)


def run(args: Namespace) -> int:
    """Print the blame."""
    with options.memory(args) as memory:
        found = _find(memory, args)
    if args.json:
        output.record(found.as_dict())
        return 0
    for parts in _rows(found):
        output.paint(parts)
    return 0


def _find(memory: Memory, args: Namespace) -> Blame:
    from foldlog.memory.blame import LIMIT

    blame, limit = memory.blame, args.limit or LIMIT
    if args.verb == "fact":
        return blame.fact(args.namespace, args.key, limit=limit)
    if args.verb == "primer":
        return blame.primer(args.namespace, args.name, limit=limit)
    by_id = {"note": blame.note, "message": blame.message, "retained": blame.retained}
    return by_id[args.verb](args.id, limit=limit)


def _rows(found: Blame) -> Iterator[Parts]:
    from foldlog.cli import timeline

    yield [(f"{found.kind} {found.name}", "bold"), (f" in {found.namespace}", "")]
    yield [("written", "")]
    yield timeline.event_row(found.written)
    run = found.written.provenance.run
    if run is None:
        yield [("by no run: nothing says what it was written from", "dim")]
    else:
        yield from _servings(f"what run {run} had been given before", found.given, more=False)
        yield from _events(f"what else run {run} wrote", found.also_wrote, more=found.also_wrote_more)
    yield from _servings("who was given it", found.served, more=found.served_more)


def _events(title: str, events: list[Event], *, more: bool) -> Iterator[Parts]:
    from foldlog.cli import timeline

    yield [(title if events else f"{title}: nothing", "")]
    for event in events:
        yield timeline.event_row(event, named=True)
    if more:
        yield [("  ... and more: see `foldlog events --run`", "dim")]


def _servings(title: str, servings: list[Serving], *, more: bool) -> Iterator[Parts]:
    from foldlog.cli import servings as servings_command

    yield [(title if servings else f"{title}: nothing is recorded", "")]
    for serving in servings:
        for item in serving.memories:
            when, who, kind, name, position, today, text = servings_command.cells(serving, item)
            yield [
                (f"  {when}", "cyan"),
                (f"  {who}", "magenta"),
                (f"  {kind} {name} as of {position}", "bold"),
                (f"  today {today}", "green" if today == "as given" else "yellow"),
                (f"  {text}", ""),
            ]
    if more:
        yield [("  ... and more: raise --limit", "dim")]
