"""How a worker process stops: in good order while there is time, and in time whatever happens.

Nothing that it breaks off is lost: a page of the fold is one transaction, a text that was not embedded
is embedded by the next, and a message is only a hint.
"""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Final

logger = logging.getLogger(__name__)

#: The exit code of a process that did not stop in good order.
KILLED: Final = 1

# Parts of the time that a worker has to stop.
#: Until then a page, or a batch of texts, may come to its end.
PATIENCE: Final = 0.3
#: How long the threads that work are waited for.
JOIN: Final = 0.4
#: Then the process ends, whatever it still waits for.
END: Final = 0.85
#: Then the kernel ends it, even if no line of Python runs any more.
LAST: Final = 0.95

#: A second signal so soon, in seconds, is the first one on another way: sent to the whole group, say.
SAME_SECONDS: Final = 0.5

#: Seconds between two attempts to break off what runs.
AGAIN_SECONDS: Final = 0.1


class Stopping:
    """Follows SIGTERM: asks, then interrupts, then ends the process."""

    def __init__(self, grace_seconds: float) -> None:
        self._grace = grace_seconds
        #: Set when the process is to stop: nothing new is begun.
        self.event: Final = threading.Event()
        #: What breaks off the work that runs; called again and again, in a thread of its own.
        self.interrupts: Final[list[Callable[[], None]]] = []
        self._began: float | None = None

    def install(self) -> None:
        """Take SIGTERM over from whoever handles it, who is told of the first one; in the main thread."""
        before = signal.getsignal(signal.SIGTERM)

        def handle(number: int, frame: FrameType | None) -> None:
            if self._begin() and callable(before):
                before(number, frame)

        # Started now: within a signal handler a thread could wait for a lock that the handler holds up.
        threading.Thread(target=self._see_it_through, name="foldlog-stopping", daemon=True).start()
        signal.signal(signal.SIGTERM, handle)
        # Of a terminal that is closed the command is told, which then tells its processes.
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    def _begin(self) -> bool:
        """Begin to stop; say whether this was the first signal. A second one ends the process."""
        now = time.monotonic()
        if self._began is None:
            self._began = now
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.setitimer(signal.ITIMER_REAL, LAST * self._grace)
            self.event.set()
            return True
        if now - self._began > SAME_SECONDS:
            os._exit(KILLED)
        return False

    def _see_it_through(self) -> None:
        self.event.wait()
        time.sleep(PATIENCE * self._grace)
        # In a thread of its own: a server that answers nothing would hold this one up.
        threading.Thread(target=self._interrupt, name="foldlog-interrupting", daemon=True).start()
        time.sleep((END - PATIENCE) * self._grace)
        logger.warning("stopped without waiting any longer", extra={"action": "stop_cut_short"})
        os._exit(0)

    def _interrupt(self) -> None:
        logger.info("what still runs is broken off", extra={"action": "interrupted"})
        while True:
            for interrupt in self.interrupts:
                interrupt()
            time.sleep(AGAIN_SECONDS)
