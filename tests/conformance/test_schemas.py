"""Schemas of facts, item 42 of the conformance list: what fails is refused, and what passed says by which."""

from __future__ import annotations

import dataclasses
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pydantic
import pytest

from foldlog import Memory, composition
from foldlog.errors import InvalidInput, SchemaViolation, SettingsError
from foldlog.events import reader
from foldlog.events.types import FactSet
from foldlog.settings import Settings

ALICE = "user:alice"


class Person(pydantic.BaseModel):
    name: str
    ages: list[int] = []


class Struct(msgspec.Struct):
    name: str
    ages: list[int] = []


def is_person(value: Any) -> None:
    if not isinstance(value, dict) or not isinstance(value.get("name"), str):
        raise TypeError("is no person")


JSON_SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "ages": {"type": "array", "items": {"$ref": "#/$defs/age"}}},
    "required": ["name"],
    "$defs": {"age": {"type": "integer", "minimum": 0}},
}

SCHEMAS = {
    "json schema": JSON_SCHEMA,
    "pydantic": Person,
    "adapter": pydantic.TypeAdapter(Person),
    "msgspec": Struct,
    "function": is_person,
}

Open = Callable[..., Memory]


@pytest.fixture
def opened(tmp_path: Path) -> Any:
    memories: list[Memory] = []

    def open_with(schemas: Any = None, file: Path | None = None) -> Memory:
        given = Settings(
            log=tmp_path / "memory.db",
            database_url="postgresql:///none?host=/nowhere",
            schemas=None if file is None else str(file),
        )
        memories.append(composition.open_memory(settings=given, schemas=schemas))
        return memories[-1]

    yield open_with
    for memory in memories:
        memory.close()


@pytest.mark.conformance(42)
@pytest.mark.parametrize("kind", SCHEMAS)
def test_a_value_is_held_against_its_schema(opened: Open, kind: str) -> None:
    """What passes is stored as it was given, with the schema's fingerprint; what fails appends nothing."""
    memory = opened({"user:*/profile": SCHEMAS[kind]})
    value = {"name": "Alice", "ages": [7], "more": None}
    memory.facts.set(ALICE, "profile", value)
    fact = memory.facts.get(ALICE, "profile")
    assert fact is not None
    assert fact.value == value
    assert fact.schema is not None
    assert len(fact.schema) == 16
    assert fact.as_dict()["schema"] == fact.schema
    (event,) = memory.history.fact(ALICE, "profile").events
    assert isinstance(event.record, FactSet)
    assert (event.record.schema, event.schema_version) == (fact.schema, 2)
    with pytest.raises(SchemaViolation) as refused:
        memory.facts.set(ALICE, "profile", {"ages": [1]})
    assert (refused.value.pattern, refused.value.schema) == ("user:*/profile", fact.schema)
    assert isinstance(refused.value, InvalidInput)
    assert memory.log.head() == 1


@pytest.mark.conformance(42)
@pytest.mark.parametrize(
    ("kind", "path"),
    [
        ("json schema", "value.ages[1]"),
        ("pydantic", "value.ages[1]"),
        ("adapter", "value.ages[1]"),
        ("msgspec", "value.ages[1]"),
    ],
)
def test_the_error_names_the_place(opened: Open, kind: str, path: str) -> None:
    """Whatever the schema's kind."""
    memory = opened({"user:*/profile": SCHEMAS[kind]})
    with pytest.raises(SchemaViolation, match="schema of user:") as refused:
        memory.facts.set(ALICE, "profile", {"name": "Alice", "ages": [1, "two"]})
    assert refused.value.path == path


@pytest.mark.conformance(42)
def test_without_a_schema_nothing_is_stored_of_one(opened: Open) -> None:
    """Other keys and namespaces are free, and their events are what they were before there were schemas."""
    memory = opened({"user:*/profile": JSON_SCHEMA, "agent:a?/b[12]": bool})
    free = [("agent:x", "profile"), (ALICE, "profiles"), (ALICE, "a/profile"), ("agent:ab", "b3")]
    for namespace, key in free:
        memory.facts.set(namespace, key, 1)
        fact = memory.facts.get(namespace, key)
        assert fact is not None
        assert fact.schema is None
    for event in next(iter(reader.pages(memory.log))):
        assert event.schema_version == 1
        assert "schema" not in event.as_dict()["data"]
    for namespace, key in (("user:", "profile"), ("user:a%3Ab", "profile"), ("agent:ab", "b1")):
        with pytest.raises(SchemaViolation):
            memory.facts.set(namespace, key, 1)


def test_the_first_pattern_counts(opened: Open) -> None:
    """In the order they were given, and those given later come last."""
    memory = opened({"user:alice/*": str, "user:*/*": int})
    memory.facts.set(ALICE, "k", "text")
    memory.facts.set("user:bob", "k", 1)
    memory.facts.schema("agent:*/n", int)
    memory.facts.schema("agent:*/*", str)
    for ask in (
        lambda: memory.facts.set(ALICE, "k", 1),
        lambda: memory.facts.set("agent:a", "n", "text"),
        lambda: memory.by(memory._writer.by).facts.set("agent:a", "m", 1),
    ):
        with pytest.raises(SchemaViolation):
            ask()
    assert memory.log.head() == 2


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        (str, ["", "x"], [1, None, ["x"]]),
        (int, [1, 2**80], [True, 1.0, "1"]),
        (float, [1, 1.5], [True, "1.5"]),
        (bool, [True], [1, None]),
        (dict, [{}], [[], None]),
        (list, [[]], [{}, "x"]),
        (lambda value: value > 3, [4], [3, "text", None]),
        ({"type": ["integer", "null"]}, [1, None], [1.5, "x"]),
    ],
)
def test_small_schemas(opened: Open, schema: Any, good: list[Any], bad: list[Any]) -> None:
    """The types of JSON, without one standing for another, and functions that raise or say False."""
    memory = opened({"user:*/k": schema})
    for value in good:
        memory.facts.set(ALICE, "k", value)
    for value in bad:
        with pytest.raises(SchemaViolation):
            memory.facts.set(ALICE, "k", value)
    assert memory.log.head() == len(good)


