"""Namespaces, items 1 to 11 of the conformance list, and the banks they are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldlog import Memory
from foldlog.errors import InvalidInput
from foldlog.names import (
    NAMESPACE_KINDS,
    bank_namespace,
    format_namespace,
    is_project,
    namespace_bank,
    parse_namespace,
)

kinds = pytest.mark.parametrize("kind", ["workflow", "agent", "user", "global"])


@kinds
@pytest.mark.conformance(1, 2)
def test_each_kind_formats_and_parses(kind: str) -> None:
    """As kind:id, and back; there are no others."""
    assert format_namespace(kind, "alice") == f"{kind}:alice"
    assert parse_namespace(f"{kind}:alice") == (kind, "alice")
    assert kind in NAMESPACE_KINDS
    assert len(NAMESPACE_KINDS) == 4


@pytest.mark.conformance(3, 4, 5)
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("alice", ("global", "alice")),
        ("", ("global", "")),
        ("team:x", ("global", "team:x")),
        ("USER:a", ("global", "USER:a")),
        (":x", ("global", ":x")),
        ("user:a:b:c", ("user", "a:b:c")),
        ("user::", ("user", ":")),
    ],
)
def test_what_is_read_of_any_text(text: str, expected: tuple[str, str]) -> None:
    """Without a known kind before a colon it is a global id, whole; only the first colon splits."""
    assert parse_namespace(text) == expected


@kinds
@pytest.mark.conformance(6, 7)
@pytest.mark.parametrize("name", ["", "%", ":", "%25", "%3A", "%253A", "a:b%c", "%%::", "100%", "é:日本"])
def test_any_id_round_trips(kind: str, name: str) -> None:
    """Also what looks escaped already, and the empty one."""
    assert parse_namespace(format_namespace(kind, name)) == (kind, name)


@given(
    st.tuples(st.sampled_from(NAMESPACE_KINDS), st.text()),
    st.tuples(st.sampled_from(NAMESPACE_KINDS), st.text()),
)
@pytest.mark.conformance(8)
def test_no_two_share_a_string(one: tuple[str, str], other: tuple[str, str]) -> None:
    """Neither by a colon in the id, nor by what stands for one."""
    assert (format_namespace(*one) == format_namespace(*other)) == (one == other)


@pytest.mark.conformance(8, 9)
@pytest.mark.case("B03")
def test_the_same_id_under_two_kinds(memory: Memory) -> None:
    """Stored, listed and recalled apart; so are ids that differ in how they are escaped."""
    spaces = [format_namespace(kind, name) for kind in NAMESPACE_KINDS for name in ("a", "a:b", "a%3Ab")]
    for number, namespace in enumerate(spaces):
        memory.facts.set(namespace, "k", f"word {number}")
    for number, namespace in enumerate(spaces):
        assert [fact.value for fact in memory.facts.list(namespace)] == [f"word {number}"]
        assert [item.text for item in memory.recall("word", namespace).memories] == [f"k: word {number}"]
    assert len(memory.facts.list()) == len(spaces) == 12


@pytest.mark.conformance(10, 11)
@pytest.mark.parametrize(
    "namespace",
    ["team:x", "USER:alice", "User:alice", "alice", "", "user", "user:a:b", "user:50%", "user:%3a"],
)
def test_what_cannot_be_written_to(memory: Memory, namespace: str) -> None:
    """Unknown or upper-case kinds, no kind, what is not escaped: refused everywhere, never made global."""
    for ask in (
        lambda: memory.facts.set(namespace, "k", 1),
        lambda: memory.facts.delete(namespace, "k"),
        lambda: memory.threads.create(namespace),
        lambda: memory.notes.save(namespace, "n"),
    ):
        with pytest.raises(InvalidInput) as refused:
            ask()
        assert refused.value.path == "namespace"
    assert memory.log.head() == 0


@pytest.mark.parametrize(
    ("bank", "namespace"),
    [
        ("user-alice", "user:alice"),
        ("agent-a-b", "agent:a-b"),
        ("global-", "global:"),
        ("workflow-etl", "workflow:etl"),
        ("project-7", "workflow:project-7"),
        ("User-alice", "workflow:User-alice"),
        ("users-alice", "workflow:users-alice"),
        ("user", "workflow:user"),
        ("user:alice", "workflow:user%3Aalice"),
        ("user-a:b", "user:a%3Ab"),
        ("100%", "workflow:100%25"),
    ],
)
def test_a_bank_is_a_namespace(bank: str, namespace: str) -> None:
    """`kind-id` is that kind's, anything else a workflow's; and the rules of projects follow it."""
    assert bank_namespace(bank) == namespace
    assert bank_namespace(namespace_bank(namespace)) == namespace
    assert is_project(namespace) == bank.startswith("project-")


@given(st.sampled_from(NAMESPACE_KINDS), st.text())
def test_every_namespace_is_a_bank(kind: str, name: str) -> None:
    """The name of its bank leads back to it, whatever the id."""
    namespace = format_namespace(kind, name)
    assert namespace_bank(namespace) == f"{kind}-{name}"
    assert bank_namespace(namespace_bank(namespace)) == namespace
