"""Which memories a search may return."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from foldlog.projections.condition import Condition


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """A filter that every search applies inside its own query; each part narrows it."""

    namespaces: tuple[str, ...]
    #: Empty: all kinds.
    kinds: tuple[str, ...] = ()
    #: A memory must have all of them.
    tags: tuple[str, ...] = ()
    #: What else its tags must be.
    where: Condition | None = None
