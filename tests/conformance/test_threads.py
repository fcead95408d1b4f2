"""Threads and messages, items 43 to 67 of the conformance list."""

from __future__ import annotations

import functools
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from fixtures.logs import Clock, open_memory
from fixtures.racing import race
from foldlog import Memory, Provenance
from foldlog.errors import (
    AlreadyExists,
    DeletedThread,
    InvalidInput,
    MessageElsewhere,
    NotFound,
    ThreadExists,
    UnknownThread,
)

ALICE, BOB = "user:alice", "user:bob"


@pytest.mark.conformance(43, 44, 55)
def test_a_thread_round_trips(memory: Memory, clock: Clock) -> None:
    """Its title is kept, and missing ones are None; it counts no messages, then two."""
    memory.threads.create(ALICE, thread_id="t", title="Plans")
    made = memory.threads.create(ALICE)
    titled, bare = memory.threads.get("t"), memory.threads.get(made.id)
    assert titled is not None
    assert bare is not None
    assert (titled.title, titled.namespace, titled.created_at) == ("Plans", ALICE, clock.now)
    assert bare.title is None
    assert memory.threads.get("nowhere") is None
    assert [memory.messages.count(name) for name in ("t", "nowhere")] == [0, 0]
    memory.messages.save("t", "one")
    memory.messages.save("t", "two")
    assert memory.messages.count("t") == 2


@pytest.mark.conformance(45, 46, 47, 48)
def test_threads_are_listed_and_deleted(memory: Memory) -> None:
    """All of them, in the order of their creation; one goes with its messages, the others stay."""
    for name, namespace in (("t", ALICE), ("u", BOB), ("v", ALICE)):
        memory.threads.create(namespace, thread_id=name)
        memory.messages.save(name, f"said in {name}", message_id=f"m-{name}")
    assert [thread.thread_id for thread in memory.threads.list()] == ["t", "u", "v"]
    assert [thread.thread_id for thread in memory.threads.list(ALICE)] == ["t", "v"]
    first = memory.threads.list(limit=1)
    after = memory.threads.list(after=first[0].stream_id, limit=1)
    assert [thread.thread_id for thread in after] == ["u"]
    memory.threads.delete("t")
    assert [thread.thread_id for thread in memory.threads.list()] == ["u", "v"]
    assert memory.messages.get("m-t") is None
    assert memory.messages.list("v")[0].message_id == "m-v"
    head = memory.log.head()
    assert memory.threads.delete("t").outcome == "unchanged"
    assert memory.threads.delete("never").outcome == "unchanged"
    assert memory.log.head() == head


@pytest.mark.conformance(49, 65)
def test_a_message_round_trips(memory: Memory) -> None:
    """Role, author, run, node, iteration, tags and content, as a string or as parts."""
    memory.threads.create(ALICE, thread_id="t")
    by = Provenance(run="r", node="plan", iteration=2)
    parts = [{"type": "text", "text": "Hello"}, {"type": "tool_use", "id": "c1", "input": {"n": 1.5}}]
    memory.messages.save("t", parts, role="assistant", author="Ann", tags=["a"], by=by)
    memory.messages.save("t", "plain")
    first, second = memory.messages.list("t")
    assert (first.role, first.author, first.content, first.tags) == ("assistant", "Ann", parts, ("a",))
    assert (first.provenance.run, first.provenance.node, first.provenance.iteration) == ("r", "plan", 2)
    assert (second.role, second.author, second.provenance.run) == ("user", None, None)


@pytest.mark.conformance(65)
@pytest.mark.parametrize("content", [{1: 2}, [float("nan")], [object()], "\ud800", b"bytes", None, {"a": 1}])
def test_content_is_a_string_or_a_list_of_parts(memory: Memory, content: Any) -> None:
    """Anything else is refused with the path of the bad value, and nothing is appended."""
    memory.threads.create(ALICE, thread_id="t")
    with pytest.raises(InvalidInput, match="content"):
        memory.messages.save("t", content)
    assert memory.log.head() == 1


