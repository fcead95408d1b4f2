"""Who listens on a socket, told by the kernel.

A file with a process id may be old, and the id somebody else's by now; a signal to it could end a stranger.
"""

from __future__ import annotations

import os
import socket
import struct
import sys
from pathlib import Path
from typing import Final

#: Seconds to wait for a place in a listener's queue.
CONNECT_SECONDS: Final = 2.0


def listener(path: Path) -> int | None:
    """Return the id of the process that listens on a Unix socket, or None if nobody does."""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(CONNECT_SECONDS)
        try:
            client.connect(os.fspath(path))
            pid = _peer(client)
        except OSError:
            return None
    # 0 stands for a process in another container.
    return pid if pid > 0 else None


def _peer(client: socket.socket) -> int:
    if sys.platform == "darwin":
        # SOL_LOCAL and LOCAL_PEERPID of sys/un.h, which the module `socket` does not name.
        return client.getsockopt(0, 0x002)
    credentials = client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    return int(struct.unpack("3i", credentials)[0])
