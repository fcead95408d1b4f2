"""Every row of a Smithers database is in the log or in the report: real and random ones, row by row."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from fixtures.logs import open_memory
from fixtures.smithers import NEW_YEAR, Smithers
from foldlog import Memory
from foldlog.events.types import FactSet, NoteSaved
from foldlog.imports.smithers import Report, import_file, open_source, preview

REPOSITORY = Path(__file__).parents[2]

#: Real data is beside the repository, or where this variable says.
DATA = Path(os.environ.get("SHARED_DATA", REPOSITORY / "../shared/data"))
SAMPLE = DATA / "smithers_sample.db"

KEYS = {
    "facts": ("namespace", "key"),
    "threads": ("thread_id",),
    "messages": ("id",),
    "notes": ("id",),
    "note_supersessions": ("note_id", "supersedes_id"),
}


def rows(path: Path, table: str) -> Iterator[dict[str, Any]]:
    """Yield the rows as they stand, by nothing but SQL."""
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
        connection.row_factory = sqlite3.Row
        for row in connection.execute(f"SELECT * FROM _smithers_memory_{table}"):
            yield dict(row)


def coordinate(row: dict[str, Any]) -> dict[str, Any]:
    names = {"run": "run_id", "node": "node_id", "iteration": "iteration"}
    found = {name: row[column] for name, column in names.items() if row[column] is not None}
    return found | {"correlation": "import:smithers"}


def check_fact(memory: Memory, row: dict[str, Any]) -> None:
    (event,) = memory.history.fact(row["namespace"], row["key"]).events
    assert isinstance(event.record, FactSet)
    assert event.record.value == json.loads(row["value_json"])
    assert (event.record.created_at, event.occurred_at) == (row["created_at_ms"], row["updated_at_ms"])
    expiry = None if row["ttl_ms"] is None else row["updated_at_ms"] + row["ttl_ms"]
    assert event.record.expires_at == expiry
    assert event.provenance.as_dict() == coordinate(row)
    found = memory.facts.get(row["namespace"], row["key"])
    if expiry is not None and expiry < memory.log.clock():
        assert found is None
    else:
        assert found is not None
        assert (found.value, found.created_at) == (event.record.value, row["created_at_ms"])


def check_thread(memory: Memory, row: dict[str, Any]) -> None:
    found = memory.threads.get(row["thread_id"])
    assert found is not None
    assert (found.namespace, found.title, found.created_at) == (
        row["namespace"],
        row["title"],
        row["created_at_ms"],
    )


def check_message(memory: Memory, row: dict[str, Any]) -> None:
    found = memory.messages.get(row["id"])
    assert found is not None
    assert (found.thread_id, found.role, found.content, found.created_at) == (
        row["thread_id"],
        row["role"],
        json.loads(row["content_json"]),
        row["created_at_ms"],
    )
    assert found.provenance.as_dict() == coordinate(row)


def check_note(memory: Memory, row: dict[str, Any]) -> None:
    found = memory.notes.get(row["id"])
    assert found is not None
    assert (found.namespace, found.body, found.kind, found.author) == (
        row["namespace"],
        row["body"],
        row["kind"],
        row["author"],
    )
    assert (found.status, found.created_at) == (row["status"], row["created_at_ms"])
    assert list(found.tags) == (json.loads(row["tags_json"] or "[]") or [])
    assert found.provenance.as_dict() == coordinate(row)
    if row["status_changed_at_ms"] != row["created_at_ms"] and row["status"] != "pending":
        assert found.status_changed_at == row["status_changed_at_ms"]


def check_link(memory: Memory, row: dict[str, Any]) -> None:
    record = memory.history.note(row["note_id"]).events[0].record
    assert isinstance(record, NoteSaved)
    assert row["supersedes_id"] in record.supersedes


CHECKS: dict[str, Callable[[Memory, dict[str, Any]], None]] = {
    "facts": check_fact,
    "threads": check_thread,
    "messages": check_message,
    "notes": check_note,
    "note_supersessions": check_link,
}
NAMES = {"note_supersessions": "links"}


def compare(path: Path, memory: Memory, report: Report) -> dict[str, int]:
    """Find every row in the report or, exactly as it is, in the log; return how many there are."""
    told = {(item.kind, tuple(item.source.values())): item for item in report.entries}
    assert len(told) == len(report.entries)
    found = {}
    for table, key in KEYS.items():
        name = NAMES.get(table, table)
        number = 0
        for row in rows(path, table):
            number += 1
            entry = told.pop((name.removesuffix("s"), tuple(row[column] for column in key)), None)
            if entry is None:
                CHECKS[table](memory, row)
            else:
                assert entry.reasons
        counts = report.counts()[name]
        assert counts.rows == number == counts.new + counts.unchanged + counts.refused
        found[name] = number
    # What was told is of rows that are there.
    assert not told
    return found


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Memory]:
    """A memory with the wall clock, to which the sample's expired fact is expired."""
    with open_memory(tmp_path / "memory.db", database_url="postgresql://nobody@/none?host=/nowhere") as found:
        yield found


