"""The Smithers import: what becomes of a row, what is refused, and what a second time does."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

import pytest

from fixtures.logs import NOON, Clock
from fixtures.smithers import NEW_YEAR, Smithers
from foldlog import Memory, Provenance
from foldlog.events.types import NoteSaved, NoteStatusChanged
from foldlog.imports.smithers import Counts, Entry, Report, import_file, open_source, preview, writing
from foldlog.imports.smithers.notes import NoteItem
from foldlog.projections.local.facts import Fact
from foldlog.projections.local.notes import Note
from foldlog.projections.local.threads import Message, Thread

ALICE = "user:alice"
ORPHANS = "global:smithers-orphans"


def run(memory: Memory, smithers: Smithers) -> Report:
    """Import, and hold a preview of it against it, and a second time against both."""
    with open_source(smithers.path) as source:
        expected = preview(memory, source, limit=memory.log.max_payload_bytes)
    found = import_file(memory, smithers.path)
    assert found == expected
    head = memory.log.head()
    again = import_file(memory, smithers.path)
    assert (again.new, memory.log.head()) == (0, head)
    assert [item.outcome for item in again.entries] == [item.outcome for item in found.entries]
    assert memory.verify().ok
    return found


def only(report: Report) -> Entry:
    """Return the one row that was not taken as it is."""
    (entry,) = report.entries
    return entry


def reason(report: Report, outcome: str) -> str:
    entry = only(report)
    assert entry.outcome == outcome
    return "; ".join(entry.reasons)


def changes(report: Report) -> str:
    return reason(report, "changed")


def refusal(report: Report) -> str:
    return reason(report, "refused")


def digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:12]


def fact(memory: Memory, key: str, namespace: str = ALICE) -> Fact:
    found = memory.facts.get(namespace, key)
    assert found is not None
    return found


def message(memory: Memory, message_id: str) -> Message:
    found = memory.messages.get(message_id)
    assert found is not None
    return found


def thread(memory: Memory, thread_id: str) -> Thread:
    found = memory.threads.get(thread_id)
    assert found is not None
    return found


def note(memory: Memory, note_id: str) -> Note:
    found = memory.notes.get(note_id)
    assert found is not None
    return found


def live(memory: Memory, namespace: str = ALICE) -> list[str]:
    return [item.note_id for item in memory.notes.list(namespace)]


def kept(memory: Memory, key: str, namespace: str = ALICE) -> Any:
    return fact(memory, f"smithers/{key}", namespace).value


class TestEveryKind:
    def test_all_of_it_with_times_and_provenance(self, memory: Memory, smithers: Smithers) -> None:
        """Facts, threads, messages, notes and links, each as it was, when it was, from where it was."""
        by = {"run_id": "r1", "node_id": "plan", "iteration": 2}
        smithers.fact(ALICE, "theme", {"a": [1.5, None]}, updated_at_ms=NEW_YEAR + 9, **by)
        smithers.thread("t", title="Plans", created_at_ms=NEW_YEAR + 1)
        smithers.message("m", [{"type": "text", "text": "hi"}], role="assistant", **by)
        smithers.note("a", kind="rule", author="bob", tags_json='["x","y"]', **by)
        smithers.note("b", "a", created_at_ms=NEW_YEAR + 5)
        report = run(memory, smithers)
        one = Counts(rows=1, new=1)
        assert report == Report(facts=one, threads=one, messages=one, notes=Counts(rows=2, new=2), links=one)
        who = Provenance(run="r1", node="plan", iteration=2, correlation="import:smithers")
        theme = fact(memory, "theme")
        assert (theme.value, theme.created_at, theme.updated_at) == (
            {"a": [1.5, None]},
            NEW_YEAR,
            NEW_YEAR + 9,
        )
        assert (theme.provenance, theme.expires_at) == (who, None)
        plans = thread(memory, "t")
        assert (plans.namespace, plans.title, plans.created_at) == (ALICE, "Plans", NEW_YEAR + 1)
        hi = message(memory, "m")
        assert (hi.thread_id, hi.role, hi.content) == ("t", "assistant", [{"type": "text", "text": "hi"}])
        assert (hi.created_at, hi.provenance) == (NEW_YEAR, who)
        old = note(memory, "a")
        assert (old.body, old.kind, old.author, old.tags) == ("body of a", "rule", "bob", ("x", "y"))
        assert (old.created_at, old.provenance, old.status_changed_at) == (NEW_YEAR, who, None)
        assert live(memory) == ["b"]

    def test_it_can_be_recalled(self, memory: Memory, smithers: Smithers) -> None:
        """What was imported is memory like any other."""
        smithers.fact(ALICE, "city", "Lisbon")
        run(memory, smithers)
        assert [item.id for item in memory.recall("Lisbon", ALICE).memories] == ["city"]

    def test_the_importer_is_named(self, memory: Memory, smithers: Smithers) -> None:
        """Beside the run of the row, in every event."""
        smithers.fact(ALICE, "k", run_id="r")
        smithers.message("m")
        import_file(memory, smithers.path, actor="carol")
        with memory.log.read() as connection:
            found = connection.execute("SELECT metadata FROM foldlog_events ORDER BY position").fetchall()
        assert [json.loads(metadata)["actor"] for (metadata,) in found] == ["carol"] * 3
        assert json.loads(found[0][0])["run"] == "r"

    def test_an_empty_source(self, memory: Memory, smithers: Smithers) -> None:
        """Nothing to take is no error."""
        assert run(memory, smithers) == Report()

    def test_told_one_by_one(self, memory: Memory, smithers: Smithers) -> None:
        """With `each` the report holds no entries, however many there are; progress counts rows."""
        smithers.fact("team:x", "k")
        smithers.note("n", body=" ")
        told: list[Entry] = []
        seen: list[int] = []
        report = import_file(memory, smithers.path, each=told.append, progress=seen.append)
        assert report.entries == []
        assert [(item.kind, item.outcome) for item in told] == [("fact", "changed"), ("note", "refused")]
        assert seen == [1, 2]

    def test_order_in_a_thread(self, memory: Memory, smithers: Smithers) -> None:
        """By created_at, then by id in binary order, however the rows were written."""
        smithers.thread()
        for name, at in (("b", 5), ("a", 5), ("B", 5), ("z", 1), ("c", -1_000_000_000_000)):
            smithers.message(name, created_at_ms=at)
        run(memory, smithers)
        assert [item.message_id for item in memory.messages.list("t")] == ["c", "z", "B", "a", "b"]
        assert message(memory, "c").created_at == -1_000_000_000_000


class TestNamespaces:
    @pytest.mark.parametrize("namespace", ["user:", "global:", "agent:a%3Ab%25", "workflow:x", "user:Ä b"])
    def test_a_known_kind_stays(self, memory: Memory, smithers: Smithers, namespace: str) -> None:
        """An empty id too; it is one in Smithers."""
        smithers.fact(namespace, "k")
        assert run(memory, smithers).entries == []
        assert memory.facts.get(namespace, "k") is not None

    @pytest.mark.parametrize(
        ("namespace", "expected"),
        [
            ("team:x%3Ay", "global:team%3Ax%253Ay"),
            ("USER:a", "global:USER%3Aa"),
            ("plain", "global:plain"),
            ("", "global:"),
            ("user:a:b", "user:a%3Ab"),
            ("user:a%zz", "user:a%25zz"),
        ],
    )
    def test_what_smithers_parses_it_as(
        self, memory: Memory, smithers: Smithers, namespace: str, expected: str
    ) -> None:
        """An unknown kind is a global id, and a bare colon is escaped; nothing is lost in that."""
        smithers.fact(namespace, "k")
        assert changes(run(memory, smithers)) == f"namespace {namespace!r} is {expected!r} here"
        assert [item.key for item in memory.facts.list(expected)] == ["k"]

    @pytest.mark.parametrize("name", ["a ", " a", "a\n", "\u202ea", "e\u0301", "x" * 600, ":" * 300])
    def test_an_id_that_is_no_name(self, memory: Memory, smithers: Smithers, name: str) -> None:
        """It gets one that ends in a digest of the whole; the original is kept."""
        given = f"user:{name}"
        smithers.fact(given, "k")
        smithers.thread("t", given)
        smithers.note("n", namespace=given)
        report = run(memory, smithers)
        found = memory.notes.get("n")
        assert found is not None
        assert found.namespace.startswith("user:")
        assert found.namespace.endswith(f"~{digest(given)}")
        assert len(found.namespace.encode()) <= 512
        assert thread(memory, "t").namespace == found.namespace
        assert kept(memory, "fact/k", found.namespace) == {"namespace": given}
        assert [item.outcome for item in report.entries] == ["changed"] * 3

    def test_two_that_become_one_lose_nothing(self, memory: Memory, smithers: Smithers) -> None:
        """The exact name has its facts; a namesake's fact of the same key gets a key of its own."""
        smithers.fact("global:team%3Ax", "k", "exact")
        smithers.fact("team:x", "k", "by its kind")
        smithers.fact("global:team:x", "k", "by its colon")
        smithers.fact("team:x", "other", 2)
        report = run(memory, smithers)
        assert report.facts == Counts(rows=4, new=4, changed=3)
        target = "global:team%3Ax"
        values = {item.key: item.value for item in memory.facts.list(target)}
        assert values["k"] == "exact"
        assert values[f"k~{digest('team:x' + chr(0) + 'k')}"] == "by its kind"
        assert values[f"k~{digest('global:team:x' + chr(0) + 'k')}"] == "by its colon"
        assert values["other"] == 2

    def test_a_namesake_that_comes_later(self, memory: Memory, smithers: Smithers) -> None:
        """It takes its place, and the one that was there moves: both can be read."""
        smithers.fact("team:x", "k", "by its kind")
        run(memory, smithers)
        smithers.fact("global:team%3Ax", "k", "exact")
        run(memory, smithers)
        values = {item.value for item in memory.facts.list("global:team%3Ax") if "/" not in item.key}
        assert values == {"exact", "by its kind"}


