"""Retained content: items 143 and 144 of the conformance list, and what it promises beyond them."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import pytest

from fixtures.logs import Clock, open_memory
from fixtures.racing import race
from foldlog import Memory, Provenance
from foldlog.errors import IdempotencyConflict, InvalidInput, RetainedConflict

ALICE, BOB, PROJECT = "user:alice", "user:bob", "workflow:project-7"


def _contents(memory: Memory, document: str | None = None) -> list[str]:
    return [item.content for item in memory.retained.list(ALICE, document)]


def test_a_text_round_trips(memory: Memory, clock: Clock) -> None:
    """Content, document, tags, metadata and provenance; a missing one is None."""
    by = Provenance(run="r", node="n", iteration=1)
    metadata = {"session": "s", "nested": [1, None, {"a": "b\x00c"}]}
    receipt = memory.retained.add(ALICE, "kept\x00text", document="d", tags=["a"], metadata=metadata, by=by)
    found = memory.retained.get(receipt.id)
    assert found is not None
    assert (found.content, found.document, found.tags) == ("kept\x00text", "d", ("a",))
    assert (found.metadata, found.provenance, found.created_at) == (metadata, by, clock.now)
    bare = memory.retained.get(memory.retained.add(ALICE, "alone").id)
    assert bare is not None
    assert (bare.document, bare.tags, bare.metadata) == (None, (), {})
    assert memory.retained.get("nowhere") is None


def test_lists_are_in_the_order_of_the_log(memory: Memory) -> None:
    """Of a namespace, or of one document, in pages."""
    ids = [memory.retained.add(ALICE, f"text {n}", document="d" if n % 2 else None).id for n in range(6)]
    memory.retained.add(BOB, "theirs", document="d")
    assert [item.retained_id for item in memory.retained.list(ALICE)] == ids
    assert _contents(memory, "d") == ["text 1", "text 3", "text 5"]
    first = memory.retained.list(ALICE, limit=2)
    after = memory.retained.list(ALICE, after=first[-1].memory_id, limit=2)
    assert [item.retained_id for item in first + after] == ids[:4]
    assert memory.retained.text(ALICE, "d") == "text 1\ntext 3\ntext 5"
    assert memory.retained.text(ALICE, "e") is None


@pytest.mark.conformance(144)
def test_appending_keeps_both(memory: Memory) -> None:
    """One more unit of the document, with tags of its own; nothing of the first changes."""
    memory.retained.add(ALICE, "one", document="d", tags=["a"])
    memory.retained.add(ALICE, "two", document="d")
    assert [(item.content, item.tags) for item in memory.retained.list(ALICE, "d")] == [
        ("one", ("a",)),
        ("two", ()),
    ]
    assert {item.text for item in memory.recall("one two", ALICE).memories} == {"one", "two"}


@pytest.mark.conformance(144)
@pytest.mark.conformance(177)
def test_concurrent_appends_lose_nothing(tmp_path: Path) -> None:
    """25 rounds of two at once, through two openings of one log."""
    path = tmp_path / "memory.db"
    with open_memory(path) as memory, open_memory(path) as other:
        for number in range(25):
            receipts = race(
                [
                    functools.partial(each.retained.add, ALICE, f"{number} {name}", document="d")
                    for each, name in ((memory, "left"), (other, "right"))
                ]
            )
            assert [receipt.created for receipt in receipts] == [True, True]
        expected = sorted(f"{number} {name}" for number in range(25) for name in ("left", "right"))
        assert sorted(_contents(memory, "d")) == expected
        assert memory.verify().ok


def test_replacing_a_document(memory: Memory) -> None:
    """Its other units go, each in its own history; other documents stay."""
    old = [memory.retained.add(ALICE, f"old {n}", document="d").id for n in range(3)]
    memory.retained.add(ALICE, "old of another", document="e")
    head = memory.log.head()
    new = memory.retained.add(ALICE, "new", document="d", replace=True)
    assert memory.log.head() == head + 4
    assert _contents(memory, "d") == ["new"]
    assert sorted(_contents(memory)) == ["new", "old of another"]
    assert memory.recall("old", ALICE).memories[0].text == "old of another"
    events = [event for page in memory.follow(head, stop=iter([False, True]).__next__) for event in page]
    assert [(event.type, event.stream.name) for event in events] == [
        *(("RetainedDeleted", name) for name in old),
        ("ContentRetained", new.id),
    ]
    with pytest.raises(InvalidInput, match="document"):
        memory.retained.add(ALICE, "x", replace=True)


def test_a_repeated_request(memory: Memory) -> None:
    """The same key and request is stored once, and says the same id; another request is refused."""
    add = functools.partial(memory.retained.add, ALICE, document="d", idempotency_key="k")
    first, again = add("text", tags=["a"]), add("text", tags=["a"])
    assert (first.outcome, again.outcome) == ("appended", "already appended")
    assert (first.id, first.position) == (again.id, again.position)
    assert memory.retained.get(again.id) is not None
    for other in (
        {"content": "other", "tags": ["a"]},
        {"content": "text"},
        {"content": "text", "replace": True},
    ):
        with pytest.raises(IdempotencyConflict):
            add(**other)
    memory.retained.delete(first.id)
    assert add("text", tags=["a"]).outcome == "already appended"
    assert memory.retained.get(first.id) is None
    elsewhere = memory.retained.add(BOB, "text", idempotency_key="k")
    assert elsewhere.created
    assert elsewhere.id != first.id


def test_an_id_is_given_once(memory: Memory) -> None:
    """Equal content is no change; other content, another namespace, or a deleted text's id is refused."""
    memory.retained.add(ALICE, "text", retained_id="r", document="d")
    head = memory.log.head()
    assert memory.retained.add(ALICE, "text", retained_id="r", document="d").outcome == "unchanged"
    for namespace, content, document in ((ALICE, "other", "d"), (ALICE, "text", None), (BOB, "text", "d")):
        with pytest.raises(RetainedConflict) as refused:
            memory.retained.add(namespace, content, retained_id="r", document=document)
        assert (refused.value.retained_id, refused.value.namespace) == ("r", ALICE)
        assert not refused.value.deleted
    memory.retained.delete("r")
    for namespace in (ALICE, BOB):
        with pytest.raises(RetainedConflict, match="was deleted") as gone:
            memory.retained.add(namespace, "text", retained_id="r", document="d")
        assert gone.value.deleted
    assert memory.log.head() == head + 1


