"""Names: what is accepted, and that ids sort and do not meet."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldlog import names
from foldlog.errors import InvalidInput


@pytest.mark.parametrize(
    "name",
    ["", " a", "a ", "a\nb", "a\tb", "a\x00b", "a\u202eb", "cafe\u0301", "x" * 513, "é" * 257, "\ud800", 7],
)
def test_names_that_are_refused(name: object) -> None:
    """Nothing invisible, nothing ambiguous, nothing longer than every store can index."""
    with pytest.raises(InvalidInput):
        names.check_name(name, "key")


@pytest.mark.parametrize("name", ["a", "a b", "john_doe", "100%", "日本", "x" * 512, "é" * 256, "a/b:c.d"])
def test_names_that_are_kept(name: str) -> None:
    """A name is stored as it is given, never trimmed or changed."""
    assert names.check_name(name, "key") == name


@given(st.sampled_from(names.NAMESPACE_KINDS), st.text())
def test_namespaces_round_trip(kind: str, name: str) -> None:
    """Any id survives being written as kind:id."""
    assert names.parse_namespace(names.format_namespace(kind, name)) == (kind, name)


@pytest.mark.parametrize(
    "text", ["team:x", "alice", "user", "user:a:b", "user:alice ", ":x", "user:50%", "user: a"]
)
def test_namespaces_that_cannot_be_written_to(text: str) -> None:
    """An unknown kind, a missing colon, an unescaped one: refused, not guessed."""
    with pytest.raises(InvalidInput):
        names.check_namespace(text)


def test_ids_are_new_and_sort_by_time() -> None:
    """UUIDv7: later ids come later, and two of one millisecond differ."""
    made = [names.new_id_bytes(stamp) for stamp in range(1_000_000, 1_001_000)]
    assert made == sorted(made)
    assert len({names.new_id_bytes(5) for _ in range(1000)}) == 1000
    text = names.id_text(made[0])
    assert text[14] == "7"
    assert text[19] in "89ab"


@given(st.integers(1, 1 << 34), st.integers(0, names.MAX_ORDINAL), st.integers(1, 1 << 34))
def test_a_memory_id_says_its_stream(stream: int, ordinal: int, other: int) -> None:
    """All memories of a stream, and no others, are in its range; every store's integer holds them."""
    memory = names.memory_id(stream, ordinal)
    first, end = names.memory_range(stream)
    assert first <= memory < end < 1 << 63
    if other != stream:
        start, stop = names.memory_range(other)
        assert not start <= memory < stop
