"""Printing: tables and progress on a terminal, plain lines that stay the same when piped, or JSON.

Stored text is data: on its way to a terminal, or into a line, it cannot move the cursor or begin a line.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Protocol, Self, TypeVar

if TYPE_CHECKING:
    from argparse import Namespace

    from foldlog.memory.writer import Receipt


class Shown(Protocol):
    """Something that has a form in JSON."""

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON."""
        ...  # pragma: no cover


Item = TypeVar("Item", bound=Shown)

#: Seconds between two lines of progress when nobody looks at a terminal.
PROGRESS_SECONDS: Final = 5.0

#: Least width of the names of pairs, so that the values stand in one place whatever is listed.
PAIR_WIDTH: Final = 9

#: Lines of the terminal that one row of a long list may take.
STREAM_LINES: Final = 2

#: What would act on a terminal: control characters, line separators, changes of direction.
_ACTIVE: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_ACTIVE_IN_TEXT: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_SHORT: Final = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def line(text: str) -> str:
    """Return text as a part of one line."""
    return _ACTIVE.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    char = found[0]
    return _SHORT.get(char) or (f"\\x{ord(char):02x}" if char < "\x80" else f"\\u{ord(char):04x}")


def count(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun: `1 event`, `2 events`."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def say(text: str) -> None:
    """Print one line."""
    print(line(text))


def text(value: str) -> None:
    """Print text with its line breaks: as it is when piped, harmless on a terminal."""
    print(_ACTIVE_IN_TEXT.sub(_escape, value) if sys.stdout.isatty() else value)


#: Pieces of a line, each with its style on a terminal.
Parts = Sequence[tuple[str, str]]


def plain(parts: Parts) -> str:
    """Return a line without its styles."""
    return "".join(text for text, _ in parts)


def paint(parts: Parts) -> None:
    """Print one line: in colours on a terminal, unless NO_COLOR is set, otherwise plain."""
    if not sys.stdout.isatty():
        say(plain(parts))
        return
    from rich.console import Console
    from rich.text import Text

    Console(highlight=False).print(
        Text.assemble(*((line(text), style) for text, style in parts)), soft_wrap=True
    )


def warn(message: str) -> None:
    """Print a warning on stderr."""
    print(f"foldlog: warning: {line(message)}", file=sys.stderr)


def error(message: str) -> None:
    """Print an error on stderr; one that quotes a server's log has more than one line."""
    print(f"foldlog: error: {_ACTIVE_IN_TEXT.sub(_escape, message)}", file=sys.stderr)


def record(value: dict[str, Any]) -> None:
    """Print one JSON object as one line."""
    import json

    ascii_only = not (sys.stdout.encoding or "utf-8").lower().startswith("utf")
    print(json.dumps(value, ensure_ascii=ascii_only))


def receipt(args: Namespace, thing: str, found: Receipt) -> None:
    """Print what the log says of one change."""
    if args.json:
        names = ("id", "outcome", "position", "version", "count")
        record({name: getattr(found, name) for name in names})
    else:
        say(f"{thing} {found.id}: {found.outcome}, position {found.position}")


def pairs(rows: Iterable[tuple[str, str]]) -> None:
    """Print names and values, one pair a line."""
    listed = list(rows)
    width = max([PAIR_WIDTH, *(len(name) for name, _ in listed)])
    for name, value in listed:
        print(f"{name:<{width}}  {line(value)}".rstrip())


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print rows: a table on a terminal, otherwise cells between tabs and no heading."""
    if not sys.stdout.isatty():
        for row in rows:
            print("\t".join(map(line, row)))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    grid = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns[:-1]:
        grid.add_column(column, no_wrap=True)
    grid.add_column(columns[-1], overflow="fold")
    for row in rows:
        # Text, not str: in a string rich would look for markup.
        grid.add_row(*(Text(line(cell)) for cell in row))
    Console().print(grid if grid.row_count else Text("nothing", style="dim"))


def items(
    args: Namespace, columns: Sequence[str], found: Iterable[Item], cells: Callable[[Item], Sequence[str]]
) -> None:
    """Print a list: JSON Lines, or a table."""
    if args.json:
        for item in found:
            record(item.as_dict())
    else:
        table(columns, map(cells, found))


def stream_row(cells: Sequence[str], widths: Sequence[int]) -> None:
    """Print one row of a list that may have no end; `widths` are those of all cells but the last."""
    clean = [line(cell) for cell in cells]
    if not sys.stdout.isatty():
        print("\t".join(clean))
        return
    padded = [f"{cell:<{width}}" for cell, width in zip(clean, widths, strict=False)]
    whole = "  ".join([*padded, *clean[len(padded) :]])
    import shutil

    space = STREAM_LINES * shutil.get_terminal_size().columns
    print(whole if len(whole) <= space else f"{whole[: space - 1]}…")


class Progress:
    """How far something long has come, on stderr: a bar on a terminal, otherwise a line now and then."""

    def __init__(
        self, label: str, unit: str, total: int, *, quiet: bool = False, patient: bool = False
    ) -> None:
        """When stderr is not a terminal, `quiet` prints nothing, `patient` nothing of what is soon done."""
        self._label = label
        self._unit = unit
        self._total = total
        self._quiet = quiet
        self._began = time.monotonic()
        self._spoke: float | None = self._began if patient else None
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            self._bar = _bar(self._unit)
            self._bar.start()
            self._task = self._bar.add_task(self._label, total=self._total, rate="")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, found: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def move(self, position: int, done: int) -> None:
        """Show a position out of the total, reached by doing `done` since the beginning."""
        now = time.monotonic()
        rate = done / max(now - self._began, 1e-6)
        if self._bar is not None:
            self._bar.update(self._task, completed=position, rate=f"{rate:,.0f} {self._unit}/s")
        elif not self._quiet and (self._spoke is None or now - self._spoke >= PROGRESS_SECONDS):
            self._spoke = now
            left = max(0, self._total - position) / rate if rate else 0.0
            place = f"position {position} of {self._total}"
            print(
                f"{self._label}: {place}, {rate:.0f} {self._unit}/s, {left:.0f} s left",
                file=sys.stderr,
                flush=True,
            )


def _bar(unit: str) -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
