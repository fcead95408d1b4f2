"""Facts of the source, each in its last version: it keeps no other."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar

from foldlog.events.encoding import instant, instant_ms
from foldlog.events.types import FactSet
from foldlog.imports.smithers import naming
from foldlog.imports.smithers.item import Item, Step
from foldlog.imports.smithers.row import CORRELATION, Refused, Row, is_text, quoted

if TYPE_CHECKING:
    from foldlog.imports.smithers.lookup import Lookup
    from foldlog.imports.smithers.source import Source
    from foldlog.memory import Memory
    from foldlog.memory.writer import Receipt


@dataclass(frozen=True, kw_only=True)
class FactItem(Item):
    """A fact as it will stand in the log."""

    kind: ClassVar[str] = "fact"
    value: Any
    created_at: datetime
    updated_at: datetime
    expiry: datetime | None
    #: The same for the same state of the row, and for no other.
    request: str

    @property
    def expires_at(self) -> datetime | None:
        """When the fact ends."""
        return self.expiry

    def steps(self, here: Lookup) -> list[Step]:
        """Set the fact unless this state of it was set before, or something later is here."""
        if here.appended(self.namespace, self.request):
            return self.kept_steps(here, replaces=False)
        last = here.last_write(self.namespace, self.name)
        if last is not None and last > instant_ms(self.updated_at):
            raise Refused(
                f"the log has a later value, or deletion, of {instant(last).isoformat()}; this one is of "
                f"{self.updated_at.isoformat()}"
            )
        return [self._set, *self.kept_steps(here, replaces=last is not None)]

    def _set(self, memory: Memory) -> Receipt:
        return memory.facts.set(
            self.namespace,
            self.name,
            self.value,
            expires_at=self.expiry,
            created_at=self.created_at,
            occurred_at=self.updated_at,
            idempotency_key=self.request,
            by=self.by,
        )


class Facts:
    """Reads facts."""

    kind: ClassVar[str] = "fact"

    def __init__(self, source: Source, *, actor: str | None, limit: int) -> None:
        self._source = source
        self._actor = actor
        self._limit = limit
        self._namesakes = _namesakes(source)

    def item(self, row: Row) -> FactItem:
        """Return what becomes of a row; raises Refused."""
        namespace = row.namespace()
        name = self._key(row, namespace)
        updated_at = row.instant("updated_at_ms")
        item = FactItem(
            row=row,
            namespace=namespace,
            name=name,
            value=row.json("value_json"),
            created_at=row.instant("created_at_ms"),
            updated_at=updated_at,
            expiry=row.expiry("ttl_ms", updated_at),
            by=row.by(self._actor),
            request=f"{CORRELATION}:{row.digest(name)}",
        )
        signature = row.values["schema_sig"]
        if signature is not None:
            row.keep("schema_sig", signature, f"schema_sig {quoted(signature)} has no place here")
        row.check_size(FactSet(value=item.value), len(row.text("value_json")), self._limit)
        item.settle(self._limit)
        return item

    def _key(self, row: Row, namespace: str) -> str:
        """Return the key, another one where two namespaces of the source are one here."""
        given, key = row.text("namespace"), row.text("key")
        if given != namespace and self._taken(given, namespace, key):
            found = naming.renamed(key, f"{given}\x00{key}")
            row.keep(
                "key", key, f"key {quoted(key)} is {quoted(found)}: {namespace} has another of that name"
            )
            return found
        return row.name("key")

    def _taken(self, given: str, namespace: str, key: str) -> bool:
        if self._source.has_fact(namespace, key):
            return True
        others = self._namesakes.get(namespace, [])
        return any(self._source.has_fact(other, key) for other in others if other < given)


def _namesakes(source: Source) -> dict[str, list[str]]:
    """Return, by its name here, which namespaces have another name in the source."""
    found: dict[str, list[str]] = {}
    for given in source.namespaces():
        # What is not UTF-8 is refused when its row is read.
        if isinstance(given, str) and is_text(given):
            namespace = naming.namespace(given)
            if namespace != given:
                found.setdefault(namespace, []).append(given)
    return found
