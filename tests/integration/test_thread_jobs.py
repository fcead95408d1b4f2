"""The jobs limit and summarize: what a thread keeps, whatever is asked and whoever fails."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from fixtures.logs import open_memory
from foldlog import Memory
from foldlog.cli.main import main
from foldlog.errors import ModelRefused, ModelUnavailable, SettingsError, SummaryRefused
from foldlog.events.board import Board
from foldlog.projections.local.threads import Message
from foldlog.settings import Settings
from foldlog.workers.jobs.job import Result, Work
from foldlog.workers.jobs.limit import LimitJob
from foldlog.workers.jobs.summarize import PATIENCE, SummarizeJob
from foldlog.workers.models.summarizer import Summary
from foldlog.workers.models.transcript import Spoken

ALICE = "user:alice"


@dataclass
class Keeper:
    """A model that keeps what it is given: every word that begins with `fact`."""

    name: str = "keeper"
    version: int = 1
    model: str | None = "fake"
    given: list[list[str]] = field(default_factory=list)
    act: Callable[[Sequence[Spoken]], str | Exception] | None = None

    def summarize(self, messages: Sequence[Spoken], *, budget: int) -> Summary:
        self.given.append([item.message_id for item in messages])
        said = (
            self.act(messages)
            if self.act
            else " ".join(word for item in messages for word in item.text.split() if word.startswith("fact"))
            or "nothing to keep"
        )
        if isinstance(said, Exception):
            raise said
        return Summary(
            text=said,
            sources=tuple(item.message_id for item in messages),
            summarizer=self.name,
            version=self.version,
            model=self.model,
            extractive=False,
        )


def settings(**given: Any) -> Settings:
    return Settings(tokenizer="bytes", **given)


def limit(memory: Memory, budget: int, **given: Any) -> Result:
    return LimitJob(settings(thread_tokens=budget)).run(Work(memory=memory, now=0, **given))


def summarize(memory: Memory, keeper: Keeper, above: int = 50, keep: int = 2, **given: Any) -> Result:
    job = SummarizeJob(settings(summarize_above=above, summarize_keep=keep), keeper)
    return job.run(Work(memory=memory, now=0, **given))


def talk(memory: Memory, count: int, thread: str = "t", text: str = "0123456789") -> None:
    if memory.threads.get(thread) is None:
        memory.threads.create(ALICE, thread_id=thread)
    with memory.batch():
        for number in range(1, count + 1):
            role = "user" if number % 2 else "assistant"
            memory.messages.save(thread, text, role=role, message_id=f"{thread}{number}")


def ids(memory: Memory, thread: str = "t") -> list[str]:
    return [
        "summary" if item.message_id.startswith("summary-") else item.message_id
        for item in memory.messages.list(thread)
    ]


def summary_of(memory: Memory, thread: str = "t") -> Message:
    (found,) = [item for item in memory.messages.list(thread) if item.message_id.startswith("summary-")]
    return found


@pytest.mark.conformance(113, 115)
@pytest.mark.parametrize("value", ["0", "-1", "nan", "inf", "1.5", "many"])
def test_impossible_budgets_are_refused(
    value: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Zero, negative, and what is no number: the setting is named, the thread untouched."""
    monkeypatch.setenv("FOLDLOG_LOG", str(tmp_path / "memory.db"))
    with open_memory(tmp_path / "memory.db") as memory:
        talk(memory, 3)
        for name, job in (("FOLDLOG_THREAD_TOKENS", "limit"), ("FOLDLOG_SUMMARIZE_ABOVE", "summarize")):
            monkeypatch.setenv(name, value)
            assert main(["run", job]) == 2
            assert name in capsys.readouterr().err
            monkeypatch.delenv(name)
        assert ids(memory) == ["t1", "t2", "t3"]


