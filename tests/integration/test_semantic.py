"""Vectors: embedded by anybody, stored once, searched whatever the filter; and nothing waits for them."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import psycopg
import pytest

from fixtures.logs import Clock
from foldlog import Memory, composition
from foldlog.errors import EmbeddingRefused, EmbeddingUnavailable
from foldlog.projections import engine
from foldlog.projections.embedding.hashed import HashEmbedder
from foldlog.projections.hindsight import control, embedding, semantic
from foldlog.projections.hindsight.embedding import CLAIM_MS, LAST_RETRY_MS, EmbeddingStage, halfvec
from foldlog.projections.hindsight.session import Session
from foldlog.projections.scope import Scope
from foldlog.settings import Settings

if TYPE_CHECKING:
    from foldlog.projections.embedding.embedder import Vectors

ALICE = "user:alice"


@pytest.fixture
def settings(tmp_path: Path, database_url: str) -> Settings:
    return Settings(log=tmp_path / "memory.db", database_url=database_url, embedder="hash")


@pytest.fixture
def memory(settings: Settings, clock: Clock) -> Iterator[Memory]:
    with composition.open_memory(settings=settings, clock=clock) as memory:
        yield memory


@pytest.fixture
def session(database_url: str) -> Iterator[Session]:
    session = Session(database_url, timeout_ms=1000)
    yield session
    session.close()


class Counting(HashEmbedder):
    """Counts the texts it embeds, and fails on demand."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.failure: Exception | None = None
        self.spoil: float | None = None

    def passages(self, texts: Sequence[str]) -> Vectors:
        if self.failure is not None:
            raise self.failure
        self.texts += texts
        vectors = super().passages(texts)
        if self.spoil is not None:
            for row, text in zip(vectors, texts, strict=True):
                if "spoilt" in text:
                    row[:] = self.spoil
        return vectors


def fold(memory: Memory, settings: Settings, session: Session) -> control.Generation:
    """Fold without embedding; return the generation."""
    from foldlog.projections import engine

    target = composition.projection(settings, memory.log, session)
    engine.run_once(memory.log, target, composition.limits(settings))
    with session.transaction() as connection:
        generation = control.active(connection, memory.log.meta.log_id)
    assert generation is not None
    return generation


def stored(session: Session, generation: control.Generation) -> int:
    with session.transaction() as connection:
        control.use(connection, generation)
        row = connection.execute("SELECT count(*) FROM vectors").fetchone()
    assert row is not None
    return int(row[0])


def waiting(session: Session, generation: control.Generation) -> list[tuple[Any, ...]]:
    with session.transaction() as connection:
        control.use(connection, generation)
        return connection.execute(
            "SELECT text, attempts, error, next_try FROM embed_todo ORDER BY id"
        ).fetchall()


def test_equal_texts_are_embedded_once(memory: Memory, settings: Settings, session: Session) -> None:
    """In one batch, and against what has a vector already; and a repeat has nothing to do."""
    embedder = Counting()
    for number in range(3):
        memory.notes.save(ALICE, "the same text", note_id=f"n{number}")
    generation = fold(memory, settings, session)
    stage = EmbeddingStage(session, generation, embedder)
    assert stage.run_once().stored == 3
    memory.notes.save(ALICE, "the same text", note_id="later")
    fold(memory, settings, session)
    assert stage.run_once().stored == 1
    assert embedder.texts == ["the same text"]
    assert stage.run_once().claimed == 0
    assert stored(session, generation) == 4


def test_only_the_last_text_gets_its_vector(memory: Memory, settings: Settings, session: Session) -> None:
    """A text that changed between claim and store is not stored under the new one."""

    class Late(Counting):
        def passages(self, texts: Sequence[str]) -> Vectors:
            if not self.texts:
                memory.facts.set(ALICE, "k", "second")
                memory.facts.delete(ALICE, "gone")
                own = Session(session.url, timeout_ms=1000)
                fold(memory, settings, own)
                own.close()
            return super().passages(texts)

    memory.facts.set(ALICE, "k", "first")
    memory.facts.set(ALICE, "gone", "soon")
    generation = fold(memory, settings, session)
    embedder = Late()
    stage = EmbeddingStage(session, generation, embedder)
    done = stage.run_once()
    assert (done.claimed, done.stored, done.dropped) == (2, 0, 2)
    assert stage.run_once().stored == 1
    assert embedder.texts[-1] == "k: second"
    assert stored(session, generation) == 1


