"""`foldlog run`: one job, now."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING, Final

from foldlog.cli import options, output
from foldlog.cli.parser import add_command

if TYPE_CHECKING:
    from foldlog.cli.parser import Commands
    from foldlog.workers.jobs.runner import Ran

#: As in foldlog.workers.jobs.registry, which is not imported for a parser; a test compares them.
JOBS: Final = ("ttl", "limit", "summarize", "extract", "embed", "primers", "verify")

#: The exit codes: the job found something wrong; it failed, or somebody else has it.
FOUND: Final = 1
FAILED: Final = 3


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(commands, "run", "run a job now, whether it is due or not")
    parser.add_argument("job", metavar="JOB", choices=JOBS, help=", ".join(JOBS))
    parser.add_argument("--dry-run", action="store_true", help="say what it would do, change nothing")
    options.add_common(parser)
    parser.set_defaults(handler=run)


def run(args: Namespace) -> int:
    """Run the job to its end; Ctrl-C leaves what is done, and a repeat does the rest."""
    import os
    import socket

    found = options.settings(args)
    with options.memory(args) as memory:
        from foldlog.workers.jobs import registry
        from foldlog.workers.jobs.runner import Runner

        owner = f"{socket.gethostname()}:{os.getpid()}"
        runner = Runner(memory, registry.create(found), owner, slice_ms=found.slice_ms)
        with output.Progress(args.job, "items", 0, quiet=True) as progress:
            ran = runner.run(args.job, dry_run=args.dry_run, progress=lambda done: progress.move(done, done))
    if args.json:
        output.record(_as_dict(ran))
    else:
        _show(ran, args.dry_run)
    return _code(ran)


def _as_dict(ran: Ran) -> dict[str, object]:
    result = ran.result.as_dict() if ran.result else {}
    return {"job": ran.job, "outcome": ran.outcome, "error": ran.error, **result}


def _show(ran: Ran, dry_run: bool) -> None:
    if ran.result is None:
        return
    counts = ", ".join(f"{count} {name}" for name, count in ran.result.counts.items()) or "nothing to do"
    output.say(f"{ran.job}{' (dry run)' if dry_run else ''}: {counts}")
    for problem in ran.result.problems:
        output.say(f"problem: {problem}")


def _code(ran: Ran) -> int:
    if ran.error is not None:
        output.error(f"{ran.job} failed: {ran.error}")
        return FAILED
    if ran.result is None:
        output.error(f"{ran.job} is being run by another process; see `foldlog status`")
        return FAILED
    return FOUND if ran.result.problems else 0
