"""The index against the log: whatever happened, the same memories, and never an old truth."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg import sql

from fixtures.index import difference, recount
from fixtures.logs import Clock
from foldlog import Memory, composition
from foldlog.errors import Diverged, FoldlogError, IndexUnavailable, IndexUnusable, WaitTimeout
from foldlog.projections import engine
from foldlog.projections.engine import Limits
from foldlog.projections.hindsight.session import Session
from foldlog.settings import Settings

ALICE = "user:alice"


@pytest.fixture
def indexed(tmp_path: Path, database_url: str, clock: Clock) -> Iterator[Memory]:
    """A memory with an index of its own, folded only when a test says so."""
    given = Settings(log=tmp_path / "memory.db", database_url=database_url)
    with composition.open_memory(settings=given, clock=clock) as memory:
        yield memory


def fold(memory: Memory, url: str, *, upto: int | None = None, page: int = 1000) -> int:
    """Fold in pages of a size, up to a position."""
    session = Session(url, timeout_ms=1000)
    target = composition.projection(Settings(log=memory.log.path, database_url=url), memory.log, session)
    try:
        stop = (lambda: target.checkpoint() >= upto) if upto is not None else (lambda: False)
        return engine.run_once(memory.log, target, Limits(page_events=page), stop=stop).position
    finally:
        session.close()


def test_two_that_read_the_same_page_fold_it_once(
    indexed: Memory, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one that comes second drops it, and does not count it."""
    for number in range(3):
        indexed.facts.set(ALICE, f"key{number}", number)
    flush, counted = indexed.log.flush, []

    def outrun() -> None:
        """Fold the page that was just read, before whoever read it does."""
        monkeypatch.setattr(indexed.log, "flush", flush)
        assert fold(indexed, database_url) == 3

    monkeypatch.setattr(indexed.log, "flush", outrun)
    monkeypatch.setattr(
        engine.metrics,
        "count",
        lambda name, by=1, **_: counted.append(by) if name == "folded_events" else None,
    )
    assert fold(indexed, database_url) == 3
    assert counted == [3]


def test_the_index_answers_what_it_has_folded(indexed: Memory) -> None:
    """Status ok, by words and by meaning, no staleness."""
    indexed.facts.set(ALICE, "database.port", 5432)
    indexed.catch_up()
    answer = indexed.recall("which port has the database", ALICE)
    assert (answer.status, answer.reason, answer.staleness.events) == ("ok", None, 0)
    assert [(item.id, item.text, list(item.channels)) for item in answer.memories] == [
        ("database.port", "database.port: 5432", ["text", "semantic"])
    ]


def test_what_is_not_folded_comes_from_the_log(indexed: Memory, clock: Clock) -> None:
    """The answer is complete, and says how far the index is behind."""
    indexed.facts.set(ALICE, "color", "dark blue")
    indexed.catch_up()
    indexed.facts.set(ALICE, "shade", "light blue")
    clock.pass_ms(2500)
    answer = indexed.recall("blue", ALICE)
    assert answer.status == "ok"
    assert (answer.staleness.events, answer.staleness.seconds) == (1, 2.5)
    assert {item.id: list(item.channels) for item in answer.memories} == {
        "color": ["text", "semantic"],
        "shade": ["log"],
    }


def test_scores_do_not_depend_on_where_a_memory_was_found(indexed: Memory) -> None:
    """The tail is scored with the index's document frequencies, as the index will score it."""
    for number in range(30):
        indexed.facts.set(ALICE, f"k{number}", f"common words, and rare{number}")
    indexed.catch_up()
    indexed.facts.set(ALICE, "new", "common words common, and rare7")
    before = {item.id: item.score for item in indexed.recall("common rare7", ALICE, limit=40).memories}
    indexed.catch_up()
    after = {item.id: item.score for item in indexed.recall("common rare7", ALICE, limit=40).memories}
    assert before.keys() == after.keys()
    assert list(before)[:2] == list(after)[:2]
    for name, score in before.items():
        assert score == pytest.approx(after[name], rel=0.25)


