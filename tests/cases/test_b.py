"""Kind B: ids, namespaces and tags that mean something to somebody's syntax."""

from __future__ import annotations

import random
from typing import Any

import pytest

from fixtures.index import difference
from foldlog import Memory
from foldlog.errors import InvalidInput
from foldlog.names import MAX_NAME_BYTES, format_namespace

ALICE = "user:alice"

#: Alike to LIKE, to GLOB, to a regular expression, or to who ignores case.
ALIKE = (
    "john_doe",
    "john-doe",
    "johnXdoe",
    "john%",
    "JOHN_DOE",
    "john\\_doe",
    "john*",
    "john?doe",
    "john.doe",
)


@pytest.mark.case("B01")
def test_wildcards_in_names_match_nothing_else(indexed_memory: Memory) -> None:
    """Search, recall from log and index, list and delete of one: never another's."""
    memory = indexed_memory
    for name in ALIKE:
        namespace = format_namespace("user", name)
        memory.facts.set(namespace, name, f"the word of {name}", tags=[name, "100%"])
        memory.threads.create(namespace, thread_id=name)
        memory.messages.save(name, f"the word of {name}", message_id=name)
        memory.retained.add(namespace, f"the word of {name}", document=name)
        memory.primers.set(namespace, name, f"primer of {name}")
    for folded in (False, True):
        if folded:
            memory.catch_up()
        for name in ALIKE:
            namespace = format_namespace("user", name)
            assert [fact.key for fact in memory.facts.list(namespace)] == [name]
            assert [thread.thread_id for thread in memory.threads.list(namespace)] == [name]
            assert [item.document for item in memory.retained.list(namespace, name)] == [name]
            assert [primer.name for primer in memory.primers.list(namespace)] == [name]
            for filters in ({}, {"tags": [name]}, {"where": {"tags": [name, "100%"]}}):
                found = memory.recall("word", namespace, **filters).memories  # type: ignore[arg-type]
                assert {item.namespace for item in found} == {namespace}
                assert {item.kind for item in found} == (
                    {"fact"} if filters else {"fact", "message", "retained"}
                )
            everywhere = [format_namespace("user", other) for other in ALIKE]
            (only,) = memory.recall("word", everywhere, tags=[name]).memories
            assert only.namespace == namespace
            searched = memory.search("word", tags=[name])
            assert [item.item.name for item in searched] == [name]
    memory.facts.delete("user:john_doe", "john_doe")
    memory.threads.delete("john_doe")
    memory.retained.delete_document("user:john_doe", "john_doe")
    assert len(memory.facts.list()) == len(memory.threads.list()) == len(ALIKE) - 1


@pytest.mark.case("B03")
def test_separators_do_not_join_names(indexed_memory: Memory, database_url: str) -> None:
    """Names that look alike once joined stay apart: in the log, in its reads, in the index, in recall."""
    memory = indexed_memory
    pairs = [
        (format_namespace("user", one), other)
        for one, other in (
            ("a", "b:c"),
            ("a:b", "c"),
            ("a", "b/c"),
            ("a/b", "c"),
            ("a%2Fb", "c"),
            ("a%3Ab", "c"),
            ("a.b", "c"),
            ("a|b", "c"),
            ("a", "b|c"),
        )
    ]
    assert len({f"{namespace} {key}" for namespace, key in pairs}) == len(pairs)
    for place, (namespace, key) in enumerate(pairs):
        memory.facts.set(namespace, key, f"word {place}", idempotency_key=key)
        memory.primers.set(namespace, key, f"primer {place}")
    memory.catch_up()
    assert difference(memory, database_url) == []
    assert len(memory.facts.list()) == len(pairs)
    for place, (namespace, key) in enumerate(pairs):
        fact, primer = memory.facts.get(namespace, key), memory.primers.get(namespace, key)
        assert fact is not None
        assert primer is not None
        assert (fact.value, primer.text) == (f"word {place}", f"primer {place}")
        assert (namespace, key) in {
            (item.namespace, item.id) for item in memory.recall(f"word {place}", namespace).memories
        }
    for place, (namespace, key) in enumerate(pairs):
        memory.facts.delete(namespace, key)
        assert len(memory.facts.list()) == len(pairs) - place - 1
    for bad in ("user:a:b", "user:a%2Fb", "a:b", "user"):
        with pytest.raises(InvalidInput):
            memory.facts.set(bad, "c", 1)


