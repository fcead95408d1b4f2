"""Notes, items 68 to 93 of the conformance list."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fixtures.logs import Clock, open_memory
from fixtures.racing import race
from foldlog import Memory, Provenance
from foldlog.errors import (
    Conflict,
    InvalidInput,
    InvalidSupersession,
    InvalidTransition,
    NoteConflict,
    NotFound,
    OtherNamespace,
    SelfSupersession,
    SupersessionConflict,
    SupersessionCycle,
    UnknownNote,
    UnknownTarget,
)
from foldlog.events.types import NoteSaved, NoteStatusChanged

ALICE, BOB = "user:alice", "user:bob"

#: Notes of a long chain.
CHAIN = 1000


def _ids(memory: Memory, **given: object) -> list[str]:
    return [note.note_id for note in memory.notes.list(ALICE, **given)]  # type: ignore[arg-type]


@contextmanager
def _nothing_appended(memory: Memory) -> Iterator[None]:
    head = memory.log.head()
    yield
    assert memory.log.head() == head


@pytest.mark.conformance(68, 76)
def test_a_note_begins_accepted(memory: Memory, clock: Clock) -> None:
    """Nothing says when its status changed until it does."""
    memory.notes.save(ALICE, "a", note_id="a")
    note = memory.notes.get("a")
    assert note is not None
    assert (note.status, note.status_changed_at) == ("accepted", None)
    clock.pass_ms(7)
    memory.notes.set_status("a", "rejected")
    note = memory.notes.get("a")
    assert note is not None
    assert (note.status, note.status_changed_at) == ("rejected", clock.now)


@pytest.mark.conformance(69, 70, 71, 78, 79)
def test_lists_have_filters(memory: Memory) -> None:
    """Accepted ones unless asked otherwise; one status, several, any, none; one kind; one namespace."""
    for name, status in (("a", "accepted"), ("p", "pending"), ("r", "rejected")):
        memory.notes.save(ALICE, name, note_id=name, status=status, kind=f"kind {name}")
    memory.notes.save(BOB, "b", note_id="b")
    assert _ids(memory) == ["a"]
    assert _ids(memory, status="pending") == ["p"]
    assert _ids(memory, status=["pending", "rejected"]) == ["p", "r"]
    assert _ids(memory, status="any") == ["a", "p", "r"]
    assert _ids(memory, status=[]) == []
    assert _ids(memory, status="any", kind="kind r") == ["r"]
    assert _ids(memory, kind="kind r") == []
    with pytest.raises(InvalidInput, match="status"):
        memory.notes.list(ALICE, status=["any", "odd"])


@pytest.mark.conformance(72, 73, 91)
def test_the_first_note_under_an_id_stays(memory: Memory) -> None:
    """An equal body is no change, and adds neither links nor labels; another body is a conflict."""
    by = Provenance(run="r1")
    memory.notes.save(ALICE, "a", note_id="a")
    memory.notes.save(ALICE, "n", note_id="n", kind="first", author="Ann", tags=["x"], by=by)
    with _nothing_appended(memory):
        again = memory.notes.save(
            ALICE, "n", note_id="n", kind="second", tags=["y"], supersedes=["a"], by=Provenance(run="r2")
        )
        assert (again.created, again.outcome, again.id) == (False, "unchanged", "n")
        with pytest.raises(NoteConflict, match="save a new one") as refused:
            memory.notes.save(ALICE, "other", note_id="n", supersedes=["a"])
    assert (refused.value.note_id, refused.value.namespace) == ("n", ALICE)
    note = memory.notes.get("n")
    assert note is not None
    assert (note.body, note.kind, note.author, note.tags) == ("n", "first", "Ann", ("x",))
    assert (note.provenance.run, note.supersedes) == ("r1", ())
    assert _ids(memory) == ["a", "n"]


@pytest.mark.conformance(74)
def test_two_writers_of_one_id_with_other_targets(tmp_path: Path) -> None:
    """One wins with its link; the other's target stays live."""
    path = tmp_path / "memory.db"
    with open_memory(path) as memory, open_memory(path) as other:
        for number in range(20):
            for target in ("a", "b"):
                memory.notes.save(ALICE, target, note_id=f"{target}{number}")
            race(
                [
                    functools.partial(
                        each.notes.save,
                        ALICE,
                        "new",
                        note_id=f"n{number}",
                        supersedes=[f"{target}{number}"],
                    )
                    for each, target in ((memory, "a"), (other, "b"))
                ]
            )
            note = memory.notes.get(f"n{number}")
            assert note is not None
            (hidden,) = note.supersedes
            live = {"a", "b"} - {hidden[0]}
            assert [name for name in _ids(memory) if name[1:] == str(number)] == [
                *(f"{name}{number}" for name in live),
                f"n{number}",
            ]


