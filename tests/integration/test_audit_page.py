"""The walk through an audit in docs/audit.md, command by command, as a reader would do it."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from foldlog.cli import main

PAGE = Path(__file__).parents[2] / "docs/audit.md"
NO_SERVER = "postgresql://nobody@127.0.0.1:1/none"


def steps() -> list[tuple[str, list[str]]]:
    """Return the page's commands, each with the lines that it prints."""
    found: list[tuple[str, list[str]]] = []
    for block in re.findall(r"```console\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            else:
                found[-1][1].append(line)
    return found


def same(line: str) -> str:
    """Return a line without what differs from run to run, and with one space between cells."""
    for pattern, word in (
        (r"\d{4}-\d\d-\d\dT[\d:.]+Z", "TIME"),
        (r"\d{4}-\d\d-\d\d", "DAY"),
        (r"\b[0-9a-f]{64}\b", "HASH"),
        (r"(?<=TIME  )[0-9a-f]{12}\b", "HASH"),
    ):
        line = re.sub(pattern, word, line)
    return re.sub(r"\s+", " ", line).strip()


def test_the_walk(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every command ends well and prints what the page says; so does the program at the end."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FOLDLOG_DATABASE_URL", NO_SERVER)
    walk = steps()
    assert {shlex.split(command)[1] for command, _ in walk} >= {
        "servings",
        "blame",
        "history",
        "diff",
        "verify",
    }
    for command, expected in walk:
        name, *arguments = shlex.split(command)
        assert name == "foldlog"
        assert main.main(arguments) == 0, command
        printed = capsys.readouterr().out.splitlines()
        assert [same(line) for line in printed] == [same(line) for line in expected], command
    program = re.search(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert program is not None
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program[1]], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "refund-1 Customers have 90 days for a refund. superseded by refund-2",
        "notes-3 3",
        "['answer-83', 'answer-82']",
        "['Customers have 90 days for a refund.']",
        "created fact refund.days None",
        "hidden note refund-1 superseded by refund-2",
        "created note refund-2 None",
    ]
