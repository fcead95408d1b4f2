"""A worker that is told to stop does so in time, whatever it is doing, and nothing is lost or half done."""

from __future__ import annotations

import random
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from fixtures._http_service import Server, hangs
from fixtures.embedding_service import DIMENSION, well
from fixtures.index import difference, recount
from fixtures.workers import Command, eventually, folded, running
from foldlog import Memory, composition
from foldlog.embedded import Valkey
from foldlog.projections.hindsight import control
from foldlog.settings import Settings
from foldlog.status import status
from foldlog.workers.stopping import SAME_SECONDS

ALICE = "user:alice"

pytestmark = pytest.mark.xdist_group("stopping")


@pytest.fixture
def settings(tmp_path: Path, database_url: str, valkey: Valkey) -> Settings:
    return Settings(
        log=tmp_path / "memory.db", database_url=database_url, redis_url=valkey.url, shutdown_ms=4000
    )


@pytest.fixture
def memory(settings: Settings) -> Iterator[Memory]:
    with composition.open_memory(settings=settings) as memory:
        yield memory


def fill(memory: Memory, events: int) -> None:
    """Append messages, facts and notes that change each other."""
    memory.threads.create(ALICE, thread_id="t")
    for start in range(0, events, 1000):
        with memory.batch():
            for number in range(start, min(start + 1000, events)):
                name = f"k{number % 97}"
                if number % 5 == 0:
                    memory.facts.set(ALICE, name, f"value {number} of the garden")
                elif number % 50 == 1:
                    memory.facts.delete(ALICE, name)
                elif number % 10 == 7:
                    memory.notes.save(ALICE, f"note {number}", note_id=f"n{number}")
                else:
                    memory.messages.save("t", f"message {number} about roses", message_id=f"m{number % 701}")


def stopped(command: Command, settings: Settings) -> int:
    """Tell a command to stop; return its exit code, having checked that it took no longer than it may."""
    began = time.monotonic()
    command.process.send_signal(signal.SIGTERM)
    code = command.process.wait(timeout=60)
    assert time.monotonic() - began < settings.shutdown_ms / 1000 + 1, command.output()
    return code


@pytest.mark.case("I03")
@pytest.mark.parametrize(
    ("events", "kills"),
    [pytest.param(4_000, 3, id="short"), pytest.param(50_000, 20, id="long", marks=pytest.mark.chaos)],
)
def test_sigterm_at_random_moments(
    tmp_path: Path, settings: Settings, memory: Memory, events: int, kills: int
) -> None:
    """In the middle of a backfill: a page is there as a whole or not at all, and the next worker goes on."""
    draw = random.Random(5)
    # Small pages, so that a short backfill has many.
    settings = replace(settings, page_events=25)
    fill(memory, events)
    positions = [0]
    for number in range(kills):
        output = tmp_path / f"worker{number}.log"
        with running(settings, "worker", "--queues", "live", output=output, keep=False) as command:
            if number:
                eventually(lambda: position(settings, memory) > positions[-1], "a page")
            # The first while it still starts, the others while it folds.
            threading.Event().wait(draw.uniform(0, 0.7))
            # Before its processes exist the signal simply ends the command.
            assert stopped(command, settings) in {0, -signal.SIGTERM}, command.output()
        positions.append(position(settings, memory))
        assert "Traceback" not in command.output()
        if positions[-1] == memory.log.head():
            # A quick machine was done before the last signal.
            break
    assert positions == sorted(positions)
    assert any(0 < reached < memory.log.head() for reached in positions)
    assert status(settings, memory.log).index.attempts == 0
    with running(settings, "worker", "--queues", "live", output=tmp_path / "last.log", keep=False):
        eventually(lambda: folded(memory), "the index at the head")
    assert difference(memory, settings.database_url or "") == []
    assert recount(memory, settings.database_url or "") == []


def position(settings: Settings, memory: Memory) -> int:
    """Return how far the index has folded."""
    return status(settings, memory.log).index.position or 0


@pytest.mark.case("I03")
def test_a_page_that_takes_too_long_is_broken_off(tmp_path: Path, settings: Settings, memory: Memory) -> None:
    """The worker stops in time and in good order; no failure is noted; the next one folds the page."""
    memory.facts.set(ALICE, "before", "blue")
    memory.catch_up()
    url = settings.database_url or ""
    with psycopg.connect(url) as blocker:
        generation = control.active(blocker, memory.log.meta.log_id)
        assert generation is not None
        control.use(blocker, generation)
        blocker.execute("LOCK TABLE memories IN EXCLUSIVE MODE")
        memory.facts.set(ALICE, "during", "blue")
        with running(settings, "worker", output=tmp_path / "worker.log", keep=False) as command:
            eventually(lambda: waits_for_a_lock(url), "a fold that waits")
            assert stopped(command, settings) == 0, command.output()
            assert "fold_cut" in command.output()
        assert not waits_for_a_lock(url)
        assert status(settings, memory.log).index.attempts == 0
    with running(settings, "worker", output=tmp_path / "next.log"):
        eventually(lambda: folded(memory), "the page")
    assert difference(memory, url) == []


def waits_for_a_lock(url: str) -> bool:
    with psycopg.connect(url) as connection:
        statement = (
            "SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database "
            "WHERE NOT granted AND datname = current_database()"
        )
        row = connection.execute(statement).fetchone()
    return row is not None and row[0] > 0


@pytest.fixture
def hanging(settings: Settings, memory: Memory, embedding_server: Server) -> Settings:
    """Settings of an embedding service that takes a quarter of an hour."""
    settings = replace(
        settings, embedder="http", embedding_url=embedding_server.url, embedding_model="m",
        embedding_dimension=DIMENSION, embedding_timeout_ms=900_000,
    )  # fmt: skip
    embedding_server.usual = hangs
    memory.facts.set(ALICE, "k", "blue")
    return settings


@pytest.mark.case("I03")
def test_an_embedder_that_blocks_does_not_hold_the_exit(
    tmp_path: Path, hanging: Settings, memory: Memory, embedding_server: Server
) -> None:
    """The texts that it was asked for are free at once, for the next worker."""
    with running(hanging, "worker", output=tmp_path / "worker.log", keep=False) as command:
        eventually(lambda: bool(embedding_server.requests), "a request that hangs")
        assert stopped(command, hanging) == 0, command.output()
    embedding_server.usual = well
    # Sooner than the claim of a killed worker would end.
    with running(hanging, "worker", output=tmp_path / "next.log", keep=False):
        eventually(lambda: status(hanging, memory.log).index.unembedded == 0, "the vector")


def test_a_second_signal_ends_it_at_once(tmp_path: Path, hanging: Settings, embedding_server: Server) -> None:
    """Whatever time it may take to stop; the same signal twice in a moment is one."""
    patient = replace(hanging, shutdown_ms=600_000)
    command = Command(patient, "worker", output=tmp_path / "worker.log", keep=False)
    eventually(lambda: bool(embedding_server.requests), "a request that hangs")
    command.process.send_signal(signal.SIGTERM)
    command.process.send_signal(signal.SIGTERM)
    with pytest.raises(subprocess.TimeoutExpired):
        command.process.wait(timeout=2 * SAME_SECONDS)
    command.process.send_signal(signal.SIGTERM)
    assert command.process.wait(timeout=5) == 1
    command.stop()
