"""What speaks for a memory: the parts of a score, of facts and notes above all."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fixtures.logs import Clock
from foldlog import Memory, composition
from foldlog.projections.local import text
from foldlog.settings import Settings

ALICE = "user:alice"


@pytest.fixture
def indexed(tmp_path: Path, database_url: str, clock: Clock) -> Iterator[Memory]:
    """A memory with an index."""
    settings = Settings(log=tmp_path / "indexed.db", database_url=database_url)
    with composition.open_memory(settings=settings, clock=clock) as memory:
        yield memory


def parts(memory: Memory, question: str) -> dict[str, dict[str, float]]:
    """Return the parts of every memory's score, by its name."""
    return {item.id: item.parts for item in memory.recall(question, ALICE).memories}


@pytest.mark.parametrize(
    ("key", "question"),
    [
        ("Mercury (planet)", "How far away is Mercury?"),
        ("Mercury", "How far away is Mercury?"),
        ("(untitled)", "What is untitled?"),
        ("f(x) (draft)", "Where is f(x)?"),
    ],
)
def test_a_name_stands_in_the_question(memory: Memory, key: str, question: str) -> None:
    """With the bracket at its end left out, unless the name is nothing else."""
    memory.facts.set(ALICE, key, "a thing that is far away")
    memory.facts.set(ALICE, "Mercury Records", "far away, untitled, f(x)")
    found = parts(memory, question)
    assert found[key]["name in the question"] > 0
    assert "name in the question" not in found["Mercury Records"]


def test_a_name_inside_another_is_not_named(memory: Memory) -> None:
    """Only the longest of the names that stand in the question."""
    memory.facts.set(ALICE, "Direct action", "an act of protest")
    memory.facts.set(ALICE, "Act of War: Direct Action", "a game about a war")
    found = parts(memory, "Who wrote Act of War: Direct Action?")
    assert found["Act of War: Direct Action"]["name in the question"] > 0
    assert "name in the question" not in found["Direct action"]


def test_a_stretch_is_met_by_years_and_beginnings(memory: Memory) -> None:
    """Best by what begins and ends with it, less by what is near, not by a message."""
    memory.facts.set(ALICE, "same", "She led the laboratory from 2003 to 2006.")
    memory.facts.set(ALICE, "near", "She led the laboratory from 2001 to 2009.")
    memory.facts.set(ALICE, "far", "She led the laboratory from 1950 to 1955.")
    memory.facts.set(ALICE, "never", "She led the laboratory.")
    memory.threads.create(ALICE, thread_id="t")
    memory.messages.save("t", "She led the laboratory from 2003 to 2006.", message_id="message")
    found = parts(memory, "Who led the laboratory from 2003 to 2006?")
    for part in ("years", "nearness of years", "nearness of the beginning"):
        worth = [found[name].get(part, 0.0) for name in ("same", "near", "far", "never", "message")]
        assert worth == sorted(worth, reverse=True)
        assert worth[0] > worth[1]
        assert worth[3:] == [0.0, 0.0]
    assert next(iter(found)) == "same"


@pytest.mark.parametrize("when", ["in 2003", "since 2003", "before 2003", "in the 2000s"])
def test_a_single_year_is_no_stretch(memory: Memory, when: str) -> None:
    """It is more often part of a name, and a word like any other."""
    memory.facts.set(ALICE, "same", "She led the laboratory from 2003 to 2006.")
    found = parts(memory, f"Who led the laboratory {when}?")
    assert found["same"].keys().isdisjoint({"years", "nearness of years", "nearness of the beginning"})


@pytest.mark.parametrize(
    ("when", "counts"), [("in 2023", False), ("in May 2023", True), ("on 14 May 2023", True)]
)
def test_what_a_fact_says_of_time(indexed: Memory, when: str, counts: bool) -> None:
    """Meets a day or a month that a question names; a year is more often part of a name."""
    indexed.facts.set(ALICE, "audit", "The audit was on 14 May 2023.")
    indexed.catch_up()
    assert ("time" in parts(indexed, f"What was {when}?")["audit"]) is counts


def test_a_name_that_many_mention_tells_less(indexed: Memory) -> None:
    """Counted exactly: the words of a name may be common, and the name rare."""
    indexed.facts.set(ALICE, "Project Aurora", "A bridge, planned by Dana Whitfield and Omar Haddad.")
    for name in ("Dana Whitfield", "Omar Haddad"):
        indexed.facts.set(ALICE, name, "Grew up in Porto and studied there.")
    for number in range(20):
        indexed.facts.set(ALICE, f"Item {number}", f"Omar Haddad signed item {number} of the list.")
        indexed.facts.set(ALICE, f"Page {number}", f"Dana signed page {number}, Whitfield read it.")
    indexed.catch_up()
    found = parts(indexed, "Who planned project Aurora?")
    rare, common = (found[name]["named by the best"] for name in ("Dana Whitfield", "Omar Haddad"))
    assert rare > 1.5 * common > 0


def test_how_many_hold_a_name(memory: Memory) -> None:
    """Whole and in order; a name of stop words only counts as held by all."""
    memory.facts.set(ALICE, "a", "Dana Whitfield and Dana Whitfield")
    memory.facts.set(ALICE, "b", "dana whitfield's house")
    memory.facts.set(ALICE, "c", "Whitfield, Dana")
    memory.facts.set(ALICE, "d", 'say "Dana" NEAR "Whitfield"')
    with memory.log.read() as connection:
        found = text.mentions(connection, ["dana whitfield", "the", 'o"dd) name', "nobody"])
    assert found == {"dana whitfield": 2, "the": text.MOST_MENTIONS, 'o"dd) name': 0, "nobody": 0}
