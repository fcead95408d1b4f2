"""The import itself: table by table, in batches, so that it can be stopped and repeated at any point."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol

from foldlog.errors import Conflict, InvalidInput, NotFound
from foldlog.imports.smithers.conversations import Messages, Threads
from foldlog.imports.smithers.facts import Facts
from foldlog.imports.smithers.item import Item, Step
from foldlog.imports.smithers.lookup import Lookup
from foldlog.imports.smithers.notes import NoteItem, Notes
from foldlog.imports.smithers.report import CHANGED, REFUSED, Counts, Entry, Report
from foldlog.imports.smithers.row import Refused, Row
from foldlog.imports.smithers.source import (
    FACTS,
    MESSAGES,
    NOTES,
    THREADS,
    Source,
    Table,
    open_source,
)

if TYPE_CHECKING:
    from foldlog.memory import Memory
    from foldlog.memory.writer import Receipt

#: Most rows of one transaction, and about how many characters of them.
BATCH_ROWS: Final = 500
BATCH_CHARACTERS: Final = 4 << 20

Told = Callable[[Entry], None]
Progress = Callable[[int], None]


class Reader(Protocol):
    """Says what becomes of a row."""

    #: `fact`, `thread`, `message` or `note`.
    kind: ClassVar[str]

    def item(self, row: Row) -> Item:
        """Return it, or raise Refused."""
        ...  # pragma: no cover


def import_file(
    memory: Memory,
    path: Path,
    *,
    actor: str | None = None,
    each: Told | None = None,
    progress: Progress = lambda rows: None,
) -> Report:
    """Import a Smithers database; a second time adds nothing.

    `each` is told every row that is changed or refused; without it they are in the report. Raises
    InvalidInput, with nothing written, when the file is no Smithers database.
    """
    with open_source(path) as source:
        return write(memory, source, actor=actor, each=each, progress=progress)


def write(
    memory: Memory,
    source: Source,
    *,
    actor: str | None = None,
    each: Told | None = None,
    progress: Progress = lambda rows: None,
) -> Report:
    """Import what was opened; `progress` is told how many rows are done.

    Killed at any point it is complete after the next time. Raises FoldlogError when the source
    cannot be read to its end, and LogError.
    """
    check_apart(source, memory.log.path)
    work = _Import(source, memory, actor=actor, limit=memory.log.max_payload_bytes, each=each)
    return work.run(memory, progress)


def preview(
    memory: Memory | None,
    source: Source,
    *,
    limit: int,
    each: Told | None = None,
    progress: Progress = lambda rows: None,
) -> Report:
    """Return what an import would report, and write nothing; `memory` is None when there is no log.

    `limit` is the largest payload, in bytes.
    """
    if memory is not None:
        check_apart(source, memory.log.path)
    return _Import(source, memory, actor=None, limit=limit, each=each).run(None, progress)


def check_apart(source: Source, log: Path) -> None:
    """Raise InvalidInput when the source is the log's own file: it is only read, never written to."""
    try:
        same = log.samefile(source.path)
    except OSError:
        # One that is not there, or cannot be reached; to open it says which.
        return
    if same:
        raise InvalidInput(str(source.path), "is the log itself; import into another one")


@dataclass(slots=True, kw_only=True)
class _Work:
    """A row, and what is to be done for it."""

    row: Row
    #: None for a row that could not be read.
    item: Item | None = None
    steps: list[Step] = field(default_factory=list)
    receipts: list[Receipt] = field(default_factory=list)
    #: Why it is not taken.
    refused: str | None = None


