"""`foldlog demo`: a sample conversation, from writing to audit."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING

from foldlog.cli.parser import add_command

if TYPE_CHECKING:
    from foldlog.cli.parser import Commands


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands, "demo", "load a sample conversation, recall from it, audit it, leave nothing"
    )
    parser.set_defaults(handler=run)


def run(args: Namespace) -> int:
    """Run the demo."""
    from foldlog.demo import run as demo

    return demo.run()
