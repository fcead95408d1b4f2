"""A replay takes no more memory the longer it goes on, also with large events in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fixtures.index import checkpoint
from fixtures.workers import eventually, running
from foldlog import Memory, composition
from foldlog.embedded import Valkey
from foldlog.settings import Settings
from foldlog.workers.porter import family, resident_bytes

ALICE = "user:alice"

#: Characters of a large event.
LARGE = 1_000_000

#: How much more memory there may be at the end than half way.
GROWTH = 1.1

pytestmark = pytest.mark.xdist_group("memory")


@pytest.fixture
def settings(tmp_path: Path, database_url: str, valkey: Valkey) -> Settings:
    return Settings(
        log=tmp_path / "memory.db", database_url=database_url, redis_url=valkey.url, embedder="none"
    )


@pytest.fixture
def memory(settings: Settings) -> Iterator[Memory]:
    with composition.open_memory(settings=settings) as memory:
        yield memory


def fill(memory: Memory, events: int, large: int) -> None:
    """Append facts, spread over them some large ones."""
    words = " ".join(f"w{number:05d}" for number in range(5000))
    text = (words * (LARGE // len(words) + 1))[:LARGE]
    every = events // large
    for start in range(0, events, 1000):
        with memory.batch():
            for number in range(start, start + 1000):
                # Few words: what is kept of each new one, up to a limit, is not what is looked for here.
                value = text if number % every == every // 2 else f"value {number % 500} of the garden"
                memory.facts.set(ALICE, f"k{number % 5000}", value)


@pytest.mark.case("I05")
@pytest.mark.parametrize(
    ("events", "large", "processes", "threads"),
    [
        # Threads and processes take turns: in a short replay some would come to a large event late.
        pytest.param(20_000, 4, 1, 1, id="short"),
        pytest.param(200_000, 50, 2, 4, id="long", marks=pytest.mark.chaos),
    ],
)
def test_a_replay_levels_off(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    settings: Settings,
    memory: Memory,
    events: int,
    large: int,
    processes: int,
    threads: int,
) -> None:
    """Half way through the workers have all the memory they will ever take."""
    fill(memory, events, large)
    sizes: list[tuple[int, int]] = []

    def folded() -> bool:
        position = checkpoint(memory, settings.database_url or "")
        sizes.append((position, sum(map(resident_bytes, family(command.process.pid)))))
        return position >= events

    arguments = ("--queues", "live", "--threads", str(threads), "--processes", str(processes))
    with running(settings, "worker", *arguments, output=tmp_path / "worker.log", keep=False) as command:
        eventually(folded, "the replay", patience=events / 100)
    half = next(size for position, size in sizes if position >= events / 2)
    end = sizes[-1][1]
    told = f"{events} events: {half >> 20} MiB half way, {end >> 20} MiB at the end"
    request.config.get_terminal_writer().line(told)
    assert end <= GROWTH * half
