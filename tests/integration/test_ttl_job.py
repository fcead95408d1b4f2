"""The job ttl: what has expired is collected, what was set anew is not, whatever is down."""

from __future__ import annotations

import threading
import time
from datetime import timedelta
from pathlib import Path

import pytest

from fixtures.index import difference
from fixtures.logs import Clock
from fixtures.workers import eventually, running
from foldlog import Memory, composition
from foldlog.events.board import Board
from foldlog.events.types import FactExpired
from foldlog.settings import Settings
from foldlog.workers.jobs.job import Work
from foldlog.workers.jobs.ttl import BATCH, MAX_SKEW_MS, TtlJob

ALICE = "user:alice"
GRACE = 300_000


def job(clock_of_postgres: int | None = None) -> TtlJob:
    return TtlJob(Settings(), lambda: clock_of_postgres)


def work(memory: Memory, *, dry_run: bool = False) -> Work:
    return Work(memory=memory, now=memory.log.clock(), dry_run=dry_run)


@pytest.mark.conformance(112)
def test_only_what_expired_long_enough_ago_leaves(memory: Memory, clock: Clock) -> None:
    """After the grace; what lives, or has no ttl, stays; a second run finds nothing."""
    memory.facts.set(ALICE, "brief", 1, ttl=1000)
    memory.facts.set(ALICE, "long", 1, ttl=timedelta(days=1))
    memory.facts.set(ALICE, "for ever", 1)
    clock.pass_ms(1001)
    assert job().run(work(memory)).counts == {"expired": 0}
    assert memory.facts.get(ALICE, "brief") is None
    clock.pass_ms(GRACE)
    head = memory.log.head()
    assert job().run(work(memory, dry_run=True)).counts == {"expired": 1}
    assert memory.log.head() == head
    assert job().run(work(memory)).counts == {"expired": 1}
    assert job().run(work(memory)).counts == {"expired": 0}
    assert [fact.key for fact in memory.facts.list(ALICE, include_expired=True)] == ["for ever", "long"]
    (last,) = memory.history.fact(ALICE, "brief").events[-1:]
    assert last.record == FactExpired(expired_version=1)
    assert last.provenance.actor == "job:ttl"


def test_many_leave_in_pieces(memory: Memory, clock: Clock) -> None:
    """A run that is told to stop says that there is more; the next one does the rest."""
    with memory.batch():
        for number in range(BATCH + 10):
            memory.facts.set(ALICE, f"k{number}", 1, ttl=1)
    clock.pass_ms(GRACE + 2)
    stops = iter([False, True])
    given = Work(memory=memory, now=clock.now, stop=lambda: next(stops))
    result = job().run(given)
    assert (result.counts, result.more) == ({"expired": BATCH}, True)
    assert job().run(work(memory)).counts == {"expired": 10}


@pytest.mark.parametrize("skew", [MAX_SKEW_MS + 1, -MAX_SKEW_MS - 1])
def test_a_clock_that_is_wrong_ends_nothing(memory: Memory, clock: Clock, skew: int) -> None:
    """It differs from Postgres' by minutes: nothing is collected, and the result says so."""
    memory.facts.set(ALICE, "brief", 1, ttl=1)
    clock.pass_ms(GRACE + 2)
    result = job(clock.now + skew).run(work(memory))
    assert result.counts == {}
    assert "set them right" in result.problems[0]
    assert job(clock.now + MAX_SKEW_MS).run(work(memory)).counts == {"expired": 1}


@pytest.mark.conformance(167)
def test_a_fact_set_anew_survives(tmp_path: Path) -> None:
    """Raced 500 times: whoever comes first, the new value is there afterwards, and the log is in order."""
    settings = Settings(log=tmp_path / "memory.db", database_url="postgresql://nobody@/none?host=/nowhere")
    with composition.open_memory(settings=settings) as memory:
        eager = TtlJob(Settings(ttl_grace_ms=0), lambda: None)
        gate = threading.Barrier(2)
        rounds = range(500)

        def collect() -> None:
            for _ in rounds:
                gate.wait()
                eager.run(work(memory))

        collector = threading.Thread(target=collect)
        collector.start()
        lost = []
        for number in rounds:
            memory.facts.set(ALICE, "k", -1, ttl=1)
            expires = time.time_ns() // 1_000_000 + 1
            while time.time_ns() // 1_000_000 <= expires:
                pass
            gate.wait()
            memory.facts.set(ALICE, "k", number)
            fact = memory.facts.get(ALICE, "k")
            lost += [] if fact is not None and fact.value == number else [number]
        collector.join()
        assert lost == []
        assert memory.verify().ok


@pytest.mark.conformance(167)
def test_expired_facts_leave_the_index(tmp_path: Path, database_url: str, clock: Clock) -> None:
    """And stay away after a rebuild."""
    settings = Settings(log=tmp_path / "memory.db", database_url=database_url, embedder="none")
    with composition.open_memory(settings=settings, clock=clock) as memory:
        memory.facts.set(ALICE, "brief", "blue", ttl=1000)
        memory.facts.set(ALICE, "stays", "blue")
        memory.catch_up()
        clock.pass_ms(GRACE + 1001)
        assert job().run(work(memory)).counts == {"expired": 1}
        memory.catch_up()
        assert difference(memory, database_url) == []
        memory.rebuild()
        assert difference(memory, database_url) == []
        assert [item.id for item in memory.recall("blue", ALICE).memories] == ["stays"]


def test_a_worker_collects_on_a_schedule(tmp_path: Path, valkey: object, database_url: str) -> None:
    """A real process: the jobs fire by themselves, and Postgres' clock is asked."""
    settings = Settings(
        log=tmp_path / "memory.db",
        database_url=database_url,
        redis_url=valkey.url,  # type: ignore[attr-defined]
        embedder="none",
        ttl_every_ms=500,
        ttl_grace_ms=1,
        verify_every_ms=1000,
    )
    with composition.open_memory(settings=settings) as memory:
        memory.facts.set(ALICE, "brief", 1, ttl=1)
        with running(settings, "worker", output=tmp_path / "worker.log", keep=False):
            eventually(lambda: memory.facts.count_expired() == 0, "the expired fact is collected")
            board = Board(memory.log, "test")
            eventually(
                lambda: "verify" in board.entries() and board.entries()["verify"].finished_at is not None,
                "the job verify has run",
            )
            assert board.entries()["verify"].result["problems"] == []
        assert memory.history.fact(ALICE, "brief").events[-1].type == "FactExpired"
