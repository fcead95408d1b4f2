"""The porter: what it tells of the processes of a command, over HTTP and to systemd."""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fixtures._asking import ask, free_port, numbers
from fixtures.workers import eventually
from foldlog import metrics
from foldlog.errors import SettingsError
from foldlog.workers import endpoint, porter, pulse, readiness, systemd
from foldlog.workers.endpoint import Endpoint
from foldlog.workers.porter import Porter
from foldlog.workers.pulse import Pulse, Pulses
from foldlog.workers.readiness import Look, Readiness


class Stores:
    """Stores that are as a test wants them."""

    def __init__(self) -> None:
        self.found = Look(gauges={("lag_events", ()): 7.0})
        self.looks = 0
        #: Cleared while they do not answer.
        self.answer = threading.Event()
        self.answer.set()

    def look(self) -> Look:
        self.looks += 1
        self.answer.wait()
        return self.found


@pytest.fixture
def stores() -> Iterator[Stores]:
    found = Stores()
    yield found
    found.answer.set()


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(pulse.VARIABLE, str(tmp_path / "pulse"))
    return tmp_path / "pulse"


@pytest.fixture
def one(place: Path, stores: Stores, monkeypatch: pytest.MonkeyPatch) -> Iterator[Porter]:
    """A porter for one process, this one."""
    monkeypatch.setattr(readiness, "FRESH_SECONDS", 0.0)
    pulses = Pulses(place)
    yield Porter(1, pulses, Readiness(stores))
    pulses.close()


@pytest.fixture
def port(one: Porter) -> Iterator[int]:
    """Where it answers."""
    with Endpoint("127.0.0.1", free_port(), one.paths()) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


def beat(port: int, blocked: str | None = None) -> None:
    """Let this process give a sign, and wait until the porter has it."""
    Pulse().beat(time.monotonic(), blocked)
    eventually(lambda: bool(json.loads(ask(port, "/healthz")[1])["processes"]), "the beat")


