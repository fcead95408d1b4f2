"""Facts, threads, messages and notes: what they promise."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from fixtures.logs import Clock
from foldlog import Memory
from foldlog.errors import (
    AlreadyExists,
    IdempotencyConflict,
    InvalidInput,
    InvalidSupersession,
    InvalidTransition,
    NoteConflict,
    NotFound,
    SupersessionConflict,
    WrongExpectedVersion,
)

ALICE = "user:alice"


@pytest.mark.parametrize(
    "value", [None, 0, "", "x\x00y", 9007199254740993, 2**80, {"b": 1, "a": [1.5, None]}, []]
)
@pytest.mark.case("A08")
def test_a_fact_round_trips(memory: Memory, value: Any) -> None:
    """Values come back exactly, null and the empty string too."""
    memory.facts.set(ALICE, "k", value)
    fact = memory.facts.get(ALICE, "k")
    assert fact is not None
    assert fact.value == value
    assert repr(fact.value) == repr(value)


def test_a_fact_lives_to_its_last_millisecond(memory: Memory, clock: Clock) -> None:
    """Alive while now <= expires_at, on every path, whether or not anybody collects."""
    memory.facts.set(ALICE, "k", "the answer", ttl=timedelta(seconds=1))
    clock.pass_ms(1000)
    assert memory.facts.get(ALICE, "k") is not None
    assert memory.recall("answer", ALICE).memories
    clock.pass_ms(1)
    assert memory.facts.get(ALICE, "k") is None
    assert memory.facts.list(ALICE) == []
    assert memory.recall("answer", ALICE).memories == []


def test_setting_without_a_ttl_clears_the_old_one(memory: Memory, clock: Clock) -> None:
    """Each set says all there is to say; creation survives, expiry does not."""
    memory.facts.set(ALICE, "k", 1, ttl=1000, tags=["a"])
    created = clock.now
    clock.pass_ms(500)
    memory.facts.set(ALICE, "k", 2)
    clock.pass_ms(10_000)
    fact = memory.facts.get(ALICE, "k")
    assert fact is not None
    assert (fact.value, fact.tags, fact.created_at, fact.expires_at) == (2, (), created, None)


def test_compare_and_set_sees_what_a_reader_sees(memory: Memory, clock: Clock) -> None:
    """Version 0 is no fact: never set, deleted or expired."""
    first = memory.facts.set(ALICE, "k", 1, expected_version=0)
    with pytest.raises(WrongExpectedVersion):
        memory.facts.set(ALICE, "k", 2, expected_version=0)
    memory.facts.set(ALICE, "k", 2, ttl=10, expected_version=first.version)
    clock.pass_ms(11)
    memory.facts.set(ALICE, "k", 3, expected_version=0)
    memory.facts.delete(ALICE, "k")
    assert memory.facts.set(ALICE, "k", 4, expected_version=0).created


def test_deleting_what_is_not_there_appends_nothing(memory: Memory) -> None:
    """Silent, and no event."""
    assert memory.facts.delete(ALICE, "k").outcome == "unchanged"
    assert memory.threads.delete("t").outcome == "unchanged"
    assert memory.log.head() == 0


def test_facts_are_listed_in_binary_order(memory: Memory) -> None:
    """By key, one namespace alone, page after page."""
    for key in ("b", "a", "é", "B", "9", "10"):
        memory.facts.set(ALICE, key, 1)
    memory.facts.set("user:alicex", "zz", 1)
    assert [fact.key for fact in memory.facts.list(ALICE)] == ["10", "9", "B", "a", "b", "é"]
    assert [fact.key for fact in memory.facts.list(ALICE, after="B", limit=2)] == ["a", "b"]


@pytest.mark.case("B01")
def test_wildcards_are_ordinary_characters(memory: Memory) -> None:
    """A read of one tenant never returns another's."""
    for name in ("john-doe", "john_doe", "johnXdoe", "john%25"):
        memory.facts.set(f"user:{name}", "k", f"secret word of {name}", tags=["100%"])
    for name in ("john_doe", "john%25"):
        assert [fact.namespace for fact in memory.facts.list(f"user:{name}")] == [f"user:{name}"]
        found = memory.recall("secret word", f"user:{name}", tags=["100%"]).memories
        assert [item.namespace for item in found] == [f"user:{name}"]


