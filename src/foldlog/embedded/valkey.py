"""Valkey or Redis for the doorbell of one folder; it keeps nothing, as the log is the queue."""

from __future__ import annotations

import signal
import socket
from pathlib import Path
from typing import ClassVar, Final
from urllib.parse import quote

from foldlog.embedded import binaries
from foldlog.embedded.lock import Lock
from foldlog.embedded.server import ANSWER_SECONDS, Answer, Server

#: Server parameters: one socket, nothing on disk.
PARAMETERS: Final = {
    "port": "0",
    "unixsocketperm": "700",
    "save": "",
    "appendonly": "no",
    "daemonize": "no",
    "databases": "16",
}


class Valkey(Server):
    """The Valkey of one home, or the Redis that the machine has; messages end with it."""

    name: ClassVar[str] = "valkey"
    signals: ClassVar[tuple[int, ...]] = (signal.SIGTERM, signal.SIGKILL)

    @property
    def url(self) -> str:
        """The URL of database 0; it needs no password, as only we can reach the socket."""
        return f"unix://{quote(str(self.socket_path))}?db=0"

    @property
    def socket_path(self) -> Path:
        """The socket."""
        return self.home.run / "valkey.sock"

    def _ask(self) -> Answer:
        # By hand, not by the client: a refusal, as of one client too many, is an answer as well.
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(ANSWER_SECONDS)
            try:
                client.connect(str(self.socket_path))
                client.sendall(b"PING\r\n")
                return Answer.READY if client.recv(1) else Answer.NONE
            except OSError:
                return Answer.NONE

    def _prepare(self, alive: Lock) -> list[str]:
        program = binaries.valkey(self.home)
        self.socket_path.unlink(missing_ok=True)
        parameters = {**PARAMETERS, "unixsocket": str(self.socket_path), "dir": str(self.home.run)}
        return [str(program), *(text for name, value in parameters.items() for text in (f"--{name}", value))]
