"""The porter: a small process of a worker command that answers for its worker processes.

It tells HTTP and systemd how they are. It does none of their work, so that it answers while they are busy.
"""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from foldlog import logs
from foldlog.errors import FoldlogError
from foldlog.exposition import CONTENT_TYPE, Collector, Gauges, text
from foldlog.metrics import Key
from foldlog.settings import Settings, load
from foldlog.workers import pulse, systemd
from foldlog.workers.endpoint import Answer, Endpoint
from foldlog.workers.pulse import Pulses
from foldlog.workers.queues import QUEUES
from foldlog.workers.queues import VARIABLE as QUEUES_VARIABLE
from foldlog.workers.readiness import Look, Readiness, Stores

logger = logging.getLogger(__name__)

#: The environment variable with the number of worker processes.
PROCESSES: Final = "FOLDLOG_WORKER_PROCESSES"

#: A process whose loop gave no beat for so many seconds does not live. A loop that waits for a server
#: that hangs may take half of it.
LIVE_SECONDS: Final = 60.0

#: Seconds between two looks at the processes.
LOOK_SECONDS: Final = 0.5

#: The exit code of a command that failed.
FAILED: Final = 3


def is_needed(settings: Settings) -> bool:
    """Say whether anybody asks how a command is."""
    return settings.http_port > 0 or systemd.wanted()


def serve() -> int:
    """Answer until the command ends; Dramatiq runs it in a process of its own."""
    # The command is told, and tells its processes.
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    settings = load()
    logs.configure(settings)
    place = Path(os.environ[pulse.VARIABLE])
    queues = frozenset(os.environ.get(QUEUES_VARIABLE, "").split() or QUEUES)
    try:
        porter = Porter(int(os.environ[PROCESSES]), Pulses(place), Readiness(Stores(settings, queues)))
        if settings.http_port:
            endpoint = Endpoint(settings.http_host, settings.http_port, porter.paths())
            threading.Thread(target=endpoint.serve_forever, name="foldlog-http", daemon=True).start()
        porter.run()
    except FoldlogError as error:
        logger.error("the porter cannot start", extra={"action": "porter_failed", "error": str(error)})  # noqa: TRY400
        return FAILED
    finally:
        # Also when a signal ends it, by SystemExit.
        systemd.tell("STOPPING=1")
        pulse.remove_place(place)
    return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """Whether every process of the command lives."""

    live: int
    wanted: int
    #: Process id -> seconds since its last beat.
    ages: dict[int, float]

    @property
    def fine(self) -> bool:
        """Say whether all of them live."""
        return self.live >= self.wanted

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON."""
        processes = [{"pid": pid, "seconds": round(age, 1)} for pid, age in self.ages.items()]
        return {"live": self.fine, "wanted": self.wanted, "processes": processes}


class Porter:
    """Answers for the processes of one command."""

    def __init__(self, processes: int, pulses: Pulses, readiness: Readiness) -> None:
        self._processes = processes
        self._pulses = pulses
        self._readiness = readiness
        self._parent = os.getppid()

    def health(self) -> Health:
        """Return which processes live."""
        now = time.monotonic()
        ages = {beat.pid: now - beat.at for beat in self._pulses.beats()}
        live = sum(age < LIVE_SECONDS for age in ages.values())
        return Health(live=live, wanted=self._processes, ages=ages)

    def paths(self) -> dict[str, Callable[[], Answer]]:
        """Return what answers which path."""
        return {"/healthz": self._healthz, "/readyz": self._readyz, "/metrics": self._metrics}

    def _healthz(self) -> Answer:
        health = self.health()
        return Answer.of(health.as_dict(), good=health.fine)

    def _readyz(self) -> Answer:
        reasons = self._reasons(self._readiness.now())
        return Answer.of({"ready": not reasons, "reasons": reasons}, good=not reasons)

    def _reasons(self, found: Look) -> list[str]:
        """Return why the command is not ready, each reason once."""
        health = self.health()
        own = [] if health.fine else [f"{health.live} of {health.wanted} processes live"]
        blocked = [beat.blocked for beat in self._pulses.beats() if beat.blocked]
        return list(dict.fromkeys([*own, *found.reasons, *blocked]))

    def _metrics(self) -> Answer:
        content = text(Collector(self._pulses.numbers, self._gauges))
        return Answer(200, content, CONTENT_TYPE)

    def _gauges(self) -> Gauges:
        found, health = self._readiness.now(), self.health()
        own: dict[Key, float] = {
            ("ready", ()): float(not self._reasons(found)),
            ("live_processes", ()): health.live,
            ("resident_bytes", ()): sum(map(resident_bytes, family(self._parent))),
        }
        return own | found.gauges

    def run(self) -> None:
        """Tell systemd how the processes are, until the command is gone."""
        every = systemd.interval()
        told_ready, next_sign = False, 0.0
        while os.getppid() == self._parent:
            health = self.health()
            if health.fine and not told_ready:
                told_ready = True
                logger.info("all processes live", extra={"action": "live", "processes": health.wanted})
                systemd.tell("READY=1", f"STATUS={health.wanted} processes live")
            if every is not None and health.fine and time.monotonic() >= next_sign:
                next_sign = time.monotonic() + every
                systemd.tell("WATCHDOG=1")
            time.sleep(LOOK_SECONDS if every is None else min(LOOK_SECONDS, every))


def family(pid: int) -> Iterator[int]:
    """Yield a process and all that it started, where the system tells."""
    yield pid
    # Each thread has the children that it started itself.
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = path.read_text().split()
        except OSError:
            continue
        for child in children:
            yield from family(int(child))


def resident_bytes(pid: int) -> int:
    """Return how much memory a process has; 0 where that cannot be told."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")
