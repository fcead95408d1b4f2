"""The inline fold: which function folds which event into the read model."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from typing import Any, Final

from foldlog.events.event import Event
from foldlog.events.types import (
    FactDeleted,
    FactExpired,
    FactSet,
    MessageSaved,
    MessagesDeleted,
    MessagesSummarized,
    MessagesTrimmed,
    NoteSaved,
    NoteStatusChanged,
    Record,
    ThreadCreated,
    ThreadDeleted,
)
from foldlog.projections.local import condensing, facts, notes, threads

FOLDS: Final[Mapping[type[Record], Callable[[sqlite3.Connection, Event, Any], None]]] = {
    FactSet: facts.fold_set,
    FactDeleted: facts.fold_gone,
    FactExpired: facts.fold_gone,
    ThreadCreated: threads.fold_created,
    ThreadDeleted: threads.fold_deleted,
    MessageSaved: threads.fold_saved,
    MessagesDeleted: threads.fold_messages_deleted,
    MessagesTrimmed: condensing.fold_trimmed,
    MessagesSummarized: condensing.fold_summarized,
    NoteSaved: notes.fold_saved,
    NoteStatusChanged: notes.fold_status,
}


def fold(connection: sqlite3.Connection, event: Event) -> None:
    """Fold one event into the read model, in the transaction that appends it."""
    FOLDS[type(event.record)](connection, event, event.record)
