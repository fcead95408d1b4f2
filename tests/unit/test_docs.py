"""The docs say what the code does: every command, setting, event type and error, and the README's program."""

from __future__ import annotations

import inspect
import re
import sqlite3
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from foldlog import errors
from foldlog.cli.main import build
from foldlog.events.types import EVENT_TYPES
from foldlog.memory.counters import COUNTERS, OTHERWISE
from foldlog.metrics import COUNTER, METRICS
from foldlog.projections.hindsight.effects import FOLDS as INDEX_FOLDS
from foldlog.projections.local.fold import FOLDS as LOCAL_FOLDS
from foldlog.settings import Settings, variable

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"

ERRORS = [
    kind for _, kind in inspect.getmembers(errors, inspect.isclass) if kind.__module__ == errors.__name__
]


def _rows(page: str) -> list[list[str]]:
    lines = (DOCS / page).read_text(encoding="utf-8").splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]


@pytest.mark.parametrize("item", fields(Settings), ids=lambda item: item.name)
def test_every_setting_is_documented(item: object) -> None:
    """Name, default, unit and meaning, as `foldlog settings` prints them."""
    default = "" if item.default is None else f"`{item.default}`"  # type: ignore[attr-defined]
    row = [f"`{variable(item.name)}`", default, item.metadata["unit"], item.metadata["help"]]  # type: ignore[attr-defined]
    assert row in _rows("settings.md")


@pytest.mark.parametrize("name", EVENT_TYPES)
def test_every_event_type_is_documented_and_folded(name: str) -> None:
    """With its links and its data; and both folds know what to do with it."""
    record = EVENT_TYPES[name]
    row = next(row for row in _rows("events.md") if row[0] == name)
    names = {item.name for item in fields(record)}
    assert set(re.findall(r"`(\w+)`", row[2])) == set(record.LINKS)
    assert set(re.findall(r"`(\w+)`", row[3])) == names - record.LINKS
    assert record in LOCAL_FOLDS
    assert record in INDEX_FOLDS


@pytest.mark.parametrize("kind", ERRORS, ids=lambda kind: kind.__name__)
def test_every_error_is_documented(kind: type[Exception]) -> None:
    """With its base and when it is raised; and it stands in the tree at the top of its module."""
    assert kind.__doc__ is not None
    says = kind.__doc__.splitlines()[0].removeprefix("Raised when ")
    assert [f"`{kind.__name__}` ({kind.__mro__[1].__name__})", says] in _rows("errors.md")
    assert re.search(rf"\b{kind.__name__}\b", errors.__doc__ or "")


@pytest.mark.parametrize("name", METRICS)
def test_every_number_is_documented(name: str) -> None:
    """Under the name that Prometheus sees, with its labels and what it means."""
    metric = METRICS[name]
    shown = f"`foldlog_{name}{'_total' if metric.kind == COUNTER else ''}`"
    labels = ", ".join(f"`{label}`" for label in metric.labels)
    assert [shown, metric.kind, labels, metric.help] in _rows("metrics.md")


@pytest.mark.parametrize("name", COUNTERS)
def test_every_counter_of_a_memory_is_a_number(name: str) -> None:
    """What a memory counts for itself is exported under the same name, with the same meaning."""
    if name not in OTHERWISE:
        metric = METRICS[name.removeprefix("foldlog_").removesuffix("_total")]
        assert (metric.kind, metric.help, metric.labels) == (COUNTER, COUNTERS[name], ())


def test_every_command_is_documented() -> None:
    """Each command and verb has its line in docs/commands.md."""
    text = (DOCS / "commands.md").read_text(encoding="utf-8")
    for command in _commands(build()):
        assert f"`foldlog {command}" in text, command


def _commands(parser: object, prefix: str = "") -> list[str]:
    found = []
    for action in parser._actions:  # type: ignore[attr-defined]
        if hasattr(action, "choices") and isinstance(action.choices, dict):
            for name, child in action.choices.items():
                inner = _commands(child, f"{prefix}{name} ")
                found += inner or [f"{prefix}{name}"]
    return found


def test_links_between_the_pages_lead_somewhere() -> None:
    """No page names a file that is not there."""
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS.glob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def _run_program(page: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the first program of a page, copied letter by letter, in an empty folder, without any server."""
    program = re.search(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    assert program is not None
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", program[1]],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_program_of_the_readme_runs(tmp_path: Path) -> None:
    """What was superseded is not in its answer."""
    done = _run_program(ROOT / "README.md", tmp_path)
    assert done.returncode == 0, done.stderr
    assert "disabled by mistake" in done.stdout
    assert "locked out" not in done.stdout


def test_the_program_about_numbers_runs(tmp_path: Path) -> None:
    """Copied letter by letter."""
    done = _run_program(DOCS / "metrics.md", tmp_path)
    assert done.returncode == 0, done.stderr


def test_the_program_about_transactions_runs(tmp_path: Path) -> None:
    """The row and the note are both there."""
    done = _run_program(DOCS / "transactions.md", tmp_path)
    assert done.returncode == 0, done.stderr
    with sqlite3.connect(tmp_path / "memory.db") as connection:
        assert connection.execute("SELECT count(*) FROM orders").fetchone() == (1,)
        assert connection.execute("SELECT count(*) FROM foldlog_notes").fetchone() == (1,)
    connection.close()
