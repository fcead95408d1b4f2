"""Facts: namespaced JSON by key, last write wins, with an optional time to live."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from foldlog.errors import InvalidInput, SchemaViolation, WrongExpectedVersion
from foldlog.events.append import Appended, Request, Transaction
from foldlog.events.encoding import check_json, duration_ms, expiry_ms, instant_ms
from foldlog.events.provenance import Provenance
from foldlog.events.types import FactDeleted, FactExpired, FactSet, Stream
from foldlog.memory.counters import FACT_READS, FACT_WRITES, FACTS_COLLECTED
from foldlog.memory.paging import check_limit
from foldlog.memory.tags import check_tags, namespace_tags
from foldlog.memory.writer import Receipt, Writer, occurred
from foldlog.names import check_name, check_namespace
from foldlog.projections.local import facts
from foldlog.projections.local.facts import BEFORE_ALL, Fact

if TYPE_CHECKING:
    from foldlog.memory.schemas import Rule

#: Most expired facts collected in one transaction, which keeps other writers waiting.
COLLECTED: Final = 200


class Facts:
    """Set, read and delete facts."""

    def __init__(self, writer: Writer, rules: list[Rule] | None = None) -> None:
        self._writer = writer
        self._log = writer.log
        # Shared by all who write on this memory's behalf.
        self.rules = [] if rules is None else rules

    def schema(self, pattern: str, schema: Any) -> None:
        """From now on hold facts' values against a schema; the pattern is `namespace/key`: `user:*/profile`.

        The first pattern that matches a fact counts. Raises InvalidInput for what is no schema, and
        SettingsError without the extra that it needs.
        """
        from foldlog.memory.schemas import rule

        self.rules.append(rule(pattern, schema))

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
        expires_at: datetime | None = None,
        created_at: datetime | None = None,
    ) -> Receipt:
        """Set a fact's value; an earlier value, ttl, tags and provenance are replaced.

        `ttl` is a timedelta or whole milliseconds, or none. `expected_version` (as last read, 0 for no
        fact) makes it a compare-and-set. For imports: `expires_at` is the last instant at which it is
        alive, in place of a ttl, and may be past; `created_at` is when it first came to be.
        Raises InvalidInput (SchemaViolation when the value is not what its schema wants),
        WrongExpectedVersion or IdempotencyConflict; then nothing was written.
        """
        stream = _stream(namespace, key)
        check_json(value, "value")
        schema, wrong = self._held(namespace, key, value)
        found_tags = check_tags(tags)
        stored_tags = namespace_tags(namespace, found_tags)
        span = None if ttl is None else duration_ms(ttl)
        fixed = _instants(ttl, expires_at, created_at)
        asked = {"set": key, "value": value, "ttl": span, "tags": found_tags, "expect": expected_version}
        request = _request(namespace, idempotency_key, asked | fixed)
        if wrong is not None and request is None:
            raise wrong
        at = occurred(occurred_at)

        def command(transaction: Transaction) -> Appended:
            before = transaction.repeated(request)
            if before is not None:
                return before
            if wrong is not None:  # a repeat of what was written before the schema came is still a repeat
                raise wrong
            _expect(transaction, stream, expected_version)
            times = fixed if span is None else {**fixed, "expires_at": expiry_ms(transaction.now, span)}
            record = FactSet(value=value, tags=stored_tags, schema=schema, **times)
            return transaction.append(
                stream, record, by=by or self._writer.by, request=request, occurred_at=at
            )

        return self._writer.submit(key, command, FACT_WRITES)

    def _held(self, namespace: str, key: str, value: Any) -> tuple[str | None, SchemaViolation | None]:
        if not self.rules:
            return None, None
        from foldlog.memory.schemas import violation

        return violation(self.rules, namespace, key, value)

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

        return self._writer.submit(key, command, FACT_WRITES)

    def get(self, namespace: str, key: str, *, include_expired: bool = False) -> Fact | None:
        """Return a fact, None when there is none or its time has passed.

        With `include_expired` also one whose time has passed, until it is collected: for an audit.
        """
        now = BEFORE_ALL if include_expired else self._log.clock()
        with self._log.read() as connection:
            found = facts.get(connection, namespace, key, now)
        self._writer.counters.add(FACT_READS)
        return found

    def list(
        self,
        namespace: str | None = None,
        *,
        after: str | tuple[str, str] = "",
        limit: int = 1000,
        include_expired: bool = False,
    ) -> list[Fact]:
        """Return the facts of a namespace by key (in binary order), after a key.

        Without a namespace those of all, by namespace and key, after such a pair.
        """
        check_limit(limit)
        now = BEFORE_ALL if include_expired else self._log.clock()
        place, key = start(namespace, after)
        with self._log.read() as connection:
            if namespace is None:
                return facts.page_of_all(connection, now, (place, key), limit)
            return facts.page(connection, namespace, now, key, limit)

    def expired(self, limit: int = 1000, *, older_than_ms: int = 0) -> Sequence[tuple[str, str, int]]:
        """Return (namespace, key, version) of facts that expired so long ago and are not collected yet."""
        check_limit(limit)
        with self._log.read() as connection:
            return facts.expired(connection, self._log.clock() - older_than_ms, limit)

    def count_expired(self, *, older_than_ms: int = 0) -> int:
        """Return how many facts expired so long ago and are not collected yet."""
        with self._log.read() as connection:
            return facts.count_expired(connection, self._log.clock() - older_than_ms)

    def collect(self, limit: int = 1000, *, older_than_ms: int = 0, by: Provenance | None = None) -> int:
        """Append FactExpired for at most `limit` facts that expired so long ago; return how many.

        Nothing depends on it: an expired fact is on no read's way. Costs what has expired, not what
        there is. Not part of a batch: it writes now, in transactions of up to COLLECTED facts, and a
        fact that is set anew meanwhile stays.
        """
        left = check_limit(limit)
        done = 0
        while left and (found := self._collect(min(left, COLLECTED), older_than_ms, by or self._writer.by)):
            done, left = done + found, left - found
        return done

    def _collect(self, limit: int, older_than_ms: int, by: Provenance) -> int:
        # A look without the write lock: mostly there is nothing to do.
        if not self.expired(1, older_than_ms=older_than_ms):
            return 0
        with self._log.write() as transaction:
            found = facts.expired(transaction.connection, transaction.now - older_than_ms, limit)
            for namespace, key, version in found:
                stream = Stream(kind="fact", namespace=namespace, name=key)
                record = FactExpired(expired_version=version)
                transaction.append(stream, record, by=by, expected_version=version)
        self._writer.counters.add(FACTS_COLLECTED, len(found))
        return len(found)


def start(namespace: str | None, after: str | tuple[str, str]) -> tuple[str, str]:
    """Return the namespace and the key after which a list begins; raises InvalidInput."""
    if namespace is None:
        pair = ("", "") if after == "" else after
        if isinstance(pair, str):
            raise InvalidInput("after", f"must be a namespace and a key, not {pair!r}")
        return pair
    if not isinstance(after, str):
        raise InvalidInput("after", f"must be a key, not {after!r}")
    return namespace, after


def _stream(namespace: str, key: str) -> Stream:
    return Stream(kind="fact", namespace=check_namespace(namespace), name=check_name(key, "key"))


def _instants(ttl: object, expires_at: datetime | None, created_at: datetime | None) -> dict[str, int]:
    """Return the instants that are given, as UTC ms."""
    if ttl is not None and expires_at is not None:
        raise InvalidInput("expires_at", "cannot be given together with a ttl")
    given = {"expires_at": expires_at, "created_at": created_at}
    return {name: instant_ms(value, name) for name, value in given.items() if value is not None}


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