@pytest.mark.skipif(not SAMPLE.exists(), reason=f"{SAMPLE} is absent: the real Smithers data is not at hand")
class TestTheSample:
    def test_row_by_row(self, opened: Memory) -> None:
        """All 67 facts, 2 threads, 8 messages, 7 notes and 5 links; and a second time adds nothing."""
        before = SAMPLE.read_bytes()
        report = import_file(opened, SAMPLE)
        assert compare(SAMPLE, opened, report) == {
            "facts": 67,
            "threads": 2,
            "messages": 8,
            "notes": 7,
            "links": 5,
        }
        head = opened.log.head()
        again = import_file(opened, SAMPLE)
        assert (again.new, opened.log.head(), again.entries) == (0, head, report.entries)
        assert opened.verify().ok
        assert SAMPLE.read_bytes() == before

    def test_what_is_not_as_it_was(self, opened: Memory) -> None:
        """The report names four rows, and each is where it says."""
        report = import_file(opened, SAMPLE)
        assert [(item.kind, item.outcome, *item.source.values()) for item in report.entries] == [
            ("fact", "changed", "team:x%3Ay", "k"),
            ("message", "changed", "m-raw"),
            ("message", "changed", "m-orphan"),
            ("link", "refused", "n7", "n7"),
        ]
        team = opened.facts.get("global:team%3Ax%253Ay", "k")
        raw, orphan = opened.messages.get("m-raw"), opened.messages.get("m-orphan")
        assert team is not None
        assert raw is not None
        assert orphan is not None
        assert (team.value, raw.content) == (1, "not json {")
        assert (orphan.thread_id, orphan.content) == ("no-such-thread", "lost")

    def test_what_is_seen(self, opened: Memory) -> None:
        """Default reads show what Smithers showed, but for what is expired and what hid itself."""
        import_file(opened, SAMPLE)
        assert [item.note_id for item in opened.notes.list("workflow:release-train")] == ["n2", "n6", "n7"]
        assert [item.key for item in opened.facts.list("user:alice")] == ["theme", "trial"]
        thread = opened.messages.get("m-0")
        assert thread is not None
        said = opened.messages.list(thread.thread_id)
        assert [item.message_id for item in said] == ["m-0", "m-1", "m-2", "m-3", "m-4"]
        found = opened.recall("lock_timeout billing database", "workflow:release-train").memories
        assert "n2" in [item.id for item in found]
        assert "n1" not in [item.id for item in found]