NAMES = {
    "empty": "",
    "padded": " a b ",
    "line break": "a\nb",
    "NUL": "a\x00b",
    "joiner": "\U0001f469\u200d\U0001f467",
    "decomposed": "e\u0301",
    "long": "k" * 513,
    "long and wide": "\u4e2d" * 400,
}


class TestNames:
    @pytest.mark.parametrize("kind", NAMES)
    def test_a_name_that_the_log_does_not_take(self, memory: Memory, smithers: Smithers, kind: str) -> None:
        """What is left of it and a digest; the same each time, and never another one's."""
        name = NAMES[kind]
        smithers.fact(ALICE, name, "v")
        smithers.thread(name)
        smithers.message(name, thread_id=name)
        smithers.note(name)
        report = run(memory, smithers)
        assert [(item.kind, item.outcome) for item in report.entries] == [
            ("fact", "changed"),
            ("thread", "changed"),
            ("message", "changed"),
            ("note", "changed"),
        ]
        (found,) = [item.key for item in memory.facts.list(ALICE) if item.value == "v"]
        assert found.endswith(f"~{digest(name)}")
        assert len(found.encode()) <= 512
        assert message(memory, found).thread_id == found
        assert note(memory, found).body == f"body of {name}"
        if len(found) < 100:
            assert kept(memory, f"fact/{found}") == {"key": name}
            assert kept(memory, f"note/{found}") == {"id": name}

    def test_names_that_differ_only_in_what_is_cut(self, memory: Memory, smithers: Smithers) -> None:
        """Cleaned they would be one; here they are four."""
        for number, name in enumerate(("k", " k", "k ", "k\n")):
            smithers.fact(ALICE, name, number)
        run(memory, smithers)
        values = [item.value for item in memory.facts.list(ALICE) if isinstance(item.value, int)]
        assert sorted(values) == [0, 1, 2, 3]

    def test_links_follow_the_names(self, memory: Memory, smithers: Smithers) -> None:
        """A note under another name is superseded under that name."""
        smithers.note(" old ")
        smithers.note("new", " old ", created_at_ms=NEW_YEAR + 1)
        report = run(memory, smithers)
        assert live(memory) == ["new"]
        assert [item.kind for item in report.entries] == ["note", "note", "link"]

    def test_labels_are_cleaned(self, memory: Memory, smithers: Smithers) -> None:
        """Role, kind, author and provenance need not be unique: no digest, but the original is kept."""
        smithers.thread()
        smithers.message("m", role=" user\n", run_id="r ")
        smithers.message("n", role="")
        smithers.note("a", kind="rule ", author="", node_id="x" * 600, iteration=-1)
        report = run(memory, smithers)
        m, n, a = message(memory, "m"), message(memory, "n"), note(memory, "a")
        assert (m.role, m.provenance.run, n.role) == ("user", "r", "unknown")
        assert (a.kind, a.author, a.provenance.node, a.provenance.iteration) == (
            "rule",
            None,
            "x" * 512,
            None,
        )
        assert kept(memory, "message/m") == {"role": " user\n", "run_id": "r "}
        assert kept(memory, "note/a") == {"kind": "rule ", "node_id": "x" * 600, "iteration": -1}
        assert report.notes == Counts(rows=1, new=1, changed=1)

    @pytest.mark.parametrize("bad", [b"\xff", b"\xed\xa0\x80"])
    def test_what_is_not_utf8_is_refused(self, memory: Memory, smithers: Smithers, bad: bytes) -> None:
        """Half surrogates and broken bytes are no text, wherever they stand; the row is named."""
        hexed = bad.hex()
        smithers.fact(ALICE, "fine")
        smithers.fact(ALICE, "k")
        smithers.fact("x", "n")
        smithers.thread("t")
        smithers.message("m", thread_id="u")
        smithers.note("a", "b")
        smithers.script(
            f"""
            UPDATE _smithers_memory_facts SET value_json = CAST(x'22{hexed}22' AS TEXT) WHERE key = 'k';
            UPDATE _smithers_memory_facts SET namespace = CAST(x'{hexed}' AS TEXT) WHERE key = 'n';
            UPDATE _smithers_memory_threads SET title = CAST(x'{hexed}' AS TEXT);
            UPDATE _smithers_memory_messages SET id = CAST(x'{hexed}' AS TEXT);
            UPDATE _smithers_memory_notes SET id = CAST(x'{hexed}' AS TEXT);
            UPDATE _smithers_memory_note_supersessions SET note_id = CAST(x'{hexed}' AS TEXT);
            """
        )
        report = run(memory, smithers)
        assert [(item.kind, item.outcome) for item in report.entries] == [
            (kind, "refused") for kind in ("fact", "fact", "thread", "message", "note", "link")
        ]
        assert all("not UTF-8" in item.reasons[0] for item in report.entries)
        assert memory.log.head() == 1
        assert json.dumps([item.as_dict() for item in report.entries]).isascii()

    def test_a_blob_is_no_text(self, memory: Memory, smithers: Smithers) -> None:
        """Nor is nothing at all."""
        smithers.fact(ALICE, b"k")
        smithers.note("a", body=b"x")
        smithers.note(b"b", "c")
        smithers.message(None)
        report = run(memory, smithers)
        assert [item.outcome for item in report.entries] == ["refused"] * 5
        assert memory.log.head() == 0


