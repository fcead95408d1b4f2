"""The job verify, and `foldlog run`: what was changed behind foldlog's back is found and shown."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from foldlog import Memory, composition
from foldlog.cli.main import main
from foldlog.cli.run import JOBS
from foldlog.settings import Settings
from foldlog.workers.jobs import registry
from foldlog.workers.jobs.job import Work
from foldlog.workers.jobs.verify import VerifyJob

ALICE = "user:alice"


@pytest.fixture
def settings(tmp_path: Path, database_url: str) -> Settings:
    return Settings(log=tmp_path / "memory.db", database_url=database_url, embedder="none")


@pytest.fixture
def memory(settings: Settings) -> Iterator[Memory]:
    with composition.open_memory(settings=settings) as memory:
        for number in range(30):
            memory.facts.set(ALICE, f"k{number}", number)
        memory.catch_up()
        yield memory


def work(memory: Memory) -> Work:
    return Work(memory=memory, now=memory.log.clock())


def test_nothing_is_wrong(memory: Memory, settings: Settings) -> None:
    """All events are read, and the index is compared."""
    result = VerifyJob(settings).run(work(memory))
    assert (result.problems, result.counts) == ([], {"events": 30, "faults": 0, "differences": 0})


def test_a_changed_index_is_found(memory: Memory, settings: Settings, database_url: str) -> None:
    """Missing, extra and different memories; what is not folded yet is none of them."""
    with psycopg.connect(database_url) as connection:
        connection.execute("DELETE FROM foldlog_default_g1.memories WHERE key = 'k3'")
        connection.execute("UPDATE foldlog_default_g1.memories SET text = 'k5: six' WHERE key = 'k5'")
    memory.facts.set(ALICE, "later", 1)
    memory.facts.delete(ALICE, "k7")
    result = VerifyJob(settings).run(work(memory))
    assert result.counts["differences"] == 2
    assert [problem.split(" of ")[0] for problem in result.problems] == [
        "the index missing: fact k3",
        "the index differs in text: fact k5",
    ]


def test_an_index_that_is_away_is_left_out(memory: Memory, settings: Settings) -> None:
    """The log is verified all the same; that Postgres is down is said elsewhere."""
    away = replace(settings, database_url="postgresql://nobody@/none?host=/nowhere")
    with composition.open_memory(settings=away) as other:
        result = VerifyJob(settings).run(work(other))
    assert (result.problems, result.counts["events"]) == ([], 30)


def test_a_changed_log_is_found_and_shown(
    memory: Memory, settings: Settings, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the command, with its exit code, and by status from then on."""
    monkeypatch.setenv("FOLDLOG_LOG", str(settings.log))
    monkeypatch.setenv("FOLDLOG_DATABASE_URL", str(settings.database_url))
    monkeypatch.setenv("FOLDLOG_EMBEDDER", "none")
    assert main(["run", "verify"]) == 0
    assert capsys.readouterr().out == "verify: 30 events, 0 faults, 0 differences\n"
    with sqlite3.connect(settings.log) as connection:
        connection.execute("DROP TRIGGER foldlog_payloads_no_update")
        connection.execute("UPDATE foldlog_payloads SET data = '{\"value\":99}' WHERE position = 4")
    connection.close()
    assert main(["run", "verify", "--json"]) == 1
    said = json.loads(capsys.readouterr().out)
    assert said["outcome"] == "done"
    assert said["problems"][0].startswith("the log, at position 4: ")
    assert main(["status", "--json"]) == 1
    status = json.loads(capsys.readouterr().out)
    assert any("the job verify found: the log, at position 4" in item for item in status["problems"])
    assert [job["name"] for job in status["jobs"]] == ["verify"]


def test_the_command_knows_the_jobs(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    """All of them, and no other."""
    assert tuple(registry.create(settings)) == JOBS
    assert main(["run", "nothing"]) == 2
    assert "verify" in capsys.readouterr().err


def test_verify_compares_the_index(
    memory: Memory,
    settings: Settings,
    database_url: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """`foldlog verify --index` names what differs, and what to do."""
    monkeypatch.setenv("FOLDLOG_LOG", str(settings.log))
    monkeypatch.setenv("FOLDLOG_DATABASE_URL", database_url)
    monkeypatch.setenv("FOLDLOG_EMBEDDER", "none")
    assert main(["verify", "--index"]) == 0
    assert "index: what the log says" in capsys.readouterr().out
    with psycopg.connect(database_url) as connection:
        connection.execute("DELETE FROM foldlog_default_g1.memories WHERE key = 'k3'")
    assert main(["verify", "--index"]) == 1
    said = capsys.readouterr().out
    assert "index: missing: fact k3" in said
    assert "foldlog rebuild" in said
    assert main(["verify", "--index", "--json"]) == 1
    assert len(json.loads(capsys.readouterr().out)["index"]) == 1
    assert main(["verify"]) == 0
