"""`foldlog import`: take over what another system wrote."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from foldlog.cli import options, output
from foldlog.cli.parser import add_command, add_noun

if TYPE_CHECKING:
    from foldlog.cli.parser import Commands
    from foldlog.imports.smithers import Entry, Report, Source
    from foldlog.memory import Memory

#: The exit code when something of the source is not in the log.
INCOMPLETE: Final = 1

#: Most bytes of the report's rows that wait in memory; more wait in a file.
WAITING_BYTES: Final = 1 << 20


def add(commands: Commands) -> None:
    """Add the command, with the formats as its verbs."""
    formats = add_noun(commands, "import", "take over what another system wrote; twice adds nothing")
    locomo = add_command(formats, "locomo", "conversations in the format of the LoCoMo benchmark")
    locomo.add_argument("file", metavar="FILE", type=Path)
    options.add_by(locomo)
    options.add_common(locomo)
    locomo.set_defaults(handler=run_locomo)
    smithers = add_command(formats, "smithers", "the memory in a Smithers database, which is only read")
    smithers.add_argument("file", metavar="FILE", type=Path)
    smithers.add_argument("--dry-run", action="store_true", help="print the report and write nothing")
    smithers.add_argument("--actor", metavar="WHO", help="the person, agent or job that imports")
    options.add_common(smithers)
    # The run, node and iteration of an event are those of its row.
    smithers.set_defaults(handler=run_smithers, by_run=None, node=None, iteration=None)


def run_locomo(args: Namespace) -> int:
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


def run_smithers(args: Namespace) -> int:
    """Import the database, and print each row that is not in the log as it is in the source."""
    import json
    import tempfile

    from foldlog.imports import smithers

    with (
        smithers.open_source(args.file) as source,
        tempfile.SpooledTemporaryFile(WAITING_BYTES, "w+", encoding="utf-8") as waiting,
    ):
        # Before the log is opened, which writes to it.
        smithers.check_apart(source, options.settings(args).log)

        def tell(entry: Entry) -> None:
            # Printed at the end: a line would break the bar that shows the progress.
            waiting.write(json.dumps(entry.as_dict()) + "\n")

        report = _preview(args, source, tell) if args.dry_run else _import(args, source, tell)
        waiting.seek(0)
        for line in waiting:
            _show_entry(args, json.loads(line))
    _show_report(args, report)
    return INCOMPLETE if report.refused else 0


def _import(args: Namespace, source: Source, tell: Any) -> Report:
    from foldlog.imports import smithers

    with (
        options.memory(args, create=True) as memory,
        output.Progress("importing", "rows", source.size(), patient=True) as progress,
    ):
        try:
            return smithers.write(
                memory,
                source,
                actor=args.actor,
                each=tell,
                progress=lambda done: progress.move(done, done),
            )
        except KeyboardInterrupt:
            output.warn("stopped; what was imported stays, the same command goes on")
            raise


def _preview(args: Namespace, source: Source, tell: Any) -> Report:
    from foldlog.imports import smithers

    limit = options.settings(args).max_payload_bytes
    with (
        _existing(args) as memory,
        output.Progress("reading", "rows", source.size(), patient=True) as progress,
    ):
        return smithers.preview(
            memory, source, limit=limit, each=tell, progress=lambda done: progress.move(done, done)
        )


@contextmanager
def _existing(args: Namespace) -> Iterator[Memory | None]:
    """Open the log as it is, None when there is none; raises LogError for one that must be upgraded."""
    from foldlog.errors import LogError
    from foldlog.events.log import SCHEMA_VERSION, schema_version

    settings = options.settings(args)
    version = schema_version(settings.log, settings.busy_timeout_ms)
    if version is None:
        yield None
        return
    if version < SCHEMA_VERSION:
        raise LogError(f"the log {settings.log} has an older schema; run `foldlog migrate` first")
    with options.memory(args) as memory:
        yield memory


def _show_entry(args: Namespace, entry: dict[str, Any]) -> None:
    if args.json:
        output.record(entry)
        return
    key = " ".join(str(value) for value in entry["source"].values())
    output.say(f"{entry['outcome']:<7}  {entry['kind']} {key}: {'; '.join(entry['reasons'])}")


def _show_report(args: Namespace, report: Report) -> None:
    if args.json:
        output.record({"dry_run": args.dry_run, **report.as_dict()})
        return
    for name, counts in report.counts().items():
        if counts.rows:
            output.say(
                f"{name}: {counts.rows}, of these {counts.new} new, {counts.unchanged} unchanged, "
                f"{counts.refused} refused; {counts.changed} in another form"
            )
    if args.dry_run:
        output.say("nothing was written")
    elif not report.new:
        output.say("all there already, nothing added")