@pytest.mark.parametrize("page", [1, 2, 1000])
def test_every_kind_of_change_folds_alike(indexed: Memory, database_url: str, page: int) -> None:
    """Whatever the size of the pages, the index holds the log's current memories, row by row."""
    indexed.threads.create(ALICE, thread_id="t")
    indexed.threads.create(ALICE, thread_id="u")
    for number in range(4):
        indexed.messages.save("t", f"message {number}", message_id=f"m{number}")
        indexed.messages.save("u", f"other {number}", message_id=f"o{number}")
    indexed.messages.save("t", "message 2 anew", message_id="m2")
    indexed.messages.delete("t", ["m0"])
    indexed.threads.delete("u")
    indexed.facts.set(ALICE, "a", 1)
    indexed.facts.delete(ALICE, "a")
    indexed.facts.set(ALICE, "a", 2)
    indexed.facts.set(ALICE, "b", 3, ttl=1000)
    indexed.facts.set(ALICE, "c", 3)
    indexed.facts.delete(ALICE, "c")
    indexed.notes.save(ALICE, "one", note_id="n1")
    indexed.notes.save(ALICE, "two", note_id="n2", supersedes=["n1"])
    indexed.notes.save(ALICE, "three", note_id="n3", supersedes=["n2"], status="pending")
    indexed.notes.set_status("n3", "accepted")
    indexed.notes.set_status("n2", "rejected")
    indexed.notes.set_status("n3", "rejected")
    for number in range(3):
        indexed.retained.add(ALICE, f"kept {number}", retained_id=f"r{number}", document="d", tags=["a"])
    indexed.retained.delete("r1")
    indexed.retained.add(ALICE, "kept alone", retained_id="r3", document="d", replace=True)
    indexed.primers.set(ALICE, "p", "primer")
    indexed.primers.delete(ALICE, "p")
    fold(indexed, database_url, page=page)
    assert difference(indexed, database_url) == []
    assert recount(indexed, database_url) == []


@pytest.mark.conformance(163)
def test_repeating_pages_changes_nothing(indexed: Memory, database_url: str) -> None:
    """A checkpoint that was set back, as by a restore, repeats events without effect."""
    indexed.facts.set(ALICE, "a", 1)
    indexed.facts.delete(ALICE, "a")
    indexed.facts.set(ALICE, "b", 1)
    indexed.notes.save(ALICE, "one", note_id="n1")
    indexed.notes.save(ALICE, "two", note_id="n2", supersedes=["n1"])
    indexed.notes.set_status("n2", "rejected")
    indexed.facts.set(ALICE, "b", 2)
    # A page that ends between the deletion and this must not take what is there by now.
    indexed.facts.set(ALICE, "a", 2)
    indexed.catch_up()
    with psycopg.connect(database_url) as connection:
        connection.execute(
            "UPDATE foldlog.checkpoints SET position = 0, hash = %s", (indexed.log.hash_at(0),)
        )
    for _ in range(2):
        fold(indexed, database_url, page=2)
        assert difference(indexed, database_url) == []
        assert recount(indexed, database_url) == []


# One letter is one kind of change, each a moment ago: all of them can meet on few memories.
CHANGES = st.lists(
    st.tuples(st.sampled_from("fgdxcmMDnsSartTkKzp"), st.integers(0, 3), st.integers(0, 3)), max_size=25
)


