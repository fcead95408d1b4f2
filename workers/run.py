"""Run worker processes in the foreground: what `foldlog worker` does."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Final

from foldlog import composition, logs
from foldlog.errors import SettingsError
from foldlog.settings import Settings, environment
from foldlog.workers import endpoint, porter, pulse
from foldlog.workers.queues import NEED_LOG, QUEUES, VARIABLE
from foldlog.workers.stopping import JOIN

#: Milliseconds an idle consumer waits between two looks at its queue: most of a message's latency.
IDLE_MS: Final = 100

#: What Dramatiq returns when it cannot import a module; for us that is the code for wrong usage.
_IMPORT_FAILED: Final = 2
_FAILED: Final = 3


def run(settings: Settings, *, queues: Sequence[str] | None, processes: int, threads: int) -> int:
    """Run Dramatiq until a signal ends it; return its exit code.

    One dead process ends them all, so whatever started this must start it again. Raises
    SettingsError, LogError, IndexUnavailable or QueueUnavailable when it could do nothing at all.
    """
    if processes < 1 or threads < 1:
        raise SettingsError("--processes and --threads must be positive whole numbers")
    served = tuple(queues or QUEUES)
    unknown = sorted(set(served) - set(QUEUES))
    if unknown:
        raise SettingsError(f"there is no queue {unknown[0]!r}; the queues are {', '.join(QUEUES)}")
    # Fails here, in one clear line, rather than in every process.
    if NEED_LOG.intersection(served):
        composition.open_log(settings).close()
    composition.database_url(settings)
    composition.redis_url(settings)
    endpoint.check_port(settings.http_host, settings.http_port)
    logs.configure(settings)
    # The processes write into a pipe, and would not know what stderr is.
    settings = replace(settings, log_format=logs.resolve(settings))
    # Dramatiq reads this when it is imported; the processes read the settings when they start.
    os.environ["dramatiq_worker_timeout"] = str(IDLE_MS)
    os.environ |= environment(settings) | {VARIABLE: " ".join(served), porter.PROCESSES: str(processes)}
    with ExitStack() as stack:
        arguments = [
            "foldlog.workers.app:setup",
            "--skip-logging",
            *("--processes", str(processes)),
            *("--threads", str(threads)),
            *("--worker-shutdown-timeout", str(int(JOIN * settings.shutdown_ms))),
            *("--queues", *served),
        ]
        if porter.is_needed(settings):
            place = pulse.make_place()
            stack.callback(pulse.remove_place, place)
            os.environ[pulse.VARIABLE] = str(place)
            arguments += ["--fork-function", "foldlog.workers.porter:serve"]
        return _dramatiq(arguments)


def _dramatiq(arguments: list[str]) -> int:
    from dramatiq.cli import HANDLED_SIGNALS, main, make_argument_parser

    # A terminal that is closed ends the command: Dramatiq would begin it anew, for nobody.
    HANDLED_SIGNALS.discard(signal.SIGHUP)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        signal.signal(signal.SIGHUP, lambda *_: os.kill(os.getpid(), signal.SIGTERM))
    parsed = make_argument_parser().parse_args(arguments)  # type: ignore[no-untyped-call]
    code = int(main(parsed) or 0)  # type: ignore[no-untyped-call]
    return _FAILED if code == _IMPORT_FAILED else code