class TestFacts:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("null", None),
            ('""', ""),
            ('"\\u0000nul"', "\x00nul"),
            ('["e\u0301","\U0001f469\u200d\U0001f467"]', ["e\u0301", "\U0001f469\u200d\U0001f467"]),
            ("9007199254740993", 9007199254740993),
            ("1" * 4300, int("1" * 4300)),
            ("7.857142857142857", 7.857142857142857),
            ("1e-7", 1e-7),
        ],
    )
    def test_a_value_comes_exactly(
        self, memory: Memory, smithers: Smithers, text: str, expected: Any
    ) -> None:
        """Whatever JSON it is; null is not missing."""
        smithers.fact(ALICE, "k", value_json=text)
        assert run(memory, smithers).entries == []
        assert fact(memory, "k").value == expected

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "not json {",
            "NaN",
            '{"a":Infinity}',
            "1e999",
            "1" * 4301,
            '{"a":1,"a":2}',
            "[" * 65 + "]" * 65,
        ],
    )
    def test_a_value_that_is_no_json_the_log_holds(
        self, memory: Memory, smithers: Smithers, text: str
    ) -> None:
        """It is kept as the text it is."""
        smithers.fact(ALICE, "k", value_json=text)
        assert changes(run(memory, smithers)).startswith("value_json is kept as the text it is, since it ")
        assert fact(memory, "k").value == text

    def test_deep_enough_to_break_a_parser(self, memory: Memory, smithers: Smithers) -> None:
        """No depth is an error of ours."""
        smithers.fact(ALICE, "k", value_json="[" * 100_000)
        changes(run(memory, smithers))
        assert fact(memory, "k").value == "[" * 100_000

    def test_half_a_surrogate_in_json_is_refused(self, memory: Memory, smithers: Smithers) -> None:
        """As it is everywhere."""
        smithers.fact(ALICE, "k", value_json='{"a":["\\ud800"]}')
        assert "half of a surrogate pair" in refusal(run(memory, smithers))

    def test_a_value_over_the_limit_is_refused(self, memory: Memory, smithers: Smithers) -> None:
        """With its size, and the setting's name."""
        size = memory.log.max_payload_bytes
        smithers.fact(ALICE, "k", "x" * size)
        smithers.fact(ALICE, "fits", "x" * (size - len('{"value":""}')))
        assert refusal(run(memory, smithers)) == (
            f"it is {size + 12} bytes; at most {size} are allowed (FOLDLOG_MAX_PAYLOAD_BYTES)"
        )
        assert len(fact(memory, "fits").value) == size - 12

    @pytest.mark.parametrize("ttl", [0, -1, -5.5, -1e300, -9e999])
    def test_a_life_without_length_is_over(self, memory: Memory, smithers: Smithers, ttl: float) -> None:
        """It is in the log, and was never readable."""
        smithers.fact(ALICE, "k", ttl_ms=ttl)
        run(memory, smithers)
        assert memory.facts.get(ALICE, "k") is None
        assert len(memory.history.fact(ALICE, "k").events) == 1

    def test_a_life_ends_when_it_did_there(self, memory: Memory, smithers: Smithers, clock: Clock) -> None:
        """Counted from the last write, to the millisecond; what is over by now is over."""
        smithers.fact(ALICE, "long", ttl_ms=NOON - NEW_YEAR)
        smithers.fact(ALICE, "over", ttl_ms=NOON - NEW_YEAR - 1)
        assert run(memory, smithers).entries == []
        assert fact(memory, "long").expires_at == NOON
        assert memory.facts.get(ALICE, "over") is None
        assert memory.recall("over", ALICE).memories == []
        clock.pass_ms(1)
        assert memory.facts.get(ALICE, "long") is None

    @pytest.mark.parametrize("ttl", [1e300, 2**62, 9e999])
    def test_a_life_beyond_the_calendar_has_no_end(
        self, memory: Memory, smithers: Smithers, ttl: float
    ) -> None:
        """Nothing that ends after the year 9999 needs an end."""
        smithers.fact(ALICE, "k", ttl_ms=ttl)
        assert "it does not expire" in changes(run(memory, smithers))
        assert fact(memory, "k").expires_at is None

    def test_a_fraction_of_a_millisecond(self, memory: Memory, smithers: Smithers) -> None:
        """No clock here tells it from the whole one below."""
        smithers.fact(ALICE, "k", ttl_ms=NOON - NEW_YEAR + 0.5, updated_at_ms=NEW_YEAR + 0.5)
        assert "rounded down" in changes(run(memory, smithers))
        assert fact(memory, "k").expires_at == NOON

    def test_a_life_of_no_number_is_refused(self, memory: Memory, smithers: Smithers) -> None:
        """Nobody knows when it ends."""
        smithers.fact(ALICE, "k", ttl_ms="soon")
        assert refusal(run(memory, smithers)) == "ttl_ms is text, not a number of milliseconds"

    @pytest.mark.parametrize("at", [253_402_300_800_000, -62_135_596_800_001, 2**62, -(2**62)])
    @pytest.mark.parametrize("column", ["created_at_ms", "updated_at_ms"])
    def test_a_time_outside_the_calendar_is_refused(
        self, memory: Memory, smithers: Smithers, column: str, at: int
    ) -> None:
        """Years 1 to 9999; before 1970 is fine."""
        smithers.fact(ALICE, "k", **{column: at})
        smithers.fact(ALICE, "old", created_at_ms=-62_135_596_800_000, updated_at_ms=-5)
        assert refusal(run(memory, smithers)) == f"{column} is {at}, outside the years 1 to 9999"
        assert fact(memory, "old").created_at == -62_135_596_800_000

    def test_a_signature_is_kept(self, memory: Memory, smithers: Smithers, clock: Clock) -> None:
        """A column that has no place here becomes a fact beside, which lives as long."""
        smithers.fact(ALICE, "k", schema_sig="sig", ttl_ms=NOON - NEW_YEAR)
        assert "kept in the fact smithers/fact/k of user:alice" in changes(run(memory, smithers))
        assert kept(memory, "fact/k") == {"schema_sig": "sig"}
        clock.pass_ms(1)
        assert memory.facts.list(ALICE) == []

    def test_an_unknown_column_is_kept(self, memory: Memory, smithers: Smithers) -> None:
        """A newer Smithers may have one; empty it is nothing."""
        smithers.script('ALTER TABLE _smithers_memory_facts ADD COLUMN "im portance" REAL')
        smithers.fact(ALICE, "k", **{'"im portance"': 0.5})
        smithers.fact(ALICE, "plain")
        assert "column that is not known here" in changes(run(memory, smithers))
        assert kept(memory, "fact/k") == {"im portance": 0.5}

    def test_what_is_too_large_to_be_kept_is_said(self, memory: Memory, smithers: Smithers) -> None:
        """The row itself is taken."""
        smithers.fact(ALICE, "k", schema_sig="s" * (2 << 20))
        assert "too large to be kept: it is not taken" in changes(run(memory, smithers))
        assert [item.key for item in memory.facts.list(ALICE)] == ["k"]