def change(memory: Memory, clock: Clock, what: str, one: int, two: int) -> None:
    """Make one change of memory; those the contract refuses are refused, and change nothing."""
    word = f"word{one} word{two} shared"
    actions: dict[str, Any] = {
        "f": lambda: memory.facts.set(ALICE, f"f{one}", word),
        "g": lambda: memory.facts.set(ALICE, f"f{one}", word, ttl=5),
        "d": lambda: memory.facts.delete(ALICE, f"f{one}"),
        "x": lambda: clock.pass_ms(4),
        "m": lambda: memory.messages.save("t", word, message_id=f"m{one}"),
        "M": lambda: memory.messages.save(f"t{two}", word),
        "D": lambda: memory.messages.delete("t", [f"m{one}"]),
        "n": lambda: memory.notes.save(ALICE, word, note_id=f"n{one}"),
        "s": lambda: memory.notes.save(ALICE, word, note_id=f"s{one}", supersedes=[f"n{two}"]),
        "S": lambda: memory.notes.save(
            ALICE, word, note_id=f"p{one}", supersedes=[f"s{two}"], status="pending"
        ),
        "a": lambda: memory.notes.set_status(f"{'nsp'[one % 3]}{two}", "accepted", allow_fork=True),
        "r": lambda: memory.notes.set_status(f"{'nsp'[one % 3]}{two}", "rejected"),
        "t": lambda: memory.threads.create(ALICE, thread_id=f"t{one}"),
        "T": lambda: memory.threads.delete(f"t{one}"),
        "c": memory.facts.collect,
        "k": lambda: memory.retained.add(ALICE, word, retained_id=f"k{one}", document=f"d{two}"),
        "K": lambda: memory.retained.add(
            ALICE, word, retained_id=f"q{one}", document=f"d{two}", replace=True
        ),
        "z": lambda: memory.retained.delete(f"{'kq'[two % 2]}{one}"),
        "p": lambda: memory.primers.set(ALICE, f"p{one}", word),
    }
    with contextlib.suppress(FoldlogError):
        actions[what]()


def truth(memory: Memory) -> dict[str, str]:
    """Return what must be found by the word that all texts share, read from the log's tables."""
    found = {fact.key: fact.text for fact in memory.facts.list(ALICE)}
    found |= {note.note_id: note.text for note in memory.notes.list(ALICE)}
    found |= {item.retained_id: item.text for item in memory.retained.list(ALICE)}
    for thread in memory.threads.list():
        found |= {item.message_id: item.text for item in memory.messages.list(thread.thread_id)}
    return found


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(CHANGES, CHANGES, st.integers(0, 30), st.sampled_from([1, 3, 1000]))
@pytest.mark.conformance(168, 169, 170)
def test_recall_is_never_stale_and_never_incomplete(
    tmp_path: Path,
    postgres: Any,
    first: list[tuple[str, int, int]],
    second: list[tuple[str, int, int]],
    stop: int,
    page: int,
) -> None:
    """With the fold stopped anywhere, recall gives the truth of this millisecond, and nothing else."""
    clock = Clock()
    path = tmp_path / f"{len(list(tmp_path.iterdir()))}.db"
    name = f"t{path.stem}"
    given_settings = Settings(log=path, name=name, database_url=postgres.url)
    with composition.open_memory(settings=given_settings, clock=clock) as memory:
        memory.threads.create(ALICE, thread_id="t")
        for what in first:
            change(memory, clock, *what)
        session = Session(postgres.url, timeout_ms=1000)
        target = composition.projection(given_settings, memory.log, session)
        engine.run_once(
            memory.log, target, Limits(page_events=page), stop=lambda: target.checkpoint() >= stop
        )
        for what in second:
            change(memory, clock, *what)
        answer = memory.recall("shared", ALICE, limit=200)
        assert answer.status == "ok"
        assert {item.id: item.text for item in answer.memories} == truth(memory)
        engine.run_once(memory.log, target, Limits(page_events=page))
        assert difference(memory, postgres.url) == []
        assert recount(memory, postgres.url) == []
        session.close()
    with psycopg.connect(postgres.url) as connection:
        connection.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(sql.Identifier(f"foldlog_{name}_g1")))
        connection.execute("DELETE FROM foldlog.generations")
        connection.execute("DELETE FROM foldlog.logs")


def test_a_veto_that_takes_many_is_made_up_for(indexed: Memory, clock: Clock) -> None:
    """Ten live memories are found although the first sixty hits of the index have expired since."""
    for number in range(60):
        indexed.facts.set(ALICE, f"old{number}", "blue blue blue blue")
    for number in range(10):
        indexed.facts.set(ALICE, f"live{number}", "blue")
    indexed.catch_up()
    for number in range(60):
        indexed.facts.delete(ALICE, f"old{number}")
    answer = indexed.recall("blue", ALICE, limit=10)
    assert {item.id for item in answer.memories} == {f"live{number}" for number in range(10)}


