"""foldlog: durable memory for AI agents, an SQLite event log folded into a searchable index."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from foldlog.composition import open_memory as open
    from foldlog.events.event import Event
    from foldlog.events.provenance import Provenance
    from foldlog.memory import Memory
    from foldlog.memory.join import configure_engine
    from foldlog.projections.recall.answer import Recall, Recalled
    from foldlog.settings import Settings

__all__ = ["Event", "Memory", "Provenance", "Recall", "Recalled", "Settings", "configure_engine", "open"]

#: Where each exported name is. All of them together cost 100 ms to import, which `foldlog --help` and
#: programs that need one of them do not pay.
_HOMES = {
    "Event": ("foldlog.events.event", "Event"),
    "Memory": ("foldlog.memory", "Memory"),
    "Provenance": ("foldlog.events.provenance", "Provenance"),
    "Recall": ("foldlog.projections.recall.answer", "Recall"),
    "Recalled": ("foldlog.projections.recall.answer", "Recalled"),
    "Settings": ("foldlog.settings", "Settings"),
    "configure_engine": ("foldlog.memory.join", "configure_engine"),
    "open": ("foldlog.composition", "open_memory"),
}


def __getattr__(name: str) -> object:
    """Import an exported name when it is first used."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    module, attribute = _HOMES[name]
    found = globals()[name] = getattr(import_module(module), attribute)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
