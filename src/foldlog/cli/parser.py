"""The parser of the command line: usage errors are errors like all others, one line each."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, NoReturn

from foldlog.errors import FoldlogError

if TYPE_CHECKING:
    #: What a module's `add` gets, to add its command to.
    Commands = argparse._SubParsersAction["Parser"]


class Usage(FoldlogError):
    """Raised when the arguments of a command cannot be understood."""


class Parser(argparse.ArgumentParser):
    """A parser that takes no abbreviations, which would break when an option is added."""

    def __init__(self, **given: Any) -> None:
        given.setdefault("allow_abbrev", False)
        super().__init__(**given)

    def error(self, message: str) -> NoReturn:
        """Raise Usage; `main` prints it."""
        raise Usage(f"{message}; see `{self.prog} --help`")


def add_command(commands: Commands, name: str, text: str) -> Parser:
    """Add a command whose help is one sentence."""
    return commands.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")


def add_noun(commands: Commands, name: str, text: str) -> Commands:
    """Add a command that is a noun; the verbs are added to what it returns."""
    parser = add_command(commands, name, text)
    return parser.add_subparsers(dest="verb", metavar="VERB", required=True)
