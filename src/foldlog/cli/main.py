"""The command `foldlog`: parse, call, report; the one place that maps errors to exit codes."""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Sequence
from typing import Any, Final

from foldlog.cli import (
    backfill,
    blame,
    demo,
    diff,
    events,
    fact,
    graph,
    history,
    importing,
    message,
    migrate,
    note,
    options,
    output,
    primer,
    rebuild,
    recall,
    retained,
    run,
    search,
    servings,
    settings,
    status,
    thread,
    up,
    verify,
    worker,
)
from foldlog.cli.parser import Parser, Usage
from foldlog.errors import FoldlogError, InvalidInput, SettingsError

#: Exit codes. 1 is for `status` and `verify`, when they found something wrong, and for an import that left
#: something out.
USAGE: Final = 2
FAILED: Final = 3
#: As the shell reports a process that Ctrl-C, or a reader that left, has ended.
INTERRUPTED: Final = 130
NO_READER: Final = 141

#: In the order of the help.
COMMANDS: Final = (
    up,
    demo,
    worker,
    status,
    recall,
    search,
    fact,
    thread,
    message,
    note,
    retained,
    primer,
    history,
    diff,
    blame,
    servings,
    graph,
    events,
    backfill,
    rebuild,
    run,
    verify,
    importing,
    migrate,
    settings,
)

EPILOG: Final = (
    "exit codes: 0 done; 1 status or verify found something wrong, or an import refused something; "
    "2 wrong usage or input; 3 failed. "
    "Commands read FOLDLOG_* and foldlog.toml; `foldlog settings` lists them."
)


class _Version(argparse.Action):
    """Prints the version; the package's metadata is read only then."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from importlib.metadata import PackageNotFoundError, version

        try:
            found = version("foldlog")
        except PackageNotFoundError:
            found = "(not installed)"
        print(f"foldlog {found}")
        parser.exit()


def build() -> Parser:
    """Return the parser of all commands; none of their own imports has happened yet."""
    parser = Parser(
        prog="foldlog",
        description="Durable memory for AI agents: an SQLite event log, folded into a searchable index.",
        epilog=EPILOG,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version")
    options.add_common(parser)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for command in COMMANDS:
        command.add(commands)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; only `--help` and `--version` exit by themselves."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        # What a terminal's encoding lacks is shown as an escape, and is no error.
        sys.stdout.reconfigure(errors="backslashreplace")
    code = _outcome(argv)
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        # The interpreter flushes once more at its end, and would complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return NO_READER
    return code


def _outcome(argv: Sequence[str] | None) -> int:
    try:
        args = build().parse_args(argv, argparse.Namespace(log=None, json=False))
        _check_text(args)
        code: int = args.handler(args)
        return code
    except (Usage, SettingsError, InvalidInput) as error:
        output.error(str(error))
        return USAGE
    except FoldlogError as error:
        output.error(str(error))
        return FAILED
    except BrokenPipeError:
        return NO_READER
    except KeyboardInterrupt:
        return INTERRUPTED


def _check_text(args: argparse.Namespace) -> None:
    """Raise Usage for an argument in bytes that are no text; paths may have any."""
    for value in vars(args).values():
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, str) and not _is_text(item):
                raise Usage(f"the argument {item!r} is not text in UTF-8")


def _is_text(item: str) -> bool:
    try:
        item.encode()
    except UnicodeEncodeError:
        return False
    return True
