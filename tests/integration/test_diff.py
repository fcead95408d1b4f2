"""The difference between two points: all of it, and why."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fixtures.changes import SPACES, Change, make, steps
from fixtures.logs import NOON, Clock
from foldlog import Memory, composition
from foldlog.errors import InvalidInput
from foldlog.events.encoding import instant
from foldlog.memory import diff
from foldlog.memory.as_of import Past
from foldlog.projections.local.threads import Message
from foldlog.settings import Settings

ALICE = "user:alice"


def seen(past: Past) -> dict[tuple[str, str, str], Any]:
    """Return all that default reads list at a point."""
    found: dict[tuple[str, str, str], Any] = {}
    for space in SPACES:
        for fact in past.facts.list(space):
            found["fact", space, fact.key] = (fact.value, fact.tags, fact.expires_at)
        for note in past.notes.list(space):
            found["note", space, note.note_id] = None
        for text in past.retained.list(space):
            found["retained", space, text.retained_id] = None
        for primer in past.primers.list(space):
            found["primer", space, primer.name] = primer.text
        for thread in past.threads.list(space):
            found["thread", space, thread.thread_id] = None
            for item in past.messages.list(thread.thread_id):
                found["message", thread.thread_id, item.message_id] = (item.ordinal, item.content)
    return found


def place(item: diff.Difference) -> str:
    """Return where `seen` has an item: a message in its thread, everything else in its namespace."""
    found = item.after or item.before
    return found.thread_id if isinstance(found, Message) else item.namespace


def told(memory: Memory, *points: Any, **options: Any) -> list[tuple[str, ...]]:
    """Return the differences in words."""
    return [
        (item.change, item.kind, item.name, *([item.why] if item.why else []))
        for item in memory.diff(*points, **options)
    ]


@pytest.fixture(autouse=True, scope="module")
def small_chunks() -> Iterator[None]:
    """Differences are put together from many pieces, as long ones are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(diff, "CHUNK", 2)
        yield


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(steps, st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=4))
def test_a_diff_is_what_two_listings_differ_in(
    changes: list[tuple[int, Change]], pairs: list[tuple[int, int]]
) -> None:
    """No more and no less, between any two positions, and between the instants they were recorded at."""
    clock = Clock()
    with (
        TemporaryDirectory() as folder,
        composition.open_memory(settings=Settings(log=Path(folder) / "memory.db"), clock=clock) as memory,
    ):
        ever: dict[int, set[tuple[str, str, str]]] = {0: set()}
        for moved, change in changes:
            clock.pass_ms(moved)
            head = memory.log.head()
            make(memory, change)
            if memory.log.head() > head:
                ever[memory.log.head()] = ever[head] | seen(memory.as_of(memory.log.head())).keys()
        clock.pass_ms(10_000)
        for pair in pairs:
            first, second = sorted(number % (memory.log.head() + 1) for number in pair)
            old, new = seen(memory.as_of(first)), seen(memory.as_of(second))
            expected = {}
            for key in old.keys() | new.keys():
                if key not in new:
                    expected[key] = "hidden"
                elif key not in old:
                    expected[key] = "reappeared" if key in ever[first] else "created"
                elif old[key] != new[key]:
                    expected[key] = "changed"
            found = list(memory.diff(first, second))
            assert {(item.kind, place(item), item.name): item.change for item in found} == expected
            assert len(found) == len(expected)
            assert all(item.why for item in found if item.change in ("hidden", "reappeared"))


