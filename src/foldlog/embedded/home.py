"""Where the embedded servers of one folder keep their data, their locks and their sockets."""

from __future__ import annotations

import hashlib
import os
import pwd
import stat
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from foldlog.embedded.lock import Lock
from foldlog.errors import ServerError

#: Where root keeps what its servers need; their account cannot enter root's own folders.
ROOT_DATA: Final = Path("/var/lib/foldlog")

#: The account the servers run as when root starts them: Postgres refuses to run as root.
ROOT_ACCOUNT: Final = "nobody"

#: Longest path of a socket, in bytes: the kernel allows 103 on macOS, 107 on Linux.
MAX_SOCKET_BYTES: Final = 103

#: Longest file name in the socket directory, in bytes: `.s.PGSQL.5432.lock`.
SOCKET_NAME_BYTES: Final = 18


@dataclass(frozen=True, kw_only=True)
class Account:
    """A user of this machine, and the group its processes run in."""

    #: Name in the user database.
    name: str
    #: User id.
    uid: int
    #: Group id.
    gid: int


@dataclass(frozen=True, kw_only=True)
class Home:
    """The directories of one folder's servers; all processes that use the folder agree on them."""

    #: The folder beside the log, without links.
    folder: Path
    #: Where data, logs and locks live for good: the folder, or for root a directory of its own.
    data: Path
    #: Short directory of mode 0700 for the sockets; whoever can enter it may use the servers.
    run: Path
    #: The account the servers run as, when it is not the caller's.
    account: Account | None

    @classmethod
    def of(cls, folder: Path) -> Home:
        """Return the home of `folder` and make its directories.

        Raises ServerError when one of them cannot be made, is a link, or belongs to somebody else.
        """
        folder = folder.resolve()
        name = hashlib.sha256(os.fsencode(folder)).hexdigest()[:16]
        home = cls._of_root(folder, name) if os.geteuid() == 0 else cls._of_user(folder, name)
        home.make()
        return home

    @classmethod
    def _of_root(cls, folder: Path, name: str) -> Home:
        data = ROOT_DATA / name
        return cls(folder=folder, data=data, run=data / "run", account=_root_account())

    @classmethod
    def _of_user(cls, folder: Path, name: str) -> Home:
        run = _recorded(folder, name) or _chosen(name)
        return cls(folder=folder, data=folder, run=run, account=None)

    @property
    def locks(self) -> Path:
        """The directory of the lock files, which only the callers' account may change."""
        return self.data / "locks"

    def make(self) -> None:
        """Make the directories that are missing; raise ServerError when that fails."""
        try:
            if self.account is None:
                self._make_for_user()
            else:
                self._make_for_root(self.account)
            make_directory(self.locks, 0o700)
        except OSError as error:
            raise ServerError(f"the directories of the embedded servers cannot be made: {error}") from error

    def _make_for_user(self) -> None:
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        make_directory(self.run.parent, 0o700)
        make_directory(self.run, 0o700)
        _link(self.data / "run", self.run)

    def _make_for_root(self, account: Account) -> None:
        make_directory(self.data.parent, 0o755)
        # The account must get through to its own directories below, and see nothing else.
        make_directory(self.data, 0o711)
        make_directory(self.run, 0o700, account)
        # For people: which folder this belongs to.
        _link(self.data / "folder", self.folder)

    def identity(self) -> dict[str, Any]:
        """Return the arguments that make `subprocess` run a program as the servers' account."""
        if self.account is None:
            return {}
        return {"user": self.account.uid, "group": self.account.gid, "extra_groups": []}


def make_directory(path: Path, mode: int, account: Account | None = None) -> None:
    """Make a directory that belongs to `account` (default: the caller), or check one that exists.

    Parents are neither made nor changed. Raises ServerError on a link, or on somebody else's directory.
    """
    with suppress(FileExistsError):
        path.mkdir(mode=mode)
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode):
        raise ServerError(f"{path} must be a directory, not a link or a file; remove it")
    if found.st_uid not in (os.geteuid(), account.uid if account else os.geteuid()):
        raise ServerError(
            f"{path} belongs to the user id {found.st_uid}, who could read what goes there; remove it"
        )
    if account is not None and found.st_uid != account.uid:
        os.chown(path, account.uid, account.gid, follow_symlinks=False)
    if stat.S_IMODE(found.st_mode) != mode:
        path.chmod(mode)


def _root_account() -> Account:
    try:
        found = pwd.getpwnam(ROOT_ACCOUNT)
    except KeyError:
        raise ServerError(
            f"the servers cannot run as root, and there is no user {ROOT_ACCOUNT}; be another user"
        ) from None
    return Account(name=found.pw_name, uid=found.pw_uid, gid=found.pw_gid)


def _chosen(name: str) -> Path:
    """Return the first socket directory whose sockets have paths short enough for the kernel."""
    for base in _bases():
        run = base / f"foldlog-{os.geteuid()}" / name
        short = len(os.fsencode(run)) + 1 + SOCKET_NAME_BYTES <= MAX_SOCKET_BYTES
        if short and os.access(base, os.W_OK | os.X_OK):
            return run
    raise ServerError("no directory for sockets is short and writable; set TMPDIR to one, such as /tmp")


def _bases() -> Iterator[Path]:
    session = os.environ.get("XDG_RUNTIME_DIR", "")
    if session.startswith("/"):
        yield Path(session)
    yield Path(tempfile.gettempdir())
    yield Path("/tmp")


def _recorded(data: Path, name: str) -> Path | None:
    """Return the socket directory chosen before, or None.

    The choice depends on the environment, and a timer or a second login has another one than the shell
    that started the servers; without the record they would look for the same server in two places.
    """
    try:
        run = Path(os.readlink(data / "run"))
    except OSError:
        return None
    if not run.is_dir() or run.is_symlink() or run.stat().st_uid != os.geteuid():
        return None
    # Another name: the folder was moved, and maybe its servers still run, or it is a copy of another.
    return run if run.name == name or _is_running(data) else None


def _is_running(data: Path) -> bool:
    # A starter that meets our attempt here takes it for a server, and looks again in a moment.
    for path in (data / "locks").glob("*.alive"):
        lock = Lock.attempt(path)
        if lock is None:
            return True
        lock.close()
    return False


def _link(path: Path, target: Path) -> None:
    """Make `path` a link to `target`, in one step if it is another already."""
    with suppress(OSError):
        if os.readlink(path) == os.fspath(target):
            return
    new = path.with_name(f"{path.name}.{os.getpid()}")
    new.unlink(missing_ok=True)
    new.symlink_to(target)
    new.replace(path)
