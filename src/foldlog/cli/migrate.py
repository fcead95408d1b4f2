"""`foldlog migrate`: bring the log, and the index's control schema, to the newest schema."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING

from foldlog.cli import options, output
from foldlog.cli.parser import add_command

if TYPE_CHECKING:
    from foldlog.cli.parser import Commands
    from foldlog.events.log import Log
    from foldlog.settings import Settings


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(commands, "migrate", "bring the log and the index's control schema up to date")
    options.add_common(parser)
    parser.set_defaults(handler=run)


def run(args: Namespace) -> int:
    """Upgrade the log, and the index if one is set or runs; a set one that is down is a failure."""
    found = options.settings(args)
    from contextlib import closing

    from foldlog.composition import open_log
    from foldlog.events.log import schema_version

    with closing(open_log(found)) as log:
        revision = schema_version(found.log, found.busy_timeout_ms)
        index, why_not = _index(found, log)
    if args.json:
        output.record({"log": revision, "index": index, "reason": why_not})
    else:
        output.pairs(
            [("log", f"revision {revision}"), ("index", f"revision {index}" if index else f"none: {why_not}")]
        )
    return 0


def _index(settings: Settings, log: Log) -> tuple[str | None, str | None]:
    """Return the control schema's revision, or why there is none."""
    from foldlog import composition
    from foldlog.errors import IndexUnavailable

    try:
        url = composition.database_url(settings)
    except IndexUnavailable as error:
        return None, str(error)
    from foldlog.migrations.upgrade import prepare_index
    from foldlog.projections.hindsight.control import SCHEMA_VERSION
    from foldlog.projections.hindsight.session import Session

    session = Session(url, timeout_ms=settings.connect_timeout_ms)
    try:
        wait = settings.connect_timeout_ms
        prepare_index(session, log, settings.name, composition.recipe(settings), timeout_ms=wait)
    finally:
        session.close()
    return SCHEMA_VERSION, None
