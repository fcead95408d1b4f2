"""The supervisor stops its worker in the time it has, or at once when somebody is in a hurry."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time

import pytest

from fixtures.workers import alive, eventually
from foldlog.settings import Settings
from foldlog.workers.supervisor import WorkerChild

#: Says that it is there, and does not listen to SIGTERM; so does its child.
STUBBORN = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = os.fork()
if child:
    print(child, flush=True)
time.sleep(600)
"""


@pytest.fixture
def stubborn() -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", STUBBORN], stdout=subprocess.PIPE, text=True, start_new_session=True
    )


def child_of(process: subprocess.Popen[str]) -> int:
    assert process.stdout is not None
    with process.stdout:
        return int(process.stdout.readline())


@pytest.mark.parametrize("hurried", [True, False], ids=["in a hurry", "in time"])
def test_a_worker_that_does_not_stop(stubborn: subprocess.Popen[str], hurried: bool) -> None:
    """It is killed with all its processes: after the time it has, or at the second signal."""
    child = child_of(stubborn)
    hurry = threading.Event()
    if hurried:
        hurry.set()
    keeper = WorkerChild(Settings(shutdown_ms=60_000 if hurried else 200))
    keeper._process = stubborn  # type: ignore[assignment]
    began = time.monotonic()
    keeper.stop(hurry)
    assert time.monotonic() - began < 30
    assert stubborn.returncode == -signal.SIGKILL
    eventually(lambda: not alive(child), "the end of its child")