def test_two_workers_share_the_work(memory: Memory, settings: Settings, session: Session) -> None:
    """No text is claimed twice, none is left."""
    for number in range(60):
        memory.facts.set(ALICE, f"k{number}", f"text {number}")
    generation = fold(memory, settings, session)
    embedders = [Counting(), Counting()]

    def work(embedder: Counting) -> None:
        own = Session(session.url, timeout_ms=1000)
        stage = EmbeddingStage(own, generation, embedder)
        while stage.run_once(limit=5).claimed:
            pass
        own.close()

    threads = [threading.Thread(target=work, args=(embedder,)) for embedder in embedders]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    texts = [text for embedder in embedders for text in embedder.texts]
    assert len(texts) == len(set(texts)) == 60
    assert stored(session, generation) == 60


def test_a_killed_worker_s_claim_ends(memory: Memory, settings: Settings, session: Session) -> None:
    """Others take its texts when the claim is over, or when it reaches too far into the future."""
    memory.facts.set(ALICE, "k", "text")
    generation = fold(memory, settings, session)
    stage = EmbeddingStage(session, generation, Counting())
    assert len(stage._claim(10_000_000, 10)) == 1
    for other_clock in (10_000_001, 10_000_000, 9_999_000):
        assert stage.run_once(now=other_clock).claimed == 0
    assert stage.run_once(now=10_000_000 - 3_600_000).stored == 1
    memory.facts.set(ALICE, "k", "another text")
    fold(memory, settings, session)
    assert len(stage._claim(10_000_000, 10)) == 1
    assert stage.run_once(now=10_000_001 + CLAIM_MS).stored == 1


@pytest.mark.parametrize("failure", [EmbeddingUnavailable("down"), EmbeddingRefused("wrong key")])
def test_an_embedder_that_is_down_loses_nothing(
    memory: Memory, settings: Settings, session: Session, failure: Exception
) -> None:
    """Words find the memories meanwhile, the reason is kept, tries come at longer and longer intervals."""
    memory.facts.set(ALICE, "k", "blue text")
    generation = fold(memory, settings, session)
    embedder = Counting()
    embedder.failure = failure
    stage = EmbeddingStage(session, generation, embedder)
    now, waits = 1_000_000, []
    for _ in range(14):
        with pytest.raises(type(failure)):
            stage.run_once(now=now)
        ((_, _, error, next_try),) = waiting(session, generation)
        assert error == str(failure)
        waits.append(next_try - now)
        assert stage.run_once(now=next_try - 1).claimed == 0
        now = next_try
    assert waits == sorted(waits)
    assert waits[-1] == LAST_RETRY_MS
    assert [item.id for item in memory.recall("blue", ALICE).memories] == ["k"]
    embedder.failure = None
    assert stage.run_once(now=now).stored == 1
    assert waiting(session, generation) == []


