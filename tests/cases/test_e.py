"""Kind E: notes that supersede each other."""

from __future__ import annotations

import functools
import random
from pathlib import Path

import pytest

from fixtures.index import difference, fold_again, indexed_rows
from fixtures.logs import open_memory
from fixtures.racing import race
from foldlog import Memory
from foldlog.errors import SupersessionConflict, SupersessionCycle
from foldlog.events.types import NoteSaved, NoteStatusChanged

ALICE = "user:alice"

#: Answers nobody.
DOWN = "postgresql:///none?host=/nowhere"


@pytest.mark.case("E01")
@pytest.mark.parametrize("size", [2, 3, 7])
def test_no_circle_can_be_closed(tmp_path: Path, size: int) -> None:
    """In one batch, over several calls, or by two openings at once: one of them is refused, and names it."""
    path = tmp_path / "memory.db"
    with open_memory(path) as memory, open_memory(path) as other:
        names = [f"n{number}" for number in range(size)]
        links = [(name, names[place - 1]) for place, name in enumerate(names)]

        def save(each: Memory, name: str, target: str, prefix: str) -> object:
            return each.notes.save(
                ALICE,
                name,
                note_id=prefix + name,
                supersedes=[prefix + target],
                allow_missing=True,
            )

        def in_one_batch() -> None:
            with memory.batch():
                for name, target in links:
                    save(memory, name, target, "batch")

        with pytest.raises(SupersessionCycle):
            in_one_batch()
        assert memory.log.head() == 0
        for name, target in links[:-1]:
            save(memory, name, target, "calls")
        head = memory.log.head()
        with pytest.raises(SupersessionCycle) as refused:
            save(memory, *links[-1], "calls")
        assert refused.value.note_id == f"calls{links[-1][0]}"
        assert memory.log.head() == head
        for number in range(10):
            prefix = f"race{number}"
            outcomes = race(
                [
                    functools.partial(save, (memory, other)[place % 2], *link, prefix)
                    for place, link in enumerate(links)
                ]
            )
            assert len([item for item in outcomes if isinstance(item, SupersessionCycle)]) == 1
        assert memory.verify().ok


@pytest.mark.case("E01")
def test_a_circle_from_elsewhere_ends_every_walk(memory: Memory) -> None:
    """An old log may have one: history and heads end, and the rest of recall works."""
    for name, before in (("a", []), ("b", ["a"]), ("c", ["b"])):
        memory.notes.save(ALICE, f"port {name}", note_id=name, supersedes=before)
    memory.notes.save(ALICE, "port d", note_id="d")
    with memory.log.write() as transaction:
        transaction.connection.execute(
            "INSERT INTO foldlog_supersessions SELECT 'c', memory_id FROM foldlog_notes WHERE note_id = 'a'"
        )
    assert {link.note_id for link in memory.history.note("a").links} == {"b", "c"}
    assert memory.notes.heads("a") == []
    note = memory.notes.get("c")
    assert note is not None
    assert (note.supersedes, note.superseded_by) == (("b",), ("a",))
    assert [note.note_id for note in memory.notes.list(ALICE)] == ["d"]
    memory.notes.save(ALICE, "port e", note_id="e", supersedes=["a"], allow_fork=True)
    assert "d" in {item.id for item in memory.recall("port", ALICE).memories}


@pytest.mark.case("E03")
def test_one_of_two_superseders_wins(tmp_path: Path, database_url: str) -> None:
    """50 rounds through two openings, saving or accepting; the loser hears who won, and one head is left."""
    path = tmp_path / "memory.db"
    with open_memory(path, database_url=database_url) as memory, open_memory(path) as other:
        for number in range(50):
            memory.notes.save(ALICE, "a", note_id=f"a{number}")
            rivals = [f"b{number}", f"c{number}"]
            calls = [
                functools.partial(each.notes.save, ALICE, "x", note_id=name, supersedes=[f"a{number}"])
                for each, name in zip((memory, other), rivals, strict=True)
            ]
            if number % 2:
                for name in rivals:
                    memory.notes.save(ALICE, "x", note_id=name, supersedes=[f"a{number}"], status="pending")
                calls = [
                    functools.partial(each.notes.set_status, name, "accepted")
                    for each, name in zip((memory, other), rivals, strict=True)
                ]
            outcomes = race(calls)
            (lost,) = [place for place, item in enumerate(outcomes) if isinstance(item, SupersessionConflict)]
            assert (outcomes[lost].target, outcomes[lost].winner) == (f"a{number}", rivals[1 - lost])
            assert [note.note_id for note in memory.notes.heads(f"a{number}")] == [rivals[1 - lost]]
        memory.catch_up()
        assert difference(memory, database_url) == []