@pytest.mark.conformance(50, 51, 52)
def test_a_page_of_messages(memory: Memory) -> None:
    """The first n, the latest n in order, the next n after a place; 0 is none of them."""
    memory.threads.create(ALICE, thread_id="t")
    for number in range(1, 6):
        memory.messages.save("t", str(number))

    def page(**given: Any) -> list[str]:
        return [item.content for item in memory.messages.list("t", **given)]

    assert page(limit=2) == ["1", "2"]
    assert page(limit=2, latest=True) == ["4", "5"]
    assert page(limit=2, after=2) == ["3", "4"]
    assert page(limit=9, latest=True) == page() == ["1", "2", "3", "4", "5"]
    assert page(limit=0) == page(limit=0, latest=True) == []


@pytest.mark.conformance(53)
@pytest.mark.parametrize("limit", [-1, 1.5, True, "2", None, 2**63, float("nan")])
def test_a_limit_is_a_whole_number(memory: Memory, limit: Any) -> None:
    """On every list: negative, fractional and foreign ones are refused, not rounded."""
    memory.threads.create(ALICE, thread_id="t")
    for ask in (
        functools.partial(memory.messages.list, "t"),
        memory.threads.list,
        functools.partial(memory.facts.list, ALICE),
        functools.partial(memory.notes.list, ALICE),
    ):
        with pytest.raises(InvalidInput, match="limit"):
            ask(limit=limit)


@pytest.mark.conformance(54, 66, 67)
def test_order_is_the_logs(memory: Memory, clock: Clock) -> None:
    """Equal and late timestamps change nothing; `updated_at` moves with each message."""
    memory.threads.create(ALICE, thread_id="t")
    moved = []
    for number, year in enumerate((2024, 2020, 2024, 2022)):
        clock.pass_ms(5)
        memory.messages.save("t", str(number), occurred_at=datetime(year, 1, 1, tzinfo=UTC))
        thread = memory.threads.get("t")
        assert thread is not None
        moved.append(thread.updated_at)
    assert [item.content for item in memory.messages.list("t")] == ["0", "1", "2", "3"]
    assert [item.ordinal for item in memory.messages.list("t")] == [1, 2, 3, 4]
    assert moved == sorted(set(moved))
    assert moved[-1] == clock.now


@pytest.mark.conformance(56, 57)
def test_the_same_id_again(memory: Memory, clock: Clock) -> None:
    """One message with the newest content, in its old place and with its old creation."""
    memory.threads.create(ALICE, thread_id="t")
    memory.messages.save("t", "one", message_id="m")
    created = clock.now
    memory.messages.save("t", "two")
    clock.pass_ms(10)
    again = memory.messages.save("t", "one, corrected", message_id="m", role="assistant")
    assert again.created
    first, second = memory.messages.list("t")
    assert (first.content, first.role, first.ordinal) == ("one, corrected", "assistant", 1)
    assert (first.created_at, first.updated_at) == (created, clock.now)
    assert second.content == "two"
    assert memory.messages.count("t") == 2


@pytest.mark.conformance(58, 59)
def test_message_ids_are_global(memory: Memory) -> None:
    """Two namespaces that race for one id leave one message; the loser hears whose it is."""
    memory.threads.create(ALICE, thread_id="a")
    memory.threads.create(BOB, thread_id="b")
    for number in range(10):
        name = f"m{number}"
        outcomes = race(
            [
                functools.partial(memory.messages.save, thread, f"by {thread}", message_id=name)
                for thread in ("a", "b")
            ]
        )
        (refused,) = [item for item in outcomes if isinstance(item, MessageElsewhere)]
        found = memory.messages.get(name)
        assert found is not None
        assert (refused.message_id, refused.thread_id) == (name, found.thread_id)
        assert found.content == f"by {found.thread_id}"
    assert memory.messages.count("a") + memory.messages.count("b") == 10
    head = memory.log.head()
    with pytest.raises(AlreadyExists, match="choose another id"):
        memory.messages.save("b" if found.thread_id == "a" else "a", found.content, message_id=name)
    assert memory.log.head() == head


@pytest.mark.conformance(60, 61)
def test_concurrent_saves(tmp_path: Path) -> None:
    """20 of one id leave one row with one of their contents; of 30 distinct ids none is lost."""
    path = tmp_path / "memory.db"
    with open_memory(path) as memory, open_memory(path) as other:
        memory.threads.create(ALICE, thread_id="t")
        race(
            [
                functools.partial(
                    (memory, other)[number % 2].messages.save, "t", f"take {number}", message_id="same"
                )
                for number in range(20)
            ]
        )
        (found,) = memory.messages.list("t")
        assert found.content in {f"take {number}" for number in range(20)}
        race(
            [
                functools.partial(
                    (memory, other)[number % 2].messages.save, "t", "x", message_id=f"m{number}"
                )
                for number in range(30)
            ]
        )
        ids = {item.message_id for item in memory.messages.list("t")}
        assert ids == {"same", *(f"m{number}" for number in range(30))}
        assert [item.ordinal for item in memory.messages.list("t")] == list(range(1, 32))
        assert memory.verify().ok


