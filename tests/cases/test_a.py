"""Kind A: text and values as they come from tools, models and files."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from fixtures.index import difference, indexed_rows, recount
from fixtures.logs import open_memory
from foldlog import Memory
from foldlog.errors import InvalidInput
from foldlog.events.encoding import instant_ms, parse
from foldlog.projections.embedding import static

ALICE = "user:alice"

#: What people and tools have put into texts; Postgres refuses the first two.
ODD = (
    "a\x00b",
    "\x00\x00x",
    "\u202eabc",
    "\ufeffabc",
    "a\u2028b",
    "\x1b[31mred",
    "e\u0301",
    "日本",
    "👩\u200d👩\u200d👧",
    "x" * 70,
)


@pytest.mark.case("A01")
def test_odd_characters_lose_no_neighbour(indexed_memory: Memory, database_url: str) -> None:
    """In facts, messages, notes and retained texts among good ones: all are folded, and again alike."""
    memory = indexed_memory
    memory.threads.create(ALICE, thread_id="t")
    with memory.batch():
        for number in range(20):
            memory.facts.set(ALICE, f"good{number}", "plain")
        for place, odd in enumerate(ODD):
            memory.facts.set(ALICE, f"fact{place}", {"k": odd, odd: [odd]})
            memory.messages.save("t", [{"type": "text", "text": f"said {odd}"}], message_id=f"message{place}")
            memory.notes.save(ALICE, f"noted {odd}", note_id=f"note{place}")
            memory.retained.add(ALICE, f"kept {odd}", retained_id=f"kept{place}")
    memory.catch_up()
    for _ in range(2):
        assert difference(memory, database_url) == []
        assert recount(memory, database_url) == []
        texts = indexed_rows(memory, database_url, "text")
        for place, odd in enumerate(ODD):
            fact, note = memory.facts.get(ALICE, f"fact{place}"), memory.notes.get(f"note{place}")
            assert fact is not None
            assert note is not None
            assert (fact.value, note.body) == ({"k": odd, odd: [odd]}, f"noted {odd}")
            shown = odd.replace("\x00", "\ufffd")
            assert texts[f"note{place}"] == (f"noted {shown}",)
            assert texts[f"kept{place}"] == (f"kept {shown}",)
            (event,) = memory.history.note(f"note{place}").events
            assert event.as_dict()["data"]["body"] == f"noted {odd}"
        memory.rebuild()


@pytest.mark.case("A04")
@pytest.mark.parametrize("blank", ["", "\n\n", " \t\u3000", "\u00a0"])
def test_blank_texts_and_padded_names(memory: Memory, blank: str) -> None:
    """Blank notes, messages, primers and retained texts are refused; their batch goes on."""
    memory.threads.create(ALICE, thread_id="t")
    with memory.batch():
        for number in range(48):
            memory.facts.set(ALICE, f"k{number}", number)
        for refused in (
            lambda: memory.notes.save(ALICE, blank),
            lambda: memory.messages.save("t", blank),
            lambda: memory.messages.save("t", [{"type": "text", "text": blank}]),
            lambda: memory.retained.add(ALICE, blank),
            lambda: memory.primers.set(ALICE, "p", blank),
            lambda: memory.facts.set(f"user:alice{blank} ", "k", 1),
            lambda: memory.facts.set(ALICE, f"{blank}k ", 1),
            lambda: memory.notes.save(ALICE, "x", tags=[f" {blank}"]),
        ):
            with pytest.raises(InvalidInput):
                refused()
        memory.facts.set(ALICE, "blank", blank)
    fact = memory.facts.get(ALICE, "blank")
    assert fact is not None
    assert fact.value == blank
    assert memory.log.head() == 50


@pytest.mark.case("A04")
def test_a_blank_value_is_sent_to_no_embedder(
    indexed_memory: Memory, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is data, and is folded; there is nothing in it to embed, and its neighbours are embedded."""
    sent: list[str] = []
    real = static.StaticEmbedder.passages

    def passages(self: Any, texts: Sequence[str]) -> Any:
        sent.extend(texts)
        return real(self, texts)

    monkeypatch.setattr(static.StaticEmbedder, "passages", passages)
    with indexed_memory.batch():
        for place, value in enumerate(("", " ", "\n\n", "harbour", "crane")):
            indexed_memory.facts.set(ALICE, f"k{place}", value)
    indexed_memory.catch_up()
    assert difference(indexed_memory, database_url) == []
    assert sorted(sent) == ["k3: harbour", "k4: crane"]


