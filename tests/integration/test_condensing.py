"""Summaries and trimmed messages: what a thread shows, what stays, and what the index makes of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from fixtures.index import difference, recount
from fixtures.logs import Clock
from foldlog import Memory, composition
from foldlog.cli import paging
from foldlog.cli.main import main
from foldlog.errors import InvalidInput, MessageSealed, UnknownThread
from foldlog.projections.local.threads import Message
from foldlog.settings import Settings

ALICE = "user:alice"


def talk(memory: Memory, count: int, thread: str = "t") -> None:
    memory.threads.create(ALICE, thread_id=thread)
    with memory.batch():
        for number in range(1, count + 1):
            memory.messages.save(thread, f"word{number} said", message_id=f"{thread}{number}")


def ids(messages: list[Message]) -> list[str]:
    return ["summary" if item.message_id.startswith("summary-") else item.message_id for item in messages]


def summarize(memory: Memory, ordinals: list[int], text: str, thread: str = "t") -> bool:
    every = memory.messages.list(thread, include_hidden=True)
    covered = [item for item in every if item.ordinal in ordinals]
    sources = [item.message_id for item in covered]
    return memory.messages.summarize(thread, covered, text, summarizer="test/1", sources=sources).created


def trim(memory: Memory, ordinals: list[int], thread: str = "t") -> bool:
    return memory.messages.trim(thread, ordinals, budget=10, tokens=99, tokenizer="bytes").created


def test_trimmed_messages_are_hidden_and_stay(memory: Memory) -> None:
    """Gone from list, count, search and recall; there with include_hidden, and in the history."""
    talk(memory, 5)
    assert trim(memory, [1, 2, 4])
    assert ids(memory.messages.list("t")) == ["t3", "t5"]
    assert memory.messages.count("t") == 2
    assert memory.messages.get("t1") is None
    hidden = memory.messages.get("t1", include_hidden=True)
    assert hidden is not None
    assert hidden.hidden_by == memory.log.head()
    assert ids(memory.messages.list("t", include_hidden=True)) == ["t1", "t2", "t3", "t4", "t5"]
    assert memory.search("word1") == []
    assert memory.recall("word1", ALICE).memories == []
    assert [event.type for event in memory.history.thread("t").events][-1] == "MessagesTrimmed"
    assert [
        event.record.content for event in memory.history.message("t1").events if event.type == "MessageSaved"
    ] == [  # type: ignore[union-attr]
        "word1 said"
    ]
    assert not trim(memory, [1, 2, 4])
    memory.messages.save("t", "next", message_id="t6")
    assert memory.messages.list("t")[-1].ordinal == 6


def test_a_summary_stands_where_its_messages_were(memory: Memory) -> None:
    """After what is kept in front, before what was said later; limits and cursors know its place."""
    talk(memory, 8)
    assert summarize(memory, [3, 4, 5, 6], "three to six")
    shown = memory.messages.list("t")
    assert ids(shown) == ["t1", "t2", "summary", "t7", "t8"]
    summary = shown[2]
    assert (summary.role, summary.text, summary.place) == ("system", "three to six", 3)
    assert summary.content[0]["covers"] == [[3, 6]]
    assert summary.content[0]["sources"] == ["t3", "t4", "t5", "t6"]
    assert memory.messages.count("t") == 5
    assert ids(memory.messages.list("t", limit=2)) == ["t1", "t2"]
    assert ids(memory.messages.list("t", limit=3)) == ["t1", "t2", "summary"]
    assert ids(memory.messages.list("t", limit=3, latest=True)) == ["summary", "t7", "t8"]
    assert ids(memory.messages.list("t", limit=2, latest=True)) == ["t7", "t8"]
    assert ids(memory.messages.list("t", after=2)) == ["summary", "t7", "t8"]
    assert ids(memory.messages.list("t", after=3)) == ["t7", "t8"]
    assert ids(memory.messages.list("t", limit=0)) == []
    assert [item.item.name for item in memory.search("six", kinds=["message"])] == [summary.message_id]
    assert memory.search("word4") == []
    every = memory.messages.list("t", include_hidden=True)
    assert ids(every) == ["t1", "t2", "summary", "t3", "t4", "t5", "t6", "t7", "t8"]
    assert memory.messages.save("t", "word9 said").created
    assert memory.messages.list("t")[-1].ordinal == 9


def test_a_new_summary_replaces_the_former(memory: Memory) -> None:
    """Made from the messages, never nested: one summary is shown, the former stays as history."""
    talk(memory, 10)
    assert summarize(memory, [1, 2, 3], "one to three")
    assert summarize(memory, [1, 2, 3, 4, 5, 6], "one to six")
    assert ids(memory.messages.list("t")) == ["summary", "t7", "t8", "t9", "t10"]
    shown = memory.messages.list("t")[0]
    assert shown.content[0]["sources"] == ["t1", "t2", "t3", "t4", "t5", "t6"]
    former = [item for item in memory.messages.list("t", include_hidden=True) if item.text == "one to three"]
    assert former[0].hidden_by == memory.log.head()


def test_a_doubled_or_late_summary_changes_nothing(memory: Memory) -> None:
    """The same messages again, or one that has changed since: nothing is appended."""
    talk(memory, 6)
    covered = memory.messages.list("t", limit=3)
    assert summarize(memory, [1, 2, 3], "first")
    head = memory.log.head()
    assert not summarize(memory, [1, 2, 3], "second")
    assert memory.log.head() == head
    covered = memory.messages.list("t", after=3, limit=2)
    memory.messages.save("t", "word4 said otherwise", message_id="t4")
    head = memory.log.head()
    assert not memory.messages.summarize("t", covered, "late", summarizer="test/1").created
    assert memory.log.head() == head


def test_what_is_hidden_does_not_change(memory: Memory) -> None:
    """The same content again is no change; another content is refused, and so is writing over a summary."""
    talk(memory, 6)
    summarize(memory, [1, 2], "one and two")
    trim(memory, [3])
    head = memory.log.head()
    for name in ("t1", "t3"):
        number = name[1:]
        assert memory.messages.save("t", f"word{number} said", message_id=name).outcome == "unchanged"
        with pytest.raises(MessageSealed, match="cannot change") as caught:
            memory.messages.save("t", "something else", message_id=name)
        assert caught.value.message_id == name
        assert caught.value.hidden_by is not None
    summary = memory.messages.list("t")[0]
    with pytest.raises(MessageSealed, match="is a summary"):
        memory.messages.save("t", "mine now", message_id=summary.message_id)
    assert memory.log.head() == head


def test_deleting_what_is_hidden_and_the_summary(memory: Memory) -> None:
    """A hidden message can be deleted; so can the summary, and the whole thread."""
    talk(memory, 6)
    summarize(memory, [1, 2, 3], "one to three")
    assert memory.messages.delete("t", ["t2"]).created
    assert memory.messages.count("t") == 4
    assert memory.messages.get("t2", include_hidden=True) is None
    summary = memory.messages.list("t")[0]
    assert memory.messages.delete("t", [summary.message_id]).created
    assert ids(memory.messages.list("t")) == ["t4", "t5", "t6"]
    assert memory.messages.count("t") == 3
    assert summarize(memory, [1, 3, 4], "one, three and four")
    assert memory.messages.list("t")[0].content[0]["covers"] == [[1, 1], [3, 4]]
    memory.threads.delete("t")
    assert memory.messages.get("t1", include_hidden=True) is None
    assert memory.verify().ok


def test_impossible_requests_are_refused(memory: Memory) -> None:
    """Each with its reason, and nothing appended."""
    talk(memory, 2)
    head = memory.log.head()
    covered = memory.messages.list("t")
    with pytest.raises(UnknownThread):
        memory.messages.trim("nope", [1], budget=1, tokens=1, tokenizer="bytes")
    with pytest.raises(InvalidInput, match="budget"):
        memory.messages.trim("t", [1], budget=0, tokens=1, tokenizer="bytes")
    with pytest.raises(InvalidInput, match="text"):
        memory.messages.summarize("t", covered, " ", summarizer="test/1")
    with pytest.raises(InvalidInput, match="covered"):
        memory.messages.summarize("t", [], "text", summarizer="test/1")
    assert memory.log.head() == head


def test_the_index_shows_what_the_log_shows(tmp_path: Path, database_url: str, clock: Clock) -> None:
    """Folded page by page, all at once, and after a rebuild: the same rows, the same counts of words."""
    settings = Settings(log=tmp_path / "memory.db", database_url=database_url, embedder="none", page_events=3)
    with composition.open_memory(settings=settings, clock=clock) as memory:
        talk(memory, 12)
        memory.catch_up()
        summarize(memory, [2, 3, 4], "two to four")
        trim(memory, [1])
        memory.catch_up()
        assert difference(memory, database_url) == []
        summarize(memory, [2, 3, 4, 5, 6], "two to six")
        memory.messages.delete("t", ["t3", "t9"])
        talk(memory, 4, "u")
        summarize(memory, [1, 2], "one and two", "u")
        memory.threads.delete("u")
        memory.catch_up()
        assert difference(memory, database_url) == []
        assert recount(memory, database_url) == []
        answer = memory.recall("two to six", ALICE, limit=50)
        assert answer.status == "ok"
        texts = [item.text for item in answer.memories]
        assert "two to six" in texts
        assert not {"two to four", "word1 said", "word2 said", "word3 said", "word5 said"} & set(texts)
        assert memory.rebuild() == 2
        assert difference(memory, database_url) == []


def test_the_command_shows_what_is_hidden(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A thread longer than a page with a summary in it is shown to its end; `--all` shows the rest."""
    monkeypatch.setenv("FOLDLOG_LOG", str(memory.log.path))
    monkeypatch.setattr(paging, "PAGE", 2)
    talk(memory, 7)
    summarize(memory, [2, 3, 4], "two to four")
    assert main(["thread", "show", "t"]) == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert [row[0] for row in rows] == ["1", "2", "5", "6", "7"]
    assert main(["thread", "show", "t", "--all"]) == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert [row[0] for row in rows] == ["1", "2", "(2)", "(3)", "(4)", "5", "6", "7"]
    assert main(["history", "thread", "t"]) == 0
    assert "summarised messages (2 to 4)" in capsys.readouterr().out
