"""One row of the source, read column by column; what had to be changed is noted as it is read."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, Final

from foldlog.errors import InvalidInput
from foldlog.events.encoding import check_json, check_not_blank, encode, instant, instant_ms, parse
from foldlog.events.provenance import Provenance
from foldlog.events.types import Record
from foldlog.imports.smithers import naming
from foldlog.names import parse_namespace

#: Stands in the provenance of every event that an import wrote.
CORRELATION: Final = "import:smithers"

#: Most characters of a value that a reason quotes.
QUOTED: Final = 60

#: Bytes that a character of the source can become in the log: `\\u0000`.
_GROWTH: Final = 6

_FIRST: Final = datetime(1, 1, 1, tzinfo=UTC)


class Refused(Exception):
    """Raised when a row cannot be taken; the message is the reason."""


class Row:
    """A row being read. Each reader returns what the log takes, or raises Refused."""

    def __init__(self, values: Mapping[str, Any], key: tuple[str, ...], extra: Mapping[str, Any]) -> None:
        self.values = values
        #: What tells the row from others, as the source has it.
        self.key = {column: readable(values[column]) for column in key}
        #: What was changed, and how.
        self.changes: list[str] = []
        #: What has no place of its own in the log, by the source's column names.
        self.kept: dict[str, Any] = {}
        for column, value in extra.items():
            if value is not None:
                self.keep(column, value, f"{column} is a column that is not known here")

    @property
    def size(self) -> int:
        """About how many bytes it is."""
        return sum(len(value) for value in self.values.values() if isinstance(value, str | bytes))

    def change(self, text: str) -> None:
        """Note that something is taken in another form."""
        self.changes.append(text)

    def keep(self, column: str, value: Any, why: str) -> None:
        """Note that something has no place, and put it with what is kept."""
        self.change(why)
        self.kept[column] = readable(value)

    def digest(self, *more: str) -> str:
        """Return what tells this state of the row from every other."""
        content = json.dumps([*more, *self.values.values()], default=repr)
        return sha256(content.encode("utf-8", "surrogatepass")).hexdigest()

    def text(self, column: str) -> str:
        """Return a text that must be there."""
        value = self.values[column]
        if not isinstance(value, str):
            raise Refused(f"{column} is {_sort(value)}, not text")
        if not value.isascii() and not is_text(value):
            raise Refused(f"{column} is not UTF-8: {quoted(value)}")
        return value

    def optional(self, column: str) -> str | None:
        """Return a text that may be missing."""
        return None if self.values[column] is None else self.text(column)

    def not_blank(self, column: str, text: str) -> str:
        """Return a text with something in it."""
        try:
            return check_not_blank(text, column)
        except InvalidInput:
            raise Refused(f"{column} is blank: there is nothing in it to remember") from None

    def name(self, column: str) -> str:
        """Return the name of something, by which it can be found."""
        text = self.text(column)
        found = naming.stored(text)
        if found != text:
            self.keep(column, text, f"{column} {quoted(text)} is no name here: it is {quoted(found)}")
        return found

    def namespace(self) -> str:
        """Return the namespace."""
        text = self.text("namespace")
        found = naming.namespace(text)
        if found != text:
            self.change(f"namespace {quoted(text)} is {quoted(found)} here")
            if parse_namespace(found) != parse_namespace(text):
                self.kept["namespace"] = text
        return found

    def label(self, column: str) -> str | None:
        """Return a word that need not be unique, None when there is none."""
        text = self.optional(column)
        if text is None or naming.is_name(text):
            return text
        if not text:
            self.change(f"{column} is empty: it is taken as none")
            return None
        found = naming.label(text) or None
        self.keep(column, text, f"{column} {quoted(text)} is taken as {quoted(found)}")
        return found

    def instant(self, column: str) -> datetime:
        """Return a point in time."""
        value = self._whole(column)
        try:
            return instant(value)
        except OverflowError:
            raise Refused(f"{column} is {value}, outside the years 1 to 9999") from None

    def expiry(self, column: str, start: datetime) -> datetime | None:
        """Return the last instant of a life that began at `start`, None when it has no end."""
        value = self.values[column]
        if value is None:
            return None
        if isinstance(value, float) and math.isinf(value):
            return self._beyond(column, value)
        span = self._whole(column)
        try:
            return instant(instant_ms(start) + span)
        except OverflowError:
            return self._beyond(column, span)

    def by(self, actor: str | None) -> Provenance:
        """Return where the row came from, and who brought it here."""
        iteration = self.values["iteration"]
        if iteration is not None and (type(iteration) is not int or iteration < 0):
            self.keep("iteration", iteration, f"iteration {iteration!r} is no whole number from 0")
            iteration = None
        return Provenance(
            run=self.label("run_id"),
            node=self.label("node_id"),
            iteration=iteration,
            actor=actor,
            correlation=CORRELATION,
        )

    def json(self, column: str) -> Any:
        """Return the value of a JSON text; the text itself when the log cannot hold that value."""
        text = self.text(column)
        try:
            found = parse(text, column)
        except InvalidInput as error:
            return self.raw(column, text, error.problem)
        try:
            check_json(found, column)
        except InvalidInput as error:
            if not is_text(found):
                raise Refused(str(error)) from None
            return self.raw(column, text, error.problem)
        return found

    def raw(self, column: str, text: str, problem: str) -> str:
        """Return a JSON text as a text."""
        self.change(f"{column} is kept as the text it is, since it {problem}")
        return text

    def check_size(self, record: Record, length: int, limit: int) -> None:
        """Refuse what the log's limit would refuse; `length` is how many characters it had."""
        if length * _GROWTH <= limit:
            return
        size = payload_size(record)
        if size > limit:
            raise Refused(f"it is {size} bytes; at most {limit} are allowed (FOLDLOG_MAX_PAYLOAD_BYTES)")

    def _whole(self, column: str) -> int:
        value = self.values[column]
        if isinstance(value, float) and math.isfinite(value):
            found = math.floor(value)
            self.change(f"{column} {value!r} is rounded down to whole milliseconds")
            return found
        if type(value) is not int:
            raise Refused(f"{column} is {_sort(value)}, not a number of milliseconds")
        return value

    def _beyond(self, column: str, value: float) -> datetime | None:
        if value > 0:
            self.change(f"{column} {value} ends after the year 9999: it does not expire")
            return None
        self.change(f"{column} {value} ends before the year 1: it has expired")
        return _FIRST


def importer(actor: str | None) -> Provenance:
    """Return who brought something here of which the source does not say where it came from."""
    return Provenance(actor=actor, correlation=CORRELATION)


def payload_size(record: Record) -> int:
    """Return how many bytes of data a record has."""
    return len(encode(record.parts()[1]).encode())


def quoted(value: object) -> str:
    """Return a value as a reason quotes it."""
    text = repr(value)
    return text if len(text) <= QUOTED else f"{text[:QUOTED]}…"


def readable(value: Any) -> Any:
    """Return a value of the source in a form that JSON and the log can hold."""
    if isinstance(value, str):
        return value if is_text(value) else repr(value)
    if value is None or (isinstance(value, int | float) and math.isfinite(value)):
        return value
    return value if isinstance(value, dict | list) else repr(value)


def is_text(value: Any) -> bool:
    """Say whether a text, or JSON, holds no half of a surrogate pair: bytes that are no UTF-8 become such."""
    try:
        (value if isinstance(value, str) else encode(value)).encode()
    except UnicodeEncodeError:
        return False
    except RecursionError:
        pass
    return True


def _sort(value: object) -> str:
    if value is None:
        return "NULL"
    return {bytes: "a blob", str: "text", float: f"{value!r}"}.get(type(value), "a number")
