"""Kind D: what has a time to live. D01 is in tests/conformance/test_facts.py."""

from __future__ import annotations

from datetime import timedelta

import pytest

from fixtures.index import difference
from fixtures.logs import Clock
from foldlog import Memory
from foldlog.events.encoding import instant
from foldlog.projections.hindsight import semantic, text

ALICE = "user:alice"

#: Nearer to the question than what is live.
NEAR = "Marta Novak repaired the harbour crane on 3 May 2023, the harbour crane"
LIVE = "A crane that Marta Novak saw in May 2023"
QUESTION = "When did Marta Novak repair the harbour crane? On 3 May 2023?"


@pytest.mark.case("D03")
@pytest.mark.parametrize("folded", ["log alone", "index", "index, then expired", "large index"])
def test_what_is_gone_takes_no_place(
    indexed_memory: Memory,
    database_url: str,
    clock: Clock,
    monkeypatch: pytest.MonkeyPatch,
    folded: str,
) -> None:
    """Ten expired, rejected and superseded memories, nearer than five live ones: five of five are found.

    On every path, with the collector stopped: get, list, search, recall by each channel and by all, and
    the step to what a text names.
    """
    memory = indexed_memory
    with memory.batch():
        for number in range(10):
            memory.facts.set(ALICE, f"expired{number}", NEAR, ttl=1000)
            memory.notes.save(ALICE, NEAR, note_id=f"rejected{number}", status="rejected")
            memory.notes.save(ALICE, NEAR, note_id=f"superseded{number}")
            memory.notes.save("user:bob", NEAR, note_id=f"theirs{number}")
        memory.notes.save(
            ALICE,
            "nothing of the kind",
            note_id="superseder",
            supersedes=[f"superseded{number}" for number in range(10)],
        )
        for number in range(5):
            memory.facts.set(ALICE, f"live{number}", LIVE)
    if folded != "index, then expired":
        clock.pass_ms(1001)
    if folded != "log alone":
        memory.catch_up()
        assert difference(memory, database_url) == []
    if folded == "large index":
        monkeypatch.setattr(text, "SCORE_ALL", 0)
        monkeypatch.setattr(semantic, "EXACT_UP_TO", 1)
    if folded == "index, then expired":
        clock.pass_ms(1001)
    live = {f"live{number}" for number in range(5)}
    assert {fact.key for fact in memory.facts.list(ALICE)} == live
    assert memory.facts.get(ALICE, "expired0") is None
    assert {item.item.name for item in memory.search("crane Marta", ALICE, limit=5)} == live
    for off in ([], ["text"], ["semantic"], ["graph"], ["time"], ["text", "semantic"]):
        found = memory.recall(QUESTION, ALICE, limit=5, off=off).memories
        assert {item.id for item in found} == live, off


@pytest.mark.case("D03")
def test_no_step_leads_to_what_is_gone(indexed_memory: Memory, clock: Clock) -> None:
    """A text names an expired fact and a live one: only the live one is stepped to."""
    memory = indexed_memory
    memory.facts.set(ALICE, "Halden Works", "a boatyard that was closed", ttl=1000)
    memory.facts.set(ALICE, "Skagen Works", "a boatyard")
    memory.notes.save(ALICE, "Marta moved from Halden Works to Skagen Works", note_id="n")
    memory.catch_up()
    found = memory.recall("Where did Marta move?", ALICE).memories
    assert {item.id for item in found} == {"n", "Halden Works", "Skagen Works"}
    clock.pass_ms(1001)
    found = memory.recall("Where did Marta move?", ALICE).memories
    assert {item.id for item in found} == {"n", "Skagen Works"}


@pytest.mark.case("D05")
@pytest.mark.parametrize("collected", [False, True])
def test_what_has_expired_since_was_there_then(memory: Memory, clock: Clock, collected: bool) -> None:
    """Absent now, present half an hour after it was set, and in the list of changes as expired."""
    start = clock.now
    memory.facts.set(ALICE, "k", "the answer", ttl=timedelta(hours=1))
    clock.pass_ms(2 * 3_600_000)
    if collected:
        assert memory.facts.collect() == 1
    assert memory.facts.get(ALICE, "k") is None
    assert memory.recall("answer", ALICE).memories == []
    then = memory.as_of(instant(start + 1_800_000))
    fact = then.facts.get(ALICE, "k")
    assert fact is not None
    assert (fact.value, fact.expires_at) == ("the answer", start + 3_600_000)
    assert [fact.key for fact in then.facts.list(ALICE)] == ["k"]
    assert memory.as_of(instant(start + 3_600_001)).facts.get(ALICE, "k") is None
    (change,) = memory.diff(instant(start))
    assert (change.change, change.name, change.why, change.after) == ("hidden", "k", "expired", None)
    events = [event.type for event in memory.history.fact(ALICE, "k").events]
    assert events == (["FactSet", "FactExpired"] if collected else ["FactSet"])
