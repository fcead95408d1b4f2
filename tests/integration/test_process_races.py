"""Two processes that want the same thing at the same moment: one gets it, the other is told who did."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fixtures.logs import open_memory
from fixtures.racing import Rivals, rivals
from foldlog import Memory

ALICE = "user:alice"

#: One log for all of them, so that its end can be looked at.
pytestmark = pytest.mark.xdist_group("process races")

ROUNDS = 200
SIDES = ("left", "right")


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("races") / "memory.db"


@pytest.fixture(scope="module")
def memory(path: Path) -> Iterator[Memory]:
    with open_memory(path) as memory:
        yield memory


@pytest.fixture(scope="module")
def two(memory: Memory, path: Path) -> Iterator[Rivals]:
    with rivals(path) as two:
        yield two


def _decided(told: list[dict[str, Any]], error: str) -> tuple[int, dict[str, Any]]:
    """Return whose call was taken, and what the other was told; exactly one was taken."""
    winners = [place for place, said in enumerate(told) if said.get("outcome") == "appended"]
    assert len(winners) == 1, told
    loser = told[1 - winners[0]]
    assert loser["error"] == error, told
    return winners[0], loser


def _both_won(wins: Counter[int]) -> None:
    """Each wins now and then: else it was no race."""
    assert wins[0] + wins[1] == ROUNDS
    assert min(wins[0], wins[1]) > 0


@pytest.mark.conformance(36, 39)
def test_compare_and_set(memory: Memory, two: Rivals) -> None:
    """Of two that saw the same version one sets; the other is told the version there is now."""
    wins: Counter[int] = Counter()
    for version in range(ROUNDS):
        told = two.race(
            *(("facts", "set", [ALICE, "k", side], {"expected_version": version}) for side in SIDES)
        )
        winner, loser = _decided(told, "WrongExpectedVersion")
        assert (loser["expected"], loser["actual"]) == (version, version + 1)
        fact = memory.facts.get(ALICE, "k")
        assert fact is not None
        assert (fact.value, fact.version) == (SIDES[winner], version + 1)
        wins[winner] += 1
    _both_won(wins)
    assert len(memory.history.fact(ALICE, "k").events) == ROUNDS


@pytest.mark.conformance(72, 74, 75)
def test_one_note_id(memory: Memory, two: Rivals) -> None:
    """One body under an id; the other is told where it stands."""
    wins: Counter[int] = Counter()
    for number in range(ROUNDS):
        name = f"n{number}"
        told = two.race(*(("notes", "save", [f"user:{side}", side], {"note_id": name}) for side in SIDES))
        winner, loser = _decided(told, "NoteConflict")
        assert (loser["note_id"], loser["namespace"]) == (name, f"user:{SIDES[winner]}")
        note = memory.notes.get(name)
        assert note is not None
        assert (note.body, note.namespace) == (SIDES[winner], f"user:{SIDES[winner]}")
        wins[winner] += 1
    _both_won(wins)


@pytest.mark.case("E03")
def test_one_target(memory: Memory, two: Rivals) -> None:
    """One superseder; the other is told whose it is, and nothing of it is left."""
    wins: Counter[int] = Counter()
    with memory.batch():
        for number in range(ROUNDS):
            memory.notes.save(ALICE, "old", note_id=f"t{number}")
    for number in range(ROUNDS):
        names = [f"{side}{number}" for side in SIDES]
        told = two.race(
            *(
                ("notes", "save", [ALICE, "new"], {"note_id": name, "supersedes": [f"t{number}"]})
                for name in names
            )
        )
        winner, loser = _decided(told, "SupersessionConflict")
        assert (loser["target"], loser["winner"]) == (f"t{number}", names[winner])
        assert memory.notes.get(names[1 - winner]) is None
        assert [note.note_id for note in memory.notes.heads(f"t{number}")] == [names[winner]]
        wins[winner] += 1
    _both_won(wins)


@pytest.mark.case("E01")
def test_a_circle(memory: Memory, two: Rivals) -> None:
    """Two notes that would supersede each other: the second to come is refused."""
    wins: Counter[int] = Counter()
    for number in range(ROUNDS):
        names = [f"circle-{side}{number}" for side in SIDES]
        told = two.race(
            *(
                (
                    "notes",
                    "save",
                    [ALICE, "x"],
                    {"note_id": name, "supersedes": [other], "allow_missing": True},
                )
                for name, other in (names, names[::-1])
            )
        )
        winner, _ = _decided(told, "SupersessionCycle")
        assert [note.note_id for note in memory.notes.heads(names[winner])] == [names[winner]]
        wins[winner] += 1
    _both_won(wins)


@pytest.mark.conformance(56, 60)
def test_one_message_id(memory: Memory, two: Rivals) -> None:
    """Both are kept: the last is what is read, both are in the history, in one place."""
    lasts: Counter[int] = Counter()
    memory.threads.create(ALICE, thread_id="t")
    for number in range(ROUNDS):
        name = f"m{number}"
        told = two.race(*(("messages", "save", ["t", side], {"message_id": name}) for side in SIDES))
        assert [said["outcome"] for said in told] == ["appended", "appended"]
        last = max((0, 1), key=lambda place: told[place]["position"])
        message = memory.messages.get(name)
        assert message is not None
        assert (message.content, message.ordinal) == (SIDES[last], number + 1)
        lasts[last] += 1
    _both_won(lasts)
    assert memory.messages.count("t") == ROUNDS
    saved = Counter(
        (event.record.message_id, event.record.content)  # type: ignore[union-attr]
        for event in memory.history.thread("t").events[1:]
    )
    assert saved == Counter((f"m{number}", side) for number in range(ROUNDS) for side in SIDES)


def test_the_log_is_in_order(memory: Memory, two: Rivals) -> None:
    """After all of it the chain verifies."""
    assert memory.verify().ok