def test_a_process_that_never_came_or_stands_still(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Live means that the loop of every process has beaten lately."""
    assert ask(port, "/healthz")[0] == 503
    beat(port)
    code, text = ask(port, "/healthz")
    assert (code, json.loads(text)["live"]) == (200, True)
    assert json.loads(text)["processes"][0]["pid"] == os.getpid()
    monkeypatch.setattr(porter, "LIVE_SECONDS", 0.0)
    code, text = ask(port, "/healthz")
    assert (code, json.loads(text)["live"]) == (503, False)
    assert "0 of 1 processes live" in ask(port, "/readyz")[1]


def test_ready_and_why_not(port: int, stores: Stores) -> None:
    """Each reason is told, also one that only a process knows."""
    beat(port)
    assert ask(port, "/readyz") == (200, '{"ready": true, "reasons": []}\n')
    stores.found = Look(reasons=["Postgres is away"])
    beat(port, blocked="it cannot fold")
    told = '{"ready": false, "reasons": ["Postgres is away", "it cannot fold"]}\n'
    eventually(lambda: ask(port, "/readyz") == (503, told), "both reasons")
    assert numbers(port)["foldlog_ready", ()] == 0


def test_stores_that_hang_hold_nobody_up(port: int, stores: Stores, monkeypatch: pytest.MonkeyPatch) -> None:
    """The question is answered, and asked only once however many want to know."""
    monkeypatch.setattr(readiness, "PATIENCE_SECONDS", 0.1)
    beat(port)
    before = stores.looks
    stores.answer.clear()
    for _ in range(3):
        code, text = ask(port, "/readyz")
        assert code == 503
        assert "did not answer within" in text
    assert stores.looks == before + 1
    assert ask(port, "/healthz")[0] == 200
    stores.answer.set()
    eventually(lambda: ask(port, "/readyz")[0] == 200, "the stores")


def test_metrics_are_those_of_the_processes(port: int) -> None:
    """What they counted, what was looked at, and how much memory they have."""
    metrics.count("doorbell_failures", 3)
    beat(port)
    found = numbers(port)
    assert found["foldlog_doorbell_failures_total", ()] >= 3
    assert found["foldlog_lag_events", ()] == 7
    assert found["foldlog_live_processes", ()] == 1
    assert found["foldlog_resident_bytes", ()] > 1 << 20
    assert found["foldlog_ready", ()] == 1


def test_other_paths_and_a_client_that_says_nothing(port: int) -> None:
    """Neither is an error, nor keeps others from their answers."""
    assert ask(port, "/nothing") == (404, '{"paths": ["/healthz", "/metrics", "/readyz"]}')
    with socket.create_connection(("127.0.0.1", port)):
        assert ask(port, "/metrics?x=1")[0] == 200
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.sendall(b"HEAD /metrics HTTP/1.0\r\n\r\n")
        head = client.makefile("rb").read()
    assert head.startswith(b"HTTP/1.1 200")
    assert head.endswith(b"\r\n\r\n")


def test_a_port_that_is_taken() -> None:
    """The error names the setting; the port of nobody is never taken."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        number = taken.getsockname()[1]
        with pytest.raises(SettingsError, match="--http-port or FOLDLOG_HTTP_PORT"):
            endpoint.check_port("127.0.0.1", number)
        with pytest.raises(SettingsError, match=str(number)):
            Endpoint("127.0.0.1", number, {})
    endpoint.check_port("127.0.0.1", 0)


def test_a_process_without_its_porter_ends_the_command(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody would notice any more that it stands still; a porter that never came is no reason."""
    killed: list[int] = []
    monkeypatch.setattr(os, "kill", lambda pid, number: killed.append(pid))
    mine = Pulse()
    mine.beat(0.0, None)
    mine.beat(100.0, None)
    assert killed == []
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(str(place))
        mine.beat(200.0, None)
        assert json.loads(listener.recv(1 << 20))["pid"] == os.getpid()
    place.unlink()
    mine.beat(205.0, None)
    assert killed == []
    mine.beat(211.0, None)
    mine.beat(230.0, None)
    assert killed == [os.getppid()]


def test_without_a_porter_nothing_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command whose health nobody asks for has none."""
    monkeypatch.delenv(pulse.VARIABLE, raising=False)
    Pulse().beat(0.0, None)


@pytest.fixture
def manager(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """A socket as systemd has it."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(str(tmp_path / "notify"))
        listener.settimeout(10)
        monkeypatch.setenv(systemd.SOCKET, str(tmp_path / "notify"))
        yield listener


def test_systemd_is_told_only_while_all_live(
    one: Porter, manager: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ready once, then a sign in every quarter of its time; none when a loop stands still."""
    monkeypatch.setenv(systemd.WATCHDOG, "40000")
    parent, gone = os.getppid(), threading.Event()
    monkeypatch.setattr(os, "getppid", lambda: 0 if gone.is_set() else parent)
    thread = threading.Thread(target=one.run)
    thread.start()
    try:
        Pulse().beat(time.monotonic(), None)
        told = manager.recv(1000).decode().splitlines()
        assert told == ["READY=1", "STATUS=1 processes live"]
        assert manager.recv(1000) == b"WATCHDOG=1"
        assert manager.recv(1000) == b"WATCHDOG=1"
        monkeypatch.setattr(porter, "LIVE_SECONDS", 0.0)
        manager.settimeout(0.2)
        # What was sent before stands in the socket's queue.
        eventually(lambda: not has_more(manager), "silence")
    finally:
        gone.set()
        thread.join()


def has_more(manager: socket.socket) -> bool:
    try:
        return bool(manager.recv(1000))
    except TimeoutError:
        return False


def test_systemd_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Telling never fails, also in the abstract namespace."""
    monkeypatch.delenv(systemd.SOCKET, raising=False)
    systemd.tell("READY=1")
    assert not systemd.wanted()
    monkeypatch.setenv(systemd.SOCKET, str(tmp_path / "nobody"))
    systemd.tell("READY=1")
    name = f"foldlog-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(f"\0{name}")
        monkeypatch.setenv(systemd.SOCKET, f"@{name}")
        systemd.tell("READY=1", "STATUS=x")
        assert listener.recv(100) == b"READY=1\nSTATUS=x"