def test_deleting(memory: Memory) -> None:
    """One, or a whole document; what is not there is left alone, without an event."""
    receipt = memory.retained.add(ALICE, "alone")
    for n in range(3):
        memory.retained.add(ALICE, f"unit {n}", document="d")
    assert memory.retained.delete(receipt.id).created
    assert memory.retained.delete_document(ALICE, "d").count == 3
    head = memory.log.head()
    assert memory.retained.delete(receipt.id).outcome == "unchanged"
    assert memory.retained.delete_document(ALICE, "d").count == 0
    assert memory.retained.delete_document(BOB, "d").outcome == "unchanged"
    assert memory.log.head() == head
    assert memory.retained.list(ALICE) == []
    assert memory.recall("alone unit", ALICE).memories == []


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ({"content": " \n"}, "content"),
        ({"content": 7}, "content"),
        ({"content": "\ud800"}, "content"),
        ({"content": "x", "document": " d"}, "document"),
        ({"content": "x", "metadata": {"a": float("nan")}}, "metadata.a"),
        ({"content": "x", "metadata": {1: 2}}, "metadata"),
        ({"content": "x", "tags": ["branch:x"]}, "tags"),
        ({"content": "x", "retained_id": ""}, "retained_id"),
        ({"content": "x", "idempotency_key": "\n"}, "idempotency_key"),
    ],
)
def test_what_is_refused(memory: Memory, given: dict[str, Any], path: str) -> None:
    """With its path, and nothing is written."""
    with pytest.raises(InvalidInput) as refused:
        memory.retained.add(ALICE, **given)
    assert refused.value.path == path
    assert memory.log.head() == 0


@pytest.mark.conformance(138, 143)
def test_a_project_scopes_what_it_keeps(memory: Memory) -> None:
    """Run and session stand in provenance and metadata alone: no tag and no word of the text tells them."""
    by = Provenance(run="run-4711")
    memory.by(by).retained.add(PROJECT, "the port is 1", metadata={"session": "s-99"})
    (found,) = memory.recall("port", PROJECT, tags=["scope:main"]).memories
    assert found.text == "the port is 1"
    assert memory.recall("4711 run", PROJECT).memories == []
    assert memory.search("s-99", PROJECT) == []
    item = memory.retained.list(PROJECT)[0]
    assert item.tags == ("scope:main",)
    assert (item.provenance.run, item.metadata) == ("run-4711", {"session": "s-99"})


def test_both_searches_know_the_kind(memory: Memory) -> None:
    """It is one more kind of memory, also to filter by."""
    memory.facts.set(ALICE, "port", 1)
    memory.retained.add(ALICE, "the port is 2", retained_id="r")
    assert [item.id for item in memory.recall("port", ALICE, kinds=["retained"]).memories] == ["r"]
    assert [item.item.name for item in memory.search("port", ALICE, kinds=["retained"])] == ["r"]
    assert len(memory.recall("port", ALICE).memories) == 2


def test_in_a_callers_transaction(memory: Memory) -> None:
    """Kept with the caller's own rows, or not at all."""
    import sqlite3

    connection = sqlite3.connect(memory.log.path, isolation_level=None)
    for ending, expected in (("ROLLBACK", []), ("COMMIT", ["text"])):
        connection.execute("BEGIN IMMEDIATE")
        joined = memory.join(connection)
        joined.retained.add(ALICE, "text")
        joined.primers.set(ALICE, "p", "primer")
        connection.execute(ending)
        assert _contents(memory) == expected
        assert (memory.primers.get(ALICE, "p") is not None) == bool(expected)
    connection.close()