class TestConversations:
    def test_content_that_is_no_json_is_kept_raw(self, memory: Memory, smithers: Smithers) -> None:
        """As the text it is, and so is JSON that is neither text nor parts."""
        smithers.thread()
        raw = {"a": "not json {", "b": "5", "c": "null", "d": "true", "e": '["x"'}
        for name, text in raw.items():
            smithers.message(name, content_json=text)
        report = run(memory, smithers)
        assert {item.message_id: item.content for item in memory.messages.list("t")} == raw
        assert [item.outcome for item in report.entries] == ["changed"] * 5

    def test_an_object_is_one_part(self, memory: Memory, smithers: Smithers) -> None:
        """As a summary is."""
        smithers.thread()
        smithers.message("m", {"type": "summary", "text": "they agreed"}, role="system")
        assert "a list of one part" in changes(run(memory, smithers))
        found = message(memory, "m")
        assert found.content == [{"type": "summary", "text": "they agreed"}]
        assert [item.id for item in memory.recall("agreed", ALICE).memories] == ["m"]

    @pytest.mark.parametrize("text", ["", " \n", '""', '" "', "[]", '[{"type":"image"}]', "{}"])
    def test_a_blank_message_is_refused(self, memory: Memory, smithers: Smithers, text: str) -> None:
        """There is nothing in it to remember."""
        smithers.thread()
        smithers.message("m", content_json=text)
        assert "content_json is blank" in refusal(run(memory, smithers))

    def test_a_message_without_a_thread(self, memory: Memory, smithers: Smithers) -> None:
        """One is made for all that are of one thread, in a namespace for such; they are recallable."""
        smithers.message("a", "lost one", thread_id="gone", created_at_ms=NEW_YEAR + 2)
        smithers.message("b", " ", thread_id="gone", created_at_ms=NEW_YEAR)
        smithers.message("c", "lost two", thread_id="gone", created_at_ms=NEW_YEAR + 1)
        report = run(memory, smithers)
        assert report.messages == Counts(rows=3, new=2, refused=1, changed=2)
        assert report.threads == Counts()
        assert [item.message_id for item in memory.messages.list("gone")] == ["c", "a"]
        made = thread(memory, "gone")
        assert (made.namespace, made.created_at) == (ORPHANS, NEW_YEAR + 1)
        assert {item.id for item in memory.recall("lost", ORPHANS).memories} == {"a", "c"}
        smithers.message("d", "lost three", thread_id="gone", created_at_ms=NEW_YEAR)
        run(memory, smithers)
        assert [item.message_id for item in memory.messages.list("gone")] == ["c", "a", "d"]

    def test_a_thread_that_comes_after_its_messages(self, memory: Memory, smithers: Smithers) -> None:
        """It is refused, and they stay where they are."""
        smithers.message("a", "one")
        run(memory, smithers)
        smithers.thread()
        smithers.message("b", "two")
        report = run(memory, smithers)
        assert f"is here already, in {ORPHANS}" in refusal(report)
        assert [item.message_id for item in memory.messages.list("t")] == ["a", "b"]

    def test_a_refused_thread_takes_its_messages_along(self, memory: Memory, smithers: Smithers) -> None:
        """They belong to no other."""
        smithers.thread(created_at_ms=2**60)
        smithers.message("m")
        report = run(memory, smithers)
        assert [item.kind for item in report.entries] == ["thread", "message"]
        assert report.entries[1].reasons == ["its thread t was refused"]
        assert memory.log.head() == 0

    def test_another_thread_of_the_same_id(self, memory: Memory, smithers: Smithers) -> None:
        """No message gets into somebody else's thread."""
        memory.threads.create("user:bob", thread_id="t")
        smithers.thread()
        smithers.message("m")
        report = run(memory, smithers)
        assert "a thread t is here already, in user:bob" in report.entries[0].reasons[0]
        assert "is another one here, in user:bob" in report.entries[1].reasons[0]
        assert memory.messages.list("t") == []

    def test_another_title(self, memory: Memory, smithers: Smithers) -> None:
        """A thread has one; that the other is not taken is said."""
        memory.threads.create(ALICE, thread_id="t", title="mine")
        smithers.thread(title="theirs")
        smithers.message("m")
        assert "titled 'mine'" in refusal(run(memory, smithers))
        assert message(memory, "m").thread_id == "t"

    def test_metadata_of_a_thread_is_kept(self, memory: Memory, smithers: Smithers) -> None:
        """Smithers never writes it; somebody may have."""
        smithers.thread(metadata_json='{"a":1}', updated_at_ms=NEW_YEAR + 1)
        changes(run(memory, smithers))
        assert kept(memory, "thread/t") == {"metadata_json": '{"a":1}', "updated_at_ms": NEW_YEAR + 1}

    def test_ids_that_stand_twice(self, memory: Memory, smithers: Smithers) -> None:
        """In a copy without keys: facts are versions, messages get another id, others are refused."""
        for table, columns in {
            "facts": "namespace, key, value_json, schema_sig, created_at_ms, updated_at_ms, ttl_ms",
            "threads": "thread_id, namespace, title, created_at_ms",
            "messages": "id, thread_id, role, content_json, created_at_ms",
            "notes": "id, namespace, body, kind, tags_json, author, status, status_changed_at_ms,"
            " created_at_ms",
            "note_supersessions": "note_id, supersedes_id, created_at_ms",
        }.items():
            smithers.script(
                f"DROP TABLE _smithers_memory_{table}; CREATE TABLE _smithers_memory_{table} ({columns})"
            )
        smithers.fact(ALICE, "k", "new", updated_at_ms=NEW_YEAR + 1)
        smithers.fact(ALICE, "k", "old")
        for number, title in enumerate(("one", "two")):
            at = NEW_YEAR + number
            smithers.put("threads", thread_id="t", namespace=ALICE, title=title, created_at_ms=at)
        smithers.message("m", "first")
        smithers.message("m", "second", created_at_ms=NEW_YEAR + 1)
        smithers.note("n", "x", status="accepted")
        smithers.note("n", status="accepted", body="another")
        report = run(memory, smithers)
        assert fact(memory, "k").value == "new"
        assert thread(memory, "t").title == "one"
        assert [item.content for item in memory.messages.list("t")] == ["first", "second"]
        assert [(item.kind, item.outcome) for item in report.entries] == [
            ("thread", "refused"),
            ("message", "changed"),
            ("note", "refused"),
        ]
        assert report.links == Counts(rows=1, new=1)


