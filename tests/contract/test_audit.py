"""History, blame: who wrote what, from what, when it was seen, and who was given it."""

from __future__ import annotations

import pytest

from fixtures.logs import NOON, Clock
from foldlog import Memory, Provenance
from foldlog.errors import NotFound
from foldlog.memory.history import History

ALICE = "user:alice"


def stood(history: History, note_id: str) -> list[tuple[int, str, bool | None, str | None]]:
    """Return how a note stood over time: position, status, visible, because of which note."""
    (node,) = (node for node in history.notes if node.note_id == note_id)
    return [(change.position, change.status, change.visible, change.because) for change in node.changes]


def test_every_note_of_the_graph_says_how_it_stood_over_time(memory: Memory, clock: Clock) -> None:
    """Its status, when another note hid it or brought it back, who did it, and why."""
    memory.notes.save(ALICE, "the port is 1", note_id="a")
    memory.notes.save(ALICE, "the port is 2", note_id="b", supersedes=["a"], status="pending")
    clock.pass_ms(50)
    by = Provenance(run="r", actor="bob")
    memory.notes.set_status("b", "accepted", reason="measured", by=by)
    memory.notes.save(ALICE, "the port is 3", note_id="c", supersedes=["b"])
    memory.notes.set_status("b", "rejected")
    for asked in ("a", "b", "c"):
        found = memory.history.note(asked)
        assert stood(found, "a") == [
            (1, "accepted", True, None),
            (3, "accepted", False, "b"),
            (5, "accepted", True, "b"),
        ]
        assert stood(found, "b") == [
            (2, "pending", False, None),
            (3, "accepted", True, None),
            (4, "accepted", False, "c"),
            (5, "rejected", False, None),
        ]
        assert stood(found, "c") == [(4, "accepted", True, None)]
        change = next(node for node in found.notes if node.note_id == "b").changes[1]
        assert (change.recorded_at, change.reason, change.provenance) == (NOON + 50, "measured", by)
    assert stood(memory.as_of(3).history.note("a"), "a") == [
        (1, "accepted", True, None),
        (3, "accepted", False, "b"),
    ]


def test_what_else_supersedes_a_note_is_at_the_edge(memory: Memory) -> None:
    """It is shown, for it explains why a note stays hidden; what supersedes it was not asked for."""
    memory.notes.save(ALICE, "x", note_id="a")
    memory.notes.save(ALICE, "y", note_id="b", supersedes=["a"])
    memory.notes.save(ALICE, "z", note_id="other", supersedes=["a"], allow_fork=True)
    memory.notes.save(ALICE, "zz", note_id="far", supersedes=["other"])
    found = memory.history.note("b")
    assert [node.note_id for node in found.notes] == ["a", "b", "other"]
    assert stood(found, "other") == [(3, "accepted", None, None)]
    assert [link.note_id for link in found.links] == ["a"]
    memory.notes.set_status("b", "rejected")
    assert stood(memory.history.note("b"), "a")[-1] == (2, "accepted", False, "b")


def test_what_is_beside_a_note_is_no_part_of_its_graph(memory: Memory) -> None:
    """Another note that its superseder replaced too; but a target that the log does not have is."""
    memory.notes.save(ALICE, "x", note_id="a")
    memory.notes.save(ALICE, "y", note_id="beside")
    memory.notes.save(ALICE, "z", note_id="top", supersedes=["a", "beside", "missing"], allow_missing=True)
    assert [node.note_id for node in memory.history.note("a").notes] == ["a", "top"]
    found = memory.history.note("top")
    assert [(node.note_id, node.status) for node in found.notes] == [
        ("a", "accepted"),
        ("beside", "accepted"),
        ("top", "accepted"),
        ("missing", None),
    ]
    assert {link.note_id: link.status for link in found.links} == {
        "a": "accepted",
        "beside": "accepted",
        "missing": None,
    }


def test_a_long_chain_is_resolved(memory: Memory) -> None:
    """From either end and from the middle."""
    with memory.batch():
        for number in range(300):
            before = [f"n{number - 1}"] if number else []
            memory.notes.save(ALICE, "x", note_id=f"n{number}", supersedes=before)
    for asked in (0, 150, 299):
        found = memory.history.note(f"n{asked}")
        assert len(found.notes) == 300
        assert len(found.links) == 299
        assert max(link.depth for link in found.links) == max(asked, 299 - asked)