@dataclasses.dataclass
class Plain:
    name: str


@pytest.mark.parametrize(
    ("pattern", "schema", "message"),
    [
        ("user:*", str, "must be namespace/key"),
        ("/k", str, "must be namespace/key"),
        ("user:*/", str, "must be namespace/key"),
        ("user:*/k", {"type": "strange"}, "is no JSON Schema"),
        ("user:*/k", Plain, "which is none"),
        ("user:*/k", "text", "which is none"),
        ("user:*/k", None, "which is none"),
    ],
)
def test_what_is_no_schema(opened: Open, memory: Memory, pattern: str, schema: Any, message: str) -> None:
    """Refused when it is given, not when the first value comes."""
    with pytest.raises(InvalidInput, match=message):
        opened({pattern: schema})
    with pytest.raises(InvalidInput, match=message):
        memory.facts.schema(pattern, schema)


def test_a_fingerprint_is_the_schemas(opened: Open) -> None:
    """Equal for equal schemas, whatever the order of their keys; another when it changes."""
    memory = opened(
        {
            "user:a/k": {"type": "object", "title": "x"},
            "user:b/k": {"title": "x", "type": "object"},
            "user:c/k": {"title": "y", "type": "object"},
            "user:d/k": dict,
        }
    )
    found = []
    for name in "abcd":
        memory.facts.set(f"user:{name}", "k", {})
        fact = memory.facts.get(f"user:{name}", "k")
        assert fact is not None
        found.append(fact.schema)
    assert found[0] == found[1]
    assert len(set(found)) == 3


def test_a_reference_is_not_fetched(opened: Open) -> None:
    """A schema that names another one by its address is an error that says so."""
    memory = opened({"user:*/k": {"$ref": "http://127.0.0.1:1/schema.json"}})
    with pytest.raises(InvalidInput, match="refers to what is not in it"):
        memory.facts.set(ALICE, "k", 1)


def test_a_repeat_from_before_the_schema(opened: Open) -> None:
    """Is still a repeat: what was acknowledged is not refused afterwards."""
    first = opened().facts.set(ALICE, "k", "text", idempotency_key="i")
    memory = opened({"user:*/k": int})
    again = memory.facts.set(ALICE, "k", "text", idempotency_key="i")
    assert (again.outcome, again.position) == ("already appended", first.position)
    with pytest.raises(SchemaViolation):
        memory.facts.set(ALICE, "k", "text", idempotency_key="j")
    with pytest.raises(SchemaViolation):
        memory.facts.set(ALICE, "k", "text")
    assert memory.log.head() == 1


def test_in_a_callers_transaction(opened: Open) -> None:
    """The same schemas hold there."""
    memory = opened({"user:*/k": int})
    connection = sqlite3.connect(memory.log.path, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    joined = memory.join(connection)
    for each in (joined, joined.by(memory._writer.by)):
        with pytest.raises(SchemaViolation):
            each.facts.set(ALICE, "k", "text")
    joined.facts.set(ALICE, "k", 1)
    connection.execute("COMMIT")
    connection.close()
    fact = memory.facts.get(ALICE, "k")
    assert fact is not None
    assert fact.schema is not None


def test_a_file_of_schemas(opened: Open, tmp_path: Path) -> None:
    """FOLDLOG_SCHEMAS names it for every program of a machine; those of the program itself come first."""
    path = tmp_path / "schemas.json"
    path.write_text(json.dumps({"user:*/port": {"type": "integer"}, "user:*/*": {"type": "string"}}))
    memory = opened({"user:*/free": bool}, file=path)
    memory.facts.set(ALICE, "port", 1)
    memory.facts.set(ALICE, "free", True)
    for key, value in (("port", "1"), ("free", "x"), ("other", 1)):
        with pytest.raises(SchemaViolation):
            memory.facts.set(ALICE, key, value)


@pytest.mark.parametrize("text", ["", "[]", '{"user:*/k": 7}', '{"user:*": {}}', '{"user:*/k": {"type": 7}}'])
def test_a_file_that_holds_no_schemas(opened: Open, tmp_path: Path, text: str) -> None:
    """The setting is named, and no log is opened without what it is to be held against."""
    path = tmp_path / "schemas.json"
    path.write_text(text)
    with pytest.raises(SettingsError, match="FOLDLOG_SCHEMAS"):
        opened(file=path)
    with pytest.raises(SettingsError, match="FOLDLOG_SCHEMAS"):
        opened(file=tmp_path / "absent.json")
    assert not (tmp_path / "memory.db").exists()


def test_without_the_extra(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """A JSON Schema says what to install; everything else works without it."""
    import sys

    monkeypatch.setitem(sys.modules, "jsonschema", None)
    with pytest.raises(SettingsError, match=r"pip install 'foldlog\[schemas\]'"):
        memory.facts.schema("user:*/k", {"type": "string"})
    memory.facts.schema("user:*/k", str)
    memory.facts.set(ALICE, "k", "text")