def _uses(memory: Memory, name: str) -> list[Any]:
    """Return every call that takes a name, with this one."""
    return [
        lambda: memory.facts.set(ALICE, name, 1),
        lambda: memory.facts.set(f"user:{name}", "k", 1),
        lambda: memory.facts.set(ALICE, "k", 1, tags=[name]),
        lambda: memory.facts.set(ALICE, "k", 1, idempotency_key=name),
        lambda: memory.threads.create(ALICE, thread_id=name),
        lambda: memory.messages.save("t", "x", message_id=name),
        lambda: memory.messages.save("t", "x", author=name),
        lambda: memory.messages.save("t", "x", role=name),
        lambda: memory.notes.save(ALICE, "x", note_id=name),
        lambda: memory.notes.save(ALICE, "x", kind=name),
        lambda: memory.retained.add(ALICE, "x", retained_id=name),
        lambda: memory.retained.add(ALICE, "x", document=name),
        lambda: memory.primers.set(ALICE, name, "x"),
    ]


@pytest.mark.case("B05")
@pytest.mark.parametrize(
    "name",
    [
        "x" * (MAX_NAME_BYTES + 1),
        "é" * 257,
        "x" * 2700,
        "x" * 100_000,
        "".join(random.Random(5).choices("abcdefghij", k=2700)),
        "a\nb",
        "a\tb",
        "a\x00b",
        "a\x7fb",
        "a\u0085b",
        "a\u202eb",
        "a\u200bb",
        " a",
        "a ",
        "\u3000a",
        "cafe\u0301",
        "\ud800",
    ],
)
def test_names_that_no_store_gets(memory: Memory, name: str) -> None:
    """One limit for all of them, checked before anything is written."""
    memory.threads.create(ALICE, thread_id="t")
    for use in _uses(memory, name):
        with pytest.raises(InvalidInput):
            use()
    assert memory.log.head() == 1


@pytest.mark.case("B05")
def test_a_name_is_not_empty(memory: Memory) -> None:
    """Only a namespace's id may be: it is a namespace like any other."""
    memory.threads.create(ALICE, thread_id="t")
    namespace = 1
    for place, use in enumerate(_uses(memory, "")):
        if place != namespace:
            with pytest.raises(InvalidInput):
                use()
    assert memory.log.head() == 1
    memory.facts.set("user:", "k", 1)
    assert len(memory.facts.list("user:")) == 1


@pytest.mark.case("B05")
@pytest.mark.parametrize("letters", ["x", "é", "日", "abcdefghijklmnopqrstuvwxyz0123456789"])
def test_the_longest_names_are_folded(indexed_memory: Memory, database_url: str, letters: str) -> None:
    """Whatever is accepted is in the index too, also when it does not compress."""
    size = MAX_NAME_BYTES // len(letters[0].encode())
    drawn = random.Random(7)

    def name(length: int = size) -> str:
        return "".join(drawn.choices(letters, k=length))

    memory = indexed_memory
    thread = name()
    memory.threads.create(f"user:{name(size - 10)}", thread_id=thread)
    memory.messages.save(thread, "word", message_id=name(), author=name(), role=name())
    memory.facts.set(f"user:{name(size - 10)}", name(), "word", tags=[name(100) for _ in range(16)])
    memory.notes.save(ALICE, "word", note_id=name(), author=name(), kind=name())
    memory.retained.add(ALICE, "word", retained_id=name(), document=name())
    memory.catch_up()
    assert difference(memory, database_url) == []
    assert len(memory.recall("word", ALICE).memories) == 2
