"""A lock on a file that the kernel drops when its last holder dies, however it dies."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path
from typing import Final, Self

from foldlog.errors import ServerError

#: Seconds between two looks at a lock somebody else holds.
POLL_SECONDS: Final = 0.02


class Lock:
    """A held lock; `close` gives it up.

    The lock belongs to the open file, not to the process: a child that inherits the descriptor holds
    the same lock. So `close` only closes and never unlocks, which would unlock it for the child too.
    """

    def __init__(self, fd: int) -> None:
        self._fd = fd

    @classmethod
    def shared(cls, path: Path) -> Lock:
        """Wait for a lock that any number of holders can have, and take it."""
        lock = cls(_open(path))
        lock._take(fcntl.LOCK_SH)
        return lock

    @classmethod
    def exclusive(cls, path: Path, patience_seconds: float) -> Lock:
        """Wait for a lock that nobody else holds; raise ServerError when patience ends."""
        give_up = time.monotonic() + patience_seconds
        while (lock := cls.attempt(path)) is None:
            if time.monotonic() >= give_up:
                raise ServerError(
                    f"another process held {path} for {patience_seconds:.0f} s; end that process"
                )
            time.sleep(POLL_SECONDS)
        return lock

    @classmethod
    def attempt(cls, path: Path) -> Lock | None:
        """Take a lock that nobody else holds, or return None at once."""
        lock = cls(_open(path))
        if lock.upgrade():
            return lock
        lock.close()
        return None

    def upgrade(self) -> bool:
        """Become the only holder, or return False; then a shared lock may be lost, so close it."""
        try:
            self._take(fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def fileno(self) -> int:
        """Return the descriptor, to pass it to a child that shall hold the lock as well."""
        return self._fd

    def close(self) -> None:
        """Give up this hold; doing it again changes nothing."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def _take(self, operation: int) -> None:
        try:
            fcntl.flock(self._fd, operation)
        except BlockingIOError:
            raise
        except OSError as error:
            self.close()
            raise ServerError(
                f"this file system has no locks: {error}; use a folder on a local disk"
            ) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _open(path: Path) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise ServerError(f"the lock file {path} cannot be opened: {error.strerror}") from error
