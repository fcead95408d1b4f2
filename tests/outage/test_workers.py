"""Whatever dies, nothing is lost: real workers, a real Postgres, a real Redis, real kills."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fixtures.index import difference, recount
from fixtures.workers import Command, alive, eventually, folded, running
from foldlog import Memory, composition
from foldlog.embedded import Home, Postgres, Server, Valkey
from foldlog.settings import Settings, environment

ALICE = "user:alice"

pytestmark = pytest.mark.xdist_group("outage")


@pytest.fixture
def own_postgres(own_home: Home) -> Iterator[Postgres]:
    """A Postgres that the test may kill."""
    with Postgres(own_home, durable=False) as server:
        yield server


@pytest.fixture
def settings(tmp_path: Path, own_postgres: Postgres, valkey: Valkey) -> Settings:
    return Settings(log=tmp_path / "memory.db", database_url=own_postgres.url, redis_url=valkey.url)


@pytest.fixture
def memory(settings: Settings) -> Iterator[Memory]:
    with composition.open_memory(settings=settings) as memory:
        yield memory


def kill(server: Server) -> None:
    """End a server as a power cut would end it."""
    pid = server.pid()
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    eventually(lambda: not server.answers(), "the server's death")


def status_of(settings: Settings) -> tuple[int, dict[str, Any]]:
    """Return the exit code, and the answer, of the status command."""
    done = subprocess.run(
        [sys.executable, "-m", "foldlog", "status", "--json"],
        env=os.environ | environment(settings),
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr
    return done.returncode, json.loads(done.stdout)


def write(memory: Memory, draw: random.Random, count: int) -> None:
    """Append many changes of every kind to few memories."""
    for number in range(count):
        name = draw.randrange(40)
        kind = draw.random()
        if kind < 0.4:
            memory.facts.set(ALICE, f"f{name}", f"value {number}", ttl=draw.choice([None, 3_600_000]))
        elif kind < 0.5:
            memory.facts.delete(ALICE, f"f{name}")
        elif kind < 0.75:
            memory.messages.save("t", f"message {number}", message_id=f"m{name}")
        elif kind < 0.85:
            memory.messages.delete("t", [f"m{name}"])
        elif kind < 0.95:
            before = [note.note_id for note in memory.notes.list(ALICE)]
            memory.notes.save(ALICE, f"note {number}", supersedes=before[:1])
        else:
            for note in memory.notes.list(ALICE, limit=1):
                memory.notes.set_status(note.note_id, "rejected")


@pytest.mark.conformance(160, 161)
def test_kills_of_everything(
    tmp_path: Path, settings: Settings, memory: Memory, own_postgres: Postgres, valkey: Valkey
) -> None:
    """Two workers, one killed; Redis killed and started empty; Postgres killed: the index is the log's."""
    draw = random.Random(11)
    memory.threads.create(ALICE, thread_id="t")
    logs = [tmp_path / "one.log", tmp_path / "two.log"]
    with (
        running(settings, "worker", output=logs[0]) as one,
        running(settings, "worker", output=logs[1]),
    ):
        eventually(lambda: folded(memory), "the first fold")
        write(memory, draw, 150)
        for victim in one.children():
            os.kill(victim, signal.SIGKILL)
        write(memory, draw, 150)
        kill(valkey)
        write(memory, draw, 150)
        valkey.ensure()
        write(memory, draw, 150)
        kill(own_postgres)
        write(memory, draw, 150)
        own_postgres.ensure()
        write(memory, draw, 150)
        eventually(lambda: folded(memory), "the index at the head")
        eventually(lambda: one.starts > 1, "the killed worker's successor")
        assert difference(memory, settings.database_url or "") == []
        assert recount(memory, settings.database_url or "") == []
        assert memory.verify().ok


@pytest.mark.conformance(180)
def test_postgres_away_and_back(
    tmp_path: Path, settings: Settings, memory: Memory, own_postgres: Postgres
) -> None:
    """Appends go on, recall answers from the log and says so, status exits 1; then it heals by itself."""
    with running(settings, "worker", output=tmp_path / "worker.log"):
        memory.facts.set(ALICE, "before", "blue sky")
        eventually(lambda: folded(memory), "the first fold")
        eventually(lambda: status_of(settings)[0] == 0, "a fine status")
        own_postgres.release()
        memory.facts.set(ALICE, "during", "blue sea")
        answer = memory.recall("blue", ALICE)
        assert answer.status == "degraded"
        assert "does not answer" in (answer.reason or "")
        assert {item.id for item in answer.memories} == {"before", "during"}
        code, found = status_of(settings)
        assert code == 1
        assert found["index"]["state"] == "down"
        assert "start it, or check FOLDLOG_DATABASE_URL" in found["problems"][0]
        own_postgres.acquire()
        eventually(lambda: folded(memory), "the index at the head")
        eventually(lambda: status_of(settings)[0] == 0, "a fine status")
        eventually(lambda: memory.recall("blue", ALICE).status == "ok", "an answer from the index")
        assert difference(memory, settings.database_url or "") == []


def test_redis_away_and_back(tmp_path: Path, settings: Settings, memory: Memory, valkey: Valkey) -> None:
    """The worker folds by itself and says so in status; the queue is used again when it is back."""
    with running(settings, "worker", output=tmp_path / "worker.log"):
        memory.facts.set(ALICE, "before", "blue")
        eventually(lambda: folded(memory), "the first fold")
        kill(valkey)
        memory.facts.set(ALICE, "during", "blue")
        eventually(lambda: folded(memory), "a fold without Redis")
        eventually(lambda: status_of(settings)[0] == 1, "a complaint")
        assert "Redis does not answer" in status_of(settings)[1]["problems"][0]
        valkey.ensure()
        eventually(lambda: status_of(settings)[0] == 0, "a fine status")
        memory.facts.set(ALICE, "after", "blue")
        eventually(lambda: folded(memory), "a fold with Redis")


