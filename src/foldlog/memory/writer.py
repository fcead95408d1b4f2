"""How commands reach the log: each in a transaction of its own, or many in one batch."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING

from foldlog.errors import FoldlogError
from foldlog.events.append import Appended, Transaction
from foldlog.events.encoding import instant_ms
from foldlog.events.provenance import NOBODY, Provenance

if TYPE_CHECKING:
    from foldlog.events.log import Access

#: What a command that changed nothing reports: no event was appended.
UNCHANGED = "unchanged"

Command = Callable[[Transaction], Appended | None]


class Receipt:
    """What the log says of one command; inside a batch it is filled when the batch ends."""

    __slots__ = ("_outcome", "_position", "_version", "id")

    def __init__(self, id: str) -> None:
        #: The fact's key, or the id of the thread, message or note.
        self.id = id
        self._outcome: str | None = None
        self._position = self._version = 0

    def __repr__(self) -> str:
        state = "not written yet" if self._outcome is None else f"{self._outcome}, position {self._position}"
        return f"<Receipt {self.id}: {state}>"

    @property
    def outcome(self) -> str:
        """`appended`, `already appended` (a repeated request) or `unchanged` (nothing to do)."""
        if self._outcome is None:
            raise FoldlogError("not written yet: the batch that this command belongs to has not ended")
        return self._outcome

    @property
    def position(self) -> int:
        """The event's position, or for `unchanged` the last one before; to be waited for."""
        return self._position if self.outcome else 0

    @property
    def version(self) -> int:
        """The event's number in its stream; 0 for `unchanged`."""
        return self._version if self.outcome else 0

    @property
    def created(self) -> bool:
        """Say whether this command wrote something new."""
        return self.outcome == "appended"

    def _settle(self, appended: Appended | None, head: int) -> None:
        if appended is None:
            self._position, self._outcome = head, UNCHANGED
        else:
            self._position, self._version = appended.position, appended.version
            self._outcome = appended.outcome


class Writer:
    """Runs commands against the log, on behalf of somebody."""

    def __init__(self, log: Access, by: Provenance = NOBODY) -> None:
        self.log = log
        self.by = by
        self._local = threading.local()

    def submit(self, id: str, command: Command) -> Receipt:
        """Run a command now, or put it into this thread's batch."""
        receipt = Receipt(id)
        waiting: list[tuple[Receipt, Command]] | None = getattr(self._local, "batch", None)
        if waiting is None:
            self._run([(receipt, command)])
        else:
            waiting.append((receipt, command))
        return receipt

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Collect this thread's commands and run them in one transaction at the end.

        The lock is taken only then, so that slow code inside keeps no other writer waiting. Nothing
        is written when the block, or any command, fails. A batch inside a batch is part of it.
        """
        if getattr(self._local, "batch", None) is not None:
            yield
            return
        waiting: list[tuple[Receipt, Command]] = []
        self._local.batch = waiting
        try:
            yield
        finally:
            self._local.batch = None
        if waiting:
            self._run(waiting)

    def _run(self, commands: list[tuple[Receipt, Command]]) -> None:
        settled = []
        with self.log.write() as transaction:
            for receipt, command in commands:
                appended = command(transaction)
                settled.append((receipt, appended, transaction.position))
        # Only what was committed is reported.
        for receipt, appended, head in settled:
            receipt._settle(appended, head)


def occurred(at: datetime | None) -> int | None:
    """Return when something happened as UTC ms, None for now."""
    return None if at is None else instant_ms(at, "occurred_at")
