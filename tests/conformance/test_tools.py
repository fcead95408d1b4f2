"""Task memory: items 128, 131 to 140, 143, 146 and 151 of the conformance list, through tools and helpers."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from fixtures.logs import open_memory
from foldlog import Memory, Provenance
from foldlog.errors import IdempotencyConflict, InvalidInput, LogBusy
from foldlog.memory import completion, counters
from foldlog.memory.binding import Binding
from foldlog.memory.tools import fit
from foldlog.projections.recall.block import CUT, FENCE, utf8_bytes

ALICE, PROJECT, PLAIN = "user:alice", "workflow:project-7", "workflow:etl"
RUN = Provenance(run="run-1", node="plan", iteration=0)


def _texts(result: dict[str, Any]) -> set[str]:
    return {item["text"] for item in result["memories"]}


class TestInterface:
    def test_two_tools_with_schemas(self, memory: Memory) -> None:
        """Each has a name, a description, and a valid JSON Schema that names the namespaces."""
        tools = memory.tools([PROJECT, ALICE])
        assert [tool.name for tool in tools] == ["remember", "recall"]
        for tool in tools:
            assert tool.description
            jsonschema.Draft202012Validator.check_schema(tool.input_schema)
            assert json.loads(json.dumps(tool.input_schema)) == tool.input_schema
            assert tool.input_schema["properties"]["namespace"]["enum"] == [PROJECT, ALICE]
        jsonschema.validate({"content": "x", "tags": ["a"]}, tools.remember.input_schema)
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({"query": "x", "bank": "other"}, tools.recall.input_schema)

    def test_arguments_in_a_mapping_or_by_keyword(self, memory: Memory) -> None:
        """As frameworks hand them over; nulls are what was left out."""
        tools = memory.tools(ALICE)
        tools.remember({"content": "one", "tags": None, "namespace": None})
        tools.remember(content="two")
        assert {item.content for item in memory.retained.list(ALICE)} == {"one", "two"}
        assert _texts(tools.recall({"query": "one two"})) == {"one", "two"}

    @pytest.mark.parametrize(
        ("tool", "arguments", "path"),
        [
            ("remember", {}, "content"),
            ("remember", {"content": " "}, "content"),
            ("remember", {"content": 7}, "content"),
            ("remember", {"content": "x", "namespace": "user:bob"}, "namespace"),
            ("remember", {"content": "x", "bank": "b"}, "bank"),
            ("remember", {"content": "x", "tags": "a"}, "tags"),
            ("remember", {"content": "x", "key": " "}, "key"),
            ("recall", {}, "query"),
            ("recall", {"query": ""}, "query"),
            ("recall", {"query": "x", "namespace": "user:bob"}, "namespace"),
            ("recall", {"query": "x", "max_tokens": 0}, "max_tokens"),
            ("recall", {"query": "x", "max_tokens": "many"}, "max_tokens"),
        ],
    )
    def test_arguments_that_are_refused(
        self, memory: Memory, tool: str, arguments: dict[str, Any], path: str
    ) -> None:
        """By name, before anything is written: no tool leaves the namespaces it is bound to."""
        with pytest.raises(InvalidInput) as refused:
            getattr(memory.tools(ALICE), tool)(arguments)
        assert refused.value.path.startswith(path)
        assert memory.log.head() == 0

    @pytest.mark.parametrize(
        "given",
        [
            {"namespaces": []},
            {"namespaces": ["alice"]},
            {"namespaces": [PROJECT], "tags": ["todo"]},
            {"namespaces": [PROJECT], "tags": ["run:1"]},
            {"namespaces": [PROJECT], "tags": ["project:7"]},
            {"namespaces": [ALICE], "max_tokens": 0},
            {"namespaces": [ALICE], "primers": "tone"},
            {"namespaces": [ALICE], "document": " d"},
        ],
    )
    @pytest.mark.conformance(135)
    def test_bindings_that_are_refused(self, memory: Memory, given: dict[str, Any]) -> None:
        """When they are made, not at the first call."""
        with pytest.raises(InvalidInput):
            memory.tools(**given)


class TestRemember:
    @pytest.mark.conformance(143)
    def test_what_is_stored(self, memory: Memory) -> None:
        """A unit of the run's document, with the run in provenance and metadata alone."""
        tools = memory.by(RUN).tools(PLAIN, tags=["a"])
        found = tools.remember(content="the port is 1", tags=["b"], call_id="c1")
        (item,) = memory.retained.list(PLAIN)
        assert found == {"saved": True, "namespace": PLAIN, "id": item.retained_id, "outcome": "appended"}
        assert (item.content, item.document, item.tags) == ("the port is 1", "run-run-1", ("a", "b"))
        assert item.metadata == {"run": "run-1", "node": "plan", "iteration": 0}
        assert item.provenance == RUN
        assert memory.recall("plan run", PLAIN).memories == []
        other = memory.tools(PLAIN, document="diary")
        other.remember(content="no run")
        assert memory.retained.text(PLAIN, "diary") == "no run"

    @pytest.mark.conformance(178)
    def test_a_repeated_call_is_stored_once(self, memory: Memory) -> None:
        """By its key, or run and call id, or run and content; each says the same id."""
        tools = memory.by(RUN).tools(PLAIN)
        for given in ({"key": "k"}, {"call_id": "c1"}, {}):
            first = tools.remember({"content": f"text {given}"}, **given)  # type: ignore[arg-type]
            again = tools.remember({"content": f"text {given}"}, **given)  # type: ignore[arg-type]
            assert (first["outcome"], again["outcome"]) == ("appended", "already appended")
            assert first["id"] == again["id"]
            assert again["saved"] is True
        with pytest.raises(IdempotencyConflict):
            tools.remember(content="another text", key="k")
        assert tools.remember(content="x", call_id="c2")["outcome"] == "appended"
        assert tools.remember(content="x", call_id="c3")["outcome"] == "appended"
        next_iteration = memory.by(Provenance(run="run-1", node="plan", iteration=1)).tools(PLAIN)
        assert next_iteration.remember(content="x", call_id="c2")["outcome"] == "appended"
        without = memory.tools(PLAIN)
        for _ in range(2):
            assert without.remember(content="x")["outcome"] == "appended"

    @pytest.mark.conformance(178)
    def test_a_repeat_after_a_restart(self, tmp_path: Path) -> None:
        """The log knows the call, whichever process makes it again."""
        outcomes = []
        for _ in range(2):
            with open_memory(tmp_path / "memory.db") as memory:
                tools = memory.by(RUN).tools(PLAIN)
                outcomes.append(tools.remember(content="x", call_id="c1")["outcome"])
        assert outcomes == ["appended", "already appended"]

    @pytest.mark.conformance(134, 136, 137, 138)
    def test_tags_of_projects_and_users(self, memory: Memory) -> None:
        """A project derives its scope; a user is spared the configured ones, and refuses them in the call."""
        tools = memory.tools([PROJECT, ALICE], tags=["branch:x", "stream:s", "source:chat"])
        tools.remember(content="of the branch")
        (item,) = memory.retained.list(PROJECT)
        assert item.tags == ("branch:x", "stream:s", "source:chat", "scope:branch")
        tools.remember(content="of alice", namespace=ALICE, tags=["mood"])
        (item,) = memory.retained.list(ALICE)
        assert item.tags == ("source:chat", "mood")
        head = memory.log.head()
        for namespace, tags in (
            (ALICE, ["branch:x"]),
            (ALICE, ["scope:main"]),
            (PROJECT, ["scope:main"]),
            (PROJECT, ["branch:y"]),
            (PROJECT, ["run:1"]),
            (PROJECT, [f"stream:{n}" for n in range(13)]),
        ):
            with pytest.raises(InvalidInput):
                tools.remember(content="x", namespace=namespace, tags=tags)
        assert memory.log.head() == head
        tools.remember(content="just enough", tags=[f"stream:{n}" for n in range(12)])


