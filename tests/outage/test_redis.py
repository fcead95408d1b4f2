"""Redis in every kind of trouble: writers do not notice, the workers say so, and everything is folded."""

from __future__ import annotations

import json
import os
import signal
import socket
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
import redis

from fixtures._asking import answers, ask, free_port, number, numbers, reasons
from fixtures.door import BLACK_HOLE, OPEN, SHUT, Door
from fixtures.index import difference
from fixtures.workers import PATIENCE, eventually, folded, running
from foldlog import Memory, composition
from foldlog.embedded import Valkey
from foldlog.events.types import FactExpired
from foldlog.settings import Settings, environment
from foldlog.status import status

ALICE = "user:alice"

#: Most messages for ten thousand appends.
MOST_MESSAGES = 300

#: Appends facts in a process of its own, and prints how long each took, in seconds.
WRITER = """
import json, sys, time
import foldlog
times = []
with foldlog.open() as memory:
    for number in range(int(sys.argv[2])):
        began = time.perf_counter()
        memory.facts.set("user:alice", f"{sys.argv[1]}{number % 500}", f"value {number} of the garden")
        times.append(time.perf_counter() - began)
print(json.dumps(times))
"""

pytestmark = pytest.mark.xdist_group("redis")


@pytest.fixture
def settings(tmp_path: Path, database_url: str, door: Door) -> Settings:
    return Settings(log=tmp_path / "memory.db", database_url=database_url, redis_url=door.url)


@pytest.fixture
def memory(settings: Settings) -> Iterator[Memory]:
    with composition.open_memory(settings=settings) as memory:
        yield memory


def append(settings: Settings, prefix: str, count: int) -> list[float]:
    """Append in another process; return how long each append took, in seconds."""
    done = subprocess.run(
        [sys.executable, "-c", WRITER, prefix, str(count)],
        env=os.environ | environment(settings),
        capture_output=True,
        text=True,
        check=True,
    )
    times: list[float] = json.loads(done.stdout)
    return times


@contextmanager
def unreachable(door: Door, valkey: Valkey) -> Iterator[None]:
    door.set(SHUT)
    yield
    door.set(OPEN)


@contextmanager
def hangs(door: Door, valkey: Valkey) -> Iterator[None]:
    door.set(BLACK_HOLE)
    yield
    door.set(OPEN)


@contextmanager
def full(door: Door, valkey: Valkey) -> Iterator[None]:
    with redis.Redis.from_url(valkey.url) as client:
        client.config_set("maxmemory-policy", "noeviction")
        client.config_set("maxmemory", 1)
        yield
        client.config_set("maxmemory", 0)


@contextmanager
def begun_anew(door: Door, valkey: Valkey) -> Iterator[None]:
    """Killed, and at once there again, empty."""
    pid = valkey.pid()
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    eventually(lambda: not valkey.answers(), "the server's death")
    valkey.ensure()
    yield


TROUBLES = (unreachable, hangs, full, begun_anew)
Trouble = Callable[[Door, Valkey], contextmanager]  # type: ignore[type-arg]


def p99(times: list[float]) -> float:
    return statistics.quantiles(times, n=100)[-1]