def test_a_job_without_its_budget_says_what_is_missing(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is never scheduled, says so to whoever asks for it, and is no trouble of the worker's."""
    monkeypatch.setenv("FOLDLOG_LOG", str(memory.log.path))
    for name, job in (("FOLDLOG_THREAD_TOKENS", "limit"), ("FOLDLOG_SUMMARIZE_ABOVE", "summarize")):
        assert main(["run", job]) == 2
        assert name in capsys.readouterr().err
    assert Board(memory.log, "test").entries() == {}
    assert LimitJob(settings()).every_ms is None
    assert SummarizeJob(settings()).every_ms is None
    with pytest.raises(SettingsError, match="FOLDLOG_THREAD_TOKENS"):
        LimitJob(settings()).run(Work(memory=memory, now=0))
    with pytest.raises(SettingsError, match="FOLDLOG_SUMMARIZE_ABOVE"):
        SummarizeJob(settings()).run(Work(memory=memory, now=0))


@pytest.mark.conformance(114, 116)
def test_the_oldest_go_thread_by_thread(memory: Memory) -> None:
    """At the budget nothing goes; above it the oldest, each thread by itself; a second run does nothing."""
    talk(memory, 6)
    talk(memory, 3, "u")
    assert limit(memory, 60).counts == {"threads": 0, "trimmed": 0}
    assert limit(memory, 59).counts == {"threads": 1, "trimmed": 1}
    # The first user request stays.
    assert ids(memory) == ["t1", "t3", "t4", "t5", "t6"]
    assert limit(memory, 30).counts == {"threads": 1, "trimmed": 2}
    assert ids(memory) == ["t1", "t5", "t6"]
    assert ids(memory, "u") == ["u1", "u2", "u3"]
    head = memory.log.head()
    assert limit(memory, 30).counts == {"threads": 0, "trimmed": 0}
    assert memory.log.head() == head


@pytest.mark.conformance(117)
def test_what_a_thread_needs_is_kept(memory: Memory) -> None:
    """Leading system messages, the first request, the summary; a tool call only with its results."""
    memory.threads.create(ALICE, thread_id="t")
    call = [{"type": "tool_use", "id": "c1", "name": "search", "input": {"q": "0123456789"}}]
    result = [{"type": "tool_result", "tool_use_id": "c1", "content": "found"}]
    said: list[tuple[str, str, Any]] = [
        ("s1", "system", "be kind"),
        ("s2", "system", "be brief"),
        ("a0", "assistant", "0123456789"),
        ("u1", "user", "0123456789"),
        ("c", "assistant", call),
        ("other", "assistant", "between"),
        ("r", "user", result),
        ("last", "user", "0123456789"),
    ]
    for name, role, content in said:
        memory.messages.save("t", content, role=role, message_id=name)
    covered = [item for item in memory.messages.list("t") if item.message_id == "a0"]
    memory.messages.summarize("t", covered, "greeted", summarizer="test/1")
    # The instructions, the request, the summary and the newest stay; what is between goes as a whole.
    counts = limit(memory, 120).counts
    assert counts == {"threads": 1, "trimmed": 3}
    assert ids(memory) == ["s1", "s2", "summary", "u1", "last"]
    trimmed = memory.history.thread("t").events[-1].record
    assert trimmed.ranges == [[5, 7]]  # type: ignore[union-attr]


@pytest.mark.case("J01")
def test_a_budget_below_what_must_be_kept_is_reported(memory: Memory) -> None:
    """One large message, or large instructions: what may go goes, the rest is said, and nothing loops."""
    memory.threads.create(ALICE, thread_id="t")
    memory.messages.save("t", "x" * 500, role="system", message_id="s")
    talk(memory, 4)
    result = limit(memory, 100)
    assert ids(memory) == ["s", "t1", "t4"]
    assert result.counts == {"threads": 1, "trimmed": 2}
    assert "thread t keeps 520 tokens, over its budget of 100" in result.problems[0]
    again = limit(memory, 100)
    assert again.counts == {"threads": 0, "trimmed": 0}
    memory.threads.create(ALICE, thread_id="big")
    memory.messages.save("big", "y" * 50_000, message_id="huge")
    assert "thread big keeps 50000 tokens" in limit(memory, 1000).problems[-1]
    assert ids(memory, "big") == ["huge"]


def test_only_what_changed_is_looked_at(memory: Memory) -> None:
    """The next run begins where the last one ended; another budget looks at everything again."""
    talk(memory, 6)
    first = limit(memory, 100)
    talk(memory, 2, "u")
    looked: list[int] = []
    second = limit(memory, 100, state=first.state, progress=looked.append)
    assert len(looked) == 1
    assert limit(memory, 100, state=second.state, progress=looked.append).counts["threads"] == 0
    assert len(looked) == 1
    assert limit(memory, 40, state=second.state).counts == {"threads": 1, "trimmed": 2}


def test_a_run_that_is_stopped_goes_on(memory: Memory) -> None:
    """Thread by thread: the next run does the others, and those that changed meanwhile."""
    for number in range(5):
        talk(memory, 5, f"t{number}")
    stops = iter([False, False, True])
    first = limit(memory, 30, stop=lambda: next(stops))
    assert (first.counts["threads"], first.more) == (2, True)
    talk(memory, 9, "t0")
    second = limit(memory, 30, state=first.state)
    assert (second.counts["threads"], second.more) == (3, False)
    assert limit(memory, 30, state=second.state).counts["threads"] == 1


def test_a_dry_run_changes_nothing(memory: Memory) -> None:
    """It says what it would do."""
    talk(memory, 6)
    head = memory.log.head()
    assert limit(memory, 30, dry_run=True).counts == {"threads": 1, "trimmed": 3}
    keeper = Keeper()
    assert summarize(memory, keeper, dry_run=True).counts == {"summarized": 1}
    assert (memory.log.head(), keeper.given) == (head, [])


@pytest.mark.conformance(118)
@pytest.mark.parametrize("count", [0, 1, 2])
def test_a_short_thread_is_left_alone(memory: Memory, count: int) -> None:
    """The model is not called."""
    memory.threads.create(ALICE, thread_id="t")
    talk(memory, count)
    keeper = Keeper()
    assert summarize(memory, keeper, above=1).counts == {"summarized": 0}
    assert keeper.given == []


@pytest.mark.conformance(119, 124, 127)
def test_what_is_old_becomes_one_summary(memory: Memory) -> None:
    """In its place; the newest two verbatim; one event; a second run does nothing."""
    talk(memory, 8)
    keeper = Keeper()
    head = memory.log.head()
    assert summarize(memory, keeper).counts == {"summarized": 1}
    assert memory.log.head() == head + 1
    assert ids(memory) == ["t1", "summary", "t7", "t8"]
    assert keeper.given == [["t2", "t3", "t4", "t5", "t6"]]
    found = summary_of(memory)
    assert (found.role, found.content[0]["type"]) == ("system", "summary")
    event = memory.history.thread("t").events[-1]
    assert event.provenance.actor == "job:summarize"
    assert event.record.model == "fake"  # type: ignore[union-attr]
    assert event.record.summarizer == "keeper/1"  # type: ignore[union-attr]
    assert summarize(memory, keeper, above=10).counts == {"summarized": 0}
    assert memory.log.head() == head + 1


@pytest.mark.conformance(120)
def test_any_content_reaches_the_model(memory: Memory) -> None:
    """Text that is no JSON, parts, and a tool's call without a text."""
    memory.threads.create(ALICE, thread_id="t")
    memory.messages.save("t", "hello", message_id="first")
    contents: list[Any] = ["{not json", [{"type": "text", "text": "a part"}], [{"type": "ping", "n": 5}]]
    for number, content in enumerate(contents):
        memory.messages.save("t", content, role="assistant", message_id=f"m{number}")
    talk(memory, 2)
    texts: list[str] = []

    def read(messages: Sequence[Spoken]) -> str:
        texts.extend(item.text for item in messages)
        return "read"

    summarize(memory, Keeper(act=read), above=10)
    assert texts == ["{not json", "a part", "5"]


@pytest.mark.conformance(122, 123, 125, 126)
@pytest.mark.parametrize("error", [SummaryRefused("the summary is empty"), ModelUnavailable("it is away")])
def test_a_thread_that_fails_does_not_stop_the_others(memory: Memory, error: Exception) -> None:
    """Its messages stay as they are, and the result says why."""
    for name in ("t", "bad", "u"):
        talk(memory, 6, name)
    keeper = Keeper(act=lambda messages: error if messages[0].message_id.startswith("bad") else "kept")
    result = summarize(memory, keeper)
    assert result.counts == {"summarized": 2}
    assert result.problems == [f"thread bad was not summarised: {error}"]
    assert ids(memory, "bad") == [f"bad{number}" for number in range(1, 7)]


def test_a_model_that_is_away_is_not_asked_for_every_thread(memory: Memory) -> None:
    """After some failures in a row the run ends; one that a person must see to ends it at once."""
    for number in range(10):
        talk(memory, 6, f"t{number}-")
    keeper = Keeper(act=lambda messages: ModelUnavailable("it is away"))
    with pytest.raises(ModelUnavailable):
        summarize(memory, keeper)
    assert len(keeper.given) == PATIENCE
    keeper = Keeper(act=lambda messages: ModelRefused("the key is wrong"))
    with pytest.raises(ModelRefused):
        summarize(memory, keeper)
    assert len(keeper.given) == 1


@pytest.mark.case("J05")
def test_eight_facts_survive_six_rounds(memory: Memory) -> None:
    """Each summary is made from the messages themselves: never nested, and of bounded size."""
    planted = [f"fact{number}" for number in range(8)]
    talk(memory, 1)
    with memory.batch():
        for number in range(10):
            memory.messages.save("t", f"so {planted[number]} is" if number < 8 else "well", role="assistant")
    keeper = Keeper()
    for _ in range(6):
        with memory.batch():
            for number in range(50):
                memory.messages.save("t", f"filler {number}", role="assistant")
        assert summarize(memory, keeper).counts == {"summarized": 1}
        assert summary_of(memory).text.split() == planted
        assert not any(name.startswith("summary-") for name in keeper.given[-1])
    assert [len(given) for given in keeper.given] == [58, 108, 158, 208, 258, 308]
    shown = memory.messages.list("t")
    assert len(shown) == 4
    every = memory.messages.list("t", include_hidden=True, limit=1000)
    assert sum(item.message_id.startswith("summary-") for item in every) == 6
    assert len(every) == 1 + 10 + 300 + 6


@pytest.mark.case("J03")
def test_instructions_and_the_first_request_stay(memory: Memory) -> None:
    """A thread that is mostly tool traffic: the summary is of real content, and calls stay whole."""
    memory.threads.create(ALICE, thread_id="t")
    memory.messages.save("t", "be kind", role="system", message_id="s")
    memory.messages.save("t", "find the bug", role="user", message_id="u")
    with memory.batch():
        for number in range(100):
            part = {"type": "tool_use", "id": f"c{number}", "name": "read", "input": {"n": number}}
            memory.messages.save("t", [part], role="assistant", message_id=f"call{number}")
            answer = {"type": "tool_result", "tool_use_id": f"c{number}", "content": f"fact{number}"}
            memory.messages.save("t", [answer], role="user", message_id=f"result{number}")
    summarize(memory, Keeper(), keep=3)
    # Three would cut a pair in two.
    assert ids(memory) == ["s", "u", "summary", "call98", "result98", "call99", "result99"]
    found = summary_of(memory)
    assert found.content[0]["covers"] == [[3, 198]]
    assert found.text.split()[:2] == ["fact0", "fact1"]


def test_two_workers_make_one_summary(memory: Memory) -> None:
    """Both have read the same messages before either writes: one event."""
    talk(memory, 8)
    both = threading.Barrier(2)

    def meet(messages: Sequence[Spoken]) -> str:
        both.wait()
        return f"by {threading.get_ident()}"

    results: list[Result] = []
    workers = [
        threading.Thread(target=lambda: results.append(summarize(memory, Keeper(act=meet)))) for _ in range(2)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert sorted(item.counts["summarized"] for item in results) == [0, 1]
    events = [event.type for event in memory.history.thread("t").events]
    assert events.count("MessagesSummarized") == 1


def test_a_message_that_changed_while_the_model_thought(memory: Memory) -> None:
    """The summary is of what was said, not of what was: it is not written, and the next run makes another."""
    talk(memory, 8)

    def meddle(messages: Sequence[Spoken]) -> str:
        memory.messages.save("t", "something else", role="user", message_id="t3")
        return "late"

    assert summarize(memory, Keeper(act=meddle)).counts == {"summarized": 0}
    assert len(ids(memory)) == 8
    assert summarize(memory, Keeper()).counts == {"summarized": 1}


KILLED = """
import os, signal, sys, foldlog
from foldlog.settings import Settings
from foldlog.workers.jobs.job import Work
from foldlog.workers.jobs.summarize import SummarizeJob
from foldlog.workers.models.summarizer import Summary
step = int(sys.argv[2])
steps = 0
def tick():
    global steps
    steps += 1
    if steps == step:
        os.kill(os.getpid(), signal.SIGKILL)
class Model:
    name, version, model = "fake", 1, None
    def summarize(self, messages, *, budget):
        tick()
        return Summary(text="kept", sources=(), summarizer="fake", version=1, extractive=False)
memory = foldlog.open(sys.argv[1])
submit = memory._writer.submit
def watched(*given):
    tick()
    receipt = submit(*given)
    tick()
    return receipt
memory._writer.submit = watched
job = SummarizeJob(Settings(tokenizer="bytes", summarize_above=50), Model())
job.run(Work(memory=memory, now=0))
"""


@pytest.mark.parametrize("step", [1, 2, 3])
def test_a_kill_at_any_step_loses_nothing(tmp_path: Path, step: int) -> None:
    """Before the model, before the write, after it: either all is as before, or the summary is whole."""
    path = tmp_path / "memory.db"
    with open_memory(path) as memory:
        talk(memory, 8)
        done = subprocess.run(
            [sys.executable, "-c", KILLED, str(path), str(step)], check=False, env=os.environ.copy()
        )
        assert done.returncode == -signal.SIGKILL
        assert len(ids(memory)) == (4 if step == 3 else 8)
        assert len(memory.messages.list("t", include_hidden=True)) == (9 if step == 3 else 8)
        summarize(memory, Keeper())
        assert ids(memory) == ["t1", "summary", "t7", "t8"]
        assert memory.verify().ok


def test_the_summarizer_that_needs_no_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the command, with the settings alone: sentences of the thread, with the ids they come from."""
    monkeypatch.setenv("FOLDLOG_LOG", str(tmp_path / "memory.db"))
    monkeypatch.setenv("FOLDLOG_SUMMARIZE_ABOVE", "200")
    monkeypatch.setenv("FOLDLOG_SUMMARY_TOKENS", "60")
    with open_memory(tmp_path / "memory.db") as memory:
        memory.threads.create(ALICE, thread_id="t")
        for number in range(40):
            memory.messages.save(
                "t", f"The deployment of service {number} to Frankfurt failed again.", message_id=f"m{number}"
            )
        assert main(["run", "summarize"]) == 0
        assert capsys.readouterr().out == "summarize: 1 summarized\n"
        found = summary_of(memory)
        assert "Frankfurt" in found.text
        assert set(found.content[0]["sources"]) <= {f"m{number}" for number in range(40)}
        assert found.content[0]["sources"]
