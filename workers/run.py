"""Run worker processes in the foreground: what `foldlog worker` does."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Final

from foldlog import composition
from foldlog.errors import SettingsError
from foldlog.settings import Settings, environment
from foldlog.workers.queues import NEED_LOG, QUEUES, VARIABLE

#: Milliseconds an idle consumer waits between two looks at its queue: most of a message's latency.
IDLE_MS: Final = 100


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
    # Dramatiq reads this when it is imported; the processes read the settings when they start.
    os.environ["dramatiq_worker_timeout"] = str(IDLE_MS)
    os.environ |= environment(settings) | {VARIABLE: " ".join(served)}

    from dramatiq.cli import main, make_argument_parser

    arguments = [
        "foldlog.workers.app:setup",
        *("--processes", str(processes)),
        *("--threads", str(threads)),
        *("--worker-shutdown-timeout", str(settings.shutdown_ms)),
        *("--queues", *served),
    ]
    parsed = make_argument_parser().parse_args(arguments)  # type: ignore[no-untyped-call]
    return int(main(parsed) or 0)  # type: ignore[no-untyped-call]
