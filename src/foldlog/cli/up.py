"""`foldlog up`: run everything on this machine until Ctrl-C."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING

from foldlog.cli import options
from foldlog.cli.parser import add_command

if TYPE_CHECKING:
    from foldlog.cli.parser import Commands


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(commands, "up", "run servers and a worker on this machine until Ctrl-C")
    options.add_log(parser)
    parser.set_defaults(handler=run)


def run(args: Namespace) -> int:
    """Run until a signal."""
    found = options.settings(args)
    from foldlog.workers import supervisor

    return supervisor.up(found)
