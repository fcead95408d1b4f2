"""A question set: what is written, what is asked in which ways, and how good the answers must be."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from foldlog.memory import Memory
from foldlog.projections import index

#: The channels that this foldlog knows: its index module has a constant for each.
CHANNELS = {"text", "semantic", "graph", "time"}.intersection(map(str, vars(index).values()))


@dataclass(frozen=True, kw_only=True)
class Question:
    """One question, and the memories that answer it."""

    namespace: str
    text: str
    #: Ids of messages, keys of facts.
    gold: frozenset[str]
    group: str = "all"


@dataclass(frozen=True, kw_only=True)
class Way:
    """A way to ask: with all channels, with some of them, or without any index."""

    label: str
    #: All channels but this one are switched off.
    only: str | None = None
    #: This channel is switched off.
    without: str | None = None
    log_alone: bool = False

    @property
    def off(self) -> tuple[str, ...]:
        """The channels that are switched off; a channel that foldlog does not know cannot be."""
        off = CHANNELS - {self.only} if self.only else CHANNELS & {self.without}
        return tuple(sorted(off))

    @property
    def missing(self) -> str | None:
        """The channel without which this way says nothing; None when it is there."""
        channel = self.only or self.without
        return None if channel is None or channel in CHANNELS else channel


#: The one that bars are for.
COMPLETE = Way(label="complete")
LOG_ALONE = Way(label="the log alone", log_alone=True)


@dataclass(frozen=True, kw_only=True)
class Bar:
    """The least recall that is good enough at some depth, for the complete way."""

    row: str
    depth: int
    least: float


@dataclass(frozen=True, kw_only=True)
class QuestionSet:
    """One set; what is read and written is in a module of its own."""

    name: str
    title: str
    #: What it needs of the folder with the data.
    files: tuple[str, ...]
    #: Writes the memories into a new log and returns the questions.
    write: Callable[[Memory, Path], list[Question]]
    ways: tuple[Way, ...]
    depths: tuple[int, ...]
    #: Label of a row of the table -> the groups of questions whose mean it is.
    rows: Mapping[str, tuple[str, ...]]
    bars: tuple[Bar, ...]


def bars(row: str, least: Mapping[int, float]) -> tuple[Bar, ...]:
    """Return the bars of one row, by depth."""
    return tuple(Bar(row=row, depth=depth, least=value) for depth, value in least.items())