@pytest.mark.conformance(75)
def test_an_id_has_one_winner_across_namespaces(memory: Memory) -> None:
    """Both callers get the same note; it stands in one namespace."""
    for number in range(20):
        name = f"n{number}"
        receipts = race(
            [
                functools.partial(memory.notes.save, namespace, "the same", note_id=name)
                for namespace in (ALICE, BOB)
            ]
        )
        assert sorted(receipt.created for receipt in receipts) == [False, True]
        assert [receipt.id for receipt in receipts] == [name, name]
        note = memory.notes.get(name)
        assert note is not None
        assert note.namespace in (ALICE, BOB)
    assert len(memory.notes.list(ALICE)) + len(memory.notes.list(BOB)) == 20


@pytest.mark.conformance(77)
def test_an_unknown_note(memory: Memory) -> None:
    """Its status cannot change, and it has no heads."""
    for ask in (
        functools.partial(memory.notes.set_status, "n", "accepted"),
        functools.partial(memory.notes.heads, "n"),
    ):
        with pytest.raises(UnknownNote) as refused:
            ask()
        assert refused.value.note_id == "n"
        assert isinstance(refused.value, NotFound)
    assert memory.notes.get("n") is None
    assert memory.log.head() == 0


@pytest.mark.conformance(80, 81)
def test_an_accepted_superseder_hides_all_its_targets(memory: Memory) -> None:
    """N of them; both ends say so at once, and `include_superseded` shows all."""
    for number in range(5):
        memory.notes.save(ALICE, str(number), note_id=str(number))
    memory.notes.save(ALICE, "all", note_id="all", supersedes=[str(number) for number in range(5)])
    assert _ids(memory) == ["all"]
    assert _ids(memory, include_superseded=True) == ["0", "1", "2", "3", "4", "all"]
    above, below = memory.notes.get("all"), memory.notes.get("3")
    assert above is not None
    assert below is not None
    assert above.supersedes == ("0", "1", "2", "3", "4")
    assert (below.superseded_by, below.visible, below.status) == (("all",), False, "accepted")
    assert below.as_dict()["superseded_by"] == ["all"]


@pytest.mark.conformance(82, 83, 84)
def test_only_an_accepted_superseder_hides(memory: Memory) -> None:
    """Pending and rejected ones hide nothing; accepting flips it, for reads and for recall."""
    memory.notes.save(ALICE, "port 1", note_id="a")
    memory.notes.save(ALICE, "port 2", note_id="p", status="pending", supersedes=["a"])
    memory.notes.save(ALICE, "port 3", note_id="r", status="rejected", supersedes=["a"])
    assert _ids(memory) == ["a"]
    memory.notes.set_status("p", "accepted")
    assert _ids(memory) == ["p"]
    assert [item.id for item in memory.recall("port", ALICE).memories] == ["p"]
    memory.notes.set_status("p", "rejected")
    assert _ids(memory) == ["a"]
    note = memory.notes.get("a")
    assert note is not None
    assert (note.superseded_by, note.visible) == ((), True)


@pytest.mark.conformance(85)
def test_superseding_is_not_handed_on(memory: Memory) -> None:
    """A <- B <- C reads C; with C rejected it reads B, not A."""
    memory.notes.save(ALICE, "a", note_id="a")
    memory.notes.save(ALICE, "b", note_id="b", supersedes=["a"])
    memory.notes.save(ALICE, "c", note_id="c", supersedes=["b"])
    assert _ids(memory) == ["c"]
    assert [note.note_id for note in memory.notes.heads("a")] == ["c"]
    memory.notes.set_status("c", "rejected")
    assert _ids(memory) == ["b"]
    assert [note.note_id for note in memory.notes.heads("a")] == ["b"]
    memory.notes.set_status("b", "rejected")
    assert [note.note_id for note in memory.notes.heads("a")] == ["a"]
    assert memory.notes.heads("c") == []


