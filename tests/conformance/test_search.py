"""Search by words in the log: items 94 to 111 of the contract."""

from __future__ import annotations

import sqlite3

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fixtures.logs import Clock
from foldlog import Memory
from foldlog.errors import InvalidInput

ALICE, BOB, WORK = "user:alice", "user:bob", "workflow:w"


def ids(memory: Memory, query: str, *namespaces: str, **filters: object) -> list[str]:
    found = memory.search(query, namespaces, kinds=("note",), **filters)  # type: ignore[arg-type]
    return [item.item.note_id for item in found]  # type: ignore[union-attr]


@pytest.mark.conformance(94, 95, 97, 98, 99)
def test_every_kind_of_namespace_can_be_searched_at_once(memory: Memory) -> None:
    """Nothing has to be switched on: facts, messages and notes of all four kinds are found."""
    for kind in ("workflow", "agent", "user", "global"):
        memory.facts.set(f"{kind}:a", "tea", "oolong")
        memory.threads.create(f"{kind}:a", thread_id=kind)
        memory.messages.save(kind, "oolong again")
        memory.notes.save(f"{kind}:a", "oolong for good")
    found = memory.search("oolong")
    assert sorted((item.item.namespace, item.kind) for item in found) == sorted(
        (f"{kind}:a", memory)
        for kind in ("workflow", "agent", "user", "global")
        for memory in ("fact", "message", "note")
    )


@pytest.mark.conformance(96, 104)
@pytest.mark.parametrize("query", ["", " ", "\t\n", "!?", "…", "()[]{}", "***", '"""', "-", "🦊"])
def test_nothing_to_search_for_finds_nothing(memory: Memory, query: str) -> None:
    """A blank query, or one of punctuation, is no error."""
    memory.notes.save(ALICE, "a fox! (really) 🦊")
    assert memory.search(query) == []
    assert memory.search(query, ALICE) == []


@pytest.mark.conformance(100)
def test_the_read_contract_applies_and_filters_widen_it(memory: Memory) -> None:
    """Accepted and not superseded, unless asked for more."""
    memory.notes.save(ALICE, "tea old", note_id="old")
    memory.notes.save(ALICE, "tea new", note_id="new", supersedes=["old"], kind="fact")
    memory.notes.save(ALICE, "tea maybe", note_id="maybe", status="pending")
    memory.notes.save(ALICE, "tea never", note_id="never", status="rejected")
    assert ids(memory, "tea") == ["new"]
    assert sorted(ids(memory, "tea", include_superseded=True)) == ["new", "old"]
    assert ids(memory, "tea", status="pending") == ["maybe"]
    assert sorted(ids(memory, "tea", status=["pending", "rejected"])) == ["maybe", "never"]
    assert sorted(ids(memory, "tea", status="any")) == ["maybe", "never", "new"]
    assert sorted(ids(memory, "tea", status="any", include_superseded=True)) == [
        "maybe",
        "never",
        "new",
        "old",
    ]
    assert ids(memory, "tea", status=[]) == []
    assert ids(memory, "tea", note_kind="fact") == ["new"]
    memory.notes.set_status("new", "rejected")
    assert ids(memory, "tea") == ["old"]
    with pytest.raises(InvalidInput, match="status"):
        memory.search("tea", status="done")


@pytest.mark.conformance(101)
def test_namespaces_narrow_and_their_kind_spans(memory: Memory) -> None:
    """The whole log, all namespaces of one kind, or those that are named."""
    for namespace in (ALICE, BOB, WORK, "user:a%3Ab"):
        memory.notes.save(namespace, "tea", note_id=namespace)
    assert ids(memory, "tea") == [ALICE, BOB, WORK, "user:a%3Ab"]
    assert ids(memory, "tea", namespace_kind="user") == [ALICE, BOB, "user:a%3Ab"]
    assert ids(memory, "tea", BOB, WORK) == [BOB, WORK]
    assert ids(memory, "tea", "user:nobody") == []
    with pytest.raises(InvalidInput, match="namespace_kind"):
        memory.search("tea", namespace_kind="team")


@pytest.mark.conformance(102)
@pytest.mark.parametrize(
    "text",
    [
        "error: disk",
        "it's broken",
        "cats AND dogs",
        "cats OR dogs",
        "NOT cats",
        "cats NEAR dogs",
        "-minus sign",
        "(round brackets)",
        "{curly brackets}",
        "^caret first",
        'an "embedded quote"',
        'half a "quote',
        "column : value",
        "a+b=c",
        "semi;colon -- comment",
    ],
)
def test_a_query_is_literal_text(memory: Memory, text: str) -> None:
    """What is syntax elsewhere is words here: the note that says it is found, and no other."""
    memory.notes.save(ALICE, f"she said {text} today", note_id="right")
    memory.notes.save(ALICE, "zebra", note_id="other")
    assert ids(memory, text) == ["right"]


@pytest.mark.conformance(103)
def test_a_star_is_no_prefix(memory: Memory) -> None:
    """`tea*` finds `tea`, not `teapot`."""
    memory.notes.save(ALICE, "teapot", note_id="pot")
    memory.notes.save(ALICE, "tea", note_id="tea")
    assert ids(memory, "tea*") == ["tea"]
    assert ids(memory, "tea *") == ["tea"]