@pytest.mark.conformance(145)
@pytest.mark.case("D03")
def test_filters_are_inside_the_query(indexed: Memory, clock: Clock) -> None:
    """Better hits of another namespace, kind, tag or time do not take the places."""
    for number in range(50):
        indexed.facts.set("user:bob", f"k{number}", "blue blue blue")
        indexed.facts.set(ALICE, f"gone{number}", "blue blue blue", ttl=10)
        indexed.facts.set(ALICE, f"other{number}", "blue blue blue", tags=["other"])
    indexed.facts.set(ALICE, "mine", "blue", tags=["team", "sky"])
    indexed.notes.save(ALICE, "blue note", note_id="note", tags=["team"])
    indexed.catch_up()
    clock.pass_ms(11)
    assert {item.id for item in indexed.recall("blue", ALICE, tags=["team"], limit=5).memories} == {
        "mine",
        "note",
    }
    assert [item.id for item in indexed.recall("blue", ALICE, tags=["team", "sky"]).memories] == ["mine"]
    assert [item.id for item in indexed.recall("blue", ALICE, kinds=["note"]).memories] == ["note"]
    assert len(indexed.recall("blue", [ALICE, "user:bob"], limit=200).memories) == 102
    assert indexed.recall("blue", "user:nobody").memories == []