class _Import:
    """One import, or preview, of one source."""

    def __init__(
        self, source: Source, memory: Memory | None, *, actor: str | None, limit: int, each: Told | None
    ) -> None:
        self._source = source
        self._here = Lookup(memory)
        self._given: dict[str, Any] = {"actor": actor, "limit": limit}
        self._report = Report()
        self._tell = each or self._report.entries.append
        #: Ids of notes that stand more than once, and those of them whose links were accounted for.
        self._repeated: set[Any] = set()
        self._accounted: set[Any] = set()

    def run(self, target: Memory | None, progress: Progress) -> Report:
        """Go through the source; nothing is written without a target."""
        done = 0
        for table, reader, counts in self._phases():
            for batch in _batches(self._source.rows(table)):
                with self._here.snapshot():
                    works = [self._look(row, reader) for row in batch]
                if target is not None:
                    _write(target, [work for work in works if work.steps])
                for work in works:
                    self._account(work, reader, counts, is_written=target is not None)
                done += len(batch)
                progress(done)
        for link in self._source.loose_links():
            self._account_link(link, "its note does not exist")
        for name, rows in self._source.unknown_tables():
            self._account_table(name, rows)
        self._source.check_unchanged()
        return self._report

    def _phases(self) -> Iterator[tuple[Table, Reader, Counts]]:
        yield FACTS, Facts(self._source, **self._given), self._report.facts
        threads = Threads(self._source, **self._given)
        yield THREADS, threads, self._report.threads
        yield MESSAGES, Messages(self._source, lost=threads.lost, **self._given), self._report.messages
        notes = Notes(self._source, **self._given)
        self._repeated = notes.repeated
        yield NOTES, notes, self._report.notes

    def _look(self, row: Row, reader: Reader) -> _Work:
        """Read a row, and look what of it is missing here."""
        work = _Work(row=row)
        try:
            work.item = reader.item(row)
            work.steps = work.item.steps(self._here)
        except Refused as error:
            work.refused = str(error)
        return work

    def _account(self, work: _Work, reader: Reader, counts: Counts, *, is_written: bool) -> None:
        counts.rows += 1
        if work.refused is not None:
            counts.refused += 1
            self._tell(_entry(reader.kind, work.row, REFUSED, [work.refused]))
        else:
            new = any(receipt.created for receipt in work.receipts) if is_written else bool(work.steps)
            counts.new += new
            counts.unchanged += not new
            self._tell_changes(reader.kind, work.row, counts)
        if reader.kind == "note":
            self._account_links(work)

    def _tell_changes(self, kind: str, row: Row, counts: Counts) -> None:
        if row.changes:
            counts.changed += 1
            self._tell(_entry(kind, row, CHANGED, row.changes))

    def _account_links(self, work: _Work) -> None:
        note_id = work.row.values["id"]
        if note_id in self._repeated:
            if note_id in self._accounted:
                return
            self._accounted.add(note_id)
        if work.item is None or work.refused is not None:
            for link in self._source.links(note_id):
                self._account_link(link, f"its note was refused: {work.refused}")
            return
        assert isinstance(work.item, NoteItem)
        for item in work.item.links:
            self._account_link(item.row, item.refused, is_there=item.is_there)

    def _account_link(self, link: Row, refused: str | None, *, is_there: bool = False) -> None:
        counts = self._report.links
        counts.rows += 1
        if refused is not None:
            counts.refused += 1
            self._tell(_entry("link", link, REFUSED, [refused]))
            return
        counts.new += not is_there
        counts.unchanged += is_there
        self._tell_changes("link", link, counts)

    def _account_table(self, name: str, rows: int) -> None:
        counts = self._report.tables
        counts.rows += 1
        counts.refused += 1
        reason = f"is a table of memory that is not known here; it has {rows} rows"
        self._tell(Entry(kind="table", source={"name": name}, outcome=REFUSED, reasons=[reason]))


def _entry(kind: str, row: Row, outcome: str, reasons: list[str]) -> Entry:
    return Entry(kind=kind, source=row.key, outcome=outcome, reasons=reasons)


def _batches(rows: Iterator[Row]) -> Iterator[list[Row]]:
    batch: list[Row] = []
    size = 0
    for row in rows:
        batch.append(row)
        size += row.size
        if len(batch) == BATCH_ROWS or size >= BATCH_CHARACTERS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _write(memory: Memory, works: list[_Work]) -> None:
    """Write in one transaction; where the log refuses a row, halve until that one is alone."""
    if not works:
        return
    try:
        with memory.batch():
            receipts = [[step(memory) for step in work.steps] for work in works]
    except (Conflict, InvalidInput, NotFound) as error:
        if len(works) == 1:
            works[0].refused = str(error)
            return
        half = len(works) // 2
        _write(memory, works[:half])
        _write(memory, works[half:])
    else:
        for work, found in zip(works, receipts, strict=True):
            work.receipts = found
