"""`foldlog up`: run everything on this machine until Ctrl-C."""

from __future__ import annotations

import sys
from argparse import Namespace
from typing import TYPE_CHECKING

from foldlog.cli import options, output
from foldlog.cli.parser import add_command

if TYPE_CHECKING:
    from foldlog.cli.parser import Commands
    from foldlog.settings import Settings


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(commands, "up", "run servers and a worker on this machine until Ctrl-C")
    options.add_http(parser)
    options.add_log(parser)
    parser.set_defaults(handler=run)


def run(args: Namespace) -> int:
    """Run until a signal."""
    found = options.settings(args)
    from foldlog import logs
    from foldlog.workers import supervisor

    logs.configure(found)

    return supervisor.up(found, ready=_ready)


def _ready(found: Settings) -> None:
    output.say(f"foldlog is up for {found.log}; Ctrl-C stops it. `foldlog status` shows how it is")
    # A service manager reads a pipe, and nothing else is printed for hours.
    sys.stdout.flush()
