"""Facts: namespaced JSON by key, last write wins, with an optional time to live."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from foldlog.errors import WrongExpectedVersion
from foldlog.events.append import Appended, Request, Transaction
from foldlog.events.encoding import check_json, duration_ms, expiry_ms
from foldlog.events.provenance import Provenance
from foldlog.events.types import FactDeleted, FactSet, Stream
from foldlog.memory.tags import check_tags
from foldlog.memory.writer import Receipt, Writer, occurred
from foldlog.names import check_name, check_namespace
from foldlog.projections.local import facts
from foldlog.projections.local.facts import Fact


class Facts:
    """Set, read and delete facts."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._log = writer.log

    def set(
        self,
        namespace: str,
        key: str,
        value: Any,
        *,
        ttl: timedelta | int | None = None,
        tags: Iterable[str] = (),
        expected_version: int | None = None,
        idempotency_key: str | None = None,
        by: Provenance | None = None,
        occurred_at: datetime | None = None,
    ) -> Receipt:
        """Set a fact's value; an earlier value, ttl, tags and provenance are replaced.

        `ttl` is a timedelta or whole milliseconds; without it the fact does not expire.
        `expected_version` makes it a compare-and-set: the version last read, 0 for no fact.
        Raises InvalidInput, WrongExpectedVersion or IdempotencyConflict; then nothing was written.
        """
        stream = _stream(namespace, key)
        check_json(value, "value")
        found_tags = check_tags(tags)
        span = None if ttl is None else duration_ms(ttl)
        content = {"set": key, "value": value, "ttl": span, "tags": found_tags, "expect": expected_version}
        request = _request(namespace, idempotency_key, content)
        at = occurred(occurred_at)

        def command(transaction: Transaction) -> Appended:
            before = transaction.repeated(request)
            if before is not None:
                return before
            _expect(transaction, stream, expected_version)
            record = FactSet(
                value=value,
                tags=found_tags,
                expires_at=None if span is None else expiry_ms(transaction.now, span),
            )
            return transaction.append(
                stream, record, by=by or self._writer.by, request=request, occurred_at=at
            )

        return self._writer.submit(key, command)

    def delete(
        self,
        namespace: str,
        key: str,
        *,
        expected_version: int | None = None,
        idempotency_key: str | None = None,
        by: Provenance | None = None,
    ) -> Receipt:
        """Delete a fact; a missing one is left alone (`unchanged`).

        Raises WrongExpectedVersion or IdempotencyConflict; then nothing was written.
        """
        stream = _stream(namespace, key)
        request = _request(namespace, idempotency_key, {"delete": key, "expect": expected_version})

        def command(transaction: Transaction) -> Appended | None:
            before = transaction.repeated(request)
            if before is not None:
                return before
            if _expect(transaction, stream, expected_version) == 0:
                return None
            return transaction.append(stream, FactDeleted(), by=by or self._writer.by, request=request)

        return self._writer.submit(key, command)

    def get(self, namespace: str, key: str) -> Fact | None:
        """Return a fact, None when there is none or its time has passed."""
        with self._log.read() as connection:
            return facts.get(connection, namespace, key, self._log.clock())

    def list(self, namespace: str, *, after: str = "", limit: int = 1000) -> list[Fact]:
        """Return the facts of a namespace by key (in binary order), after a key."""
        with self._log.read() as connection:
            return facts.page(connection, namespace, self._log.clock(), after, limit)


def _stream(namespace: str, key: str) -> Stream:
    return Stream(kind="fact", namespace=check_namespace(namespace), name=check_name(key, "key"))


def _request(namespace: str, key: str | None, content: Any) -> Request | None:
    if key is None:
        return None
    return Request(namespace=namespace, key=check_name(key, "idempotency_key"), content=content)


def _expect(transaction: Transaction, stream: Stream, expected: int | None) -> int:
    """Return the version of the fact as a reader sees it: 0 when it is absent or has expired."""
    fact = facts.get(transaction.connection, stream.namespace, stream.name, transaction.now)
    version = fact.version if fact else 0
    if expected is not None and expected != version:
        raise WrongExpectedVersion(str(stream), expected, version)
    return version