@pytest.mark.conformance(105, 106)
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("alpha\0omega", ["right"]),
        ("\0", []),
        ("alpha\ud800omega", ["right"]),
        ("\ud800", []),
        ("\udfff\ud800", []),
        ("alpha🦊omega", ["right"]),
        ("alphaomega", []),
    ],
)
def test_what_is_no_letter_separates_words(memory: Memory, query: str, expected: list[str]) -> None:
    """NUL, half a surrogate pair, emoji: in a query and in a stored text."""
    memory.notes.save(ALICE, "alpha\0omega", note_id="right")
    assert ids(memory, query) == expected
    memory.notes.save(BOB, "alpha🦊omega", note_id="fox")
    assert ids(memory, "omega", BOB) == ["fox"]


@pytest.mark.conformance(107)
@pytest.mark.parametrize(
    ("stored", "query"),
    [
        ("one\u2003two\u00a0three", "two three"),
        ("one two three", "two\u3000three"),
        ("caf\u00e9 noir", "cafe\u0301"),
        ("cafe\u0301 noir", "caf\u00e9"),
        ("東京都の天気", "東京"),
        ("日本語のテスト", "テスト"),
        ("한국어 검색", "검색"),
        ("Straße", "straße"),
        ("ΑΘΗΝΑ", "αθηνα"),
    ],
)
def test_unicode_meets_unicode(memory: Memory, stored: str, query: str) -> None:
    """Spaces, scripts without spaces, composed and decomposed accents, case."""
    memory.notes.save(ALICE, stored, note_id="right")
    assert ids(memory, query) == ["right"]


@pytest.mark.conformance(108)
def test_all_words_first_the_shorter_first_and_stable(memory: Memory, clock: Clock) -> None:
    """One that has all words hides those that have some; equal ones go by age."""
    memory.notes.save(ALICE, "green tea and a long story about how it is grown and sold", note_id="long")
    memory.notes.save(ALICE, "green tea", note_id="short")
    memory.notes.save(ALICE, "green", note_id="some")
    memory.notes.save(ALICE, "green tea", note_id="twin")
    assert ids(memory, "green tea") == ["short", "twin", "long"]
    assert all(ids(memory, "green tea") == ["short", "twin", "long"] for _ in range(5))


@pytest.mark.conformance(109)
def test_what_is_hidden_takes_nobodys_place(memory: Memory, clock: Clock) -> None:
    """Thirty hidden ones that match better: the five that may be shown are all found."""
    for number in range(30):
        memory.notes.save(ALICE, "tea", note_id=f"hidden{number}", status="pending")
        memory.facts.set(ALICE, f"gone{number}", "tea", ttl=1)
        memory.notes.save(BOB, "tea", note_id=f"other{number}")
    clock.pass_ms(10)
    for number in range(5):
        memory.notes.save(ALICE, f"tea {number} with a good deal more to say", note_id=f"live{number}")
    assert [item.kind for item in memory.search("tea", ALICE, limit=5)] == ["note"] * 5
    assert ids(memory, "tea", ALICE, limit=5) == [f"live{number}" for number in range(5)]


@pytest.mark.conformance(110)
@pytest.mark.parametrize("limit", [-1, 1.5, "3", None, True, 1001])
def test_impossible_limits_are_refused(memory: Memory, limit: object) -> None:
    """A whole number from 0; 0 finds nothing."""
    with pytest.raises(InvalidInput, match="limit"):
        memory.search("tea", limit=limit)  # type: ignore[arg-type]
    memory.notes.save(ALICE, "tea")
    assert memory.search("tea", limit=0) == []


@pytest.mark.conformance(111)
def test_a_sentence_finds_what_has_some_of_its_words(memory: Memory) -> None:
    """No memory has all of them; the common ones count least, and words are stemmed."""
    for number in range(40):
        memory.notes.save(ALICE, f"the report of day {number} was filed", note_id=f"r{number}")
    memory.notes.save(ALICE, "deployments fail when the migration is locked", note_id="right")
    found = ids(memory, "Please write the report: why did the deployment fail during our migrations?")
    assert found == ["right"]


@pytest.mark.conformance(111)
def test_a_question_of_common_words_alone_still_finds(memory: Memory) -> None:
    """If every word is common, they are what is searched for."""
    for number in range(40):
        memory.notes.save(ALICE, "report filed" if number % 2 else "report kept", note_id=f"r{number}")
    assert len(ids(memory, "report filed kept", limit=100)) == 40


def test_facts_tags_and_as_json(memory: Memory) -> None:
    """Tags narrow; a fact is found by its key; what is found has a form in JSON."""
    memory.facts.set(ALICE, "tea", {"kind": "oolong"}, tags=["drink"])
    memory.facts.set(ALICE, "coffee", {"kind": "oolong"}, tags=["drink", "hot"])
    assert len(memory.search("oolong", tags=["drink"])) == 2
    (found,) = memory.search("oolong", tags=["drink", "hot"])
    assert found.as_dict()["kind"] == "fact"
    assert found.as_dict()["memory"]["key"] == "coffee"
    assert [item.as_dict()["memory"]["key"] for item in memory.search("tea")] == ["tea"]


@settings(max_examples=200, deadline=None)
@given(query=st.text(max_size=60))
def test_any_text_is_a_query(query: str) -> None:
    """Nothing a person, or a model, can write breaks a search."""
    from foldlog.projections import analysis
    from foldlog.projections.local import text

    connection = sqlite3.connect(":memory:")
    connection.execute(
        "CREATE VIRTUAL TABLE t USING fts5 (scope, words, tokenize = \"ascii tokenchars '_-./:@#+='\")"
    )
    for word in analysis.query_words(query):
        connection.execute("SELECT * FROM t WHERE t MATCH ?", (f"{{words}} : {text.any_of([word])}",))
    connection.close()
