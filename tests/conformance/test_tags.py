"""Tags: items 132 to 138 and 145 of the conformance list, and what filters by them mean."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from fixtures.logs import open_memory
from fixtures.tag_trees import TAGS, holds, trees
from foldlog import Memory
from foldlog.cli import options
from foldlog.errors import InvalidInput
from foldlog.projections import condition

ALICE, PROJECT, PLAIN = "user:alice", "workflow:project-7", "workflow:etl"

SUBSETS = [frozenset(subset) for size in range(4) for subset in combinations(TAGS, size)]


def _stored(memory: Memory, namespace: str, tags: list[str]) -> tuple[str, ...]:
    memory.facts.set(namespace, "k", 1, tags=tags)
    fact = memory.facts.get(namespace, "k")
    assert fact is not None
    return fact.tags


@pytest.mark.conformance(134, 138)
@pytest.mark.parametrize(
    ("given_tags", "stored"),
    [
        ([], ["scope:main"]),
        (["source:run"], ["source:run", "scope:main"]),
        (["branch:main"], ["branch:main", "scope:main"]),
        (["branch:x"], ["branch:x", "scope:branch"]),
        (["branch:x", "scope:branch"], ["branch:x", "scope:branch"]),
        (["scope:main"], ["scope:main"]),
        (["branch:main", "scope:main", "stream:s", "stream:t"], None),
        ([f"stream:{n}" for n in range(15)], None),
        (["branch:x", *(f"stream:{n}" for n in range(14))], None),
        ([f"stream:{'x' * 121}"], None),
        (["branch:feature/π-2"], None),
    ],
)
def test_a_projects_memory_has_a_scope(
    memory: Memory, given_tags: list[str], stored: list[str] | None
) -> None:
    """Derived from the branch where it is missing; then at most 16 tags, of at most 128 characters."""
    found = _stored(memory, PROJECT, given_tags)
    expected = stored or [*given_tags, *(tag for tag in found if tag.startswith("scope:"))]
    assert list(found) == list(dict.fromkeys(expected))
    assert len([tag for tag in found if tag.startswith("scope:")]) == 1
    assert len(found) <= 16


@pytest.mark.conformance(134, 135, 137)
@pytest.mark.parametrize(
    ("tags", "message"),
    [
        (["branch:x", "branch:y"], "contradict"),
        (["scope:main", "scope:branch"], "contradict"),
        (["scope:branch"], "needs a branch"),
        (["branch:x", "scope:main"], "contradicts branch:x"),
        (["branch:main", "scope:branch"], "contradicts branch:main"),
        (["run:r1"], "provenance"),
        (["project:7"], "provenance"),
        (["todo"], "none that a project"),
        (["source:email"], "none that a project"),
        (["scope:all"], "none that a project"),
        (["branch:"], "none that a project"),
        (["branch:a b"], "none that a project"),
        ([f"stream:{n}" for n in range(16)], "are 17"),
        ([f"stream:{n}" for n in range(17)], "are 17"),
        ([f"stream:{'x' * 122}"], "129 characters"),
    ],
)
def test_tags_that_a_project_refuses(memory: Memory, tags: list[str], message: str) -> None:
    """On every kind of memory, and nothing is appended."""
    memory.threads.create(PROJECT, thread_id="t")
    for ask in (
        lambda: memory.facts.set(PROJECT, "k", 1, tags=tags),
        lambda: memory.notes.save(PROJECT, "n", tags=tags),
        lambda: memory.messages.save("t", "m", tags=tags),
    ):
        with pytest.raises(InvalidInput, match=message) as refused:
            ask()
        assert refused.value.path == "tags"
    assert memory.log.head() == 1


@pytest.mark.conformance(136)
@pytest.mark.parametrize("tag", ["branch:x", "scope:main", "stream:s"])
def test_a_person_has_no_branches(memory: Memory, tag: str) -> None:
    """Tags of projects are refused on a user's namespace; other tags are free there."""
    with pytest.raises(InvalidInput, match="belong to no branch"):
        memory.facts.set(ALICE, "k", 1, tags=[tag])
    assert memory.log.head() == 0
    assert _stored(memory, ALICE, ["run:r1", "anything goes", "source:email"])


@pytest.mark.parametrize("namespace", [PLAIN, "agent:project-7", "global:project-7", "workflow:projects"])
def test_tags_are_free_elsewhere(memory: Memory, namespace: str) -> None:
    """No scope is added, and none of the project's rules applies."""
    tags = ["todo", "branch:x", "branch:y", "scope:main", "run:r1"]
    assert _stored(memory, namespace, tags) == tuple(tags)


@pytest.mark.conformance(138)
def test_every_kind_of_memory_of_a_project_has_its_scope(memory: Memory) -> None:
    """Saved without a tag it is of the main line, and found there; a repeat is still a repeat."""
    memory.threads.create(PROJECT, thread_id="t")
    for _ in range(2):
        memory.messages.save("t", "the port", message_id="m")
        memory.notes.save(PROJECT, "the port", note_id="n")
        memory.facts.set(PROJECT, "f", "the port", idempotency_key="i")
    assert memory.log.head() == 4
    found = memory.recall("port", PROJECT, tags=["scope:main"]).memories
    assert {item.id for item in found} == {"m", "n", "f"}
    assert memory.recall("port", PROJECT, tags=["scope:branch"]).memories == []