def test_messages_keep_the_order_of_the_log(memory: Memory, clock: Clock) -> None:
    """A late or equal timestamp cannot reorder history."""
    memory.threads.create(ALICE, thread_id="t", title="talk")
    for number in range(5):
        early = datetime(2020, 1, 10 - number, tzinfo=UTC)
        memory.messages.save("t", f"m{number}", message_id=f"id{number}", occurred_at=early)
    assert [item.content for item in memory.messages.list("t")] == ["m0", "m1", "m2", "m3", "m4"]
    assert [item.content for item in memory.messages.list("t", limit=2)] == ["m0", "m1"]
    assert [item.content for item in memory.messages.list("t", limit=2, latest=True)] == ["m3", "m4"]
    assert [item.content for item in memory.messages.list("t", after=3)] == ["m3", "m4"]
    assert memory.messages.list("t", limit=0) == []
    thread = memory.threads.get("t")
    assert thread is not None
    assert (thread.messages, thread.updated_at) == (5, clock.now)


def test_the_same_message_again(memory: Memory) -> None:
    """Equal content is no change; other content is a new version in the old place."""
    memory.threads.create(ALICE, thread_id="t")
    memory.messages.save("t", "one", message_id="m")
    memory.messages.save("t", "two", message_id="n")
    assert memory.messages.save("t", "one", message_id="m").outcome == "unchanged"
    assert memory.messages.save("t", "one, corrected", message_id="m").outcome == "appended"
    assert [item.content for item in memory.messages.list("t")] == ["one, corrected", "two"]
    history = memory.history.message("m")
    assert [event.type for event in history.events] == ["ThreadCreated", "MessageSaved", "MessageSaved"]


def test_a_message_stays_in_its_thread(memory: Memory) -> None:
    """An id of another thread is refused, and so is an unknown or deleted thread."""
    memory.threads.create(ALICE, thread_id="t")
    memory.threads.create(ALICE, thread_id="u")
    memory.messages.save("t", "one", message_id="m")
    with pytest.raises(AlreadyExists, match="belongs to thread t"):
        memory.messages.save("u", "one", message_id="m")
    memory.threads.delete("t")
    for thread in ("t", "nowhere"):
        with pytest.raises(NotFound):
            memory.messages.save(thread, "one")
        with pytest.raises(NotFound):
            memory.messages.list(thread)
    with pytest.raises(AlreadyExists, match="was deleted"):
        memory.threads.create(ALICE, thread_id="t")
    assert memory.messages.get("m") is None
    assert memory.recall("one", ALICE).memories == []


def test_deleted_messages_leave_the_others_in_place(memory: Memory) -> None:
    """Only ids of that thread are deleted; places do not move."""
    memory.threads.create(ALICE, thread_id="t")
    for number in range(4):
        memory.messages.save("t", f"m{number}", message_id=f"id{number}")
    memory.messages.delete("t", ["id1", "unknown"])
    assert memory.messages.delete("t", ["id1"]).outcome == "unchanged"
    assert [(item.ordinal, item.content) for item in memory.messages.list("t")] == [
        (1, "m0"),
        (3, "m2"),
        (4, "m3"),
    ]
    memory.messages.save("t", "last")
    assert memory.messages.list("t")[-1].ordinal == 5


@pytest.mark.parametrize(
    "content", ["", "\n\n", "  ", [], [{"type": "text", "text": " "}], None, 7, {"a": "b"}]
)
@pytest.mark.case("A04")
def test_blank_or_foreign_content_is_refused(memory: Memory, content: Any) -> None:
    """A message has text in it, as a string or in parts; a note has a body."""
    memory.threads.create(ALICE, thread_id="t")
    with pytest.raises(InvalidInput):
        memory.messages.save("t", content)
    if not isinstance(content, list):
        with pytest.raises(InvalidInput):
            memory.notes.save(ALICE, content)
    assert memory.log.head() == 1


