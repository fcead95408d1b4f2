"""Notes of the source, their status, and which supersedes which."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from foldlog.errors import InvalidInput
from foldlog.events.encoding import instant_ms
from foldlog.events.types import NoteSaved
from foldlog.imports.smithers import naming
from foldlog.imports.smithers.conversations import once
from foldlog.imports.smithers.item import Item, Step
from foldlog.imports.smithers.row import Refused, Row, importer, is_text, quoted
from foldlog.imports.smithers.source import NOTES
from foldlog.memory.tags import check_tags
from foldlog.projections.local.notes import PENDING, REJECTED, STATUSES

if TYPE_CHECKING:
    from foldlog.imports.smithers.lookup import Lookup
    from foldlog.imports.smithers.source import Source
    from foldlog.memory import Memory
    from foldlog.memory.writer import Receipt
    from foldlog.projections.local.notes import Note


@dataclass(kw_only=True)
class LinkItem:
    """A supersession: from the note it stands with to another."""

    row: Row
    #: The id of the note that is superseded.
    target: str
    #: Why it is not taken.
    refused: str | None = None
    #: The log has it already.
    is_there: bool = False


@dataclass(frozen=True, kw_only=True)
class NoteItem(Item):
    """A note as it will stand in the log."""

    kind: ClassVar[str] = "note"
    body: str
    note_kind: str | None
    author: str | None
    tags: list[str]
    status: str
    #: When the status became what it is; None: it always was.
    changed_at: datetime | None
    created_at: datetime
    links: list[LinkItem]
    #: What the source calls the status.
    original: str

    def steps(self, here: Lookup) -> list[Step]:
        """Save the note unless it is there; then only its status may have changed."""
        found = here.note(self.name)
        if found is not None:
            return self._changes(here, found)
        for link in self.links:
            if link.refused is None and here.leads_back(link.target, self.name):
                link.refused = (
                    "it would close a circle with a link that is here; the note is taken without it"
                )
        # What it was before is not known; so it became what it is when the source says so.
        moved = self.changed_at is not None and self.status != PENDING
        steps: list[Step] = [partial(self._save, status=PENDING if moved else self.status)]
        if moved:
            steps.append(partial(self._judge, status=self.status))
        return [*steps, *self.kept_steps(here, replaces=False)]

    def targets(self) -> list[str]:
        """Return the ids of the notes it supersedes."""
        return [link.target for link in self.links if link.refused is None]

    def _changes(self, here: Lookup, found: Note) -> list[Step]:
        if (found.namespace, found.body) != (self.namespace, self.body):
            raise Refused(f"a note {self.name} is here already, in {found.namespace} or with another body")
        known = set(here.targets(found))
        for link in self.links:
            link.is_there = link.target in known
            if link.refused is None and not link.is_there:
                link.refused = "the note is here already without it, and the links of a note do not change"
        judged = self._judged(found)
        steps: list[Step] = [] if judged is None else [partial(self._judge, status=judged)]
        return [*steps, *self.kept_steps(here, replaces=bool(steps))]

    def _judged(self, found: Note) -> str | None:
        """Return the status that the note has in the source since it was last looked at, if any."""
        if self.changed_at is None or found.status == self.status:
            return None
        if found.status_changed_at is not None and found.status_changed_at >= instant_ms(self.changed_at):
            return None
        if self.status != PENDING:
            return self.status
        if found.status == REJECTED:
            self.row.change("it is rejected here, and stays so: nothing becomes pending again")
            return None
        self.row.change("it is accepted here, and becomes rejected: nothing becomes pending again")
        return REJECTED

    def _save(self, memory: Memory, *, status: str) -> Receipt:
        return memory.notes.save(
            self.namespace,
            self.body,
            note_id=self.name,
            kind=self.note_kind,
            author=self.author,
            tags=self.tags,
            status=status,
            supersedes=self.targets(),
            allow_fork=True,
            allow_missing=True,
            allow_other_namespace=True,
            by=self.by,
            occurred_at=self.created_at,
        )

    def _judge(self, memory: Memory, *, status: str) -> Receipt:
        return memory.notes.set_status(
            self.name,
            status,
            reason=None if self.original == status else f"{self.original} in Smithers",
            allow_fork=True,
            # Who judged it is not known.
            by=importer(self.by.actor),
            occurred_at=self.changed_at,
        )


class Notes:
    """Reads notes with their links."""

    kind: ClassVar[str] = "note"

    def __init__(self, source: Source, *, actor: str | None, limit: int) -> None:
        self._source = source
        self._actor = actor
        self._limit = limit
        #: Ids that stand more than once.
        self.repeated = source.repeated(NOTES)
        self._seen: set[str] = set()

    def item(self, row: Row) -> NoteItem:
        """Return what becomes of a row; raises Refused."""
        once(row, "id", self.repeated, self._seen)
        body = row.text("body")
        created_at = row.instant("created_at_ms")
        status = self._status(row)
        item = NoteItem(
            row=row,
            namespace=row.namespace(),
            name=row.name("id"),
            body=row.not_blank("body", body),
            note_kind=row.label("kind"),
            author=row.label("author"),
            tags=self._tags(row),
            status=status,
            original=row.text("status"),
            created_at=created_at,
            changed_at=self._changed_at(row, status, created_at),
            links=self._links(row),
            by=row.by(self._actor),
        )
        record = NoteSaved(
            body=body, kind=item.note_kind, author=item.author, tags=item.tags, supersedes=item.targets()
        )
        row.check_size(record, len(body) + len(str(row.values["tags_json"])), self._limit)
        item.settle(self._limit)
        return item

    def _status(self, row: Row) -> str:
        text = row.text("status")
        if text in STATUSES:
            return text
        row.keep("status", text, f"status {quoted(text)} is none here: it is {PENDING}")
        return PENDING

    def _changed_at(self, row: Row, status: str, created_at: datetime) -> datetime | None:
        if row.values["status_changed_at_ms"] is None:
            return None
        found = row.instant("status_changed_at_ms")
        if found == created_at:
            return None
        if status == PENDING:
            why = f"status_changed_at_ms has no place here: the note was {PENDING} from the beginning"
            row.keep("status_changed_at_ms", row.values["status_changed_at_ms"], why)
        return found

    def _tags(self, row: Row) -> list[str]:
        """Return the tags that the log takes; where these are not all of them, the source's are kept."""
        text = row.optional("tags_json")
        given = None if text is None else row.json("tags_json")
        if given is None:
            return []
        if not isinstance(given, list):
            row.keep("tags_json", text, "tags_json is no list: it is not taken as tags")
            return []
        taken: list[str] = []
        for tag in given:
            _take(tag, taken)
        if taken != given:
            left = [tag for tag in given if tag not in taken]
            why = f"tags {quoted(left)} are not taken as they are" if left else "tags are taken once each"
            row.keep("tags_json", given, why)
        return taken

    def _links(self, row: Row) -> list[LinkItem]:
        found = [self._link(row, link) for link in self._source.links(row.values["id"])]
        kept = [{**link.row.key, **link.row.kept} for link in found if link.row.kept]
        if kept:
            row.keep("supersessions", kept, "some of its links are not taken as they are")
        return found

    def _link(self, note: Row, link: Row) -> LinkItem:
        given, target = note.values["id"], link.values["supersedes_id"]
        if not isinstance(target, str) or not is_text(target):
            return LinkItem(row=link, target="", refused="supersedes_id is no text in UTF-8")
        item = LinkItem(row=link, target=link.name("supersedes_id"))
        if not naming.is_name(given):
            link.change(f"its note {quoted(given)} is {quoted(naming.stored(given))} here")
        if target == given:
            item.refused = "a note cannot supersede itself: it is taken without the link, no longer hidden"
        elif self._source.leads_back(target, given, note.values["created_at_ms"]):
            item.refused = "it closes a circle in which its note is the oldest: that is taken without it"
        elif link.values["created_at_ms"] != note.values["created_at_ms"]:
            link.keep("created_at_ms", link.values["created_at_ms"], "created_at_ms is that of its note here")
        return item


def _take(tag: Any, taken: list[str]) -> None:
    """Add a tag to those that are taken, cleaned, unless it is none or there are enough."""
    name = naming.label(tag) if isinstance(tag, str) else ""
    if not name or name != naming.clean(tag):
        return
    try:
        taken[:] = check_tags([*taken, name])
    except InvalidInput:
        return
