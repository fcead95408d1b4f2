"""Postgres and Valkey as child servers of one folder, for machines that have neither installed."""

from foldlog.embedded.home import Account, Home
from foldlog.embedded.postgres import Postgres
from foldlog.embedded.server import Server
from foldlog.embedded.valkey import Valkey

__all__ = ["Account", "Home", "Postgres", "Server", "Valkey"]