@pytest.mark.conformance(86)
def test_a_missing_target(memory: Memory) -> None:
    """Refused with both ids; allowed on request, and then it is hidden when it comes."""
    with _nothing_appended(memory), pytest.raises(UnknownTarget, match="allow_missing") as refused:
        memory.notes.save(ALICE, "n", note_id="n", supersedes=["later"])
    assert (refused.value.note_id, refused.value.target) == ("n", "later")
    assert isinstance(refused.value, NotFound)
    assert isinstance(refused.value, InvalidSupersession)
    memory.notes.save(ALICE, "n", note_id="n", supersedes=["later"], allow_missing=True)
    memory.notes.save(ALICE, "late", note_id="later")
    assert _ids(memory) == ["n"]
    assert [item.id for item in memory.recall("late", ALICE).memories] == []


@pytest.mark.conformance(87, 88)
@pytest.mark.case("E01")
def test_a_note_and_itself(memory: Memory) -> None:
    """Neither at once nor in a circle of two or three, which only links to later notes could close."""
    with _nothing_appended(memory), pytest.raises(SelfSupersession) as itself:
        memory.notes.save(ALICE, "n", note_id="n", supersedes=["n"])
    assert (itself.value.note_id, itself.value.target) == ("n", "n")
    memory.notes.save(ALICE, "a", note_id="a", supersedes=["c"], allow_missing=True)
    memory.notes.save(ALICE, "b", note_id="b", supersedes=["a"])
    with _nothing_appended(memory), pytest.raises(SupersessionCycle, match="circle") as circle:
        memory.notes.save(ALICE, "c", note_id="c", supersedes=["b"])
    assert (circle.value.note_id, circle.value.target) == ("c", "b")
    memory.notes.save(ALICE, "d", note_id="d", supersedes=["e"], allow_missing=True)
    with _nothing_appended(memory), pytest.raises(SupersessionCycle):
        memory.notes.save(ALICE, "e", note_id="e", supersedes=["d"], status="pending")
    assert _ids(memory) == ["b", "d"]


@pytest.mark.conformance(89)
def test_another_namespaces_note(memory: Memory) -> None:
    """Refused with both namespaces, unless it is allowed."""
    memory.notes.save(BOB, "theirs", note_id="theirs")
    with _nothing_appended(memory), pytest.raises(OtherNamespace, match="allow_other_namespace") as refused:
        memory.notes.save(ALICE, "n", note_id="n", supersedes=["theirs"])
    assert (refused.value.namespace, refused.value.target_namespace) == (ALICE, BOB)
    assert (refused.value.note_id, refused.value.target) == ("n", "theirs")
    memory.notes.save(ALICE, "n", note_id="n", supersedes=["theirs"], allow_other_namespace=True)
    assert memory.notes.list(BOB) == []


@pytest.mark.conformance(90)
def test_the_status_machine(memory: Memory) -> None:
    """Pending leads to accepted or rejected, these to each other; the same again appends nothing."""
    allowed = {
        "pending": {"accepted", "rejected"},
        "accepted": {"rejected"},
        "rejected": {"accepted"},
    }
    for first, targets in allowed.items():
        for second in allowed:
            name = f"{first}-{second}"
            memory.notes.save(ALICE, name, note_id=name, status=first)
            if second in targets:
                assert memory.notes.set_status(name, second).created
                continue
            with _nothing_appended(memory):
                if first == second:
                    assert memory.notes.set_status(name, second).outcome == "unchanged"
                    continue
                with pytest.raises(InvalidTransition) as refused:
                    memory.notes.set_status(name, second)
            assert (refused.value.note_id, refused.value.status, refused.value.asked) == (name, first, second)
    with _nothing_appended(memory), pytest.raises(InvalidInput):
        memory.notes.set_status("pending-pending", "ACCEPTED")