def test_a_note_is_hidden_while_its_superseder_is_accepted(memory: Memory) -> None:
    """Reversible, not transitive, and visible from both ends at once."""
    memory.notes.save(ALICE, "the port is 1", note_id="a")
    memory.notes.save(ALICE, "the port is 2", note_id="b", supersedes=["a"])
    memory.notes.save(ALICE, "the port is 3", note_id="c", supersedes=["b"], status="pending")
    assert [note.note_id for note in memory.notes.list(ALICE)] == ["b"]
    memory.notes.set_status("c", "accepted")
    assert [note.note_id for note in memory.notes.list(ALICE)] == ["c"]
    memory.notes.set_status("c", "rejected", reason="wrong")
    assert [note.note_id for note in memory.notes.list(ALICE)] == ["b"]
    assert [item.id for item in memory.recall("port", ALICE).memories] == ["b"]
    memory.notes.set_status("b", "rejected")
    assert [note.note_id for note in memory.notes.list(ALICE)] == ["a"]
    everything = memory.notes.list(ALICE, status="any", include_superseded=True)
    assert [note.note_id for note in everything] == ["a", "b", "c"]
    links = {(link.relation, link.note_id, link.status) for link in memory.history.note("b").links}
    assert links == {("supersedes", "a", "accepted"), ("superseded by", "c", "rejected")}
    assert [event.type for event in memory.history.note("c").events] == [
        "NoteSaved",
        "NoteStatusChanged",
        "NoteStatusChanged",
    ]


def test_notes_never_change(memory: Memory) -> None:
    """An equal body returns the note; another body under the id is a conflict."""
    memory.notes.save(ALICE, "one", note_id="a")
    assert memory.notes.save(ALICE, "one", note_id="a").created is False
    with pytest.raises(NoteConflict) as conflict:
        memory.notes.save("user:bob", "two", note_id="a")
    assert (conflict.value.note_id, conflict.value.namespace) == ("a", ALICE)


def test_a_note_states_relations(memory: Memory) -> None:
    """In the order given, each once; they are data of its event, and nothing of one that states none."""
    stated = [("owns", "payments-api"), ("see", "note:n1"), ("owns", "payments-api"), ("owns", "a:b")]
    memory.notes.save(ALICE, "a", note_id="n1", relates=stated)
    memory.notes.save(ALICE, "b", note_id="n2")
    assert memory.notes.relates("n1") == [("owns", "payments-api"), ("see", "note:n1"), ("owns", "a:b")]
    assert memory.notes.relates("n2") == []
    first, second = (memory.history.note(name).events[0].record.parts() for name in ("n1", "n2"))
    assert first[1]["relates"][0] == {"kind": "owns", "entity": "payments-api"}
    assert second == ({}, {"body": "b"})
    # An equal body is the same note; what it states stays as it is.
    assert memory.notes.save(ALICE, "b", note_id="n2", relates=stated).outcome == "unchanged"
    assert memory.notes.relates("n2") == []
    with pytest.raises(NotFound, match="no note n3"):
        memory.notes.relates("n3")


@pytest.mark.parametrize(
    ("relates", "path"),
    [
        (["owns:x"], "relates[0]"),
        ("owns", "relates[0]"),
        ([("owns", "x"), ("owns",)], "relates[1]"),
        ([("", "x")], "relates[0].kind"),
        ([("owns", " x")], "relates[0].entity"),
        ([("owns", 3)], "relates[0].entity"),
        ([("a:b", "x")], "relates[0].kind"),
        ([("supersedes", "note:n1")], "relates[0].kind"),
        ([("owns", f"x{number}") for number in range(33)], "relates"),
    ],
)
def test_relations_that_cannot_be_stated(memory: Memory, relates: Any, path: str) -> None:
    """Refused, with the path of the bad one; nothing was written."""
    with pytest.raises(InvalidInput) as caught:
        memory.notes.save(ALICE, "a", relates=relates)
    assert caught.value.path == path
    assert memory.log.head() == 0


