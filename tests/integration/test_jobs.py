"""Jobs on a board: leases, schedules, failures, and what one run leaves for the next."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from fixtures.logs import Clock
from foldlog import Memory
from foldlog.errors import FoldlogError
from foldlog.events.board import FIRST_RETRY_MS, LEASE_MS, Board
from foldlog.workers.jobs.job import Result, Work
from foldlog.workers.jobs.runner import BUSY, DONE, FAILED, NOT_DUE, Runner

HOUR = 3_600_000
DAY = 24 * HOUR


@dataclass
class Recorder:
    """A job that writes down when it ran, and does what it is told."""

    name: str = "tidy"
    every_ms: int | None = HOUR
    whole: bool = False
    act: Callable[[Work], Result] = lambda work: Result(counts={"done": 1})
    runs: list[int] = field(default_factory=list)
    states: list[Mapping[str, Any]] = field(default_factory=list)

    def run(self, work: Work) -> Result:
        self.runs.append(work.now)
        self.states.append(work.state)
        return self.act(work)


def runner(memory: Memory, *jobs: Recorder, owner: str = "one") -> Runner:
    return Runner(memory, {job.name: job for job in jobs}, owner, slice_ms=10_000)


def test_three_workers_and_one_clock(memory: Memory, clock: Clock) -> None:
    """A day in steps of a minute: each schedule fires once, whoever looks first."""
    hourly, quarterly = Recorder(), Recorder(name="often", every_ms=HOUR // 4)
    workers = [runner(memory, hourly, quarterly, owner=name) for name in ("one", "two", "three")]
    began = clock.now
    for minute in range(24 * 60 + 1):
        for place in range(3):
            workers[(minute + place) % 3].run_due()
        clock.pass_ms(60_000)
    assert [(at - began) // HOUR for at in hourly.runs] == list(range(1, 25))
    assert len(quarterly.runs) == 96
    assert len(set(quarterly.runs)) == 96


def test_a_job_that_somebody_has_is_left_alone(memory: Memory, clock: Clock) -> None:
    """Until it is given back, or until the lease of a worker that was killed has ended."""
    job = Recorder()
    Board(memory.log, "killed").take("tidy")
    assert runner(memory, job).run("tidy").outcome == BUSY
    clock.pass_ms(LEASE_MS + 1)
    assert runner(memory, job).run("tidy").outcome == DONE
    assert runner(memory, job, owner="two").run("tidy").outcome == DONE


def test_a_worker_that_stops_lets_its_job_go(memory: Memory, clock: Clock) -> None:
    """Another one runs it at once, and whatever the first still does is not noted."""
    outcomes = []

    def work(work: Work) -> Result:
        stopping.let_go()
        outcomes.append(runner(memory, Recorder(), owner="two").run("tidy").outcome)
        stopping.let_go()
        return Result(counts={"late": 1})

    stopping = runner(memory, Recorder(act=work))
    stopping.run("tidy")
    assert outcomes == [DONE]
    entry = Board(memory.log, "any").entries()["tidy"]
    assert (entry.result["counts"], entry.attempts) == ({"done": 1}, 0)


def test_a_lease_of_a_clock_that_was_wrong_counts_for_nothing(memory: Memory, clock: Clock) -> None:
    """The clock was a day ahead, and was set right: the job is not blocked for a day."""
    clock.pass_ms(DAY)
    Board(memory.log, "killed").take("tidy")
    clock.pass_ms(-DAY)
    assert runner(memory, Recorder()).run("tidy").outcome == DONE


def test_a_schedule_of_a_clock_that_was_wrong_counts_for_nothing(memory: Memory, clock: Clock) -> None:
    """Nor does one of an interval that was longer before."""
    job = Recorder(every_ms=DAY)
    assert runner(memory, job).due() == []
    job.every_ms = HOUR
    assert runner(memory, job).due() == ["tidy"]


def test_a_lease_is_kept_while_the_job_works(memory: Memory, clock: Clock) -> None:
    """And lost when the process stood still for too long: the run then stops, and notes nothing."""
    outcomes = []

    def work(work: Work) -> Result:
        clock.pass_ms(LEASE_MS + 1)
        outcomes.append(runner(memory, Recorder(), owner="two").run("tidy").outcome)
        return Result(counts={"late": 1})

    assert runner(memory, Recorder(act=work)).run("tidy").outcome == DONE
    assert outcomes == [DONE]
    entry = Board(memory.log, "any").entries()["tidy"]
    assert entry.result["counts"] == {"done": 1}


def test_two_that_see_the_same_job_due(memory: Memory, clock: Clock) -> None:
    """The second finds that it has just been run."""
    job = Recorder()
    one, two = runner(memory, job), runner(memory, job, owner="two")
    one.due()
    clock.pass_ms(HOUR)
    assert two.due() == ["tidy"]
    assert [item.outcome for item in one.run_due()] == [DONE]
    # As if it had looked before the first was done.
    assert two._run(job, only_due=job.every_ms).outcome == NOT_DUE
    assert len(job.runs) == 1


@pytest.mark.parametrize("error", [FoldlogError("the model is away"), ValueError("a bug")])
def test_a_job_that_fails_is_tried_again_later(memory: Memory, clock: Clock, error: Exception) -> None:
    """The others go on; the reason is on the board; each time it waits longer, up to its interval."""

    def fail(work: Work) -> Result:
        raise error

    failing, well = Recorder(name="failing", act=fail), Recorder(name="well")
    worker = runner(memory, failing, well)
    worker.due()
    clock.pass_ms(HOUR)
    assert {item.job: item.outcome for item in worker.run_due()} == {"failing": FAILED, "well": DONE}
    board = Board(memory.log, "any")
    assert board.entries()["failing"].error == str(error)
    waits = []
    for _ in range(12):
        entry = board.entries()["failing"]
        assert entry.next_run is not None
        waits.append(entry.next_run - clock.now)
        clock.pass_ms(waits[-1])
        worker.run_due()
    assert waits[:3] == [FIRST_RETRY_MS, 2 * FIRST_RETRY_MS, 4 * FIRST_RETRY_MS]
    assert max(waits) == HOUR
    failing.act = lambda work: Result()
    clock.pass_ms(HOUR)
    worker.run_due()
    entry = board.entries()["failing"]
    assert (entry.error, entry.attempts) == (None, 0)


def test_what_is_left_over_is_done_at_once(memory: Memory, clock: Clock) -> None:
    """A job works in bounded pieces; the next one begins with what the last one left."""
    job = Recorder()
    job.act = lambda work: Result(more=len(job.runs) < 3, state={"reached": len(job.runs)})
    worker = runner(memory, job)
    worker.due()
    clock.pass_ms(HOUR)
    while worker.run_due():
        pass
    assert job.states == [{}, {"reached": 1}, {"reached": 2}]
    assert len(set(job.runs)) == 1


def test_a_dry_run_notes_nothing(memory: Memory) -> None:
    """It runs although somebody has the job."""
    Board(memory.log, "other").take("tidy")
    before = Board(memory.log, "any").entries()
    job = Recorder(act=lambda work: Result(counts={"dry": int(work.dry_run)}))
    ran = runner(memory, job).run("tidy", dry_run=True)
    assert ran.result == Result(counts={"dry": 1})
    assert Board(memory.log, "any").entries() == before


def test_a_run_stops_when_it_is_told_to(memory: Memory, clock: Clock) -> None:
    """By a signal; and a scheduled one when its time is up."""
    stopped = []

    def work(work: Work) -> Result:
        stopped.append(work.stop())
        return Result()

    job = Recorder(act=work)
    Runner(memory, {"tidy": job}, "one", slice_ms=10_000, stop=lambda: True).run("tidy")
    hasty = Runner(memory, {"tidy": job}, "one", slice_ms=0)
    hasty.run("tidy")
    clock.pass_ms(HOUR)
    hasty.run_due()
    job.whole = True
    clock.pass_ms(HOUR)
    hasty.run_due()
    assert stopped == [True, False, True, False]