@pytest.mark.conformance(92)
def test_ties_are_in_the_order_of_the_log(memory: Memory) -> None:
    """All of one instant, whatever their ids."""
    for name in ("z", "a", "m"):
        memory.notes.save(ALICE, name, note_id=name)
    assert _ids(memory) == ["z", "a", "m"]


@pytest.mark.conformance(93)
def test_every_earlier_status_is_kept(memory: Memory, clock: Clock) -> None:
    """With its instant, its reason and who did it."""
    memory.notes.save(ALICE, "n", note_id="n", status="pending")
    expected = [("pending", clock.now, None, None)]
    for status, reason in (("accepted", "measured"), ("rejected", "a slip"), ("accepted", None)):
        clock.pass_ms(1000)
        memory.notes.set_status("n", status, reason=reason, by=Provenance(actor=f"who {reason}"))
        expected.append((status, clock.now, reason, f"who {reason}"))
    found = []
    for event in memory.history.note("n").events:
        assert isinstance(event.record, NoteSaved | NoteStatusChanged)
        reason = getattr(event.record, "reason", None)
        found.append((event.record.status, event.recorded_at, reason, event.provenance.actor))
    assert found == expected


@pytest.mark.conformance(74, 90)
@pytest.mark.case("E03")
def test_a_second_accepted_superseder(memory: Memory) -> None:
    """Refused with the winner, at saving and at accepting, unless both are wanted."""
    memory.notes.save(ALICE, "a", note_id="a")
    memory.notes.save(ALICE, "b", note_id="b", supersedes=["a"])
    memory.notes.save(ALICE, "p", note_id="p", supersedes=["a"], status="pending")
    for ask in (
        functools.partial(memory.notes.save, ALICE, "c", note_id="c", supersedes=["a"]),
        functools.partial(memory.notes.set_status, "p", "accepted"),
    ):
        with _nothing_appended(memory), pytest.raises(SupersessionConflict, match="allow_fork") as refused:
            ask()
        assert (refused.value.target, refused.value.winner) == ("a", "b")
        assert isinstance(refused.value, Conflict)
    memory.notes.set_status("p", "accepted", allow_fork=True)
    assert [note.note_id for note in memory.notes.heads("a")] == ["b", "p"]


def _statements(memory: Memory, ask: object) -> list[str]:
    """Return the statements that a read runs."""
    seen: list[str] = []
    with memory.log.read() as connection:
        connection.set_trace_callback(seen.append)
        try:
            ask()  # type: ignore[operator]
        finally:
            connection.set_trace_callback(None)
    return [statement for statement in seen if not statement.startswith("--")]


@pytest.mark.conformance(80, 85)
def test_a_long_chain_costs_as_many_queries_as_a_short_one(memory: Memory) -> None:
    """A thousand notes that each supersede the one before: read, resolved and walked in the same number."""
    with memory.batch():
        for name, length in (("short", 3), ("long", CHAIN)):
            for number in range(length):
                before = [f"{name}{number - 1}"] if number else []
                memory.notes.save(ALICE, f"{name} {number}", note_id=f"{name}{number}", supersedes=before)
    assert _ids(memory) == ["short2", f"long{CHAIN - 1}"]
    for name, length in (("short", 3), ("long", CHAIN)):
        (head,) = memory.notes.heads(f"{name}0")
        assert head.note_id == f"{name}{length - 1}"
        assert head.supersedes == (f"{name}{length - 2}",)
    for ask in (
        lambda name: memory.notes.heads(f"{name}0"),
        lambda name: memory.notes.get(f"{name}1"),
        lambda name: memory.notes.list(ALICE),
        lambda name: memory.notes.list(ALICE, status="any", include_superseded=True),
    ):
        short, long = (_statements(memory, functools.partial(ask, name)) for name in ("short", "long"))
        assert len(short) == len(long) == 1
    counts = []
    for name, length in (("short", 3), ("long", CHAIN)):
        with memory.log.write() as transaction:
            seen: list[str] = []
            transaction.connection.set_trace_callback(seen.append)
        memory.notes.save(ALICE, "next", note_id=f"next {name}", supersedes=[f"{name}{length - 1}"])
        counts.append(len([statement for statement in seen if "foldlog_notes" in statement]))
        transaction.connection.set_trace_callback(None)
    assert counts[0] == counts[1]
