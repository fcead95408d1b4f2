"""Facts, items 12 to 41 of the conformance list."""

from __future__ import annotations

import functools
import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from fixtures.logs import Clock, open_memory
from fixtures.racing import race
from foldlog import Memory, Provenance
from foldlog.errors import InvalidInput, WrongExpectedVersion
from foldlog.events.types import FactExpired
from foldlog.memory import counters

ALICE, BOB = "user:alice", "user:bob"


def _value(memory: Memory, key: str = "k") -> Any:
    fact = memory.facts.get(ALICE, key)
    assert fact is not None
    return fact.value


@pytest.mark.conformance(12, 13, 29)
@pytest.mark.parametrize("value", [{"a": [1, {"b": None}], "c": 0.1}, [], None, "", 1e-300, False])
def test_a_value_round_trips(memory: Memory, value: Any) -> None:
    """Nested objects, arrays, null and floats, exactly; null is a value, and missing is None."""
    assert memory.facts.get(ALICE, "k") is None
    memory.facts.set(ALICE, "k", value)
    assert repr(_value(memory)) == repr(value)


@pytest.mark.conformance(14, 15, 16, 17)
def test_set_get_delete(memory: Memory) -> None:
    """The last value stands alone, in its namespace; deleting it twice appends one event."""
    memory.facts.set(ALICE, "k", 1)
    memory.facts.set(ALICE, "k", 2)
    memory.facts.set(BOB, "k", 3)
    assert [(fact.key, fact.value) for fact in memory.facts.list(ALICE)] == [("k", 2)]
    assert memory.facts.delete(ALICE, "k").created
    assert memory.facts.get(ALICE, "k") is None
    head = memory.log.head()
    assert memory.facts.delete(ALICE, "k").outcome == "unchanged"
    assert memory.facts.delete(ALICE, "never").outcome == "unchanged"
    assert memory.log.head() == head
    assert [fact.value for fact in memory.facts.list()] == [3]


@pytest.mark.conformance(18, 19, 20)
def test_lists_are_in_order(memory: Memory) -> None:
    """By key in binary order, or by namespace and key; in pages of any size; of nothing, nothing."""
    assert memory.facts.list() == memory.facts.list(ALICE) == []
    pairs = [
        (namespace, key)
        for namespace in ("agent:a", "user:a", "user:a/b", "user:ab", "workflow:x")
        for key in ("10", "9", "B", "a", "é")
    ]
    for namespace, key in reversed(pairs):
        memory.facts.set(namespace, key, 1)
    assert [fact.key for fact in memory.facts.list("user:a")] == ["10", "9", "B", "a", "é"]
    assert [(fact.namespace, fact.key) for fact in memory.facts.list()] == pairs
    for size in (1, 2, 7, 25):
        found: list[tuple[str, str]] = []
        while page := memory.facts.list(after=found[-1] if found else "", limit=size):
            found += [(fact.namespace, fact.key) for fact in page]
        assert found == pairs
    for namespace, after in ((None, "a"), (ALICE, ("a", "b"))):
        with pytest.raises(InvalidInput, match="after"):
            memory.facts.list(namespace, after=after)


@pytest.mark.conformance(21, 22, 24)
def test_a_ttl(memory: Memory, clock: Clock) -> None:
    """Kept as given, alive while now <= set + ttl, cleared by a set without one."""
    for ttl in (1000, timedelta(seconds=1)):
        memory.facts.set(ALICE, "k", 1, ttl=ttl)
        fact = memory.facts.get(ALICE, "k")
        assert fact is not None
        assert fact.expires_at == fact.updated_at + 1000
        clock.pass_ms(1000)
        assert memory.facts.get(ALICE, "k") is not None
        clock.pass_ms(1)
        assert memory.facts.get(ALICE, "k") is None
    memory.facts.set(ALICE, "k", 1, ttl=1000)
    memory.facts.set(ALICE, "k", 2)
    clock.pass_ms(10**9)
    assert _value(memory) == 2


@pytest.mark.case("D01")
@pytest.mark.conformance(23, 26)
@pytest.mark.parametrize(
    "ttl",
    [0, -1, 0.0, True, False, "60", 0.5, float("nan"), float("inf"), timedelta(0), timedelta(days=-1), [1]],
)
def test_a_ttl_that_is_refused(memory: Memory, ttl: Any) -> None:
    """Zero has two readings and each loses somebody's data; neither is guessed, and nothing is appended."""
    memory.facts.set(ALICE, "k", "before", ttl=None)
    with pytest.raises(InvalidInput, match="ttl"):
        memory.facts.set(ALICE, "k", "after", ttl=ttl)
    assert memory.log.head() == 1
    assert _value(memory) == "before"