def test_each_change_says_why(memory: Memory, clock: Clock) -> None:
    """What happened to a fact, a thread with its messages, and notes, in their order."""
    memory.facts.set(ALICE, "changes", 1)
    memory.facts.set(ALICE, "expires", 1, ttl=1000)
    memory.facts.set(ALICE, "goes", 1)
    memory.facts.set(ALICE, "stays", 1)
    memory.threads.create(ALICE, thread_id="t")
    for name in ("m1", "m2", "m3"):
        memory.messages.save("t", f"text of {name}", message_id=name)
    memory.threads.create(ALICE, thread_id="dropped")
    memory.messages.save("dropped", "x", message_id="d")
    for name, status in (("a", "accepted"), ("b", "accepted"), ("p", "pending")):
        memory.notes.save(ALICE, name, note_id=name, status=status)
    first = memory.log.head()
    memory.facts.set(ALICE, "changes", 2)
    memory.facts.delete(ALICE, "goes")
    memory.facts.set(ALICE, "stays", 1)
    memory.facts.set(ALICE, "new", 1)
    memory.messages.save("t", "other text", message_id="m1")
    memory.messages.delete("t", ["m2"])
    memory.messages.save("t", "text", message_id="m4")
    memory.threads.delete("dropped")
    memory.notes.save(ALICE, "c", note_id="c", supersedes=["a"])
    memory.notes.set_status("b", "rejected")
    memory.notes.set_status("p", "accepted")
    clock.pass_ms(2000)
    assert told(memory, first) == [
        ("changed", "fact", "changes"),
        ("hidden", "fact", "expires", "expired"),
        ("hidden", "fact", "goes", "deleted"),
        ("created", "fact", "new"),
        ("hidden", "thread", "dropped", "deleted"),
        ("hidden", "message", "d", "deleted with its thread"),
        ("changed", "message", "m1"),
        ("hidden", "message", "m2", "deleted"),
        ("created", "message", "m4"),
        ("hidden", "note", "a", "superseded by c"),
        ("hidden", "note", "b", "rejected"),
        ("created", "note", "p"),
        ("created", "note", "c"),
    ]
    second = instant(clock.now)
    clock.pass_ms(1)
    memory.facts.set(ALICE, "goes", 1)
    memory.facts.set(ALICE, "expires", 1)
    memory.messages.save("t", "again", message_id="m2")
    memory.notes.set_status("c", "rejected")
    memory.notes.set_status("b", "accepted")
    assert told(memory, second) == [
        ("reappeared", "fact", "expires", "expired"),
        ("reappeared", "fact", "goes", "deleted"),
        ("reappeared", "message", "m2", "deleted"),
        ("reappeared", "note", "a", "superseded by c"),
        ("reappeared", "note", "b", "rejected"),
        ("hidden", "note", "c", "rejected"),
    ]


def test_before_and_after(memory: Memory) -> None:
    """Both items as readers had them, and who supersedes."""
    memory.facts.set(ALICE, "k", 1, tags=["old"])
    memory.notes.save(ALICE, "wrong", note_id="a")
    memory.facts.set(ALICE, "k", 2)
    memory.notes.save(ALICE, "right", note_id="b", supersedes=["a"])
    fact, hidden, created = memory.diff(2, 4)
    assert (fact.before, fact.after) == (memory.as_of(2).facts.get(ALICE, "k"), memory.facts.get(ALICE, "k"))
    assert (hidden.before, hidden.after) == (memory.as_of(2).notes.get("a"), None)
    assert hidden.superseded_by == ("b",)
    assert (created.before, created.after) == (None, memory.notes.get("b"))
    assert hidden.as_dict()["superseded_by"] == ["b"]


def test_filters(memory: Memory) -> None:
    """By namespace and by kinds."""
    for space in SPACES:
        memory.facts.set(space, "k", 1)
        memory.notes.save(space, "x", note_id=f"of {space}")
    assert told(memory, 0, kinds=["fact"]) == [("created", "fact", "k")] * 2
    assert told(memory, 0, namespace=ALICE) == [("created", "fact", "k"), ("created", "note", f"of {ALICE}")]
    assert told(memory, 1, namespace=ALICE, kinds=["fact"]) == []


def test_a_time_that_ends_in_between_is_found_whatever_was_set_since(memory: Memory, clock: Clock) -> None:
    """Neither event lies between the points; the value that expired was replaced long ago."""
    memory.facts.set(ALICE, "k", 1, ttl=1000)
    memory.facts.set(ALICE, "other", 1)
    clock.pass_ms(5000)
    memory.facts.set(ALICE, "k", 2)
    between = instant(NOON + 500), instant(NOON + 2000)
    assert told(memory, *between) == [("hidden", "fact", "k", "expired")]
    assert told(memory, instant(NOON + 1), instant(NOON + 1000)) == []


def test_a_clock_that_was_set_back_brings_back_what_had_expired(memory: Memory, clock: Clock) -> None:
    """At the later position it was earlier."""
    memory.facts.set(ALICE, "k", 1, ttl=1000)
    clock.pass_ms(2000)
    memory.facts.set(ALICE, "x", 1)
    clock.pass_ms(-1500)
    memory.facts.set(ALICE, "y", 1)
    assert told(memory, 2, 3) == [("reappeared", "fact", "k", "expired"), ("created", "fact", "y")]