class TestRecall:
    @pytest.fixture
    def written(self, memory: Memory) -> Memory:
        for name, tags in {
            "main": [],
            "branch x": ["branch:x"],
            "branch y": ["branch:y"],
            "main s": ["stream:s"],
            "branch x s": ["branch:x", "stream:s"],
        }.items():
            memory.notes.save(PROJECT, f"port of {name}", tags=tags)
        memory.notes.save(ALICE, "port of alice", tags=["mood"])
        memory.notes.save(ALICE, "port of nobody")
        memory.notes.save(PLAIN, "port of a", tags=["a"])
        memory.notes.save(PLAIN, "port of a and b", tags=["a", "b"])
        return memory

    @pytest.mark.conformance(132, 133, 145)
    @pytest.mark.parametrize(
        ("configured", "asked", "namespace", "expected"),
        [
            ([], [], PROJECT, {"main", "main s"}),
            (["branch:x"], [], PROJECT, {"main", "main s", "branch x", "branch x s"}),
            (["branch:x", "branch:y"], [], PROJECT, {"main", "main s", "branch x", "branch x s", "branch y"}),
            (["branch:x", "stream:s"], [], PROJECT, {"main s", "branch x s"}),
            (["branch:x", "scope:branch"], ["stream:s"], PROJECT, {"main s", "branch x s"}),
            (["branch:x"], ["scope:branch"], PROJECT, {"branch x", "branch x s"}),
            (["branch:x", "stream:s"], [], ALICE, {"alice", "nobody"}),
            (["branch:x"], ["mood"], ALICE, {"alice"}),
            (["a"], [], PLAIN, {"a", "a and b"}),
            (["a"], ["b"], PLAIN, {"a and b"}),
            (["never"], [], PLAIN, set()),
        ],
    )
    def test_what_may_be_recalled(
        self, written: Memory, configured: list[str], asked: list[str], namespace: str, expected: set[str]
    ) -> None:
        """A project: main or a configured branch, and every other tag; a user: the call's tags alone."""
        tools = written.tools([namespace], tags=configured)
        found = tools.recall(query="port", tags=asked)
        assert _texts(found) == {f"port of {name}" for name in expected}
        assert found["status"] == "degraded"

    @pytest.mark.conformance(132, 133)
    def test_each_namespace_has_its_own_filter(self, written: Memory) -> None:
        """In one question over several."""
        tools = written.tools([PROJECT, ALICE], tags=["branch:x"])
        expected = {"main", "main s", "branch x", "branch x s", "alice", "nobody"}
        assert _texts(tools.recall(query="port")) == {f"port of {name}" for name in expected}
        assert _texts(tools.recall(query="port", namespace=ALICE)) == {"port of alice", "port of nobody"}
        with pytest.raises(InvalidInput, match="belong to no branch"):
            tools.recall(query="port", tags=["branch:x"])

    @pytest.mark.conformance(146)
    def test_the_smaller_budget_counts(self, memory: Memory) -> None:
        """Of what was configured and what is asked for; a tiny one gives none, also for many namespaces."""
        spaces = [f"user:{name}" for name in "abcdefgh"]
        for namespace in spaces:
            memory.notes.save(namespace, f"the port of {namespace} " + "x" * 100)
        tools = memory.tools(spaces, max_tokens=600)
        for asked, cap in ((None, 600), (5000, 600), (300, 300), (90, 90), (3, 3), (1, 1)):
            rows = tools.recall(query="port", max_tokens=asked)["memories"]
            assert utf8_bytes(json.dumps(rows, ensure_ascii=False, separators=(",", ":"))) <= max(cap, 2)
            assert len(rows) == {600: 3, 300: 1, 90: 0, 3: 0, 1: 0}[cap]

    @pytest.mark.conformance(151)
    def test_one_ranking_without_repeats(self, memory: Memory) -> None:
        """The same text of two namespaces is one memory."""
        for namespace in (ALICE, PLAIN):
            memory.notes.save(namespace, "the port is 1")
        tools = memory.tools([ALICE, PLAIN, ALICE])
        assert len(tools.recall(query="port")["memories"]) == 1

    def test_wholes_first_then_one_is_cut(self) -> None:
        """The best that does not fit gets what room is left, between characters."""
        rows = [{"id": "1", "text": "short"}, {"id": "2", "text": "é" * 500}, {"id": "3", "text": "small"}]
        found = fit(rows, 200, utf8_bytes)
        assert [row["id"] for row in found] == ["1", "2", "3"]
        assert found[1]["text"].endswith(f"é{CUT}")
        assert utf8_bytes(json.dumps(found, ensure_ascii=False, separators=(",", ":"))) <= 200
        assert fit(rows, 60, utf8_bytes) == [rows[0], rows[2]]


