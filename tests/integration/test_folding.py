"""Folding many events: pages prepared ahead, copied as they are, counted together; and none of it twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fixtures.changes import make, steps
from fixtures.index import contents, difference, recount
from fixtures.logs import Clock
from fixtures.workers import eventually
from foldlog import Memory, composition
from foldlog.errors import UnknownEventType
from foldlog.events import reader
from foldlog.projections import analysis, engine
from foldlog.projections.engine import Folded, Limits
from foldlog.projections.hindsight import ahead, binary, control, store, text
from foldlog.projections.hindsight.connection import connect
from foldlog.projections.hindsight.prepared import prepare
from foldlog.projections.hindsight.session import Session
from foldlog.settings import Settings

ALICE = "user:alice"


@pytest.fixture
def indexed(indexed_memory: Memory) -> Memory:
    return indexed_memory


@pytest.fixture
def early(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes that prepare pages are started for a backlog of a few events."""
    monkeypatch.setattr(ahead, "BACKLOG", 10)


def fold(
    memory: Memory, url: str, *, page: int = 1000, progress: Callable[[Folded], None] | None = None
) -> Folded:
    """Fold up to the head in pages of a size."""
    session = Session(url, timeout_ms=1000)
    target = composition.projection(Settings(log=memory.log.path, database_url=url), memory.log, session)
    try:
        return engine.run_once(memory.log, target, Limits(page_events=page), progress=progress)
    finally:
        session.close()


def fill(memory: Memory, count: int) -> None:
    """Write memories of all kinds, with dates, names, links, long texts, and changes of some."""
    memory.threads.create(ALICE, thread_id="t")
    with memory.batch():
        for number in range(count):
            memory.messages.save(
                "t", f"On {number % 28 + 1} May 2023 Imani fixed PR #{number} for Jonas.", author="Ann",
                message_id=f"m{number}", tags=["a", "b"][: number % 3],
            )  # fmt: skip
            memory.facts.set(ALICE, f"Key {number % 40}", {"n": number, "of": "värde 日本"})
            before = [f"n{number - 1}"] if number % 4 == 1 else []
            memory.notes.save(
                ALICE, f"note {number} " * (1 + 200 * (number % 50 == 7)), note_id=f"n{number}",
                supersedes=before, relates=[("owns", f"service-{number % 5}")],
            )  # fmt: skip
    memory.messages.delete("t", ["m1", f"m{count - 1}"])


def children() -> list[int]:
    """Return the processes that this one started and that have not been waited for."""
    tasks = Path("/proc/self/task").glob("*/children")
    return [int(number) for task in tasks for number in task.read_text().split()]


def test_rows_arrive_as_they_were_packed(database_url: str) -> None:
    """Every type that is copied in the binary format, at its edges."""
    rows: list[tuple[Any, ...]] = [
        (0, 0, "", [], b"", [], (0, 1), {0: 1.0}, True),
        (-1, 1 << 62, "é日本\n\t\\N", ["", "a,b", '"{}"', "ü"], b"\x00\xff", [-1, 0, 1 << 30, -(1 << 30)],
         (-(1 << 60), 1 << 60), {999_999_999: 0.5, 7: 1.5}, False),
        (1, None, None, ["x"], b"x" * 70_000, list(range(5_000)), (5, 6), {3: 1.25, 1: 2.5}, True),
    ]  # fmt: skip
    pack = binary.packer(
        binary.int4, binary.int8, binary.text, binary.texts, binary.raw, binary.int4s, binary.int8range,
        binary.sparsevec(text.WORD_SPACE), binary.boolean,
    )  # fmt: skip
    with connect(database_url, timeout_ms=1000) as connection:
        connection.execute("CREATE EXTENSION vector")
        connection.execute(
            f"CREATE TABLE t (a int, b bigint, c text, d text[], e bytea, f int[], g int8range, "
            f"h sparsevec({text.WORD_SPACE}), i boolean)"
        )
        binary.copy(connection, "t (a, b, c, d, e, f, g, h, i)", map(pack, rows))
        binary.copy(connection, "t (a)", b"")
        found = connection.execute(
            "SELECT a, b, c, d, e, f, lower(g), upper(g), lower_inc(g) > upper_inc(g), h::text, i FROM t"
        ).fetchall()
    assert found == [(*row[:6], *row[6], True, _sparse(row[7]), row[8]) for row in rows]


def _sparse(values: dict[int, float]) -> str:
    parts = ",".join(f"{index + 1}:{value:g}" for index, value in sorted(values.items()))
    return f"{{{parts}}}/{text.WORD_SPACE}"