@pytest.mark.conformance(25)
def test_an_expired_fact_is_on_no_path(memory: Memory, clock: Clock) -> None:
    """Collected or not; an audit may ask for it until it is collected."""
    memory.facts.set(ALICE, "gone", "the answer", ttl=10)
    memory.facts.set(ALICE, "here", "the answer", ttl=1000)
    clock.pass_ms(11)
    for found in (memory.facts.list(ALICE), memory.facts.list()):
        assert [fact.key for fact in found] == ["here"]
    assert memory.facts.get(ALICE, "gone") is None
    assert [item.id for item in memory.recall("answer", ALICE).memories] == ["here"]
    audited = memory.facts.get(ALICE, "gone", include_expired=True)
    assert audited is not None
    assert audited.expires_at is not None
    assert audited.expires_at < clock.now
    for found in (
        memory.facts.list(ALICE, include_expired=True),
        memory.facts.list(include_expired=True),
    ):
        assert [fact.key for fact in found] == ["gone", "here"]
    assert memory.facts.collect() == 1
    assert memory.facts.get(ALICE, "gone", include_expired=True) is None
    assert [event.type for event in memory.history.fact(ALICE, "gone").events] == ["FactSet", "FactExpired"]


@pytest.mark.conformance(27, 28)
@pytest.mark.parametrize(
    "value", [object(), {1}, b"x", lambda: 1, float("nan"), {"a": [float("-inf")]}, {1: 2}, (1, 2), "\ud800"]
)
@pytest.mark.case("A06")
def test_what_is_no_json_is_refused(memory: Memory, value: Any) -> None:
    """With the path of the bad value; nothing is written, and nothing turned into null."""
    with pytest.raises(InvalidInput) as refused:
        memory.facts.set(ALICE, "k", value)
    assert refused.value.path.startswith("value")
    assert memory.log.head() == 0


@pytest.mark.conformance(30, 31)
def test_creation_survives_until_a_delete(memory: Memory, clock: Clock) -> None:
    """Overwriting moves `updated_at` alone; after a delete, or an expiry, it begins anew."""
    first = clock.now
    stamps = []
    for change in (None, None, "delete", "expire"):
        if change == "delete":
            memory.facts.delete(ALICE, "k")
        memory.facts.set(ALICE, "k", 1, ttl=50)
        fact = memory.facts.get(ALICE, "k")
        assert fact is not None
        stamps.append((fact.created_at - first, fact.updated_at - first))
        clock.pass_ms(100 if change == "delete" else 10)
    assert stamps == [(0, 0), (0, 10), (20, 20), (120, 120)]


@pytest.mark.conformance(32, 33)
def test_provenance_is_replaced_as_a_whole(memory: Memory) -> None:
    """Kept when given, absent when not, never merged."""
    memory.facts.set(ALICE, "k", 1, by=Provenance(run="r", node="n", iteration=0))
    fact = memory.facts.get(ALICE, "k")
    assert fact is not None
    assert fact.provenance.as_dict() == {"run": "r", "node": "n", "iteration": 0}
    memory.facts.set(ALICE, "k", 2, by=Provenance(actor="imani"))
    fact = memory.facts.get(ALICE, "k")
    assert fact is not None
    assert fact.provenance.as_dict() == {"actor": "imani"}
    memory.facts.set(ALICE, "k", 3)
    fact = memory.facts.get(ALICE, "k")
    assert fact is not None
    assert fact.provenance.as_dict() == {}


@pytest.mark.conformance(34, 35)
def test_the_collector_takes_what_has_expired(memory: Memory, clock: Clock) -> None:
    """It says how many, leaves the others, stops at its limit, and finds nothing the second time."""
    with memory.batch():
        for number in range(500):
            memory.facts.set(ALICE, f"gone{number}", 1, ttl=10)
        memory.facts.set(ALICE, "later", 1, ttl=1000)
        memory.facts.set(ALICE, "always", 1)
    assert memory.facts.collect() == 0
    clock.pass_ms(11)
    head = memory.log.head()
    assert memory.facts.collect(limit=3) == 3
    assert memory.facts.collect(limit=0) == 0
    assert memory.facts.collect() == 497
    assert memory.facts.collect() == 0
    assert memory.log.head() == head + 500
    assert [fact.key for fact in memory.facts.list(ALICE, include_expired=True)] == ["always", "later"]
    assert memory.verify().ok