def test_supersession_is_checked_in_the_append(memory: Memory) -> None:
    """Unknown target, itself, another namespace, a second superseder: refused, nothing appended."""
    memory.notes.save(ALICE, "a", note_id="a")
    memory.notes.save("user:bob", "b", note_id="b")
    memory.notes.save(ALICE, "c", note_id="c", supersedes=["a"])
    head = memory.log.head()
    with pytest.raises(NotFound):
        memory.notes.save(ALICE, "x", note_id="x", supersedes=["nowhere"])
    with pytest.raises(InvalidSupersession):
        memory.notes.save(ALICE, "x", note_id="x", supersedes=["x"])
    with pytest.raises(InvalidSupersession):
        memory.notes.save(ALICE, "x", note_id="x", supersedes=["b"])
    with pytest.raises(SupersessionConflict) as conflict:
        memory.notes.save(ALICE, "x", note_id="x", supersedes=["a"])
    assert (conflict.value.target, conflict.value.winner) == ("a", "c")
    assert memory.log.head() == head
    memory.notes.save(ALICE, "d", note_id="d", supersedes=["a"], allow_fork=True)
    memory.notes.save(ALICE, "e", note_id="e", supersedes=["c"], status="pending")
    memory.notes.save(ALICE, "f", note_id="f", supersedes=["c"])
    with pytest.raises(SupersessionConflict):
        memory.notes.set_status("e", "accepted")


def test_a_missing_target_may_be_allowed(memory: Memory) -> None:
    """It is superseded from the moment it comes, wherever that is; itself and circles stay refused."""
    memory.notes.save(ALICE, "b", note_id="b", supersedes=["a", "elsewhere"], allow_missing=True)
    assert [(link.note_id, link.status) for link in memory.history.note("b").links] == [
        ("a", None),
        ("elsewhere", None),
    ]
    for targets in (["b"], ["c", "b"]):
        with pytest.raises(InvalidSupersession):
            memory.notes.save(ALICE, "a", note_id="a", supersedes=targets, allow_missing=True)
    with pytest.raises(InvalidSupersession):
        memory.notes.save(ALICE, "x", note_id="x", supersedes=["x"], allow_missing=True)
    memory.notes.save(ALICE, "the port is 1", note_id="a")
    memory.notes.save("user:bob", "the port is 1", note_id="elsewhere")
    for namespace in (ALICE, "user:bob"):
        assert "a" not in [note.note_id for note in memory.notes.list(namespace)]
        assert memory.recall("port", namespace).memories == []
    with pytest.raises(SupersessionConflict):
        memory.notes.save(ALICE, "c", note_id="c", supersedes=["a"])
    memory.notes.set_status("b", "rejected")
    assert [item.id for item in memory.recall("port", ALICE).memories] == ["a"]
    assert [item.id for item in memory.recall("port", "user:bob").memories] == ["elsewhere"]


def test_another_namespace_may_be_allowed(memory: Memory) -> None:
    """A note of one namespace then hides one of another; a missing target stays refused."""
    memory.notes.save("user:bob", "a", note_id="a")
    memory.notes.save(ALICE, "b", note_id="b", supersedes=["a"], allow_other_namespace=True)
    assert memory.notes.list("user:bob") == []
    with pytest.raises(NotFound):
        memory.notes.save(ALICE, "c", note_id="c", supersedes=["x"], allow_other_namespace=True)


def test_a_status_changes_when_it_did(memory: Memory, clock: Clock) -> None:
    """An imported change has its own time; without one it is now."""
    memory.notes.save(ALICE, "a", note_id="a", status="pending")
    early = datetime(2020, 1, 1, tzinfo=UTC)
    memory.notes.set_status("a", "accepted", occurred_at=early)
    note = memory.notes.get("a")
    assert note is not None
    assert note.status_changed_at == early.timestamp() * 1000
    memory.notes.set_status("a", "rejected")
    note = memory.notes.get("a")
    assert note is not None
    assert note.status_changed_at == clock.now


def test_an_imported_fact_has_its_own_times(memory: Memory, clock: Clock) -> None:
    """An end that may be past, and a beginning before its value; the next set is a set like any."""
    born = datetime(2019, 5, 1, tzinfo=UTC)
    changed = datetime(2020, 5, 1, tzinfo=UTC)
    times = {"created_at": born, "occurred_at": changed}
    memory.facts.set(ALICE, "k", 1, **times)  # type: ignore[arg-type]
    fact = memory.facts.get(ALICE, "k")
    assert fact is not None
    assert (fact.created_at, fact.updated_at) == (born.timestamp() * 1000, changed.timestamp() * 1000)
    memory.facts.set(ALICE, "k", 2)
    fact = memory.facts.get(ALICE, "k")
    assert fact is not None
    assert (fact.created_at, fact.updated_at) == (born.timestamp() * 1000, clock.now)
    memory.facts.set(ALICE, "k", 3, expires_at=changed, **times)  # type: ignore[arg-type]
    assert memory.facts.get(ALICE, "k") is None
    memory.facts.set(ALICE, "k", 4)
    fact = memory.facts.get(ALICE, "k")
    assert fact is not None
    assert fact.created_at == clock.now


