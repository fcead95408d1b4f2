"""`foldlog worker`: fold what is written, until a signal."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING

from foldlog.cli import options
from foldlog.cli.parser import add_command

if TYPE_CHECKING:
    from foldlog.cli.parser import Commands


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(commands, "worker", "fold what is written, until a signal")
    parser.add_argument("--queues", nargs="+", metavar="QUEUE", help="only these queues; all unless given")
    parser.add_argument("--processes", type=options.whole(1), default=1, metavar="N", help="1 unless given")
    parser.add_argument(
        "--threads", type=options.whole(1), default=4, metavar="N", help="of each, 4 unless given"
    )
    options.add_http(parser)
    options.add_log(parser)
    parser.set_defaults(handler=run)


def run(args: Namespace) -> int:
    """Run until a signal."""
    found = options.settings(args)
    from foldlog.workers import run as workers

    return workers.run(found, queues=args.queues, processes=args.processes, threads=args.threads)