@pytest.mark.case("A05")
def test_a_text_above_the_limit_is_refused(memory: Memory) -> None:
    """With the setting that would allow it; nothing is written, whatever kind of memory it is."""
    long = " ".join(f"w{number:07}" for number in range(120_000))
    memory.threads.create(ALICE, thread_id="t")
    for refused in (
        lambda: memory.notes.save(ALICE, long),
        lambda: memory.messages.save("t", long),
        lambda: memory.facts.set(ALICE, "k", {"text": long}),
        lambda: memory.retained.add(ALICE, long),
        lambda: memory.primers.set(ALICE, "p", long),
        lambda: memory.notes.save(ALICE, "é" * 600_000),
    ):
        with pytest.raises(InvalidInput, match="FOLDLOG_MAX_PAYLOAD_BYTES"):
            refused()
    assert memory.log.head() == 1


@pytest.mark.case("A05")
@pytest.mark.slow
def test_a_very_long_text_blocks_nothing(tmp_path: Path, database_url: str) -> None:
    """120,000 distinct words: whole in the log and in the index, found by its last word; others follow."""
    words = [f"w{number:07}" for number in range(120_000)]
    given: dict[str, Any] = {"database_url": database_url, "max_payload_bytes": 4 << 20, "embedder": "none"}
    with open_memory(tmp_path / "memory.db", **given) as memory:
        memory.notes.save(ALICE, " ".join(words), note_id="long")
        for number in range(10):
            memory.notes.save(ALICE, f"small note {number}", note_id=f"n{number}")
        assert memory.catch_up().position == 11
        assert difference(memory, database_url) == []
        assert indexed_rows(memory, database_url, "length(text)")["long"] == (len(" ".join(words)),)
        for word in (words[0], words[60_000], words[-1]):
            assert [item.id for item in memory.recall(word, ALICE).memories] == ["long"]
        assert len(memory.recall("small", ALICE, limit=20).memories) == 10


@pytest.mark.case("A06")
@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({"score": float("nan")}, "value.score"),
        ({"score": float("inf")}, "value.score"),
        ([1, {"a": [float("-inf")]}], "value[1].a[0]"),
    ],
)
def test_no_number_that_json_has_not(memory: Memory, value: Any, path: str) -> None:
    """Refused with the place, never made null, in a value, in a message's parts and in metadata."""
    memory.threads.create(ALICE, thread_id="t")
    with pytest.raises(InvalidInput) as refused:
        memory.facts.set(ALICE, "k", value)
    assert refused.value.path == path
    for ask in (
        lambda: memory.messages.save("t", [{"text": "x", "value": value}]),
        lambda: memory.retained.add(ALICE, "x", metadata={"value": value}),
    ):
        with pytest.raises(InvalidInput):
            ask()
    assert memory.log.head() == 1


@pytest.mark.case("A06")
@pytest.mark.parametrize("text", ["NaN", "[Infinity]", "-Infinity", "1e999", '{"a": -1e999}'])
def test_no_such_number_is_read(text: str) -> None:
    """Also not as JSON from a user: what Python would read as infinity is refused."""
    with pytest.raises(InvalidInput):
        parse(text)