@pytest.mark.conformance(34)
@pytest.mark.conformance(167)
def test_a_fact_set_anew_is_not_collected(memory: Memory, clock: Clock) -> None:
    """The collector names the version that it saw, and a later one refuses that."""
    memory.facts.set(ALICE, "k", 1, ttl=10)
    memory.facts.set(ALICE, "j", 1, ttl=10)
    clock.pass_ms(11)
    memory.facts.set(ALICE, "k", 2, ttl=10)
    assert memory.facts.collect() == 1
    assert _value(memory) == 2
    (event,) = [
        event for event in memory.history.fact(ALICE, "j").events if isinstance(event.record, FactExpired)
    ]
    assert event.record.expired_version == 1
    with memory.log.write() as transaction:
        stream = event.stream
        with pytest.raises(WrongExpectedVersion):
            transaction.append(stream, FactExpired(expired_version=1), expected_version=1)


@pytest.mark.conformance(36, 37, 38, 39)
def test_many_writers(tmp_path: Path) -> None:
    """On one key: one row with a whole value of one of them, whoever reads meanwhile; others' keys stay."""
    path = tmp_path / "memory.db"
    whole = [{"writer": number, "text": f"{number}" * 500} for number in range(12)]
    seen: list[Any] = []
    done = threading.Event()
    with open_memory(path) as memory, open_memory(path) as other:
        memory.facts.set(ALICE, "k", whole[0])

        def read() -> None:
            while not done.is_set():
                seen.append(_value(other))

        def write(number: int) -> None:
            each = (memory, other)[number % 2]
            each.facts.set(ALICE, "k", whole[number])
            each.facts.set(ALICE, f"own{number}", number)

        reader = threading.Thread(target=read)
        reader.start()
        outcomes = race([functools.partial(write, number) for number in range(12)])
        done.set()
        reader.join()
        assert outcomes == [None] * 12
        assert _value(memory) in whole
        assert all(value in whole for value in seen)
        assert seen
        facts = {fact.key: fact.value for fact in memory.facts.list(ALICE)}
        assert facts == {"k": _value(memory), **{f"own{number}": number for number in range(12)}}


@pytest.mark.conformance(40, 41)
def test_counters(memory: Memory, clock: Clock) -> None:
    """One write, one read, one save raise theirs by one; what failed, or changed nothing, does not."""
    memory.threads.create(ALICE, thread_id="t")

    def counts(*names: str) -> list[int]:
        return [memory.counters.as_dict()[name] for name in names]

    named = (counters.FACT_WRITES, counters.FACT_READS, counters.MESSAGE_SAVES, counters.NOTE_SAVES)
    memory.facts.set(ALICE, "k", 1, idempotency_key="i")
    memory.facts.get(ALICE, "k")
    memory.messages.save("t", "x", message_id="m")
    memory.notes.save(ALICE, "x", note_id="n")
    assert counts(*named) == [1, 1, 1, 1]
    memory.facts.set(ALICE, "k", 1, idempotency_key="i")
    memory.facts.delete(ALICE, "never")
    memory.messages.save("t", "x", message_id="m")
    memory.notes.save(ALICE, "x", note_id="n")
    for value, version in ((float("nan"), None), (2, 7)):
        with pytest.raises((InvalidInput, WrongExpectedVersion)):
            memory.facts.set(ALICE, "k", value, expected_version=version)
    assert counts(*named) == [1, 1, 1, 1]

    def a_batch_that_fails() -> None:
        with memory.batch():
            memory.facts.set(ALICE, "j", 1)
            memory.facts.set(ALICE, "k", 1, expected_version=7)

    with pytest.raises(WrongExpectedVersion):
        a_batch_that_fails()
    assert counts(*named) == [1, 1, 1, 1]
    memory.facts.get(ALICE, "never")
    memory.by(Provenance(run="r")).facts.set(ALICE, "j", 1, ttl=5)
    assert counts(*named) == [2, 2, 1, 1]
    clock.pass_ms(6)
    memory.facts.collect()
    memory.recall("anything", ALICE)
    assert counts(counters.FACTS_COLLECTED, counters.RECALLS, counters.RECALLS_INCOMPLETE) == [1, 1, 1]