@pytest.mark.case("E03")
def test_a_fork_is_shown_and_stays_the_same(indexed_memory: Memory, database_url: str) -> None:
    """Both heads, in the same order after a rebuild."""
    memory = indexed_memory
    memory.notes.save(ALICE, "the port is 1", note_id="a")
    memory.notes.save(ALICE, "the port is 2", note_id="b", supersedes=["a"])
    memory.notes.save(ALICE, "the port is 3", note_id="c", supersedes=["a"], allow_fork=True)
    memory.catch_up()
    for _ in range(2):
        assert [note.note_id for note in memory.notes.heads("a")] == ["b", "c"]
        note = memory.notes.get("a")
        assert note is not None
        assert note.superseded_by == ("b", "c")
        assert {item.id for item in memory.recall("port", ALICE).memories} == {"b", "c"}
        assert difference(memory, database_url) == []
        memory.rebuild()


@pytest.mark.case("E05")
def test_the_old_note_knows_at_once(tmp_path: Path, database_url: str) -> None:
    """Superseded while Postgres is down: reads say so, recall says how far it is behind, and catches up."""
    path = tmp_path / "memory.db"
    with open_memory(path, database_url=database_url) as memory:
        memory.notes.save(ALICE, "the port is 1", note_id="a")
        memory.catch_up()
        with open_memory(path, database_url=DOWN) as cut_off:
            cut_off.notes.save(ALICE, "the port is 2", note_id="b", supersedes=["a"])
            note = cut_off.notes.get("a")
            assert note is not None
            assert (note.superseded_by, note.visible) == (("b",), False)
            assert [item.note_id for item in cut_off.notes.list(ALICE)] == ["b"]
            (link,) = cut_off.history.note("a").links
            assert (link.relation, link.note_id) == ("superseded by", "b")
            answer = cut_off.recall("port", ALICE)
            assert (answer.status, [item.id for item in answer.memories]) == ("degraded", ["b"])
        assert indexed_rows(memory, database_url, "visible") == {"a": (True,)}
        behind = memory.recall("port", ALICE)
        assert (behind.status, behind.staleness.events) == ("ok", 1)
        assert [item.id for item in behind.memories] == ["b"]
        memory.catch_up()
        assert indexed_rows(memory, database_url, "visible") == {"a": (False,), "b": (True,)}
        assert [item.id for item in memory.recall("port", ALICE).memories] == ["b"]


@pytest.mark.case("E07")
def test_the_same_text_again(indexed_memory: Memory) -> None:
    """Never fewer live notes than before; back to the old wording is a note of its own, with its own time."""
    memory = indexed_memory
    for number in range(3):
        before = len(memory.notes.list(ALICE))
        memory.notes.save(ALICE, "the port is 1", note_id=f"same{number}")
        assert len(memory.notes.list(ALICE)) == before + 1
    assert memory.notes.save(ALICE, "the port is 1", note_id="same0").outcome == "unchanged"
    assert len(memory.notes.list(ALICE)) == 3
    memory.notes.save(ALICE, "the port is 2", note_id="second", supersedes=["same0", "same1", "same2"])
    memory.notes.save(ALICE, "the port is 1", note_id="again", supersedes=["second"])
    memory.catch_up()
    assert [note.note_id for note in memory.notes.list(ALICE)] == ["again"]
    assert [item.id for item in memory.recall("port", ALICE).memories] == ["again"]
    assert len(memory.notes.list(ALICE, status="any", include_superseded=True)) == 5


@pytest.mark.case("E07")
def test_a_status_that_goes_back_and_forth(indexed_memory: Memory, database_url: str) -> None:
    """The last one by the log counts, however often and from wherever the events are folded again."""
    memory = indexed_memory
    memory.notes.save(ALICE, "the port is 1", note_id="old")
    memory.notes.save(ALICE, "the port is 2", note_id="new", supersedes=["old"])
    drawn = random.Random(11)
    for number in range(20):
        memory.notes.set_status("new", "rejected" if number % 2 == 0 else "accepted")
        expected = "old" if number % 2 == 0 else "new"
        assert [item.id for item in memory.recall("port", ALICE).memories] == [expected]
        memory.catch_up()
        fold_again(memory, database_url, drawn.randrange(memory.log.head()))
        assert difference(memory, database_url) == []
        assert [item.id for item in memory.recall("port", ALICE).memories] == [expected]
    statuses = [
        event.record.status
        for event in memory.history.note("new").events
        if isinstance(event.record, NoteSaved | NoteStatusChanged)
    ]
    assert statuses == ["accepted", *["rejected", "accepted"] * 10]