def test_a_deleted_message_and_one_that_got_its_id(memory: Memory) -> None:
    """The history of an id is that of the last message that had it; before, of the one before."""
    memory.threads.create(ALICE, thread_id="t")
    memory.messages.save("t", "one", message_id="m")
    memory.messages.save("t", "other", message_id="n")
    memory.messages.save("t", "one!", message_id="m")
    memory.messages.delete("t", ["m"])
    first = ["ThreadCreated", "MessageSaved", "MessageSaved", "MessagesDeleted"]
    assert [event.type for event in memory.history.message("m").events] == first
    memory.threads.create("agent:a", thread_id="u")
    memory.messages.save("u", "two", message_id="m")
    memory.threads.delete("u")
    found = memory.history.message("m")
    assert (found.namespace, [event.type for event in found.events]) == (
        "agent:a",
        ["ThreadCreated", "MessageSaved", "ThreadDeleted"],
    )
    assert [event.type for event in memory.as_of(5).history.message("m").events] == first


def test_who_wrote_a_note_and_from_what(memory: Memory, clock: Clock) -> None:
    """The run, what it had been given before, what else it wrote, and who was given the note."""
    memory.facts.set(ALICE, "port", "word 5432")
    writer = memory.by(Provenance(run="w", node="summarise", iteration=1, actor="summariser"))
    writer.recall("word", ALICE)
    clock.pass_ms(10)
    writer.notes.save(ALICE, "word of the port", note_id="a")
    writer.facts.set(ALICE, "done", True)
    writer.recall("word again", ALICE)
    memory.by(Provenance(run="reader")).recall("word", ALICE)
    assert memory.servings.flush()
    found = memory.blame.note("a")
    assert (found.written.position, found.written.recorded_at) == (2, NOON + 10)
    assert found.written.provenance == Provenance(run="w", node="summarise", iteration=1, actor="summariser")
    assert [[item.id for item in serving.memories] for serving in found.given] == [["port"]]
    assert [event.position for event in found.also_wrote] == [3]
    assert [serving.provenance.run for serving in found.served] == ["reader", "w"]
    # Of what was served beside it nothing is said here.
    assert {item.id for serving in found.served for item in serving.memories} == {"a"}
    assert (found.also_wrote_more, found.served_more) == (False, False)


def test_blame_is_cut_and_says_so(memory: Memory) -> None:
    """The first events, the newest servings; the rest page by page."""
    run = memory.by(Provenance(run="w"))
    for number in range(5):
        run.facts.set(ALICE, f"k{number}", "word")
    for _ in range(4):
        memory.recall("word", ALICE)
    assert memory.servings.flush()
    found = memory.blame.fact(ALICE, "k1", limit=3)
    assert ([event.position for event in found.also_wrote], found.also_wrote_more) == ([1, 3, 4], True)
    assert (len(found.served), found.served_more) == (3, True)
    assert [event.position for event in memory.blame.run("w", after=4)] == [5]
    found = memory.blame.fact(ALICE, "k1", limit=4)
    assert (len(found.also_wrote), found.also_wrote_more, found.served_more) == (4, False, False)


def test_blame_of_what_changed_or_is_gone(memory: Memory) -> None:
    """The last that gave it what it said; by no run there is nothing it was written from."""
    memory.facts.set(ALICE, "k", 1, by=Provenance(run="first"))
    memory.facts.set(ALICE, "k", 2)
    memory.facts.delete(ALICE, "k", by=Provenance(run="deleter"))
    memory.threads.create(ALICE, thread_id="t")
    memory.messages.save("t", "word", message_id="m", by=Provenance(run="said"))
    memory.recall("word", ALICE)
    memory.messages.delete("t", ["m"])
    assert memory.servings.flush()
    fact = memory.blame.fact(ALICE, "k")
    assert (fact.written.position, fact.given, fact.also_wrote) == (2, [], [])
    message = memory.blame.message("m")
    assert message.written.provenance.run == "said"
    assert [item.today for serving in message.served for item in serving.memories] == ["deleted"]


def test_blame_of_nothing(memory: Memory) -> None:
    """What never was is an error."""
    memory.facts.set(ALICE, "k", 1)
    for ask in (
        lambda: memory.blame.note("n"),
        lambda: memory.blame.message("m"),
        lambda: memory.blame.fact(ALICE, "x"),
    ):
        with pytest.raises(NotFound, match="never was"):
            ask()
