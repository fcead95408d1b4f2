"""What an import took, changed and refused."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Final

CHANGED: Final = "changed"
REFUSED: Final = "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A row of the source that was not taken as it is."""

    #: `fact`, `thread`, `message`, `note`, `link` (a supersession) or `table`.
    kind: str
    #: The row's key, by the source's column names.
    source: dict[str, Any]
    #: `changed` (it is in the log, in another form) or `refused` (it is not).
    outcome: str
    #: What was changed and how, or why it was refused.
    reasons: list[str]

    def as_dict(self) -> dict[str, Any]:
        """Return the entry as JSON."""
        return asdict(self)


@dataclass(slots=True, kw_only=True)
class Counts:
    """Of the rows of one table: rows = new + unchanged + refused."""

    rows: int = 0
    #: Written now, also as a new version of what was there; in a preview: would be.
    new: int = 0
    #: There already.
    unchanged: int = 0
    refused: int = 0
    #: How many of the new and the unchanged are in the log in another form.
    changed: int = 0


@dataclass(slots=True, kw_only=True)
class Report:
    """What an import found, and what it wrote."""

    facts: Counts = field(default_factory=Counts)
    threads: Counts = field(default_factory=Counts)
    messages: Counts = field(default_factory=Counts)
    notes: Counts = field(default_factory=Counts)
    #: Which note supersedes which.
    links: Counts = field(default_factory=Counts)
    #: Tables of memory that this version does not know, and did not read.
    tables: Counts = field(default_factory=Counts)
    #: One for each row that was changed or refused; empty when they were told one by one.
    entries: list[Entry] = field(default_factory=list)

    def counts(self) -> dict[str, Counts]:
        """Return the counts of each table."""
        return {
            "facts": self.facts,
            "threads": self.threads,
            "messages": self.messages,
            "notes": self.notes,
            "links": self.links,
            "tables": self.tables,
        }

    @property
    def new(self) -> int:
        """How many rows were written now."""
        return sum(item.new for item in self.counts().values())

    @property
    def refused(self) -> int:
        """How many rows are not in the log."""
        return sum(item.refused for item in self.counts().values())

    def as_dict(self) -> dict[str, Any]:
        """Return the counts as JSON, without the entries."""
        return {name: asdict(item) for name, item in self.counts().items()}
