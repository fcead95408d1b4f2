"""`foldlog status`: is everything written, and is it folded?"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from foldlog.cli import options, output
from foldlog.cli.parser import add_command

if TYPE_CHECKING:
    from datetime import datetime

    from foldlog.cli.parser import Commands
    from foldlog.status import IndexStatus, Job, Status

#: The exit code when something needs attention.
NOT_FINE: Final = 1


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands, "status", "show the log, the index, the workers and the jobs; exit 1 when not fine"
    )
    options.add_common(parser)
    parser.set_defaults(handler=run)


def run(args: Namespace) -> int:
    """Print the status."""
    found = options.settings(args)
    options.require_log(found)
    from contextlib import closing

    from foldlog.composition import open_log
    from foldlog.status import status

    with closing(open_log(found)) as log:
        report = status(found, log)
    if args.json:
        output.record(report.as_dict())
    else:
        output.pairs(_rows(report))
    return 0 if report.fine else NOT_FINE


def _rows(report: Status) -> Iterator[tuple[str, str]]:
    log = report.log
    yield "log", log.path
    yield "head", f"position {log.head}, {_time(log.recorded_at)}"
    yield "size", f"{_size(log.size)}, and {_size(log.wal_size)} of write-ahead log"
    yield "index", _index(report.index)
    for worker in report.workers:
        trouble = "" if worker.trouble is None else f", {worker.trouble}"
        yield "worker", f"{worker.worker_id}, seen {_time(worker.seen_at)}{trouble}"
    if not report.workers:
        yield "worker", "none"
    for job in report.jobs:
        yield "job", _job(job)
    for problem in report.problems:
        yield "problem", problem
    if report.fine:
        yield "fine", "nothing needs attention"


def _index(index: IndexStatus) -> str:
    if index.position is None:
        return index.state
    parts = [
        index.state,
        f"generation {index.generation}",
        f"position {index.position}",
        f"lag {index.lag_events} events, {index.lag_seconds or 0.0:.1f} s",
        f"moved {_time(index.moved_at)}",
    ]
    if index.unembedded:
        parts.append(f"{index.unembedded} texts without a vector")
    if index.attempts:
        parts.append(f"{index.attempts} failed folds since")
    return ", ".join(parts)


def _job(job: Job) -> str:
    parts = [job.name, f"last {_time(job.finished_at)}"]
    parts += [f"{count} {name}" for name, count in job.counts.items()]
    parts.append("only when asked for" if job.next_run is None else f"next {_time(job.next_run)}")
    if job.owner is not None:
        parts.append(f"{job.owner} works on it")
    if job.error is not None:
        parts.append("failed")
    return ", ".join(parts)


def _time(at: datetime | None) -> str:
    return "never" if at is None else at.isoformat(timespec="seconds").replace("+00:00", "Z")


def _size(size: int) -> str:
    return f"{size / 1024:,.0f} KiB" if size < 10 << 20 else f"{size / (1 << 20):,.0f} MiB"