def test_the_times_of_a_fact_are_part_of_its_request(memory: Memory) -> None:
    """The same key with another end is another request; a ttl and an end contradict each other."""
    end = datetime(2027, 1, 1, tzinfo=UTC)
    for expected in ("appended", "already appended"):
        receipt = memory.facts.set(ALICE, "k", 1, expires_at=end, idempotency_key="i")
        assert receipt.outcome == expected
    with pytest.raises(IdempotencyConflict):
        memory.facts.set(ALICE, "k", 1, expires_at=end + timedelta(days=1), idempotency_key="i")
    with pytest.raises(InvalidInput, match="together with a ttl"):
        memory.facts.set(ALICE, "k", 1, expires_at=end, ttl=1)
    with pytest.raises(InvalidInput, match="expires_at: has no time zone"):
        memory.facts.set(ALICE, "k", 1, expires_at=end.replace(tzinfo=None))


def test_the_status_machine(memory: Memory) -> None:
    """Pending to accepted or rejected, and between those; the same again is no change."""
    memory.notes.save(ALICE, "a", note_id="a", status="pending")
    assert memory.notes.set_status("a", "pending").outcome == "unchanged"
    memory.notes.set_status("a", "accepted")
    with pytest.raises(InvalidTransition):
        memory.notes.set_status("a", "pending")
    with pytest.raises(InvalidInput):
        memory.notes.set_status("a", "perhaps")
    with pytest.raises(NotFound):
        memory.notes.set_status("b", "accepted")
    memory.notes.set_status("a", "rejected")
    note = memory.notes.get("a")
    assert note is not None
    assert note.status == "rejected"


@pytest.mark.case("E01")
def test_a_circle_in_an_old_log_ends_every_walk(memory: Memory) -> None:
    """An imported circle cannot be cleaned, but history and further saves work."""
    memory.notes.save(ALICE, "a", note_id="a")
    memory.notes.save(ALICE, "b", note_id="b", supersedes=["a"])
    with memory.log.write() as transaction:
        transaction.connection.execute(
            "INSERT INTO foldlog_supersessions SELECT 'b', memory_id FROM foldlog_notes WHERE note_id = 'a'"
        )
    assert {link.note_id for link in memory.history.note("a").links} == {"b"}
    memory.notes.save(ALICE, "c", note_id="c", supersedes=["a"], allow_fork=True)


@pytest.mark.parametrize(
    "tags", ["text", ["x"] * 2 + [f"t{number}" for number in range(16)], ["t" * 129], [" a"]]
)
def test_tags_have_limits(memory: Memory, tags: Any) -> None:
    """At most 16 distinct ones, of at most 128 characters, and never a bare string."""
    with pytest.raises(InvalidInput):
        memory.facts.set(ALICE, "k", 1, tags=tags)


def test_history_of_nothing(memory: Memory) -> None:
    """What never was is an error, not an empty history."""
    for ask in (
        lambda: memory.history.note("n"),
        lambda: memory.history.thread("t"),
        lambda: memory.history.message("m"),
        lambda: memory.history.fact(ALICE, "k"),
    ):
        with pytest.raises(NotFound):
            ask()


@pytest.mark.parametrize("limit", [0, -1, 1001, True, "5"])
def test_a_recall_has_a_sensible_limit(memory: Memory, limit: Any) -> None:
    """Refused, not clipped in silence."""
    with pytest.raises(InvalidInput):
        memory.recall("what", ALICE, limit=limit)


def test_a_blank_question_is_refused(memory: Memory) -> None:
    """Nobody asked anything."""
    with pytest.raises(InvalidInput):
        memory.recall("  \n", ALICE)


@pytest.mark.parametrize(
    "query", ["' OR 1=1 --", '"quoted', "a:b | (c", "NEAR(x) AND NOT *", "What's up?", "<a@b.c>", "\x00"]
)
def test_a_question_is_literal_text(memory: Memory, query: str) -> None:
    """No character of it is syntax, and none is an error."""
    memory.facts.set(ALICE, "k", "what is up with quoted a and b at a@b.c")
    memory.recall(query, ALICE)