#: Names and texts, most of them with something wrong.
ODD = [
    "a", "b", "c", "", " ", "a ", " a", "a\n", "A", "a:b", "a%3Ab", "%", "\x00", "e\u0301", "\u00e9",
    "\U0001f469\u200d\U0001f467", "\u202e", "x" * 513, "~", "accepted", "pending", "null",
]  # fmt: skip
NAMESPACES = ["user:a", "user:b", "user:", "team:a", "global:team%3Aa", "global:team:a", "user:a ", "x", ""]
JSON = [
    "1", "null", '"text"', '"\\u0000"', '"\\ud800"', "{", "NaN", "1e999", '{"a":1,"a":2}', '{"a":"b"}', "[]",
    '["a"]', '""', '" "', "", '[{"type":"text","text":"hi"}]', "[" * 70 + "]" * 70, "1" * 5000,
]  # fmt: skip
TIMES = [NEW_YEAR, NEW_YEAR + 1, NEW_YEAR + 0.5, -1, 0, 2**60, "soon", b"x"]

odd = st.sampled_from(ODD)
moment = st.sampled_from(TIMES[:2]) | st.sampled_from(TIMES)
space = st.sampled_from(NAMESPACES)
text = st.sampled_from(JSON)
maybe = st.none() | odd
by = {"run_id": maybe, "node_id": maybe, "iteration": st.sampled_from([None, 0, 3, -1, "x", 1.5])}
span = st.none() | st.sampled_from([0, -1, 1, 10**13, 1e300, 9e999, 0.5, "soon"])
FACT = st.fixed_dictionaries(
    {
        "namespace": space,
        "key": odd,
        "value_json": text,
        "schema_sig": maybe,
        "created_at_ms": moment,
        "updated_at_ms": moment,
        "ttl_ms": span,
        **by,
    }
)
THREAD = st.fixed_dictionaries(
    {
        "thread_id": odd,
        "namespace": space,
        "title": maybe,
        "metadata_json": maybe,
        "created_at_ms": moment,
        "updated_at_ms": moment,
    }
)
MESSAGE = st.fixed_dictionaries(
    {"id": odd, "thread_id": odd, "role": odd, "content_json": text, "created_at_ms": moment, **by}
)
NOTE = st.fixed_dictionaries(
    {
        "id": odd,
        "namespace": space,
        "body": odd,
        "kind": maybe,
        "tags_json": st.none() | text,
        "author": maybe,
        "status": st.sampled_from(["accepted", "pending", "rejected", "done"]) | odd,
        "status_changed_at_ms": st.none() | moment,
        "created_at_ms": moment,
        **by,
    }
)
LINK = st.fixed_dictionaries({"note_id": odd, "supersedes_id": odd, "created_at_ms": moment})
DATABASE = st.fixed_dictionaries(
    {
        "facts": st.lists(FACT, max_size=6),
        "threads": st.lists(THREAD, max_size=4),
        "messages": st.lists(MESSAGE, max_size=6),
        "notes": st.lists(NOTE, max_size=8),
        "note_supersessions": st.lists(LINK, max_size=10),
    }
)


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log with nothing in it, to be copied: to make one takes a third of a second."""
    path = tmp_path_factory.mktemp("empty") / "memory.db"
    open_memory(path).close()
    return path


@pytest.mark.slow
@settings(
    max_examples=40,
    deadline=None,
    # To make a failing database smaller would take minutes, and say little more.
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(first=DATABASE, second=DATABASE)
def test_random_databases(
    empty: Path, tmp_path_factory: pytest.TempPathFactory, first: Any, second: Any
) -> None:
    """No row is lost, no row is an error; a preview tells what comes; again adds nothing, grown or not."""
    folder = tmp_path_factory.mktemp("random")
    shutil.copy(empty, folder / "memory.db")
    smithers = Smithers(folder / "x.db")
    smithers.fill(first)
    with open_memory(folder / "memory.db") as memory:
        with open_source(smithers.path) as source:
            expected = preview(memory, source, limit=memory.log.max_payload_bytes)
        report = import_file(memory, smithers.path)
        assert report == expected
        compare(smithers.path, memory, report)
        smithers.fill(second)
        with open_source(smithers.path) as source:
            expected = preview(memory, source, limit=memory.log.max_payload_bytes)
        assert import_file(memory, smithers.path) == expected
        head = memory.log.head()
        again = import_file(memory, smithers.path)
        assert (again.new, memory.log.head()) == (0, head)
        assert memory.verify().ok
