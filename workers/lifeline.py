"""The lifeline: a worker stops when the process that supervises it is gone, however it died.

The supervisor holds the writing end of a pipe; when it dies the kernel closes it, and the reading
end, which every worker process inherits, is at its end. A process id could not tell that.
"""

from __future__ import annotations

import os
import select
import signal
from typing import Final

#: The environment variable with the number of the reading end.
VARIABLE: Final = "FOLDLOG_LIFELINE"


class Lifeline:
    """Watches the supervisor, if there is one, and the parent."""

    def __init__(self) -> None:
        self._parent = os.getppid()
        text = os.environ.get(VARIABLE, "")
        self._pipe = int(text) if text.isdigit() else None

    def check(self) -> None:
        """Ask the whole worker to stop when whoever keeps it is gone."""
        if self._pipe is not None and select.select([self._pipe], [], [], 0)[0]:
            os.kill(self._parent, signal.SIGTERM)
        if os.getppid() != self._parent:
            # The parent was killed: nobody else would end this process.
            os.kill(os.getpid(), signal.SIGTERM)
