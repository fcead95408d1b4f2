"""What becomes of one row, and of what has no place of its own in the log."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, ClassVar, Final

from foldlog.events.encoding import encode
from foldlog.events.provenance import Provenance
from foldlog.events.types import FactSet
from foldlog.imports.smithers import naming
from foldlog.imports.smithers.row import CORRELATION, Row, payload_size

if TYPE_CHECKING:
    from foldlog.imports.smithers.lookup import Lookup
    from foldlog.memory import Memory
    from foldlog.memory.writer import Receipt

#: A command that brings the log nearer to the source.
Step = Callable[["Memory"], "Receipt"]

#: Begins the keys of facts that hold what has no place.
KEPT: Final = "smithers"


@dataclass(frozen=True, kw_only=True)
class Item(ABC):
    """A row as it will stand in the log."""

    #: `fact`, `thread`, `message` or `note`.
    kind: ClassVar[str]
    row: Row
    namespace: str
    #: The fact's key, or the id of the thread, message or note.
    name: str
    by: Provenance

    @abstractmethod
    def steps(self, here: Lookup) -> list[Step]:
        """Return what is missing in the log, nothing when it is there; raises Refused."""

    @property
    def expires_at(self) -> datetime | None:
        """When it ends; what is kept of it ends too."""
        return None

    def kept_key(self) -> str:
        """Return the key of the fact that holds what has no place."""
        return naming.stored(f"{KEPT}/{self.kind}/{self.name}")

    def settle(self, limit: int) -> None:
        """Note where the rest is kept, once the row has been read; what is too large is not."""
        kept = self.row.kept
        if not kept:
            return
        size = payload_size(FactSet(value=kept))
        if size <= limit:
            self.row.change(f"what has no place is kept in the fact {self.kept_key()} of {self.namespace}")
        else:
            self.row.change(f"what has no place is {size} bytes, too large to be kept: it is not taken")
            kept.clear()

    def kept_steps(self, here: Lookup, *, replaces: bool) -> list[Step]:
        """Return what is missing of what is kept; `replaces` when something else may be kept now."""
        kept = self.row.kept
        if not kept:
            return [self._forget] if replaces else []
        digest = sha256(encode([self.kept_key(), kept]).encode()).hexdigest()
        request = f"{CORRELATION}:kept:{digest}"
        return [] if here.appended(self.namespace, request) else [partial(self._keep, request=request)]

    def _keep(self, memory: Memory, *, request: str) -> Receipt:
        return memory.facts.set(
            self.namespace,
            self.kept_key(),
            self.row.kept,
            expires_at=self.expires_at,
            idempotency_key=request,
            by=self.by,
        )

    def _forget(self, memory: Memory) -> Receipt:
        return memory.facts.delete(self.namespace, self.kept_key(), by=self.by)