def test_a_large_claim_is_stored_in_parts(
    memory: Memory, settings: Settings, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each text once, also across the parts; what was embedded before the embedder failed is kept."""
    monkeypatch.setattr(embedding, "BATCH", 4)

    class Failing(Counting):
        def passages(self, texts: Sequence[str]) -> Vectors:
            if self.texts:
                raise EmbeddingUnavailable("down")
            return super().passages(texts)

    with memory.batch():
        for number in range(16):
            memory.notes.save(ALICE, f"text {number % 6}", note_id=f"n{number}")
    generation = fold(memory, settings, session)
    failing = Failing()
    stage = EmbeddingStage(session, generation, failing)
    with pytest.raises(EmbeddingUnavailable, match="down"):
        stage.run_once(now=1_000_000, limit=16)
    assert failing.texts == [f"text {number}" for number in range(4)]
    assert stored(session, generation) == 4
    left = waiting(session, generation)
    assert len(left) == 12
    assert {(attempts, error) for _, attempts, error, _ in left} == {(1, "down")}
    embedder = Counting()
    stage = EmbeddingStage(session, generation, embedder)
    done = stage.run_once(now=2_000_000_000, limit=16)
    assert (done.claimed, done.stored, done.dropped, done.failed) == (12, 12, 0, 0)
    assert embedder.texts == ["text 4", "text 5"]
    assert stored(session, generation) == 16
    with session.transaction() as connection:
        control.use(connection, generation)
        rows = connection.execute("SELECT digest, embedding::text FROM vectors").fetchall()
    assert len(set(rows)) == 6


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_one_bad_vector_stops_nobody(
    memory: Memory, settings: Settings, session: Session, value: float
) -> None:
    """It is flagged and tried again; the others of its batch are stored."""
    for number in range(9):
        memory.facts.set(ALICE, f"k{number}", "text " + "spoilt" * (number == 4) + f"{number}")
    generation = fold(memory, settings, session)
    embedder = Counting()
    embedder.spoil = value
    done = EmbeddingStage(session, generation, embedder).run_once()
    assert (done.stored, done.failed) == (8, 1)
    ((text, attempts, error, _),) = waiting(session, generation)
    assert "spoilt" in text
    assert attempts == 1
    assert "not finite" in error
    assert memory.recall("spoilt4", ALICE).memories[0].id == "k4"


def test_a_lie_about_the_dimension_is_refused(memory: Memory, settings: Settings, session: Session) -> None:
    """Nothing is stored, the error says which shape came."""

    class Lying(Counting):
        def passages(self, texts: Sequence[str]) -> Vectors:
            return np.ones((len(texts), 7), dtype=np.float32)

    memory.facts.set(ALICE, "k", "text")
    generation = fold(memory, settings, session)
    with pytest.raises(EmbeddingRefused, match=r"\(1, 7\)"):
        EmbeddingStage(session, generation, Lying()).run_once()
    assert stored(session, generation) == 0


@pytest.mark.parametrize("value", ["", "🦊🦊", " \n "])
@pytest.mark.case("A04")
def test_what_has_no_meaning_needs_no_vector(
    memory: Memory, settings: Settings, session: Session, value: str
) -> None:
    """A blank or wordless value is data: it is projected, and nothing waits for ever."""
    memory.facts.set(ALICE, "🦊", value)
    generation = fold(memory, settings, session)
    stage = EmbeddingStage(session, generation, HashEmbedder())
    while stage.run_once().claimed:
        pass
    assert waiting(session, generation) == []
    assert memory.facts.get(ALICE, "🦊") is not None


@pytest.mark.parametrize("scope", ["namespace", "tag", "kind"])
def test_k_rows_whenever_k_match(
    memory: Memory, settings: Settings, session: Session, monkeypatch: pytest.MonkeyPatch, scope: str
) -> None:
    """30 matching rows among 5,030, of which 5,000 are nearer: 20 of 20 and 30 of 100, exact or by index."""
    near, few = "alpha beta gamma", "delta epsilon"
    with memory.batch():
        for number in range(5000):
            memory.facts.set("user:bob" if scope == "namespace" else ALICE, f"o{number}", f"{near} {number}")
        for number in range(30):
            if scope == "kind":
                memory.notes.save(ALICE, f"{few} {number}", note_id=f"m{number}")
            else:
                memory.facts.set(ALICE, f"m{number}", f"{few} {number}", tags=["mine"])
    generation = fold(memory, settings, session)
    embedder = HashEmbedder()
    stage = EmbeddingStage(session, generation, embedder)
    while stage.run_once().claimed:
        pass
    assert stage.index_if_large()
    wanted = {
        "namespace": Scope(namespaces=(ALICE,)),
        "tag": Scope(namespaces=(ALICE,), tags=("mine",)),
        "kind": Scope(namespaces=(ALICE,), kinds=("note",)),
    }[scope]
    vector = halfvec(embedder.queries([near])[0])
    for exact_up_to in (5_000, 10):
        monkeypatch.setattr(semantic, "EXACT_UP_TO", exact_up_to)
        for limit in (20, 100):
            with session.transaction() as connection:
                control.use(connection, generation)
                found = semantic.search(connection, vector, wanted, now=0, limit=limit)
            scores = [score for _, score, _ in found]
            assert len(found) == min(limit, 30), (exact_up_to, limit)
            assert scores == sorted(scores, reverse=True)


def test_two_workers_make_one_index(
    memory: Memory, settings: Settings, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both see in the same moment that it is time: one makes it, the other goes on without waiting."""
    monkeypatch.setattr(embedding, "INDEX_ABOVE", 10)
    for number in range(20):
        memory.facts.set(ALICE, f"k{number}", f"thing {number}")
    generation = fold(memory, settings, session)
    stage = EmbeddingStage(session, generation, HashEmbedder())
    while stage.run_once().claimed:
        pass
    with ThreadPoolExecutor(2) as pool:
        with session.transaction() as connection:
            control.use(connection, generation)
            # Whoever makes the index waits for this.
            connection.execute("LOCK TABLE vectors IN ROW EXCLUSIVE MODE")
            calls = [pool.submit(stage.index_if_large) for _ in range(2)]
            done, waiting = wait(calls, timeout=30, return_when=FIRST_COMPLETED)
            assert [call.result() for call in done] == [False]
        assert [call.result() for call in waiting] == [True]
    assert not stage.index_if_large()


def test_one_connection_embeds_for_two_generations(
    memory: Memory, settings: Settings, session: Session
) -> None:
    """With vectors of different lengths, again and again: no plan of the one is used for the other."""
    other = replace(settings, embedder="static")
    fold(memory, settings, session)
    with composition.open_memory(settings=other) as rebuilt:
        rebuilt.rebuild()
    for number in range(8):
        memory.facts.set(ALICE, f"k{number}", f"thing {number}")
        for given in (settings, other):
            for item in composition.generations(given, memory.log, session).every():
                target = composition.generations(given, memory.log, session).projection(item.generation_id)
                engine.run_once(memory.log, target, composition.limits(given))
        stages = composition.stages(settings, memory.log.meta.log_id, session)
        assert len(stages) == 2
        assert [stage.run_once().stored for stage in stages] == [1, 1]


def test_meaning_finds_what_words_do_not(tmp_path: Path, database_url: str) -> None:
    """A question without a word in common is answered by the semantic channel, and by it alone."""
    given = Settings(log=tmp_path / "memory.db", database_url=database_url)
    with composition.open_memory(settings=given) as memory:
        memory.notes.save(ALICE, "The physician prescribed new medicine", note_id="right")
        for number, text in enumerate(
            ("The car needs new tyres", "Dinner is at seven", "The server is slow")
        ):
            memory.notes.save(ALICE, text, note_id=f"other{number}")
        memory.catch_up()
        question = "doctor drugs"
        answer = memory.recall(question, ALICE, limit=1)
        assert answer.memories[0].id == "right"
        assert list(answer.memories[0].channels) == ["semantic"]
        assert memory.recall(question, ALICE, off=["semantic"]).memories == []


def test_a_missing_embedder_is_a_partial_answer(
    memory: Memory, settings: Settings, session: Session, database_url: str
) -> None:
    """Words still answer, and the reason names the fingerprint that is missing."""
    memory.facts.set(ALICE, "k", "blue text")
    memory.catch_up()
    with psycopg.connect(database_url) as connection:
        connection.execute("UPDATE foldlog.generations SET embedder = 'oracle-7'")
    answer = memory.recall("blue", ALICE)
    assert answer.status == "partial"
    assert "oracle-7" in (answer.reason or "")
    assert [item.id for item in answer.memories] == ["k"]


def test_another_embedder_is_a_rebuild(memory: Memory, settings: Settings, clock: Clock) -> None:
    """Status says that it is wanted; until then, and after, the answers are whole."""
    from dataclasses import replace

    from foldlog.status import status

    memory.facts.set(ALICE, "k", "blue text")
    memory.catch_up()
    other = replace(settings, embedder="static")
    with composition.open_memory(settings=other, clock=clock) as changed:
        assert any("run `foldlog rebuild`" in problem for problem in status(other, changed.log).problems)
        assert changed.recall("blue", ALICE).status == "ok"
        assert changed.rebuild() == 2
        assert not any("rebuild" in problem for problem in status(other, changed.log).problems)
        assert list(changed.recall("blue", ALICE).memories[0].channels) == ["text", "semantic"]
