"""The jobs extract, primers and embed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from fixtures.logs import Clock
from foldlog import Memory, composition
from foldlog.errors import ExtractionRefused, SettingsError
from foldlog.projections import engine
from foldlog.projections.hindsight.session import Session
from foldlog.settings import Settings
from foldlog.workers.jobs import extract
from foldlog.workers.jobs.embed import EmbedJob
from foldlog.workers.jobs.extract import PIECE, ExtractJob
from foldlog.workers.jobs.job import Result, Work
from foldlog.workers.jobs.primers import PrimersJob
from foldlog.workers.models.extraction import Proposed
from foldlog.workers.models.transcript import Spoken

ALICE = "user:alice"
QUIET = 600_000


@dataclass
class Proposer:
    """Proposes one note of all it is given, another one each time."""

    given: list[list[str]] = field(default_factory=list)
    failure: Exception | None = None

    def extract(self, messages: Sequence[Spoken]) -> list[Proposed]:
        ids = [item.message_id for item in messages]
        self.given.append(ids)
        if self.failure is not None:
            raise self.failure
        body = f"proposal {len(self.given)}: {len(ids)} messages"
        return [Proposed(body=body, kind="fact", sources=tuple(ids[:2]))]


def run(memory: Memory, proposer: Proposer, last: Result | None = None, **given: object) -> Result:
    job = ExtractJob(Settings(), proposer)
    state = last.state if last else {}
    return job.run(Work(memory=memory, now=memory.log.clock(), state=state, **given))  # type: ignore[arg-type]


def talk(memory: Memory, count: int, thread: str = "t") -> None:
    if memory.threads.get(thread) is None:
        memory.threads.create(ALICE, thread_id=thread)
    with memory.batch():
        for _ in range(count):
            memory.messages.save(thread, "something was said")


def test_notes_are_proposed_from_pieces(memory: Memory, clock: Clock) -> None:
    """Whole pieces at once, the rest when the thread is quiet; pending, with sources; each once."""
    talk(memory, PIECE + 3)
    proposer = Proposer()
    first = run(memory, proposer)
    assert first.counts == {"proposed": 1}
    assert [len(given) for given in proposer.given] == [PIECE]
    assert memory.notes.list(ALICE) == []
    (note,) = memory.notes.list(ALICE, status="pending")
    assert note.body == f"proposal 1: {PIECE} messages"
    event = memory.history.note(note.note_id).events[0]
    assert event.record.sources == proposer.given[0][:2]  # type: ignore[union-attr]
    assert event.provenance.actor == "job:extract"
    second = run(memory, proposer, first)
    assert second.counts == {"proposed": 0}
    clock.pass_ms(QUIET)
    third = run(memory, proposer, second)
    assert third.counts == {"proposed": 1}
    assert [len(given) for given in proposer.given] == [PIECE, 3]
    assert run(memory, proposer, third).counts == {"proposed": 0}
    assert run(memory, proposer).counts == {"proposed": 0}
    talk(memory, 1)
    clock.pass_ms(QUIET)
    assert run(memory, proposer, third).counts == {"proposed": 1}
    assert [len(given) for given in proposer.given] == [PIECE, 3, 1]


def test_a_kill_before_the_cursor_is_no_second_proposal(
    memory: Memory, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The notes are there, the cursor is not: the repeat asks no model and adds nothing."""
    talk(memory, PIECE)
    proposer = Proposer()
    monkeypatch.setattr(extract.cursors, "put", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        run(memory, proposer)
    monkeypatch.undo()
    assert run(memory, proposer).counts == {"proposed": 0}
    assert len(proposer.given) == 1
    assert len(memory.notes.list(ALICE, status="pending")) == 1


def test_a_thread_that_is_refused_does_not_stop_the_others(memory: Memory, clock: Clock) -> None:
    """It is tried again by the next run."""
    talk(memory, PIECE)
    proposer = Proposer(failure=ExtractionRefused("no JSON"))
    first = run(memory, proposer)
    assert first.problems == ["thread t was not read: no JSON"]
    assert memory.notes.list(ALICE, status="any") == []
    proposer.failure = None
    assert run(memory, proposer, first).counts == {"proposed": 1}


def test_extraction_needs_a_model(memory: Memory) -> None:
    """It is off unless it is switched on, and says what is missing."""
    assert ExtractJob(Settings()).every_ms is None
    with pytest.raises(SettingsError, match="language model"):
        ExtractJob(Settings()).run(Work(memory=memory, now=0))


@pytest.fixture
def indexed(tmp_path: Path, database_url: str) -> Iterator[Memory]:
    settings = Settings(log=tmp_path / "memory.db", database_url=database_url, embedder="hash")
    with composition.open_memory(settings=settings) as memory:
        yield memory


def refresh(memory: Memory) -> Result:
    return PrimersJob(Settings()).run(Work(memory=memory, now=0))


def test_a_primer_follows_its_question(indexed: Memory) -> None:
    """Set when the answer differs, left alone when it does not, or when a person's text has no question."""
    indexed.notes.save(ALICE, "Alice drinks green tea", note_id="n1")
    indexed.primers.set(ALICE, "tea", "not asked yet", question="What tea does Alice drink?")
    indexed.primers.set(ALICE, "fixed", "as it is")
    indexed.catch_up()
    assert refresh(indexed).counts == {"asked": 1, "refreshed": 1}
    found = indexed.primers.get(ALICE, "tea")
    assert found is not None
    assert (found.text, found.question) == ("- Alice drinks green tea", "What tea does Alice drink?")
    assert refresh(indexed).counts == {"asked": 1, "refreshed": 0}
    indexed.notes.save(ALICE, "Alice drinks black tea now", note_id="n2", supersedes=["n1"])
    indexed.catch_up()
    assert refresh(indexed).counts == {"asked": 1, "refreshed": 1}
    found = indexed.primers.get(ALICE, "tea")
    assert found is not None
    assert found.text == "- Alice drinks black tea now"
    fixed = indexed.primers.get(ALICE, "fixed")
    assert fixed is not None
    assert fixed.text == "as it is"


def test_a_degraded_answer_changes_no_primer(memory: Memory) -> None:
    """Half an answer is not put in the place of a whole one; the result says so."""
    memory.notes.save(ALICE, "Alice drinks green tea")
    memory.primers.set(ALICE, "tea", "as it was", question="What tea does Alice drink?")
    result = refresh(memory)
    assert result.counts == {"asked": 1, "refreshed": 0}
    assert "primer tea of user:alice stays as it is" in result.problems[0]
    found = memory.primers.get(ALICE, "tea")
    assert found is not None
    assert found.text == "as it was"


def test_embedding_on_demand(tmp_path: Path, database_url: str) -> None:
    """What was folded without vectors gets them."""
    settings = Settings(log=tmp_path / "memory.db", database_url=database_url, embedder="hash")
    with composition.open_memory(settings=settings) as memory:
        memory.notes.save(ALICE, "Alice drinks green tea")
        postgres = Session(database_url, timeout_ms=1000)
        target = composition.projection(settings, memory.log, postgres)
        engine.run_once(memory.log, target, composition.limits(settings))
        job = EmbedJob(settings)
        assert job.run(Work(memory=memory, now=0, dry_run=True)).counts == {"generations": 1}
        assert job.run(Work(memory=memory, now=0)).counts == {"embedded": 1}
        assert job.run(Work(memory=memory, now=0)).counts == {"embedded": 0}
        assert target.unembedded() == (0, None)
        postgres.close()