class TestNotes:
    @pytest.mark.parametrize("body", ["", " \n\t", "\u3000"])
    def test_a_blank_body_is_refused_with_its_links(
        self, memory: Memory, smithers: Smithers, body: str
    ) -> None:
        """A link is part of its note."""
        smithers.note("a")
        smithers.note("b", "a", body=body)
        report = run(memory, smithers)
        assert [(item.kind, item.outcome) for item in report.entries] == [
            ("note", "refused"),
            ("link", "refused"),
        ]
        assert report.entries[1].reasons == [f"its note was refused: {report.entries[0].reasons[0]}"]
        assert live(memory) == ["a"]

    @pytest.mark.parametrize("status", ["pending", "accepted", "rejected"])
    def test_a_status_from_the_beginning(self, memory: Memory, smithers: Smithers, status: str) -> None:
        """One event, and no change of status."""
        smithers.note("a", status=status, status_changed_at_ms=NEW_YEAR)
        assert run(memory, smithers).entries == []
        assert (note(memory, "a").status, note(memory, "a").status_changed_at) == (status, None)
        assert len(memory.history.note("a").events) == 1

    @pytest.mark.parametrize("status", ["accepted", "rejected"])
    def test_a_status_that_changed(self, memory: Memory, smithers: Smithers, status: str) -> None:
        """Pending until then, since what it was is not known; the change happened when it did."""
        smithers.note("a", status=status, status_changed_at_ms=NEW_YEAR + 7, run_id="r")
        assert run(memory, smithers).entries == []
        saved, changed = memory.history.note("a").events
        assert isinstance(saved.record, NoteSaved)
        assert isinstance(changed.record, NoteStatusChanged)
        assert (saved.record.status, saved.occurred_at) == ("pending", NEW_YEAR)
        assert (changed.record.status, changed.occurred_at) == (status, NEW_YEAR + 7)
        assert (changed.provenance.run, changed.provenance.correlation) == (None, "import:smithers")

    @pytest.mark.parametrize("status", ["done", "Accepted ", "ACCEPTED", "", "accepted\n"])
    def test_a_status_of_another_word(self, memory: Memory, smithers: Smithers, status: str) -> None:
        """It is pending, and so as hidden as it was; the word is kept."""
        smithers.note("a")
        smithers.note("b", "a", status=status, status_changed_at_ms=NEW_YEAR + 7)
        assert "it is pending" in changes(run(memory, smithers))
        assert note(memory, "b").status == "pending"
        assert kept(memory, "note/b") == {"status": status, "status_changed_at_ms": NEW_YEAR + 7}
        assert live(memory) == ["a"]

    def test_tags(self, memory: Memory, smithers: Smithers) -> None:
        """Up to 16 of up to 128 characters, cleaned, once each; where that is not all, all are kept."""
        many = [f"t{number}" for number in range(20)]
        given = {
            "none": "null",
            "empty": "[]",
            "fine": '["a","b c"]',
            "twice": '["a","a"]',
            "padded": '[" a","b\\n"]',
            "many": json.dumps(many),
            "long": json.dumps(["a", "x" * 129, "x" * 600, "b"]),
            "odd": '["a",5,null,{"b":1},""]',
            "text": '"a"',
            "raw": "a,b",
        }
        for name, text in given.items():
            smithers.note(name, tags_json=text)
        report = run(memory, smithers)
        assert {name: list(note(memory, name).tags) for name in given} == {
            "none": [],
            "empty": [],
            "fine": ["a", "b c"],
            "twice": ["a"],
            "padded": ["a", "b"],
            "many": many[:16],
            "long": ["a", "b"],
            "odd": ["a"],
            "text": [],
            "raw": [],
        }
        changed = {item.source["id"] for item in report.entries}
        assert changed == set(given) - {"none", "empty", "fine"}
        for name in ("twice", "padded", "many", "long", "odd"):
            assert kept(memory, f"note/{name}") == {"tags_json": json.loads(given[name])}
        assert kept(memory, "note/raw") == {"tags_json": "a,b"}

    def test_a_body_over_the_limit_is_refused(self, memory: Memory, smithers: Smithers) -> None:
        """Like every payload."""
        smithers.note("a", body="\x00" * (memory.log.max_payload_bytes // 6))
        assert "FOLDLOG_MAX_PAYLOAD_BYTES" in refusal(run(memory, smithers))

    def test_odd_text_stays(self, memory: Memory, smithers: Smithers) -> None:
        """NUL, joiners and decomposed letters in a body are the body."""
        body = "\x00nul e\u0301 \U0001f469\u200d\U0001f467 \u202e"
        smithers.note("a", body=body)
        assert run(memory, smithers).entries == []
        assert note(memory, "a").body == body


class TestLinks:
    def test_chains_and_forks(self, memory: Memory, smithers: Smithers) -> None:
        """Not transitive; two accepted superseders of one note are both taken, in any order of time."""
        smithers.note("a")
        smithers.note("b", "a", status="rejected", created_at_ms=NEW_YEAR + 1)
        smithers.note("c", "b", created_at_ms=NEW_YEAR + 2)
        smithers.note("d", "c", created_at_ms=NEW_YEAR + 3, status="accepted", status_changed_at_ms=NOON)
        smithers.note("e", "c", "d", created_at_ms=NEW_YEAR - 1)
        assert run(memory, smithers).entries == []
        assert live(memory) == ["e", "a"]

    def test_a_missing_target_may_come_later(self, memory: Memory, smithers: Smithers) -> None:
        """The link is to an id; it hides the note from its first moment."""
        smithers.note("b", "a")
        assert run(memory, smithers).entries == []
        smithers.note("a", created_at_ms=NEW_YEAR + 1)
        assert run(memory, smithers).notes == Counts(rows=2, new=1, unchanged=1)
        assert live(memory) == ["b"]

    def test_another_namespace(self, memory: Memory, smithers: Smithers) -> None:
        """Smithers allows it, so it is taken."""
        smithers.note("a", namespace="user:bob")
        smithers.note("b", "a", created_at_ms=NEW_YEAR + 1)
        assert run(memory, smithers).entries == []
        assert live(memory, "user:bob") == []

    def test_itself(self, memory: Memory, smithers: Smithers) -> None:
        """The link is dropped, the note stays."""
        smithers.note("a", "a")
        assert "cannot supersede itself" in refusal(run(memory, smithers))
        assert live(memory) == ["a"]

    def test_a_circle_loses_the_link_of_its_oldest_note(self, memory: Memory, smithers: Smithers) -> None:
        """Whatever the order of ids; the newest note says what holds."""
        smithers.note("z", "y", created_at_ms=NEW_YEAR)
        smithers.note("y", "x", "z", created_at_ms=NEW_YEAR + 1)
        smithers.note("x", "z", created_at_ms=NEW_YEAR + 2)
        report = run(memory, smithers)
        found = [(tuple(item.source.values()), item.outcome) for item in report.entries]
        # z-y is in z-y-z and in z-y-x-z, and z the oldest of both; y-x closes nothing without it.
        assert found == [(("z", "y"), "refused")]
        assert live(memory) == ["y"]
        memory.notes.set_status("y", "rejected")
        assert live(memory) == ["x"]

    def test_a_circle_of_equal_times(self, memory: Memory, smithers: Smithers) -> None:
        """Then the smaller id is the older one."""
        smithers.note("p", "q")
        smithers.note("q", "p")
        assert only(run(memory, smithers)).source == {"note_id": "p", "supersedes_id": "q"}
        assert live(memory) == ["q"]

    def test_a_circle_that_closes_later(self, memory: Memory, smithers: Smithers) -> None:
        """The link that is in the log stays, the new note is taken without its own."""
        smithers.note("p", "q")
        run(memory, smithers)
        smithers.note("q", "p", created_at_ms=NEW_YEAR + 1)
        report = import_file(memory, smithers.path)
        found = {tuple(item.source.values()): item.reasons[0] for item in report.entries}
        assert "circle with a link that is here" in found["q", "p"]
        assert live(memory) == ["p"]
        run(memory, smithers)

    def test_a_link_that_comes_after_its_note(self, memory: Memory, smithers: Smithers) -> None:
        """The links of a note do not change; that it is missing is said each time."""
        smithers.note("a")
        smithers.note("b")
        run(memory, smithers)
        smithers.link("b", "a")
        assert "do not change" in refusal(run(memory, smithers))

    def test_a_link_without_its_note(self, memory: Memory, smithers: Smithers) -> None:
        """It is refused, since it is part of nothing."""
        smithers.note("a")
        smithers.link("ghost", "a")
        assert refusal(run(memory, smithers)) == "its note does not exist"

    def test_a_time_of_its_own(self, memory: Memory, smithers: Smithers) -> None:
        """A link has the time of its note; another is kept."""
        smithers.note("a")
        smithers.note("b")
        smithers.link("b", "a", created_at_ms=NEW_YEAR + 3)
        report = run(memory, smithers)
        assert [(item.kind, item.outcome) for item in report.entries] == [
            ("note", "changed"),
            ("link", "changed"),
        ]
        assert kept(memory, "note/b") == {
            "supersessions": [{"note_id": "b", "supersedes_id": "a", "created_at_ms": NEW_YEAR + 3}]
        }

    def test_a_long_chain_is_not_walked(self, memory: Memory, smithers: Smithers) -> None:
        """What is newer than all it supersedes closes no circle: no look-up grows with the chain."""
        names = [f"n{number:04}" for number in range(600)]
        for number, name in enumerate(names):
            smithers.note(name, *names[number - 1 : number], created_at_ms=NEW_YEAR + number)
        steps = 0

        def count() -> int:
            nonlocal steps
            steps += 1
            return 0

        with memory.log.write() as transaction:
            transaction.connection.set_progress_handler(count, 1000)
        assert run(memory, smithers).links == Counts(rows=599, new=599)
        # Walked, it would be 180,000 notes of some 20 instructions each.
        assert steps < 1000
        assert live(memory) == [names[-1]]


class TestGrowth:
    def test_only_what_is_new_is_added(self, memory: Memory, smithers: Smithers) -> None:
        """Rows of every kind; what was there is left alone."""
        smithers.fact(ALICE, "a")
        smithers.thread()
        smithers.message("m", created_at_ms=NEW_YEAR + 5)
        smithers.note("x")
        run(memory, smithers)
        smithers.fact(ALICE, "b")
        smithers.thread("u")
        smithers.message("late", created_at_ms=NEW_YEAR)
        smithers.message("n", thread_id="u")
        smithers.note("y", "x")
        report = run(memory, smithers)
        assert report == Report(
            facts=Counts(rows=2, new=1, unchanged=1),
            threads=Counts(rows=2, new=1, unchanged=1),
            messages=Counts(rows=3, new=2, unchanged=1),
            notes=Counts(rows=2, new=1, unchanged=1),
            links=Counts(rows=1, new=1),
        )
        # History is not reordered.
        assert [item.message_id for item in memory.messages.list("t")] == ["m", "late"]

    def test_a_changed_fact_is_a_new_version(self, memory: Memory, smithers: Smithers) -> None:
        """Value, life or provenance; back to an old value too."""
        smithers.fact(ALICE, "k", 1)
        run(memory, smithers)
        for number, more in enumerate(({"ttl_ms": 10**12}, {"run_id": "r"}, {}), 1):
            smithers.fact(ALICE, "k", 1, updated_at_ms=NEW_YEAR + number, **more)
            assert run(memory, smithers).facts == Counts(rows=1, new=1)
        found = fact(memory, "k")
        assert (found.version, found.created_at, found.updated_at) == (4, NEW_YEAR, NEW_YEAR + 3)
        assert (found.expires_at, found.provenance.run) == (None, None)

    def test_a_fact_that_was_deleted_and_set_anew(self, memory: Memory, smithers: Smithers) -> None:
        """It was created anew, and is so here."""
        smithers.fact(ALICE, "k", 1)
        run(memory, smithers)
        smithers.fact(ALICE, "k", 2, created_at_ms=NEW_YEAR + 5, updated_at_ms=NEW_YEAR + 5)
        run(memory, smithers)
        assert fact(memory, "k").created_at == NEW_YEAR + 5

    def test_what_was_done_here_since_is_not_undone(
        self, memory: Memory, smithers: Smithers, clock: Clock
    ) -> None:
        """Changed or deleted here, unchanged there: it stays as it is here."""
        for key in ("set", "deleted"):
            smithers.fact(ALICE, key, "old")
        smithers.thread()
        smithers.thread("u")
        for name in ("edited", "deleted", "other"):
            smithers.message(name)
        smithers.message("v", thread_id="u")
        smithers.note("n")
        run(memory, smithers)
        memory.facts.set(ALICE, "set", "new")
        memory.facts.delete(ALICE, "deleted")
        memory.messages.save("t", "better", message_id="edited")
        memory.messages.delete("t", ["deleted"])
        memory.notes.set_status("n", "rejected")
        assert run(memory, smithers).entries == []
        memory.threads.delete("u")
        report = run(memory, smithers)
        assert [item.kind for item in report.entries] == ["thread", "message"]
        assert all("was deleted here" in item.reasons[0] for item in report.entries)
        assert fact(memory, "set").value == "new"
        assert memory.facts.get(ALICE, "deleted") is None
        assert [item.content for item in memory.messages.list("t")] == ["better", "hello"]
        assert note(memory, "n").status == "rejected"

    def test_the_later_fact_wins(self, memory: Memory, smithers: Smithers, clock: Clock) -> None:
        """By the time it was written, here or there; what loses is said. A collector decides nothing."""
        memory.facts.set(ALICE, "k", "here")
        smithers.fact(ALICE, "k", "there")
        assert "the log has a later value" in refusal(run(memory, smithers))
        smithers.fact(ALICE, "k", "there", updated_at_ms=NOON + 1)
        assert run(memory, smithers).entries == []
        assert fact(memory, "k").value == "there"

    def test_a_changed_message_is_a_new_version(self, memory: Memory, smithers: Smithers) -> None:
        """In its old place and of its old time; back to an old text too."""
        smithers.thread()
        for text in ("one", "two", "one"):
            smithers.message("m", text)
            smithers.message("n", created_at_ms=NEW_YEAR + 1)
            assert run(memory, smithers).messages.new >= 1
        assert [item.content for item in memory.messages.list("t")] == ["one", "hello"]
        assert message(memory, "m").updated_at == NEW_YEAR
        assert len(memory.history.message("m").events) == 4

    def test_a_message_that_both_changed(self, memory: Memory, smithers: Smithers) -> None:
        """Neither is thrown away: the log keeps its own, and the report says so."""
        smithers.thread()
        smithers.message("m", "one")
        run(memory, smithers)
        memory.messages.save("t", "here", message_id="m")
        smithers.message("m", "there")
        assert refusal(run(memory, smithers)) == "it was changed here, and in the source too"
        assert message(memory, "m").content == "here"

    def test_a_message_that_was_trimmed_here(self, memory: Memory, smithers: Smithers) -> None:
        """It stays hidden; it cannot change any more, so that a later text of it is refused."""
        smithers.thread()
        for number in range(3):
            smithers.message(f"m{number}", "x" * 400, created_at_ms=NEW_YEAR + number)
        run(memory, smithers)
        memory.messages.trim("t", [1, 2], budget=150, tokens=100, tokenizer="words")
        shown = [item.message_id for item in memory.messages.list("t")]
        assert shown == ["m2"]
        assert run(memory, smithers).entries == []
        smithers.message("m0", "other", created_at_ms=NEW_YEAR)
        assert "trimmed here" in refusal(run(memory, smithers))
        assert [item.message_id for item in memory.messages.list("t")] == shown

    def test_ids_that_are_taken(self, memory: Memory, smithers: Smithers) -> None:
        """By something that is not from the source: refused, each with what is there."""
        memory.threads.create("user:bob", thread_id="b")
        memory.messages.save("b", "mine", message_id="m")
        memory.threads.create(ALICE, thread_id="t")
        memory.messages.save("t", "mine", message_id="k")
        memory.messages.save("t", "hello", message_id="same")
        memory.notes.save("user:bob", "mine", note_id="n")
        smithers.thread()
        for name in ("m", "k", "same"):
            smithers.message(name)
        smithers.note("n")
        report = run(memory, smithers)
        found = {item.source["id"]: item.reasons[0] for item in report.entries}
        assert found == {
            "m": "a message m is here already, in the thread b",
            "k": "a message k of other content is here, not from an import",
            "n": "a note n is here already, in user:bob or with another body",
        }

    def test_a_status_that_changes_there(self, memory: Memory, smithers: Smithers) -> None:
        """It changes here, at its time, as far as a status can."""
        steps = [
            ("pending", None, "pending"),
            ("accepted", 1, "accepted"),
            ("rejected", 2, "rejected"),
            ("pending", 3, "rejected"),
            ("accepted", 4, "accepted"),
            ("done", 5, "rejected"),
        ]
        for status, at, expected in steps:
            changed = None if at is None else NEW_YEAR + at
            smithers.note("a", status=status, status_changed_at_ms=changed)
            run(memory, smithers)
            assert note(memory, "a").status == expected
        last = memory.history.note("a").events[-1]
        assert isinstance(last.record, NoteStatusChanged)
        assert (last.record.reason, last.occurred_at) == ("done in Smithers", NEW_YEAR + 5)
        assert kept(memory, "note/a")["status"] == "done"
        smithers.note("a", status="accepted", status_changed_at_ms=NEW_YEAR + 6)
        run(memory, smithers)
        assert note(memory, "a").status == "accepted"
        assert memory.facts.get(ALICE, "smithers/note/a") is None

    def test_the_later_status_wins(self, memory: Memory, smithers: Smithers) -> None:
        """By time, here or there."""
        smithers.note("a")
        run(memory, smithers)
        memory.notes.set_status("a", "rejected")
        smithers.note("a", status="accepted", status_changed_at_ms=NOON - 1)
        run(memory, smithers)
        assert note(memory, "a").status == "rejected"
        smithers.note("a", status="accepted", status_changed_at_ms=NOON + 1)
        run(memory, smithers)
        assert note(memory, "a").status == "accepted"


class TestBatches:
    @pytest.mark.parametrize("stop", range(1, 9))
    def test_stopped_anywhere_it_is_completed_by_the_next(
        self, memory: Memory, smithers: Smithers, monkeypatch: pytest.MonkeyPatch, stop: int
    ) -> None:
        """Ctrl-C after any batch: what was written stays, what is missing is added, in order."""
        monkeypatch.setattr(writing, "BATCH_ROWS", 2)
        smithers.thread()
        for number in range(4):
            smithers.fact(ALICE, f"k{number}")
            smithers.message(f"m{number}", f"text {number}")
            smithers.note(f"n{number}", f"n{number - 1}", created_at_ms=NEW_YEAR + number)
        smithers.message("lost", thread_id="gone")
        done = 0

        def interrupt(rows: int) -> None:
            nonlocal done
            done += 1
            if done == stop:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            import_file(memory, smithers.path, progress=interrupt)
        assert run(memory, smithers).messages.rows == 5
        assert [item.message_id for item in memory.messages.list("t")] == ["m0", "m1", "m2", "m3"]
        assert [item.key for item in memory.facts.list(ALICE)] == ["k0", "k1", "k2", "k3"]
        assert live(memory) == ["n3"]
        assert memory.log.head() == 4 + 1 + 4 + 2 + 4

    def test_a_row_that_the_log_refuses_is_alone(
        self, memory: Memory, smithers: Smithers, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """What another writer did meanwhile refuses one row, not those written with it."""
        for number in range(9):
            smithers.note(f"n{number}")
        steps = NoteItem.steps

        def raced(found: Any, here: Any) -> Any:
            planned = steps(found, here)
            if found.name == "n5":
                planned.append(lambda memory: memory.notes.save("user:bob", "mine", note_id="n6"))
            return planned

        monkeypatch.setattr(NoteItem, "steps", raced)
        report = import_file(memory, smithers.path)
        assert only(report).source == {"id": "n6"}
        assert report.notes == Counts(rows=9, new=8, refused=1)

    def test_batches_are_bounded_by_size(
        self, memory: Memory, smithers: Smithers, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Large rows are written a few at a time."""
        monkeypatch.setattr(writing, "BATCH_CHARACTERS", 1000)
        for number in range(5):
            smithers.fact(ALICE, f"k{number}", "x" * 400)
        seen: list[int] = []
        import_file(memory, smithers.path, progress=seen.append)
        assert seen == [3, 5]
