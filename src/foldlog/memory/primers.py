"""Primers: named texts of a namespace that stand in every recalled block that asks for them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from foldlog.errors import WrongExpectedVersion
from foldlog.events.append import Appended, Request, Transaction
from foldlog.events.encoding import check_not_blank
from foldlog.events.provenance import Provenance
from foldlog.events.types import PrimerDeleted, PrimerSet, Stream
from foldlog.memory.counters import PRIMER_WRITES
from foldlog.memory.paging import check_limit
from foldlog.memory.writer import Receipt, Writer, occurred
from foldlog.names import check_name, check_namespace
from foldlog.projections.local import primers
from foldlog.projections.local.primers import Primer


class Primers:
    """Set, read and delete primers."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._log = writer.log

    def set(
        self,
        namespace: str,
        name: str,
        text: str,
        *,
        question: str | None = None,
        expected_version: int | None = None,
        idempotency_key: str | None = None,
        by: Provenance | None = None,
        occurred_at: datetime | None = None,
    ) -> Receipt:
        """Set a primer's text, which goes into a block as it is; the text it has already is `unchanged`.

        With a `question` the job primers asks it now and then, and sets the text to what is found.
        `expected_version` makes it a compare-and-set: the version last read, 0 for no primer.
        Raises InvalidInput, WrongExpectedVersion or IdempotencyConflict; then nothing was written.
        """
        stream = _stream(namespace, name)
        asked = None if question is None else check_not_blank(question, "question")
        record = PrimerSet(text=check_not_blank(text, "text"), question=asked)
        request = None
        if idempotency_key is not None:
            key = check_name(idempotency_key, "idempotency_key")
            content = {"prime": name, "text": text, "expect": expected_version}
            content |= {} if question is None else {"question": question}
            request = Request(namespace=namespace, key=key, content=content)
        at = occurred(occurred_at)

        def command(transaction: Transaction) -> Appended | None:
            before = transaction.repeated(request)
            if before is not None:
                return before
            found = _expect(transaction, stream, expected_version)
            if found is not None and (found.text, found.question) == (text, question):
                return None
            return transaction.append(
                stream, record, by=by or self._writer.by, request=request, occurred_at=at
            )

        return self._writer.submit(name, command, PRIMER_WRITES)

    def get(self, namespace: str, name: str) -> Primer | None:
        """Return a primer, None when there is none."""
        with self._log.read() as connection:
            return primers.get(connection, namespace, name)

    def list(self, namespace: str, *, after: str = "", limit: int = 1000) -> list[Primer]:
        """Return the primers of a namespace by name (in binary order), after a name."""
        check_limit(limit)
        with self._log.read() as connection:
            return primers.page(connection, namespace, after, limit)

    def asking(self, *, after: tuple[str, str] = ("", ""), limit: int = 1000) -> Sequence[Primer]:
        """Return the primers of all namespaces that answer a question, after a namespace and name."""
        check_limit(limit)
        with self._log.read() as connection:
            return primers.asking(connection, after, limit)

    def delete(
        self, namespace: str, name: str, *, expected_version: int | None = None, by: Provenance | None = None
    ) -> Receipt:
        """Delete a primer; a missing one is left alone (`unchanged`). Raises WrongExpectedVersion."""
        stream = _stream(namespace, name)

        def command(transaction: Transaction) -> Appended | None:
            if _expect(transaction, stream, expected_version) is None:
                return None
            return transaction.append(stream, PrimerDeleted(), by=by or self._writer.by)

        return self._writer.submit(name, command, PRIMER_WRITES)


def _stream(namespace: str, name: str) -> Stream:
    return Stream(kind="primer", namespace=check_namespace(namespace), name=check_name(name, "name"))


def _expect(transaction: Transaction, stream: Stream, expected: int | None) -> Primer | None:
    found = primers.get(transaction.connection, stream.namespace, stream.name)
    version = found.version if found else 0
    if expected is not None and expected != version:
        raise WrongExpectedVersion(str(stream), expected, version)
    return found
