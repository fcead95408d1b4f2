"""Retained content: texts that agents keep; each is a memory of its own, alone or as a unit of a document."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from typing import Any

from foldlog.errors import InvalidInput, RetainedConflict
from foldlog.events.append import Appended, Request, Transaction
from foldlog.events.encoding import check_json, check_not_blank
from foldlog.events.provenance import Provenance
from foldlog.events.types import ContentRetained, RetainedDeleted, Stream
from foldlog.memory.counters import RETAINED
from foldlog.memory.paging import check_limit
from foldlog.memory.tags import check_tags, namespace_tags
from foldlog.memory.writer import Receipt, Writer, occurred
from foldlog.names import check_name, check_namespace, id_text, new_id
from foldlog.projections.local import retained
from foldlog.projections.local.retained import Retained

#: Between the units of a document that is read as one text.
UNIT_BREAK = "\n"


class Retention:
    """Keep, read and delete texts."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._log = writer.log

    def add(
        self,
        namespace: str,
        content: str,
        *,
        retained_id: str | None = None,
        document: str | None = None,
        replace: bool = False,
        tags: Iterable[str] = (),
        metadata: Mapping[str, Any] | None = None,
        idempotency_key: str | None = None,
        by: Provenance | None = None,
        occurred_at: datetime | None = None,
    ) -> Receipt:
        """Keep a text; with a `document` it is one more unit of it, beside those that are there.

        `replace` first deletes the units the document has. An id that exists with equal content is
        `unchanged`. With an idempotency key and no id the id follows from the key, so that a repeat has
        it too. Raises RetainedConflict for an id with other content, or one that was deleted;
        IdempotencyConflict or InvalidInput. Nothing was written then.
        """
        check_namespace(namespace)
        name = _id(namespace, retained_id, idempotency_key)
        given_tags = check_tags(tags)
        record = ContentRetained(
            content=check_not_blank(content, "content"),
            document=None if document is None else check_name(document, "document"),
            tags=namespace_tags(namespace, given_tags),
            metadata=_check_metadata(metadata),
        )
        if replace and document is None:
            raise InvalidInput("replace", "needs a document, whose units are to be replaced")
        request = _request(namespace, idempotency_key, record, replace, given_tags)
        stream = Stream(kind="retained", namespace=namespace, name=name)
        at = occurred(occurred_at)
        who = by or self._writer.by

        def command(transaction: Transaction) -> Appended | None:
            before = transaction.repeated(request)
            if before is not None:
                return before
            if _exists(transaction, stream, record):
                return None
            if replace:
                _delete_document(transaction, namespace, document or "", who, replaced_by=name)
            return transaction.append(stream, record, by=who, request=request, occurred_at=at)

        return self._writer.submit(name, command, RETAINED)

    def get(self, retained_id: str) -> Retained | None:
        """Return a text, None when there is none."""
        with self._log.read() as connection:
            return retained.get(connection, retained_id)

    def list(
        self, namespace: str, document: str | None = None, *, after: int = 0, limit: int = 1000
    ) -> list[Retained]:
        """Return texts of a namespace, or of one document, in the order of the log, after a `memory_id`."""
        check_limit(limit)
        with self._log.read() as connection:
            return retained.page(connection, namespace, document, after, limit)

    def text(self, namespace: str, document: str) -> str | None:
        """Return a document's units, in the order of the log, as one text; None when it has none."""
        with self._log.read() as connection:
            units = retained.page(connection, namespace, document, 0, 1 << 62)
        return joined(units)

    def delete(self, retained_id: str, *, by: Provenance | None = None) -> Receipt:
        """Delete a text; a missing one is left alone (`unchanged`)."""
        check_name(retained_id, "retained_id")

        def command(transaction: Transaction) -> Appended | None:
            found = retained.get(transaction.connection, retained_id)
            if found is None:
                return None
            return transaction.append(_stream(found), RetainedDeleted(), by=by or self._writer.by)

        return self._writer.submit(retained_id, command)

    def delete_document(self, namespace: str, document: str, *, by: Provenance | None = None) -> Receipt:
        """Delete all units of a document, one event each; the receipt's `count` says how many."""
        check_namespace(namespace)
        check_name(document, "document")

        def command(transaction: Transaction) -> Appended | None:
            return _delete_document(transaction, namespace, document, by or self._writer.by)

        return self._writer.submit(document, command)


def _id(namespace: str, given: str | None, key: str | None) -> str:
    if given is not None:
        return check_name(given, "retained_id")
    if key is None:
        return new_id()
    return id_text(
        sha256(f"{len(namespace)}:{namespace}{check_name(key, 'idempotency_key')}".encode()).digest()[:16]
    )


def _check_metadata(metadata: Mapping[str, Any] | None) -> dict[str, Any]:
    found = dict(metadata or {})
    check_json(found, "metadata")
    return found


def _request(
    namespace: str, key: str | None, record: ContentRetained, replace: bool, tags: list[str]
) -> Request | None:
    if key is None:
        return None
    content = {
        "retain": record.content,
        "document": record.document,
        "replace": replace,
        "tags": tags,
        "metadata": record.metadata,
    }
    return Request(namespace=namespace, key=check_name(key, "idempotency_key"), content=content)


def _exists(transaction: Transaction, stream: Stream, record: ContentRetained) -> bool:
    """Say whether the id has this very content; raises RetainedConflict when it has, or had, other."""
    namespace = retained.ever(transaction.connection, stream.name)
    if namespace is None:
        return False
    found = retained.get(transaction.connection, stream.name)
    if found is None:
        raise RetainedConflict(stream.name, namespace, deleted=True)
    same = (found.namespace, found.content, found.document) == (
        stream.namespace,
        record.content,
        record.document,
    )
    if not same:
        raise RetainedConflict(stream.name, namespace)
    return True


def _delete_document(
    transaction: Transaction,
    namespace: str,
    document: str,
    by: Provenance,
    replaced_by: str | None = None,
) -> Appended | None:
    appended = None
    units = retained.page(transaction.connection, namespace, document, 0, 1 << 62)
    for unit in units:
        appended = transaction.append(_stream(unit), RetainedDeleted(replaced_by=replaced_by), by=by)
    if appended is None:
        return None
    return Appended(
        position=appended.position,
        stream_id=appended.stream_id,
        version=appended.version,
        outcome=appended.outcome,
        count=len(units),
    )


def _stream(found: Retained) -> Stream:
    return Stream(kind="retained", namespace=found.namespace, name=found.retained_id)


def joined(units: Sequence[Retained]) -> str | None:
    """Return the units of a document as one text, None for no unit."""
    return UNIT_BREAK.join(unit.content for unit in units) if units else None
