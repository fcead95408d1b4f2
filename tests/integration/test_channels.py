"""For each channel a question that only it answers: found with it, lost without it, and explained."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from fixtures.index import spans_of
from fixtures.logs import NOON, Clock
from foldlog import Memory, composition
from foldlog.errors import InvalidInput
from foldlog.events.encoding import instant
from foldlog.settings import Settings

ALICE = "user:alice"
TODAY = instant(NOON)


@pytest.fixture
def memory(tmp_path: Path, database_url: str, clock: Clock) -> Iterator[Memory]:
    settings = Settings(log=tmp_path / "memory.db", database_url=database_url)
    with composition.open_memory(settings=settings, clock=clock) as memory:
        yield memory


def test_only_words_find_what_has_no_meaning(memory: Memory) -> None:
    """A label in runes has no vector: its letters are all there is to find it by."""
    memory.notes.save(ALICE, "ᚠᚢᚦᚨᚱᚲ", note_id="right")
    for number in range(30):
        memory.notes.save(ALICE, f"The label of crate {number} is plain", note_id=f"n{number}")
    memory.catch_up()
    found = memory.recall("ᚠᚢᚦᚨᚱᚲ", ALICE)
    assert [item.id for item in found.memories] == ["right"]
    assert list(found.memories[0].channels) == ["text"]
    assert memory.recall("ᚠᚢᚦᚨᚱᚲ", ALICE, off=["text"]).memories == []


def test_only_time_finds_a_day(memory: Memory) -> None:
    """`two days ago` is resolved against the asker's clock, `yesterday` against the text's own time."""
    days = {"right": 1, "other": 9, "third": 20}
    for name, age in days.items():
        memory.notes.save(
            ALICE, "We met the auditors yesterday", note_id=name, occurred_at=TODAY - timedelta(days=age)
        )
    memory.catch_up()
    found = memory.recall("what was going on two days ago", ALICE, limit=1)
    assert found.memories[0].id == "right"
    assert found.memories[0].channels["time"] > 0
    assert found.memories[0].parts["time"] > 0
    without = memory.recall("what was going on two days ago", ALICE, limit=3, off=["time", "semantic"])
    assert without.memories == []


def test_a_narrow_span_meets_a_day_better_than_a_wide_one(memory: Memory, database_url: str) -> None:
    """Overlap over union: the day in May before the year that holds it."""
    memory.notes.save(ALICE, "The audit was on 14 May 2023", note_id="day")
    memory.notes.save(ALICE, "We moved house in 2023", note_id="year")
    memory.notes.save(ALICE, "Nothing in particular", note_id="none")
    memory.catch_up()
    found = memory.recall("around 14 May 2023", ALICE, off=["text", "semantic"])
    scores = {item.id: item.channels.get("time", 0.0) for item in found.memories}
    assert scores["day"] == pytest.approx(1.0)
    assert scores["day"] > scores["year"] > 0
    assert "none" not in scores


def test_spans_follow_their_memory(memory: Memory, database_url: str) -> None:
    """A new text has new spans, a deleted memory none."""
    memory.facts.set(ALICE, "due", "on 14 May 2023")
    memory.facts.set(ALICE, "gone", "on 15 May 2023")
    memory.catch_up()
    assert spans_of(memory, database_url, "due") == ["2023-05-14"]
    memory.facts.set(ALICE, "due", "on 16 May 2023")
    memory.facts.delete(ALICE, "gone")
    memory.catch_up()
    assert spans_of(memory, database_url, "due") == ["2023-05-16"]
    assert spans_of(memory, database_url, "gone") == []


def test_only_the_graph_takes_a_second_step(memory: Memory) -> None:
    """The answer shares no word with the question: the memory that does names it."""
    memory.facts.set(ALICE, "Project Aurora", "A bridge, planned and led by Dana Whitfield since spring.")
    memory.facts.set(ALICE, "Dana Whitfield", "Grew up in Porto and studied there.")
    for number in range(40):
        memory.facts.set(ALICE, f"Person {number}", f"Came from town {number} and went to school there.")
    memory.catch_up()
    question = "Who runs project Aurora, and what about the childhood?"
    found = memory.recall(question, ALICE, limit=2)
    assert {item.id for item in found.memories} == {"Project Aurora", "Dana Whitfield"}
    second = next(item for item in found.memories if item.id == "Dana Whitfield")
    assert "graph" in second.channels
    assert second.parts["named by the best"] > 0
    without = memory.recall(question, ALICE, limit=2, off=["graph"])
    assert "Dana Whitfield" not in {item.id for item in without.memories}


def test_names_follow_their_memory(memory: Memory) -> None:
    """A deleted memory is not stepped to, and a name that comes late is met by what was there before."""
    memory.facts.set(ALICE, "Project Aurora", "A bridge led by Dana Whitfield.")
    memory.catch_up()
    memory.facts.set(ALICE, "Dana Whitfield", "Grew up in Porto.")
    memory.catch_up()
    found = memory.recall("project Aurora", ALICE, off=["semantic"])
    assert {item.id for item in found.memories} == {"Project Aurora", "Dana Whitfield"}
    memory.facts.delete(ALICE, "Dana Whitfield")
    for _ in range(2):
        found = memory.recall("project Aurora", ALICE, off=["semantic"])
        assert {item.id for item in found.memories} == {"Project Aurora"}
        memory.catch_up()


def test_the_neighbours_of_a_message_take_part(memory: Memory) -> None:
    """The answer stands after the question that holds the words."""
    memory.threads.create(ALICE, thread_id="t")
    for number in range(20):
        memory.messages.save("t", f"small talk number {number}", author="Noor")
    memory.messages.save("t", "Where did you put the spare keys for the office?", author="Noor")
    memory.messages.save("t", "In the drawer below the printer.", author="Tomas", message_id="answer")
    memory.catch_up()
    found = memory.recall("where are the spare keys for the office", ALICE, limit=3, off=["semantic"])
    assert "answer" in [item.id for item in found.memories]


def test_a_score_is_the_sum_of_its_parts(memory: Memory) -> None:
    """So that it can be explained."""
    memory.threads.create(ALICE, thread_id="t")
    for number in range(5):
        memory.messages.save("t", f"blue thing number {number}?", author="Noor")
    memory.facts.set(ALICE, "color", "blue")
    memory.catch_up()
    for item in memory.recall("which blue thing", ALICE).memories:
        assert item.score == pytest.approx(sum(item.parts.values()))


@pytest.mark.parametrize("limit", [1, 2, 3, 7])
def test_an_answer_is_never_longer_than_asked_for(memory: Memory, limit: int) -> None:
    """Also when fewer are wanted than are asked for their names."""
    for number in range(9):
        memory.notes.save(ALICE, f"blue thing {number}")
    memory.catch_up()
    assert len(memory.recall("blue", ALICE, limit=limit).memories) == limit


def test_a_channel_that_does_not_exist(memory: Memory) -> None:
    """Refused, so that a typing error switches nothing off in silence."""
    with pytest.raises(InvalidInput, match="text, semantic, graph, time"):
        memory.recall("blue", ALICE, off=["tekst"])


def test_retained_texts_are_found_by_every_channel(memory: Memory) -> None:
    """By their words, their meaning, the names in them and their days; and filtered by kind and tag."""
    memory.retained.add(
        ALICE, "Marta Novak repaired the harbour crane on 3 May 2023", retained_id="r", tags=["work"]
    )
    memory.notes.save(ALICE, "Marta Novak repaired the harbour crane on 3 May 2023", note_id="n")
    memory.catch_up()
    answer = memory.recall(
        "What did Marta Novak repair on 3 May 2023?", ALICE, kinds=["retained"], tags=["work"]
    )
    (found,) = answer.memories
    assert (answer.status, found.id, found.kind, found.speaker) == ("ok", "r", "retained", None)
    assert {"text", "semantic", "graph", "time"} <= found.channels.keys()
    memory.retained.delete("r")
    assert memory.recall("harbour crane", ALICE, kinds=["retained"]).memories == []
    memory.catch_up()
    assert memory.rebuild() is not None
    assert [item.id for item in memory.recall("harbour crane", ALICE).memories] == ["n"]


@pytest.mark.conformance(147, 149)
def test_a_missing_primer_makes_a_good_answer_partial(memory: Memory) -> None:
    """The index answered; the reason is the primer alone, and is gone when it is there."""
    memory.notes.save(ALICE, "the port is 1")
    memory.catch_up()
    answer = memory.recall("port", ALICE, primers=["tone"])
    assert answer.status == "partial"
    assert answer.reason == f"primer tone: there is none in {ALICE}; set it first"
    assert "the port is 1" in answer.block
    memory.primers.set(ALICE, "tone", "Be brief.")
    answer = memory.recall("port", ALICE, primers=["tone"])
    assert (answer.status, answer.reason) == ("ok", None)
    assert answer.primers == ((ALICE, "tone"),)
