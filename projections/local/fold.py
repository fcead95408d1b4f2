"""The inline fold: which function folds which event into the read model."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from typing import Any, Final

from foldlog.events.event import Event
from foldlog.events.types import (
    ContentRetained,
    FactDeleted,
    FactExpired,
    FactSet,
    MessageSaved,
    MessagesDeleted,
    MessagesSummarized,
    MessagesTrimmed,
    NoteSaved,
    NoteStatusChanged,
    PrimerDeleted,
    PrimerSet,
    Record,
    RetainedDeleted,
    ThreadCreated,
    ThreadDeleted,
)
from foldlog.projections.local import condensing, facts, notes, threads


# Primers and retained content are loaded when there are any: most programs keep none.
def _primer_set(connection: sqlite3.Connection, event: Event, record: PrimerSet) -> None:
    from foldlog.projections.local import primers

    primers.fold_set(connection, event, record)


def _primer_deleted(connection: sqlite3.Connection, event: Event, record: PrimerDeleted) -> None:
    from foldlog.projections.local import primers

    primers.fold_deleted(connection, event, record)


def _content_retained(connection: sqlite3.Connection, event: Event, record: ContentRetained) -> None:
    from foldlog.projections.local import retained

    retained.fold_retained(connection, event, record)


def _retained_deleted(connection: sqlite3.Connection, event: Event, record: RetainedDeleted) -> None:
    from foldlog.projections.local import retained

    retained.fold_deleted(connection, event, record)


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
    PrimerSet: _primer_set,
    PrimerDeleted: _primer_deleted,
    ContentRetained: _content_retained,
    RetainedDeleted: _retained_deleted,
}


def fold(connection: sqlite3.Connection, event: Event) -> None:
    """Fold one event into the read model, in the transaction that appends it."""
    FOLDS[type(event.record)](connection, event, event.record)
