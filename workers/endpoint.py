"""The HTTP endpoint of a worker command: `/healthz`, `/readyz` and `/metrics`."""

from __future__ import annotations

import json
import logging
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

from foldlog.errors import SettingsError

logger = logging.getLogger(__name__)

JSON_TYPE: Final = "application/json"

#: Seconds for which a client may say nothing.
CLIENT_SECONDS: Final = 10


@dataclass(frozen=True, slots=True)
class Answer:
    """What a path answers."""

    status: int
    content: bytes
    content_type: str = JSON_TYPE

    @classmethod
    def of(cls, value: dict[str, Any], *, good: bool = True) -> Answer:
        """Return JSON; 503 unless it is good news."""
        status = HTTPStatus.OK if good else HTTPStatus.SERVICE_UNAVAILABLE
        return cls(status, json.dumps(value).encode() + b"\n")


#: What answers, by path.
Paths = dict[str, Callable[[], Answer]]


class Endpoint(ThreadingHTTPServer):
    """Answers GET and HEAD for a few paths."""

    daemon_threads = True

    def __init__(self, host: str, port: int, paths: Paths) -> None:
        """Raises SettingsError when the port is not to be had."""
        self.paths = paths
        self.address_family = _family(host)
        try:
            super().__init__((host, port), _Handler)
        except OSError as error:
            raise _taken(host, port, error) from error

    def handle_error(self, *_: object) -> None:
        """Log what went wrong with one request; by default it would be printed."""
        logger.debug("a request failed", extra={"action": "request_failed", "error": str(sys.exception())})


class _Handler(BaseHTTPRequestHandler):
    server: Endpoint
    timeout = CLIENT_SECONDS
    protocol_version = "HTTP/1.1"
    server_version = "foldlog"
    sys_version = ""

    def do_GET(self) -> None:
        """Answer a path."""
        path = self.path.partition("?")[0]
        answer = self.server.paths.get(path)
        if answer is None:
            found = Answer(HTTPStatus.NOT_FOUND, json.dumps({"paths": sorted(self.server.paths)}).encode())
        else:
            found = answer()
        self.send_response(found.status)
        self.send_header("Content-Type", found.content_type)
        self.send_header("Content-Length", str(len(found.content)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(found.content)

    do_HEAD = do_GET

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: a scraper asks every few seconds."""


def check_port(host: str, port: int) -> None:
    """Raise SettingsError when a port is not to be had: here, in one clear line, before anything runs."""
    if port:
        try:
            with socket.create_server((host, port), family=_family(host)):
                pass
        except OSError as error:
            raise _taken(host, port, error) from error


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET


def _taken(host: str, port: int, error: OSError) -> SettingsError:
    return SettingsError(
        f"port {port} of {host} is not to be had ({error.strerror or error}); name another one with "
        "--http-port or FOLDLOG_HTTP_PORT, or 0 for none"
    )
