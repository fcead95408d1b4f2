"""Removing what the servers of a folder kept outside of it, once nobody uses them."""

from __future__ import annotations

import shutil

from foldlog.embedded.home import Home
from foldlog.embedded.postgres import Postgres
from foldlog.embedded.server import Server
from foldlog.embedded.valkey import Valkey
from foldlog.errors import ServerError


def servers(home: Home) -> list[Server]:
    """Return the servers of a home; none is started."""
    return [Postgres(home), Valkey(home)]


def in_use(home: Home) -> bool:
    """Say whether any process uses a server of this home."""
    return any(server.in_use() for server in servers(home))


def remove(home: Home) -> None:
    """Stop servers that were left running, and remove sockets and data outside the folder.

    The folder is the caller's alone: nobody may begin to use it meanwhile. Raises ServerError when
    somebody uses the servers.
    """
    if in_use(home):
        raise ServerError(f"the servers of {home.folder} are in use; stop `foldlog up` there first")
    for server in servers(home):
        if server.answers():
            server.acquire()
            server.release()
    shutil.rmtree(home.run, ignore_errors=True)
    if home.account is not None:
        shutil.rmtree(home.data, ignore_errors=True)