@pytest.mark.parametrize("page", [3, 50])
def test_pages_are_folded_alike_whoever_prepares_them(
    indexed: Memory, database_url: str, page: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process gives what the fold would have made itself, in the same order; and none is left behind."""
    fill(indexed, 60)
    fold(indexed, database_url, page=page)
    alone = contents(indexed, database_url)
    assert difference(indexed, database_url) == []
    with psycopg.connect(database_url) as connection:
        connection.execute("DROP SCHEMA foldlog CASCADE")
        connection.execute("DROP SCHEMA foldlog_default_g1 CASCADE")
    monkeypatch.setattr(ahead, "BACKLOG", 10)
    elsewhere = 0

    def prepared(found: reader.Page) -> Any:
        nonlocal elsewhere
        rows = ahead_prepared(found)
        if isinstance(found, ahead.PageAhead) and found.prepared.done() and not found.prepared.cancelled():
            elsewhere += found.prepared.result() is not None
        assert rows == prepare(found.events())
        return rows

    ahead_prepared = ahead.prepared
    monkeypatch.setattr(ahead, "prepared", prepared)
    before = children()
    fold(indexed, database_url, page=page)
    assert children() == before
    assert elsewhere > 0
    assert contents(indexed, database_url) == alone
    assert recount(indexed, database_url) == []


def test_a_process_that_cannot_start_is_done_without(
    indexed: Memory, database_url: str, early: None, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    """Said once, and the fold prepares its pages itself."""
    monkeypatch.setattr(ahead, "PROGRAM", "foldlog.no_such_program")
    fill(indexed, 30)
    before = children()
    fold(indexed, database_url, page=5)
    assert children() == before
    assert difference(indexed, database_url) == []
    assert [record.action for record in caplog.records if "prepares pages" in record.message]


def test_a_process_that_is_killed_takes_nothing_along(
    indexed: Memory, database_url: str, early: None
) -> None:
    """Neither pages nor their order: the fold goes on by itself."""
    fill(indexed, 60)
    killed: list[int] = []
    before = children()

    def kill(done: Folded) -> None:
        for process in set(children()) - set(before) - set(killed):
            os.kill(process, signal.SIGKILL)
            killed.append(process)

    fold(indexed, database_url, page=3, progress=kill)
    assert killed
    assert children() == before
    assert difference(indexed, database_url) == []
    assert recount(indexed, database_url) == []


DIES = """
import os, signal, sys
from pathlib import Path
from foldlog import Settings, composition
from foldlog.projections.hindsight import ahead
ahead.BACKLOG = 10
def die(done):
    tasks = Path("/proc/self/task").glob("*/children")
    found = [number for task in tasks for number in task.read_text().split()]
    if found and done.pages > 2:
        print(*found, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
settings = Settings(log=Path(sys.argv[1]), database_url=sys.argv[2], page_events=3)
composition.open_memory(settings=settings).catch_up(progress=die)
"""


def test_a_killed_fold_leaves_no_process_behind(indexed: Memory, database_url: str) -> None:
    """kill -9 in the middle of a backlog: its processes end, and nothing is lost or there twice."""
    fill(indexed, 60)
    program = [sys.executable, "-c", DIES, str(indexed.log.path), database_url]
    done = subprocess.run(program, capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    processes = [int(number) for number in done.stdout.split()]
    assert processes
    eventually(lambda: not any(_alive(process) for process in processes), "the end of its processes")
    fold(indexed, database_url, page=3)
    assert difference(indexed, database_url) == []
    assert recount(indexed, database_url) == []


def _alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_an_event_that_nobody_knows_stops_the_fold_at_its_place(
    indexed: Memory, database_url: str, early: None
) -> None:
    """Also in a page that was prepared ahead: what stands before it is folded, and the error is the same."""
    fill(indexed, 30)
    rows = reader.read(indexed.log, 0, events=10_000).rows
    unknown = next(row[0] for row in rows if row[0] > len(rows) // 2 and row[7] == "FactSet")
    changed = [(*row[:7], "FactSquared", *row[8:]) if row[0] == unknown else row for row in rows]

    def read(log: Any, after: int, *, events: int, size: int) -> reader.Page:
        return reader.Page([row for row in changed if row[0] > after][:events])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reader, "read", read)
        before, folded = children(), [0]
        with pytest.raises(UnknownEventType, match="FactSquared"):
            fold(indexed, database_url, page=5, progress=lambda done: folded.append(done.position))
        assert children() == before
        assert unknown - 5 <= folded[-1] < unknown
    fold(indexed, database_url, page=5)
    assert difference(indexed, database_url) == []


def test_words_are_counted_while_they_wait_to_be_merged(
    indexed: Memory, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A question reads the same frequency before and after, and when memories go."""
    monkeypatch.setattr(store, "MOST_CHANGES", 3)
    session = Session(database_url, timeout_ms=1000)
    words = ["common", *(f"rare{number}" for number in range(5)), "absent"]
    for page in range(12):
        with indexed.batch():
            for number in range(8):
                value = f"common words of rare{page % 5} " + "common " * page
                indexed.facts.set(ALICE, f"k{page}.{number}", value)
        if page > 5:
            indexed.facts.delete(ALICE, f"k{page - 5}.3")
            indexed.facts.set(ALICE, f"k{page - 5}.4", "something else")
        indexed.catch_up()
        assert recount(indexed, database_url) == []
        with session.transaction() as connection:
            generation = control.active(connection, indexed.log.meta.log_id)
            assert generation is not None
            control.use(connection, generation)
            frequencies = text._frequencies(connection, [text._hash(word) >> 2 for word in words])
        texts = [set(analysis.words(fact.text)) for fact in indexed.facts.list(ALICE, limit=1000)]
        counted = {word: sum(analysis.words(word)[0] in found for found in texts) for word in words}
        assert {word: frequencies.get(text._hash(word) >> 2, 0) for word in words} == counted
    session.close()
    with psycopg.connect(database_url) as connection:
        merged = connection.execute("SELECT count(*) FROM foldlog_default_g1.frequencies").fetchone()
        waiting = connection.execute(
            "SELECT count(*) FROM foldlog_default_g1.word_changes GROUP BY bucket ORDER BY 1 DESC"
        ).fetchone()
    assert merged is not None
    assert merged[0] > 0
    assert waiting is not None
    assert waiting[0] <= store.MOST_CHANGES


@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(steps, st.sampled_from([1, 4, 1000]), st.sampled_from([1, 3, 1000]), st.floats(0, 1))
def test_whatever_is_repeated_changes_nothing(
    tmp_path: Path, postgres: Any, drawn: Any, first: int, again: int, share: float
) -> None:
    """From any position, in pages of another size: every row of every table stays as it is."""
    clock = Clock()
    path = tmp_path / f"{len(list(tmp_path.iterdir()))}.db"
    name = f"r{path.stem}"
    given_settings = Settings(log=path, name=name, database_url=postgres.url)
    with composition.open_memory(settings=given_settings, clock=clock) as memory:
        for wait, what in drawn:
            clock.pass_ms(wait)
            make(memory, what)
        session = Session(postgres.url, timeout_ms=1000)
        target = composition.projection(given_settings, memory.log, session)
        engine.run_once(memory.log, target, Limits(page_events=first))
        expected = contents(memory, postgres.url)
        assert difference(memory, postgres.url) == []
        position = int(share * memory.log.head())
        with psycopg.connect(postgres.url) as connection:
            connection.execute(
                "UPDATE foldlog.checkpoints SET position = %s, hash = %s",
                (position, memory.log.hash_at(position)),
            )
        engine.run_once(memory.log, target, Limits(page_events=again))
        assert contents(memory, postgres.url) == expected
        assert recount(memory, postgres.url) == []
        session.close()
    with psycopg.connect(postgres.url) as connection:
        connection.execute(f"DROP SCHEMA foldlog_{name}_g1 CASCADE")
        connection.execute("DELETE FROM foldlog.generations")
        connection.execute("DELETE FROM foldlog.logs")


def test_a_vector_that_comes_late_is_not_kept(indexed: Memory, database_url: str) -> None:
    """Who embeds a text while its memory goes: the fold waits for him, and takes the vector too."""
    indexed.facts.set(ALICE, "k", "some text")
    indexed.facts.set(ALICE, "other", "other text")
    fold(indexed, database_url)
    indexed.facts.delete(ALICE, "k")
    indexed.facts.set(ALICE, "other", "another text")
    with psycopg.connect(database_url) as stage, psycopg.connect(database_url, autocommit=True) as watch:
        stage.execute("SET search_path TO foldlog_default_g1, foldlog, public")
        stage.execute(
            "INSERT INTO vectors (id, passage, digest, embedding) SELECT id, passage, digest, "
            "array_fill(0.1, ARRAY[256])::halfvec FROM embed_todo"
        )
        stage.execute("DELETE FROM embed_todo")
        folding = threading.Thread(target=fold, args=(indexed, database_url))
        folding.start()
        waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted AND pid <> pg_backend_pid()"
        eventually(lambda: watch.execute(waiting).fetchone() == (1,), "the fold's wait")
        stage.commit()
        folding.join()
        assert watch.execute("SELECT count(*) FROM foldlog_default_g1.vectors").fetchone() == (0,)
        assert watch.execute("SELECT text FROM foldlog_default_g1.embed_todo").fetchall() == [
            ("other: another text",)
        ]
