"""`foldlog settings`: every setting, and what it is now."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING, Any, Final

from foldlog.cli import options, output
from foldlog.cli.parser import add_command

if TYPE_CHECKING:
    from foldlog.cli.parser import Commands
    from foldlog.settings import Settings

#: Stands for a secret that is set.
MASK: Final = "***"


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(commands, "settings", "list every setting with its value, default, unit and meaning")
    options.add_common(parser)
    parser.set_defaults(handler=run)


def run(args: Namespace) -> int:
    """Print the table of settings; secrets are masked."""
    rows = _rows(options.settings(args))
    if args.json:
        for row in rows:
            output.record(row)
    else:
        output.table(("name", "value", "default", "unit", "help"), map(_cells, rows))
    return 0


def _rows(found: Settings) -> list[dict[str, Any]]:
    from dataclasses import fields

    from foldlog.settings import variable

    return [
        {
            "name": variable(item.name),
            "value": _value(getattr(found, item.name), secret=item.metadata["secret"]),
            "default": _value(item.default, secret=False),
            "unit": item.metadata["unit"],
            "help": item.metadata["help"],
        }
        for item in fields(found)
    ]


def _value(value: object, *, secret: bool) -> int | str | None:
    if secret and value is not None:
        return MASK
    return value if isinstance(value, int | None) else str(value)


def _cells(row: dict[str, Any]) -> list[str]:
    return ["-" if value is None else str(value) for value in row.values()]
