"""`foldlog events`: the log itself, event by event."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Final

from foldlog.cli import options, output
from foldlog.cli.parser import add_command

if TYPE_CHECKING:
    from foldlog.cli.parser import Commands
    from foldlog.events.event import Event
    from foldlog.events.log import Log

#: Of position, time, stream and type, on a terminal.
WIDTHS: Final = (7, 24, 34, 17)


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(commands, "events", "print the log's events in order")
    parser.add_argument(
        "--after", type=options.whole(0), default=0, metavar="P", help="begin after this position"
    )
    options.add_limit(parser)
    parser.add_argument("--namespace", metavar="NS", help="only of this namespace")
    parser.add_argument("--run", dest="of_run", metavar="R", help="only what this run wrote")
    parser.add_argument("--follow", action="store_true", help="wait for new events, until Ctrl-C")
    options.add_common(parser)
    parser.set_defaults(handler=run)


def run(args: Namespace) -> int:
    """Print the events."""
    if args.namespace is not None:
        options.warn_of_namespaces(args.namespace)
    with options.memory(args) as memory:
        for event in islice(_events(memory.log, args), args.limit):
            _show(event, args)
            if args.follow:
                sys.stdout.flush()
    return 0


def _events(log: Log, args: Namespace) -> Iterator[Event]:
    for page in _pages(log, args):
        for event in page:
            if args.namespace not in (None, event.stream.namespace):
                continue
            if args.of_run in (None, event.provenance.run):
                yield event


def _pages(log: Log, args: Namespace) -> Iterator[list[Event]]:
    """Yield pages of at least the events asked for, by the narrowest index there is."""
    from foldlog.events import reader

    if args.follow:
        yield from reader.follow(log, args.after)
    elif args.of_run is not None:
        yield from _by(lambda after: reader.of_run(log, args.of_run, after), args.after)
    elif args.namespace is not None:
        yield from _by(lambda after: reader.of_namespace(log, args.namespace, after), args.after)
    else:
        yield from reader.pages(log, args.after)


def _by(fetch: Callable[[int], list[Event]], after: int) -> Iterator[list[Event]]:
    while page := fetch(after):
        yield page
        after = page[-1].position


def _show(event: Event, args: Namespace) -> None:
    if args.json:
        output.record(event.as_dict())
        return
    from foldlog.cli import wording

    cells = [
        str(event.position),
        wording.when(event.recorded_at),
        str(event.stream),
        event.type,
        wording.who(event.provenance),
        wording.what(event),
    ]
    output.stream_row(cells, WIDTHS)
