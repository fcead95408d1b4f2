"""What a service of `Type=notify` tells systemd: that it is ready, that it lives, that it stops."""

from __future__ import annotations

import os
import socket
from typing import Final

#: Set by systemd: where to tell, and how often it wants to hear, in microseconds.
SOCKET: Final = "NOTIFY_SOCKET"
WATCHDOG: Final = "WATCHDOG_USEC"

#: A sign comes so many times in the time that systemd waits.
SIGNS: Final = 4


def wanted() -> bool:
    """Say whether systemd, or somebody like it, listens."""
    return bool(os.environ.get(SOCKET))


def interval() -> float | None:
    """Return the seconds between two signs of life, None when no watchdog waits for them."""
    text = os.environ.get(WATCHDOG, "")
    return int(text) / 1_000_000 / SIGNS if text.isdigit() and int(text) else None


def tell(*words: str) -> None:
    """Send assignments as `READY=1`; without systemd do nothing. Never raises: nobody depends on it."""
    path = os.environ.get(SOCKET)
    if not path:
        return
    # A leading @ stands for the abstract namespace.
    address = f"\0{path[1:]}" if path.startswith("@") else path
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as client:
            client.settimeout(1)
            client.sendto("\n".join(words).encode(), address)
    except OSError:
        return