@pytest.mark.conformance(62)
@pytest.mark.conformance(175)
def test_an_unknown_or_deleted_thread(memory: Memory) -> None:
    """Saving to it is refused before anything is written; the error says which of the two it is."""
    memory.threads.create(ALICE, thread_id="t")
    memory.threads.delete("t")
    head = memory.log.head()
    for name, deleted in (("t", True), ("nowhere", False)):
        for ask in (
            functools.partial(memory.messages.save, name, "x"),
            functools.partial(memory.messages.list, name),
        ):
            with pytest.raises(UnknownThread) as refused:
                ask()
            assert (refused.value.thread_id, refused.value.deleted) == (name, deleted)
            assert isinstance(refused.value, NotFound)
    assert memory.log.head() == head


@pytest.mark.conformance(8, 62)
def test_a_threads_id_is_given_once(memory: Memory) -> None:
    """Not to another title, not to another namespace, and not again after it was deleted."""
    memory.threads.create(ALICE, thread_id="t", title="Plans")
    assert memory.threads.create(ALICE, thread_id="t", title="Plans").outcome == "unchanged"
    for namespace, title in ((ALICE, "Other"), (BOB, "Plans")):
        with pytest.raises(ThreadExists) as taken:
            memory.threads.create(namespace, thread_id="t", title=title)
        assert (taken.value.thread_id, taken.value.namespace) == ("t", ALICE)
    memory.threads.delete("t")
    for namespace in (ALICE, BOB):
        with pytest.raises(DeletedThread) as gone:
            memory.threads.create(namespace, thread_id="t", title="Plans")
        assert (gone.value.thread_id, gone.value.namespace) == ("t", ALICE)
    assert memory.log.head() == 2


@pytest.mark.conformance(63)
def test_delete_counts_what_it_deleted(memory: Memory) -> None:
    """Unknown and foreign ids do not count, and repeats once; of nothing it is 0, without an event."""
    for thread in ("t", "u"):
        memory.threads.create(ALICE, thread_id=thread)
        for number in range(3):
            memory.messages.save(thread, "x", message_id=f"{thread}{number}")
    head = memory.log.head()
    for thread, ids in (("t", []), ("t", ["u0", "nowhere"]), ("nowhere", ["t0"])):
        receipt = memory.messages.delete(thread, ids)
        assert (receipt.count, receipt.outcome) == (0, "unchanged")
    assert memory.log.head() == head
    assert memory.messages.delete("t", ["t0", "t2", "t0", "u1", "nowhere"]).count == 2
    assert memory.messages.delete("t", ["t0", "t1"]).count == 1
    assert (memory.messages.count("t"), memory.messages.count("u")) == (0, 3)
    with pytest.raises(InvalidInput, match="must be a list"):
        memory.messages.delete("u", "u0")


@pytest.mark.conformance(64)
def test_delete_takes_any_number_of_ids(memory: Memory) -> None:
    """50,000 of them: more than a statement has parameters."""
    memory.threads.create(ALICE, thread_id="t")
    with memory.batch():
        for number in range(2000):
            memory.messages.save("t", "x", message_id=f"m{number}")
    assert memory.messages.delete("t", [f"m{number}" for number in range(10, 50_010)]).count == 1990
    assert memory.messages.count("t") == 10


@pytest.mark.parametrize(("one", "other"), [([1], [True]), ([1], [1.0]), ([{"a": 0}], [{"a": False}])])
def test_equal_for_python_is_not_equal(memory: Memory, one: list[object], other: list[object]) -> None:
    """A number is no truth value: the second save is a new version."""
    memory.threads.create(ALICE, thread_id="equal")
    memory.messages.save("equal", ["x", *one], message_id="m")
    assert memory.messages.save("equal", ["x", *other], message_id="m").created
    assert not memory.messages.save("equal", ["x", *other], message_id="m").created