@pytest.fixture(scope="module")
def tagged(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A memory whose facts have every subset of some tags, beside another namespace's."""
    with open_memory(
        tmp_path_factory.mktemp("tagged") / "memory.db", database_url="postgresql:///?host=/x"
    ) as memory:
        with memory.batch():
            for number, subset in enumerate(SUBSETS):
                memory.facts.set(ALICE, f"k{number}", "the word", tags=sorted(subset))
                memory.facts.set("user:bob", f"k{number}", "the word", tags=sorted(subset))
        yield memory


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(tree=trees)
def test_a_tree_means_what_it_says(tagged: Memory, tree: Any) -> None:
    """In both searches of the log: exactly the memories that meet it, and none of another namespace."""
    expected = {f"k{number}" for number, subset in enumerate(SUBSETS) if holds(tree, subset)}
    found = tagged.recall("word", ALICE, where=tree, limit=100).memories
    assert {item.id for item in found} == expected
    assert {item.namespace for item in found} <= {ALICE}
    searched = tagged.search("word", ALICE, where=tree, limit=100)
    assert {item.item.name for item in searched} == expected


@pytest.mark.parametrize("match", condition.MATCHES)
@pytest.mark.parametrize("tags", [[], ["a"], ["a", "b"], ["never"]])
def test_the_five_modes(tagged: Memory, match: str, tags: list[str]) -> None:
    """Without tags nothing is filtered, but for `exact`, which then finds what has none."""
    tree = {"tags": tags, "match": match}
    everything = not tags and match != "exact"
    expected = {f"k{number}" for number, subset in enumerate(SUBSETS) if everything or holds(tree, subset)}
    found = tagged.recall("word", ALICE, tags=tags, tags_match=match, limit=100).memories
    assert {item.id for item in found} == expected
    both = tagged.recall("word", ALICE, tags=tags, tags_match=match, where={"tags": ["100%"]}, limit=100)
    wanted = {name for name in expected if "100%" in SUBSETS[int(name[1:])]}
    assert {item.id for item in both.memories} == wanted


@pytest.mark.conformance(145)
def test_a_tag_filter_applies_before_the_limit(memory: Memory) -> None:
    """Better hits with other tags do not take the places, whatever the mode."""
    with memory.batch():
        for number in range(200):
            memory.facts.set(ALICE, f"other{number}", "blue blue blue", tags=["other"])
        memory.facts.set(ALICE, "mine", "blue", tags=["mine", "more"])
        memory.facts.set(ALICE, "bare", "blue")
    for filters, expected in (
        ({"tags": ["mine"]}, {"mine"}),
        ({"tags": ["mine"], "tags_match": "any"}, {"mine", "bare"}),
        ({"tags": ["mine", "more"], "tags_match": "exact"}, {"mine"}),
        ({"where": {"not": {"tags": ["other"]}}}, {"mine", "bare"}),
    ):
        found = memory.recall("blue", ALICE, limit=2, **filters).memories  # type: ignore[arg-type]
        assert {item.id for item in found} == expected
        hits = memory.search("blue", ALICE, limit=2, **filters)  # type: ignore[arg-type]
        assert {item.item.name for item in hits} == expected


@pytest.mark.parametrize(
    ("where", "path"),
    [
        ("a", "where"),
        ({}, "where"),
        ([], "where"),
        ({"tags": "a"}, "where.tags"),
        ({"tags": []}, "where.tags"),
        ({"tags": ["a"], "match": "most"}, "where.match"),
        ({"tags": ["a"], "mode": "any"}, "where"),
        ({"and": []}, "where.and"),
        ({"or": [{"tags": ["a"]}, {"not": 7}]}, "where.or[1].not"),
        ({"and": [{"tags": ["a"]}], "or": [{"tags": ["a"]}]}, "where"),
        ({"tags": [" a"]}, "where.tags[0]"),
        ({"or": [{"tags": [f"t{n}" for n in range(65)]}]}, "where"),
    ],
)
def test_trees_that_are_refused(memory: Memory, where: Any, path: str) -> None:
    """With the place of what is wrong."""
    for ask in (memory.recall, memory.search):
        with pytest.raises(InvalidInput) as refused:
            ask("word", ALICE, where=where)
        assert refused.value.path == path


def test_a_tree_has_a_greatest_depth(memory: Memory) -> None:
    """Deeper ones are refused before any query is made of them."""
    tree: Any = {"tags": ["a"]}
    for _ in range(5000):
        tree = {"not": tree}
    with pytest.raises(InvalidInput, match="nested deeper than 8"):
        memory.recall("word", ALICE, where=tree)


def test_the_parser_has_all_modes() -> None:
    """They are written twice, so that a parser needs no import."""
    assert options.MATCHES == condition.MATCHES


def test_another_process_reads_the_same(tmp_path: Path) -> None:
    """Tags are stored as the rules made them, not as they were given."""
    path = tmp_path / "memory.db"
    with open_memory(path) as memory:
        _stored(memory, PROJECT, ["branch:x"])
    with open_memory(path) as memory:
        fact = memory.facts.get(PROJECT, "k")
        assert fact is not None
        assert fact.tags == ("branch:x", "scope:branch")