@pytest.mark.case("A08")
def test_large_integers_stay_exact(indexed_memory: Memory, database_url: str) -> None:
    """Through log, index and rebuild; what could not be read again is refused."""
    value = {"a": 9007199254740993, "b": 9223372036854775808, "c": -(2**200), "d": int("9" * 4300)}
    indexed_memory.facts.set(ALICE, "ids", value)
    for _ in range(2):
        indexed_memory.catch_up()
        fact = indexed_memory.facts.get(ALICE, "ids")
        assert fact is not None
        assert fact.value == value
        assert "9007199254740993" in indexed_rows(indexed_memory, database_url, "text")["ids"][0]
        assert difference(indexed_memory, database_url) == []
        indexed_memory.rebuild()
    found = indexed_memory.recall("9223372036854775808", ALICE).memories
    assert [item.id for item in found] == ["ids"]
    with pytest.raises(InvalidInput, match="4300 digits"):
        indexed_memory.facts.set(ALICE, "ids", {"n": 10**4999})
    with pytest.raises(InvalidInput):
        parse("1" * 5000)


@pytest.mark.case("A10")
def test_instants_have_a_zone(memory: Memory) -> None:
    """A time without one is refused, in every call that takes one; others are the instants that they are."""
    memory.threads.create(ALICE, thread_id="t")
    naive = datetime(2026, 3, 29, 2, 30)  # noqa: DTZ001 - what is to be refused
    for ask in (
        lambda at: memory.facts.set(ALICE, "k", 1, occurred_at=at),
        lambda at: memory.notes.save(ALICE, "n", occurred_at=at),
        lambda at: memory.messages.save("t", "m", occurred_at=at),
        lambda at: memory.retained.add(ALICE, "r", occurred_at=at),
        lambda at: memory.primers.set(ALICE, "p", "text", occurred_at=at),
        lambda at: memory.threads.create(ALICE, occurred_at=at),
    ):
        with pytest.raises(InvalidInput, match="time zone"):
            ask(naive)
    assert memory.log.head() == 1
    gap = naive.replace(tzinfo=ZoneInfo("Europe/Berlin"))
    for at in (naive.replace(tzinfo=UTC), naive.replace(tzinfo=timezone(timedelta(hours=2))), gap):
        memory.notes.save(ALICE, f"at {at.isoformat()}", occurred_at=at)
    stamps = [note.created_at for note in memory.notes.list(ALICE)]
    assert stamps == [instant_ms(datetime(2026, 3, 29, hour, 30, tzinfo=UTC)) for hour in (2, 0, 1)]


@pytest.mark.case("A10")
def test_a_relative_day_is_the_same_everywhere(tmp_path: Path) -> None:
    """One question at one instant, under the zones at both ends of the world: the same answer."""
    program = (
        "import sys\n"
        "from foldlog import composition\n"
        "from foldlog.settings import Settings\n"
        "from pathlib import Path\n"
        "given = Settings(log=Path(sys.argv[1]), database_url='postgresql:///none?host=/nowhere')\n"
        "with composition.open_memory(settings=given, clock=lambda: 1772445600000) as memory:\n"
        "    found = memory.recall('What happened yesterday?', 'user:alice')\n"
        "    print([(item.id, round(item.score, 6)) for item in found.memories], found.block)\n"
    )
    path = tmp_path / "memory.db"
    with open_memory(path) as memory:
        for day in (27, 28):
            at = datetime(2026, 2, day, 12, tzinfo=UTC)
            memory.notes.save(ALICE, f"It happened: {day}", note_id=f"n{day}", occurred_at=at)
        memory.notes.save(ALICE, "It happened", note_id="n1", occurred_at=datetime(2026, 3, 1, tzinfo=UTC))
    printed = {
        subprocess.run(
            [sys.executable, "-c", program, str(path)],
            env={**os.environ, "TZ": zone},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for zone in ("Pacific/Kiritimati", "Pacific/Pago_Pago", "UTC")
    }
    assert len(printed) == 1
    assert printed.pop().startswith("[('n1',")