def test_by_when_it_occurred(memory: Memory) -> None:
    """Of what was imported, what changed between two instants of its own time."""
    for day in (1, 2, 3):
        at = datetime(2020, 1, day, tzinfo=UTC)
        memory.facts.set(ALICE, "k", day, occurred_at=at)
        memory.notes.save(ALICE, f"of day {day}", note_id=f"n{day}", occurred_at=at)
    memory.facts.set(ALICE, "today", 1)
    days = datetime(2020, 1, 1, 12, tzinfo=UTC), datetime(2020, 1, 2, 12, tzinfo=UTC)
    assert told(memory, *days, clock="occurred") == [("changed", "fact", "k"), ("created", "note", "n2")]
    assert told(memory, *days) == []
    assert ("created", "fact", "today") in told(memory, days[1], clock="occurred")


def test_what_cannot_be_compared(memory: Memory) -> None:
    """Refused at the call, not when it is iterated."""
    memory.facts.set(ALICE, "k", 1)
    with pytest.raises(InvalidInput, match="must not be after its second"):
        memory.diff(1, 0)
    with pytest.raises(InvalidInput, match="must be among fact, thread, message, note"):
        memory.diff(0, kinds=["memory"])
    with pytest.raises(InvalidInput, match="has not come yet"):
        memory.diff(0, 2)


def test_an_id_that_was_used_again_in_another_thread_is_another_message(memory: Memory) -> None:
    """Each namespace sees what happened in it."""
    memory.threads.create(ALICE, thread_id="t")
    memory.messages.save("t", "x", message_id="m")
    memory.threads.create("agent:a", thread_id="u")
    memory.messages.delete("t", ["m"])
    memory.messages.save("u", "x", message_id="m")
    assert told(memory, 3, namespace=ALICE) == [("hidden", "message", "m", "deleted")]
    assert told(memory, 3, namespace="agent:a") == [("created", "message", "m")]


def test_summaries_and_what_was_trimmed(memory: Memory) -> None:
    """A summary is a message that is created; what it covers is hidden by it, former summaries too."""
    memory.threads.create(ALICE, thread_id="t")
    for number in range(1, 6):
        memory.messages.save("t", f"text {number}", message_id=f"m{number}")
    first = memory.log.head()
    memory.messages.trim("t", [5], budget=1, tokens=2, tokenizer="bytes")
    receipt = memory.messages.summarize("t", memory.messages.list("t")[:2], "short", summarizer="test/1")
    (summary,) = [item for item in memory.messages.list("t") if item.text == "short"]
    assert receipt.created
    second = memory.log.head()
    told_first = sorted(told(memory, first, second))
    assert told_first == sorted(
        [
            ("created", "message", summary.message_id),
            ("hidden", "message", "m1", f"summarised by {summary.message_id}"),
            ("hidden", "message", "m2", f"summarised by {summary.message_id}"),
            ("hidden", "message", "m5", "trimmed"),
        ]
    )
    everything = [item for item in memory.messages.list("t", include_hidden=True) if item.ordinal < 4]
    memory.messages.summarize("t", everything, "shorter", summarizer="test/1")
    (newer,) = [item for item in memory.messages.list("t") if item.text == "shorter"]
    assert sorted(told(memory, second)) == sorted(
        [
            ("created", "message", newer.message_id),
            ("hidden", "message", summary.message_id, f"summarised by {newer.message_id}"),
            ("hidden", "message", "m3", f"summarised by {newer.message_id}"),
        ]
    )
    history = memory.history.message("m3")
    assert [event.type for event in history.events] == ["ThreadCreated", "MessageSaved", "MessagesSummarized"]
    own = memory.history.message(summary.message_id)
    assert [event.type for event in own.events] == [
        "ThreadCreated",
        "MessagesSummarized",
        "MessagesSummarized",
    ]
    assert memory.blame.message(summary.message_id).written.position == second


def test_primers_and_retained_texts(memory: Memory) -> None:
    """A primer's text changes; a retained one is replaced, or deleted."""
    memory.primers.set(ALICE, "about", "one")
    memory.retained.add(ALICE, "x", retained_id="r1", document="d")
    memory.retained.add(ALICE, "y", retained_id="r2")
    first = memory.log.head()
    memory.primers.set(ALICE, "about", "two")
    memory.retained.add(ALICE, "z", retained_id="r3", document="d", replace=True)
    memory.retained.delete("r2")
    assert told(memory, first) == [
        ("hidden", "retained", "r1", "replaced by r3"),
        ("hidden", "retained", "r2", "deleted"),
        ("created", "retained", "r3"),
        ("changed", "primer", "about"),
    ]
    memory.primers.delete(ALICE, "about")
    assert told(memory, first, kinds=["primer"]) == [("hidden", "primer", "about", "deleted")]
    assert memory.blame.primer(ALICE, "about").written.position == 4
    assert [event.type for event in memory.history.retained("r1").events] == [
        "ContentRetained",
        "RetainedDeleted",
    ]