@pytest.fixture
def manager(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """Where a service manager as systemd listens, once in a while."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(str(tmp_path / "notify"))
        listener.settimeout(PATIENCE)
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
        monkeypatch.setenv("WATCHDOG_USEC", "60000000")
        yield listener


def test_redis_in_trouble(
    tmp_path: Path,
    settings: Settings,
    memory: Memory,
    door: Door,
    valkey: Valkey,
    manager: socket.socket,
) -> None:
    """Two processes of one command: what is appended meanwhile is folded, and they say what is wrong."""
    port = free_port()
    arguments = ("worker", "--processes", "2", "--http-port", str(port))
    with running(settings, *arguments, output=tmp_path / "worker.log", keep=False) as command:
        assert manager.recv(1000).startswith(b"READY=1\n")
        assert manager.recv(1000) == b"WATCHDOG=1"
        assert ask(port, "/healthz")[0] == 200
        assert len(json.loads(ask(port, "/healthz")[1])["processes"]) == 2
        for trouble in TROUBLES:
            eventually(answers(port, "/readyz", 200), "a worker that is ready")
            with trouble(door, valkey):
                append(settings, trouble.__name__, 50)
                eventually(lambda: folded(memory), f"the fold while Redis is {trouble.__name__}")
                if trouble is not begun_anew:
                    eventually(lambda: "Redis does not answer" in reasons(port), "a complaint")
                    assert ask(port, "/healthz")[0] == 200
        eventually(answers(port, "/readyz", 200), "a worker that is ready")
        append(settings, "after", 50)
        eventually(lambda: folded(memory), "the last fold")
        head = memory.log.head()
        eventually(lambda: number(port, "foldlog_folded_events_total") == head, "the numbers of both")
        # What is measured by a look at the stores is good for a second.
        eventually(lambda: number(port, "foldlog_index_position") == head, "a look at the index")
        found = numbers(port)
        assert found["foldlog_log_position", ()] == head
        assert found["foldlog_lag_events", ()] == 0
        assert found["foldlog_live_processes", ()] == 2
        assert found["foldlog_index_state", (("state", "ok"),)] == 1
        assert found["foldlog_doorbell_failures_total", ()] > 0
        assert 0 < number(port, "foldlog_doorbell_messages_total") < MOST_MESSAGES
        assert "Traceback" not in command.output()
        lines = [json.loads(line) for line in command.output().splitlines()]
        assert {"time", "level", "logger", "pid", "message"} <= set.intersection(*map(set, lines))
        assert len({line["pid"] for line in lines}) == 4
    told = list(iter(lambda: manager.recv(1000), b"STOPPING=1"))
    assert set(told) <= {b"WATCHDOG=1"}
    assert difference(memory, settings.database_url or "") == []


@pytest.mark.case("I01")
def test_redis_begins_anew_during_a_backfill(
    tmp_path: Path, settings: Settings, memory: Memory, door: Door, valkey: Valkey
) -> None:
    """Empty, twice: the log is folded, facts end when they should, and no message waited for either."""
    settings = replace(settings, page_events=25, ttl_every_ms=200, ttl_grace_ms=0)
    memory.facts.set(ALICE, "monthly", "blue", ttl=30 * 86_400_000)
    for _ in range(2000):
        memory.facts.set(ALICE, "lasting", "blue")
    with running(settings, "worker", "--processes", "2", output=tmp_path / "worker.log") as command:
        eventually(lambda: (status(settings, memory.log).index.position or 0) > 25, "a page")
        memory.facts.set(ALICE, "brief", "blue", ttl=1000)
        with begun_anew(door, valkey):
            assert not folded(memory)
            eventually(lambda: folded(memory), "the index at the head")
            eventually(lambda: collected(memory, "brief") == 1, "the end of the brief one")
        memory.facts.set(ALICE, "brief", "green", ttl=1000)
        with begun_anew(door, valkey):
            eventually(lambda: collected(memory, "brief") == 2, "its end again")
        eventually(lambda: folded(memory), "the index at the head")
        with redis.Redis.from_url(valkey.url) as client:
            assert client.keys("*.DQ*") == []
        assert command.starts == 1
    assert {fact.key for fact in memory.facts.list(ALICE)} == {"monthly", "lasting"}
    assert difference(memory, settings.database_url or "") == []


def collected(memory: Memory, key: str) -> int:
    """Return how many times a fact ended."""
    return sum(isinstance(event.record, FactExpired) for event in memory.history.fact(ALICE, key).events)


@pytest.mark.chaos
@pytest.mark.parametrize("trouble", TROUBLES)
def test_writers_do_not_notice(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    settings: Settings,
    memory: Memory,
    door: Door,
    valkey: Valkey,
    trouble: Trouble,
) -> None:
    """Ten thousand appends in another process, in turns with as many while Redis is well."""
    port = free_port()
    with running(settings, "worker", "--http-port", str(port), output=tmp_path / "worker.log"):
        eventually(answers(port, "/readyz", 200), "a worker that is ready")
        append(settings, "warm", 1000)
        healthy: list[float] = []
        troubled: list[float] = []
        messages = 0.0
        # In turns: whatever else the machine does meanwhile is then in both.
        for _ in range(4):
            healthy += append(settings, "healthy", 2500)
            eventually(lambda: folded(memory), "the fold")
            before = number(port, "foldlog_doorbell_messages_total")
            with trouble(door, valkey):
                troubled += append(settings, "troubled", 2500)
            eventually(lambda: folded(memory), "the fold of all")
            eventually(answers(port, "/readyz", 200), "a worker that is ready again")
            messages += number(port, "foldlog_doorbell_messages_total") - before
    ratios = statistics.median(troubled) / statistics.median(healthy), p99(troubled) / p99(healthy)
    told = f"{trouble.__name__}: median {ratios[0]:.2f}x, p99 {ratios[1]:.2f}x, {messages:.0f} messages"
    request.config.get_terminal_writer().line(told)
    assert difference(memory, settings.database_url or "") == []
    assert messages <= MOST_MESSAGES
    assert ratios[0] <= 1.2
    assert ratios[1] <= 2
