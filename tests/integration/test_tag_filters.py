"""Filters by tags in the index: every channel asks the same as the log does."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from fixtures.tag_trees import TAGS, holds, trees
from foldlog import Memory, composition
from foldlog.projections.hindsight import graph, semantic, text, time
from foldlog.settings import Settings

ALICE = "user:alice"
SUBSETS = [frozenset(subset) for size in range(4) for subset in combinations(TAGS, size)]

#: Found by its words, by what it means, by the name in it, and by its day.
TEXT = "Marta Novak repaired the harbour crane on 3 May 2023"
QUESTION = "What did Marta Novak repair on 3 May 2023?"


@pytest.fixture
def tagged(tmp_path: Path, database_url: str) -> Any:
    given = Settings(log=tmp_path / "memory.db", database_url=database_url, embedder="hash")
    with composition.open_memory(settings=given) as memory:
        with memory.batch():
            for namespace in (ALICE, "user:bob"):
                for number, subset in enumerate(SUBSETS):
                    memory.facts.set(namespace, f"k{number}", TEXT, tags=sorted(subset))
        memory.catch_up()
        yield memory


def test_every_channel_filters_by_a_tree(tagged: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exactly the memories that meet it, each found by all four channels, in a small or a large namespace."""

    @settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
    @given(tree=trees)
    def check(tree: Any) -> None:
        expected = {f"k{number}" for number, subset in enumerate(SUBSETS) if holds(tree, subset)}
        answer = tagged.recall(QUESTION, ALICE, where=tree, limit=100)
        assert answer.status == "ok"
        assert {item.id for item in answer.memories} == expected
        for item in answer.memories:
            assert item.namespace == ALICE
            assert {"text", "semantic", "graph", "time"} <= item.channels.keys()

    check()
    monkeypatch.setattr(text, "SCORE_ALL", 0)
    monkeypatch.setattr(semantic, "EXACT_UP_TO", 1)
    check()


def test_a_name_that_looks_like_a_placeholder(tagged: Memory) -> None:
    """`%s` and braces in a tag are its letters."""
    for tag in ("%s", "%(now)s", "{filters}", "'; DROP TABLE memories; --"):
        tagged.facts.set(ALICE, f"odd {tag}", TEXT, tags=[tag])
        tagged.catch_up()
        answer = tagged.recall(QUESTION, ALICE, where={"or": [{"tags": [tag]}, {"tags": [f"{tag}x"]}]})
        assert [item.id for item in answer.memories] == [f"odd {tag}"]


def test_the_channels_are_those_tried_here() -> None:
    """A channel that is added must be asked with these filters too."""
    from foldlog.projections.index import CHANNELS

    assert set(CHANNELS) == {module.__name__.rpartition(".")[2] for module in (text, semantic, graph, time)}