def test_both_down_from_the_beginning(tmp_path: Path) -> None:
    """Appending needs neither server; the status says what is missing."""
    down = Settings(
        log=tmp_path / "memory.db",
        database_url="postgresql://127.0.0.1:9/none",
        redis_url="redis://127.0.0.1:9/0",
    )
    with composition.open_memory(settings=down) as memory:
        for number in range(20):
            memory.facts.set(ALICE, f"k{number}", number)
        assert memory.verify().events == 20
    assert status_of(down)[0] == 1


def test_a_worker_waits_for_a_postgres_that_comes_late(
    tmp_path: Path, settings: Settings, memory: Memory, own_postgres: Postgres
) -> None:
    """Started while Postgres is away, it folds when it comes, without a restart."""
    own_postgres.release()
    memory.facts.set(ALICE, "a", "blue")
    with running(settings, "worker", output=tmp_path / "worker.log") as worker:
        eventually(lambda: "no sign of life" in worker.output(), "the worker's complaint")
        own_postgres.acquire()
        eventually(lambda: folded(memory), "the fold")
        assert worker.starts == 1


def test_an_index_that_belongs_to_another_log(tmp_path: Path, settings: Settings, memory: Memory) -> None:
    """A log deleted and begun anew: status says why nothing is folded, and which command mends it."""
    memory.facts.set(ALICE, "a", "blue")
    memory.catch_up()
    memory.close()
    for path in tmp_path.glob("memory.db*"):
        path.unlink()
    with (
        composition.open_memory(settings=settings) as anew,
        running(settings, "worker", output=tmp_path / "worker.log"),
    ):
        anew.facts.set(ALICE, "b", "blue")
        eventually(lambda: "--take-over" in str(status_of(settings)[1]["problems"]), "the reason")
        assert status_of(settings)[0] == 1
        assert [item.id for item in anew.recall("blue", ALICE).memories] == ["b"]
        anew.rebuild(take_over=True)
        eventually(lambda: status_of(settings)[0] == 0, "a fine status")
        assert difference(anew, settings.database_url or "") == []


def test_up_keeps_everything_running(tmp_path: Path) -> None:
    """It restarts a killed worker and killed servers, is shared, and stops all of them at the end."""
    settings = Settings(log=tmp_path / "a folder" / "memory.db")
    home = composition.home(settings)
    postgres, valkey = Postgres(home), Valkey(home)
    with composition.open_memory(settings=settings) as memory:
        with running(settings, "up", output=tmp_path / "up.log", keep=False) as up:
            memory.facts.set(ALICE, "a", "blue")
            eventually(lambda: postgres.answers() and folded(memory), "the first fold")
            for victim in up.children():
                os.kill(victim, signal.SIGKILL)
            kill(postgres)
            kill(valkey)
            memory.facts.set(ALICE, "b", "blue")
            eventually(lambda: postgres.answers() and valkey.answers(), "the servers' return")
            eventually(lambda: folded(memory), "the second fold")
            with running(settings, "up", output=tmp_path / "second.log", keep=False) as second:
                eventually(lambda: "foldlog is up" in second.output(), "the second supervisor")
            assert postgres.answers()
            assert memory.recall("blue", ALICE).status == "ok"
        memory.close()
        assert not postgres.answers()
        assert not valkey.answers()
    from foldlog.embedded.removal import remove

    remove(home)


def test_a_killed_supervisor_takes_its_worker_along(tmp_path: Path) -> None:
    """kill -9 of `up` leaves the servers to the next one, and no worker that nobody keeps."""
    settings = Settings(log=tmp_path / "memory.db")
    home = composition.home(settings)
    postgres = Postgres(home)
    with composition.open_memory(settings=settings) as memory:
        first = Command(settings, "up", output=tmp_path / "first.log", keep=False)
        memory.facts.set(ALICE, "a", "blue")
        eventually(lambda: postgres.answers() and folded(memory), "the first fold")
        workers = first.children()
        assert workers
        os.kill(first.process.pid, signal.SIGKILL)
        first.process.wait()
        eventually(lambda: not any(alive(worker) for worker in workers), "the worker's end")
        assert postgres.answers()
        with running(settings, "up", output=tmp_path / "second.log", keep=False):
            memory.facts.set(ALICE, "b", "blue")
            eventually(lambda: folded(memory), "the second fold")
        assert not postgres.answers()
    from foldlog.embedded.removal import remove

    remove(home)


@pytest.mark.parametrize("servers_too", [False, True])
def test_a_killed_command_leaves_no_process_behind(
    tmp_path: Path,
    settings: Settings,
    memory: Memory,
    own_postgres: Postgres,
    valkey: Valkey,
    servers_too: bool,
) -> None:
    """kill -9 of the worker command: its processes end by themselves, even if they can do nothing else."""
    memory.facts.set(ALICE, "a", "blue")
    command = Command(settings, "worker", output=tmp_path / "worker.log", keep=False)
    eventually(lambda: folded(memory), "the first fold")
    processes = command.children()
    assert processes
    if servers_too:
        kill(valkey)
        kill(own_postgres)
        eventually(lambda: "no sign of life" in command.output(), "trouble")
    os.kill(command.process.pid, signal.SIGKILL)
    command.process.wait()
    eventually(lambda: not any(alive(process) for process in processes), "the end of its processes")
    command.stop()
