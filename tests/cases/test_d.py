"""Kind D: what has a time to live. D01 is in tests/conformance/test_facts.py."""

from __future__ import annotations

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
def test_what_was_live_then(memory: Memory, clock: Clock) -> None:
    """Two hours later: absent now, present as of then, and listed as written and as expired in between."""
    hour = 3_600_000
    start = instant(clock.now - 1)
    memory.facts.set(ALICE, "visa", "valid", ttl=hour)
    written = memory.log.head()
    clock.pass_ms(2 * hour)
    memory.facts.set(ALICE, "other", 1)
    for collected in (False, True):
        assert memory.facts.get(ALICE, "visa") is None
        assert memory.recall("visa", ALICE).memories == []
        for point in (written, instant(clock.now - 3 * hour // 2)):
            fact = memory.as_of(point).facts.get(ALICE, "visa")
            assert fact is not None
            assert fact.value == "valid"
            assert [item.key for item in memory.as_of(point).facts.list(ALICE)] == ["visa"]
        late = memory.as_of(instant(clock.now - hour // 2)).facts
        assert (late.get(ALICE, "visa"), late.list(ALICE)) == (None, [])
        told = [(item.change, item.name, item.why) for item in memory.diff(written, None)]
        assert ("created", "other", None) in told
        assert [item for item in told if item[1] == "visa"] == [
            ("hidden", "visa", "expired"),
        ]
        since = {(item.change, item.name) for item in memory.diff(start, instant(clock.now - 3 * hour // 2))}
        assert since == {("created", "visa")}
        if not collected:
            assert memory.facts.collect() == 1
    events = memory.history.fact(ALICE, "visa").events
    assert [event.type for event in events] == ["FactSet", "FactExpired"]