def test_a_large_namespace_is_searched_by_its_keys(indexed: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Scoring all rows and finding candidates by keys give the same answer."""
    from foldlog.projections.hindsight import text

    with indexed.batch():
        for number in range(300):
            indexed.facts.set(ALICE, f"k{number:03}", f"word{number % 7} word{number % 11} thing", tags=["a"])
            indexed.facts.set("user:bob", f"k{number:03}", f"word{number % 7} thing")
    indexed.catch_up()
    small = indexed.recall("word3 word5", ALICE, tags=["a"], limit=50)
    monkeypatch.setattr(text, "SCORE_ALL", 0)
    large = indexed.recall("word3 word5", ALICE, tags=["a"], limit=50)
    assert [(item.id, item.score) for item in small.memories] == [
        (item.id, item.score) for item in large.memories
    ]
    assert len(small.memories) == 50


@pytest.mark.case("A05")
def test_a_long_text_is_found_by_any_part_of_it(indexed: Memory) -> None:
    """120,000 distinct words are one memory, found by its last word, and others fold with it."""
    indexed.notes.save(ALICE, " ".join(f"w{number:06}x" for number in range(100_000)), note_id="long")
    for number in range(10):
        indexed.notes.save(ALICE, f"small note {number}", note_id=f"n{number}")
    indexed.catch_up()
    for word in ("w000000x", "w050000x", "w099999x"):
        assert [item.id for item in indexed.recall(word, ALICE, off=["semantic"]).memories] == ["long"]
        assert indexed.recall(word, ALICE).memories[0].id == "long"
    assert len(indexed.recall("small", ALICE).memories) == 10


@pytest.mark.case("A01")
def test_text_that_postgres_cannot_hold_is_projected(indexed: Memory, database_url: str) -> None:
    """A NUL in the middle of a batch loses neither its memory nor its neighbours."""
    indexed.threads.create(ALICE, thread_id="t")
    with indexed.batch():
        for number in range(20):
            indexed.facts.set(ALICE, f"k{number}", "plain")
        indexed.facts.set(ALICE, "nul", {"k": "a\x00b"})
        indexed.notes.save(ALICE, "note with\x00NUL", note_id="n")
        indexed.messages.save("t", "message with\x00NUL", message_id="m")
    indexed.catch_up()
    assert difference(indexed, database_url) == []
    fact = indexed.facts.get(ALICE, "nul")
    assert fact is not None
    assert fact.value == {"k": "a\x00b"}
    assert {item.id for item in indexed.recall("NUL", ALICE).memories} >= {"n", "m"}


def test_a_log_restored_to_another_history_is_noticed(
    indexed: Memory, database_url: str, tmp_path: Path
) -> None:
    """Another hash at the checkpoint stops the fold; the answer then comes from the log."""
    indexed.facts.set(ALICE, "a", "blue")
    indexed.catch_up()
    with psycopg.connect(database_url) as connection:
        connection.execute("UPDATE foldlog.checkpoints SET hash = %s", (bytes(32),))
    with pytest.raises(Diverged, match="foldlog rebuild"):
        indexed.catch_up()
    with psycopg.connect(database_url) as connection:
        row = connection.execute("SELECT last_error FROM foldlog.checkpoints").fetchone()
    assert row is not None
    assert "another history" in row[0]


def test_a_fold_that_fails_unexpectedly_says_so(
    indexed: Memory, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever stops a fold stands beside the checkpoint, for status to show, until it goes on."""
    from foldlog.events.types import FactSet
    from foldlog.projections.hindsight import effects

    def fail(*_: object) -> None:
        raise KeyError("nobody thought of this")

    indexed.facts.set(ALICE, "a", "blue")
    with monkeypatch.context() as broken:
        broken.setitem(effects.FOLDS, FactSet, fail)  # type: ignore[arg-type]
        with pytest.raises(KeyError):
            indexed.catch_up()
    with psycopg.connect(database_url) as connection:
        row = connection.execute("SELECT last_error, attempts FROM foldlog.checkpoints").fetchone()
    assert row == ("'nobody thought of this'", 1)
    indexed.catch_up()
    assert difference(indexed, database_url) == []


def test_two_logs_of_one_name_are_refused(indexed: Memory, database_url: str, tmp_path: Path) -> None:
    """An index holds many logs, each under a name of its own."""
    indexed.facts.set(ALICE, "a", "blue")
    indexed.catch_up()
    other = Settings(log=tmp_path / "other.db", database_url=database_url)
    with composition.open_memory(settings=other) as memory:
        memory.facts.set(ALICE, "b", "blue")
        with pytest.raises(IndexUnusable, match="FOLDLOG_NAME"):
            memory.catch_up()
        assert [item.id for item in memory.recall("blue", ALICE).memories] == ["b"]
    with composition.open_memory(settings=replace(other, name="other")) as memory:
        memory.catch_up()
        answer = memory.recall("blue", ALICE)
        assert (answer.status, [item.id for item in answer.memories]) == ("ok", ["b"])


def test_waiting_for_a_position(indexed: Memory) -> None:
    """What is folded returns at once; what nobody folds ends with the time that was given."""
    receipt = indexed.facts.set(ALICE, "a", 1)
    with pytest.raises(WaitTimeout, match="is a worker running"):
        indexed.wait_for(receipt.position, 0.01)
    indexed.catch_up()
    indexed.wait_for(receipt.position, 0.01)


@pytest.mark.conformance(139)
def test_a_database_that_does_not_answer(tmp_path: Path) -> None:
    """Writing and reading go on; recall is degraded and says why; folding is a named error."""
    given = Settings(log=tmp_path / "memory.db", database_url="postgresql://u:secret@127.0.0.1:9/none")
    with composition.open_memory(settings=given) as memory:
        memory.facts.set(ALICE, "a", "blue")
        answer = memory.recall("blue", ALICE)
        assert answer.status == "degraded"
        assert answer.reason is not None
        assert "FOLDLOG_DATABASE_URL" in answer.reason
        assert "secret" not in answer.reason
        assert [item.id for item in answer.memories] == ["a"]
        with pytest.raises(IndexUnavailable):
            memory.catch_up()


def test_a_role_without_the_right_to_create(tmp_path: Path, database_url: str, postgres: Any) -> None:
    """The message says which privilege is missing, and nothing is half made."""
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        connection.execute("DROP ROLE IF EXISTS poor")
        connection.execute("CREATE ROLE poor LOGIN")
    given = Settings(log=tmp_path / "memory.db", database_url=database_url.replace("//foldlog@", "//poor@"))
    with (
        composition.open_memory(settings=given) as memory,
        pytest.raises(IndexUnusable, match="GRANT CREATE"),
    ):
        memory.catch_up()


def test_a_server_without_pgvector(
    tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message names the extension and the version."""
    from foldlog.projections.hindsight import connection as postgres_connection

    monkeypatch.setattr(postgres_connection, "EXTENSION", "vector_that_is_not_there")
    given = Settings(log=tmp_path / "memory.db", database_url=database_url)
    with (
        composition.open_memory(settings=given) as memory,
        pytest.raises(IndexUnusable, match=r"pgvector 0\.8"),
    ):
        memory.catch_up()
