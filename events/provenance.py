"""Who caused an event: stored with it, hashed, shown by every history."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from foldlog.errors import InvalidInput
from foldlog.events.encoding import decode
from foldlog.names import check_name

_TEXTS = ("run", "node", "actor", "correlation", "causation")


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """Where a change came from; every part is optional."""

    #: The agent run, the node in it and its iteration (from 0).
    run: str | None = None
    node: str | None = None
    iteration: int | None = None
    #: The person, agent or job that did it.
    actor: str | None = None
    #: What ties events of one request together, and the event that caused this one.
    correlation: str | None = None
    causation: str | None = None

    def __post_init__(self) -> None:
        for name in _TEXTS:
            value = getattr(self, name)
            if value is not None:
                check_name(value, f"provenance.{name}")
        count = self.iteration
        if count is not None and (type(count) is not int or count < 0):
            raise InvalidInput("provenance.iteration", f"must be a whole number from 0, not {count!r}")

    def as_dict(self) -> dict[str, Any]:
        """Return the parts that are given."""
        found: dict[str, Any] = {name: value for name in _TEXTS if (value := getattr(self, name)) is not None}
        if self.iteration is not None:
            found["iteration"] = self.iteration
        return found


NOBODY = Provenance()


def provenance(stored: str) -> Provenance:
    """Return the provenance of a stored text; most events have none."""
    return NOBODY if stored == "{}" else Provenance(**decode(stored))
