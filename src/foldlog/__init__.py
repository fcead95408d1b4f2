"""foldlog: durable memory for AI agents, an SQLite event log folded into a searchable index."""

from foldlog.composition import open_memory as open
from foldlog.events.event import Event
from foldlog.events.provenance import Provenance
from foldlog.memory import Memory
from foldlog.projections.recall.answer import Recall, Recalled
from foldlog.settings import Settings

__all__ = ["Event", "Memory", "Provenance", "Recall", "Recalled", "Settings", "open"]