class TestBeforeATask:
    @pytest.mark.conformance(128, 131)
    def test_the_block_comes_before_the_prompt(self, memory: Memory) -> None:
        """The prompt is the question; primers and budget are those of the binding."""
        memory.primers.set(ALICE, "tone", "Be brief.")
        for number in range(40):
            memory.notes.save(ALICE, f"the port of host {number} is {number}")
        prompt = "Which port has host 7?\nAnswer in one word."
        tools = memory.tools(ALICE, primers=["tone"], max_tokens=700)
        found = tools.before(prompt)
        block, _, rest = found.partition(f"</{FENCE}>")
        assert rest == f"\n\n{prompt}"
        assert block.startswith(f"<{FENCE}>\n")
        assert "Be brief." in block
        assert "the port of host 7 is 7" in block
        assert 500 < utf8_bytes(f"{block}</{FENCE}>") <= 700
        answer = tools.context(prompt)
        assert answer.primers == ((ALICE, "tone"),)
        assert len(answer.memories) == 20

    @pytest.mark.conformance(128, 139)
    def test_a_prompt_alone(self, memory: Memory) -> None:
        """Nothing recalled, or nothing to ask: the prompt is as it was, and there is no exception."""
        tools = memory.tools(ALICE)
        assert tools.before("Which port?") == "Which port?"
        assert tools.before(" \n") == " \n"
        assert tools.context("Which port?").status == "degraded"


