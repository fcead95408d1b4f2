"""The lifeline: a worker stops when whoever keeps it is gone, however that one died.

The supervisor holds the writing end of a pipe; when it dies the kernel closes it, and the reading
end, which every worker process inherits, is at its end. A process id could not tell that.
"""

from __future__ import annotations

import os
import select
import signal
import threading
from typing import Final

#: The environment variable with the number of the reading end.
VARIABLE: Final = "FOLDLOG_LIFELINE"


class Lifeline:
    """Watches the supervisor, if there is one, and the parent."""

    def __init__(self, patience_seconds: float) -> None:
        """A process that cannot stop in good order within `patience_seconds` ends all the same."""
        self._patience_seconds = patience_seconds
        self._parent = os.getppid()
        text = os.environ.get(VARIABLE, "")
        self._pipe = int(text) if text.isdigit() else None
        self._cut = False

    def check(self) -> None:
        """Ask the whole worker to stop when whoever keeps it is gone; to be called often.

        It does not log: a dead parent reads no log, and a full pipe would hold this process for ever.
        """
        if self._cut:
            return
        if os.getppid() != self._parent:
            # The parent was killed: nobody else would end this process.
            self._cut = True
            self._end()
        elif self._pipe is not None and select.select([self._pipe], [], [], 0)[0]:
            self._cut = True
            os.kill(self._parent, signal.SIGTERM)

    def _end(self) -> None:
        last = threading.Timer(self._patience_seconds, os._exit, (1,))
        last.daemon = True
        last.start()
        os.kill(os.getpid(), signal.SIGTERM)
