"""The pulse: each process of a worker command tells the command's porter that it lives, and its numbers.

One datagram a second through a socket in a private folder; nothing is written to a disk, and nobody waits.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import signal
import socket
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from foldlog import metrics
from foldlog.metrics import Snapshot

logger = logging.getLogger(__name__)

#: The environment variable with the socket's path; absent when the command has no porter.
VARIABLE: Final = "FOLDLOG_PULSE"

#: Seconds between two beats.
BEAT_SECONDS: Final = 1.0

#: A porter that was there, and takes no beats for so many seconds, is dead.
LOST_SECONDS: Final = 10.0

#: Largest datagram; the numbers of a process take some thousand bytes.
LARGEST: Final = 1 << 20


class Pulse:
    """One process's side."""

    def __init__(self) -> None:
        self._path = os.environ.get(VARIABLE)
        self._parent = os.getppid()
        self._next = 0.0
        #: When the porter last took a beat.
        self._taken: float | None = None

    def beat(self, now: float, blocked: str | None) -> None:
        """Tell the porter, if it is time; `now` is the monotonic clock's. To be called by the loop itself.

        `blocked` is why this process is of no use at the moment.

        Without the porter nobody would notice that a loop stands still: then the command ends, for
        whoever keeps it to start it again.
        """
        if self._path is None or now < self._next:
            return
        self._next = now + BEAT_SECONDS
        if self._send(self._path, blocked):
            self._taken = now
        elif self._taken is not None and now - self._taken > LOST_SECONDS:
            self._taken = None
            logger.error("the porter is gone; the command ends", extra={"action": "porter_lost"})
            os.kill(self._parent, signal.SIGTERM)

    def _send(self, path: str, blocked: str | None) -> bool:
        beat = {"pid": os.getpid(), "blocked": blocked, "numbers": metrics.snapshot().as_lists()}
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as client:
                client.setblocking(False)
                client.sendto(json.dumps(beat).encode(), path)
        except BlockingIOError:
            # It has many to read, so it lives.
            return True
        except OSError:
            return False
        return True


@dataclass(frozen=True, slots=True)
class Beat:
    """The last word of one process."""

    pid: int
    #: When it came, on the monotonic clock.
    at: float
    blocked: str | None
    numbers: Snapshot


class Pulses:
    """The porter's side: the last beat of every process."""

    def __init__(self, path: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(str(path))
        self._lock = threading.Lock()
        self._beats: dict[int, Beat] = {}
        self._thread = threading.Thread(target=self._listen, name="foldlog-pulses", daemon=True)
        self._thread.start()

    def beats(self) -> list[Beat]:
        """Return the last beat of every process."""
        with self._lock:
            return sorted(self._beats.values(), key=lambda beat: beat.pid)

    def numbers(self) -> Snapshot:
        """Return the numbers of all processes, added up."""
        found = Snapshot()
        for beat in self.beats():
            found.add(beat.numbers)
        return found

    def close(self) -> None:
        """Listen no more."""
        # Wakes the thread, as closing would not.
        self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._socket.close()

    def _listen(self) -> None:
        while content := self._socket.recv(LARGEST):
            told = json.loads(content)
            numbers = Snapshot.from_lists(told["numbers"])
            beat = Beat(told["pid"], time.monotonic(), told["blocked"], numbers)
            with self._lock:
                self._beats[beat.pid] = beat


def make_place() -> Path:
    """Make the private folder of a command's socket, and return the socket's path."""
    return Path(tempfile.mkdtemp(prefix="foldlog-")) / "pulse"


def remove_place(path: Path) -> None:
    """Remove the folder; whoever comes second finds nothing to do."""
    shutil.rmtree(path.parent, ignore_errors=True)
