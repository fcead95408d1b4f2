"""`foldlog import`: take over what another system wrote."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from foldlog.cli import options, output
from foldlog.cli.parser import add_command, add_noun

if TYPE_CHECKING:
    from foldlog.cli.parser import Commands


def add(commands: Commands) -> None:
    """Add the command, with the formats as its verbs."""
    formats = add_noun(commands, "import", "take over what another system wrote; twice adds nothing")
    locomo = add_command(formats, "locomo", "conversations in the format of the LoCoMo benchmark")
    locomo.add_argument("file", metavar="FILE", type=Path)
    options.add_by(locomo)
    options.add_common(locomo)
    locomo.set_defaults(handler=run)


def run(args: Namespace) -> int:
    """Import the file; all of it is checked before anything is written."""
    from foldlog.imports import locomo

    conversations = locomo.read(args.file)
    total = sum(len(session.turns) for item in conversations for session in item.sessions)
    with (
        options.memory(args, create=True) as memory,
        output.Progress("importing", "messages", total, quiet=True) as progress,
    ):
        report = locomo.write(memory, conversations, progress=lambda done: progress.move(done, done))
    if args.json:
        output.record(report.as_dict())
        return 0
    news = (
        f"{report.new} new, {report.unchanged} unchanged"
        if report.new
        else "all there already, nothing added"
    )
    found = (
        output.count(report.conversations, "conversation"),
        output.count(report.threads, "thread"),
        output.count(report.messages, "message"),
    )
    output.say(f"{', '.join(found)}: {news}")
    return 0
