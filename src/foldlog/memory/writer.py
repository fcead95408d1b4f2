"""How commands reach the log: each in a transaction of its own, or many in one batch."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING

from foldlog.errors import FoldlogError
from foldlog.events.append import APPENDED, Appended, Transaction
from foldlog.events.encoding import instant_ms
from foldlog.events.provenance import NOBODY, Provenance
from foldlog.memory.counters import Counters

if TYPE_CHECKING:
    from foldlog.events.log import Access

#: What a command that changed nothing reports: no event was appended.
UNCHANGED = "unchanged"

Command = Callable[[Transaction], Appended | None]


class Receipt:
    """What the log says of one command; inside a batch it is filled when the batch ends."""

    __slots__ = ("_count", "_outcome", "_position", "_version", "id")

    def __init__(self, id: str) -> None:
        #: The fact's key, the primer's name, or the id of the others.
        self.id = id
        self._outcome: str | None = None
        self._position = self._version = self._count = 0

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
    def count(self) -> int:
        """How many things this command changed; 0 for a repeat, and for `unchanged`."""
        return self._count if self.outcome else 0

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
            self._count = appended.count if appended.outcome == APPENDED else 0


#: A command that is to be run: who gets its receipt, and the counter that it raises.
Waiting = tuple[Receipt, Command, str | None]


class Writer:
    """Runs commands against the log, on behalf of somebody."""

    def __init__(self, log: Access, by: Provenance = NOBODY, counters: Counters | None = None) -> None:
        self.log = log
        self.by = by
        self.counters = counters or Counters()
        self._local = threading.local()

    def submit(self, id: str, command: Command, counter: str | None = None) -> Receipt:
        """Run a command now, or put it into this thread's batch; what it appends raises `counter`."""
        receipt = Receipt(id)
        waiting: list[Waiting] | None = getattr(self._local, "batch", None)
        if waiting is None:
            self._run([(receipt, command, counter)])
        else:
            waiting.append((receipt, command, counter))
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
        waiting: list[Waiting] = []
        self._local.batch = waiting
        try:
            yield
        finally:
            self._local.batch = None
        if waiting:
            self._run(waiting)

    def _run(self, commands: list[Waiting]) -> None:
        settled = []
        with self.log.write() as transaction:
            for receipt, command, counter in commands:
                appended = command(transaction)
                settled.append((receipt, appended, transaction.position, counter))
        # Only what was committed is reported, and counted.
        counts: dict[str, int] = {}
        for receipt, appended, head, counter in settled:
            receipt._settle(appended, head)
            if counter is not None and receipt.created:
                counts[counter] = counts.get(counter, 0) + 1
        for counter, number in counts.items():
            self.counters.add(counter, number)


def occurred(at: datetime | None) -> int | None:
    """Return when something happened as UTC ms, None for now."""
    return None if at is None else instant_ms(at, "occurred_at")