class TestAfterATask:
    @pytest.fixture
    def warnings(self, caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
        with caplog.at_level(logging.WARNING, logger=completion.__name__):
            yield caplog

    @pytest.mark.conformance(138, 143)
    def test_an_output_is_retained(self, memory: Memory) -> None:
        """As JSON for people, tagged with where it came from; once an iteration, in the run's document."""
        tools = memory.by(RUN).tools(PROJECT, tags=["branch:x"])
        output = {"port": 1, "ünicode": ["a"], "at": Path("x")}
        receipt = tools.completed("find the port", output, session="s-1")
        assert receipt is not None
        again = tools.completed("find the port", output, session="s-1")
        assert again is not None
        assert (again.outcome, again.id) == ("already appended", receipt.id)
        (item,) = memory.retained.list(PROJECT, "run-run-1")
        assert item.content == (
            "Task find the port completed successfully.\n\n"
            '{\n  "port": 1,\n  "ünicode": [\n    "a"\n  ],\n  "at": "x"\n}'
        )
        assert item.tags == ("branch:x", "source:run", "scope:branch")
        assert item.metadata == {
            "run": "run-1",
            "node": "plan",
            "iteration": 0,
            "task": "find the port",
            "session": "s-1",
        }
        assert tools.completed("another task", "plain text") is not None
        assert memory.retained.list(PROJECT)[1].content.endswith("\n\nplain text")

    def test_a_long_output_is_cut(self, memory: Memory) -> None:
        """At 12,000 characters."""
        tools = memory.tools(PLAIN)
        tools.completed("t", "é" * 50_000)
        assert len(memory.retained.list(PLAIN)[0].content) == 12_000 + len(CUT) + len(
            completion.digest("t", "")
        )

    @pytest.mark.conformance(140)
    @pytest.mark.parametrize("output", [{("a", 1): 2}, "\ud800", None])
    def test_no_failure_reaches_the_task(
        self, memory: Memory, warnings: pytest.LogCaptureFixture, output: Any
    ) -> None:
        """Whatever the output: None instead of a receipt, one warning, one count, and nothing written."""
        if output is None:
            output = []
            output.append(output)
        assert memory.tools(PLAIN).completed("t", output) is None
        assert memory.log.head() == 0
        assert memory.counters.as_dict()[counters.RETAIN_FAILURES] == 1
        (record,) = warnings.records
        assert record.action == "retain_failed"  # type: ignore[attr-defined]
        assert record.getMessage() == "the output of a task was not retained"
        assert record.task == "t"  # type: ignore[attr-defined]

    @pytest.mark.conformance(140)
    def test_no_failure_of_the_log_reaches_the_task(
        self, memory: Memory, warnings: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Neither a lock that is held nor a disk that is full; the next task is retained again."""

        def refuse(*given: Any, **more: Any) -> Any:
            raise LogBusy("another writer held the log for too long")

        tools = memory.tools(PLAIN)
        monkeypatch.setattr(Binding, "retain", refuse)
        assert tools.completed("t", "x") is None
        monkeypatch.undo()
        assert tools.completed("t", "x") is not None
        assert memory.counters.as_dict()[counters.RETAIN_FAILURES] == 1
        assert len(warnings.records) == 1
