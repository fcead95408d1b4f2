"""Our WordPiece: the ids of the reference tokenizer, which the fixture holds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldlog.projections.embedding import wordpiece

FIXTURE = Path(__file__).parents[1] / "data/wordpiece.json"

CASES = json.loads(FIXTURE.read_text(encoding="utf-8"))


def test_the_ids_are_those_of_the_reference() -> None:
    """For every text of the fixture: scripts, accents, signs, controls, emoji, long words."""
    assert len(CASES) > 300
    tokenizer = wordpiece.WordPiece(wordpiece.VOCABULARY.read_text(encoding="utf-8").splitlines())
    assert [(text, tokenizer.ids(text)) for text, _ in CASES] == [(text, ids) for text, ids in CASES]


def test_what_was_kept_is_right_the_second_time() -> None:
    """The ids of a stretch do not depend on what was asked before."""
    tokenizer = wordpiece.load()
    for text, ids in reversed(CASES):
        assert tokenizer.ids(f"{text} {text}") == ids * 2


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("unaffable", ["una", "##ffa", "##ble"]),
        ("Ärger", ["ar", "##ger"]),
        ("don't", ["don", "'", "t"]),
        ("[CLS]", ["[", "cl", "##s", "]"]),
        ("天上", ["天", "上"]),
        ("🦊", ["[UNK]"]),
        ("a\x00b\u200bc", ["abc"]),
        ("x" * 101, ["[UNK]"]),
        ("\ud800a", ["a"]),
    ],
)
def test_pieces(text: str, pieces: list[str]) -> None:
    """A few that can be read: greedy pieces, accents, signs, CJK, unknown, dropped characters."""
    vocabulary = wordpiece.VOCABULARY.read_text(encoding="utf-8").splitlines()
    assert [vocabulary[number] for number in wordpiece.load().ids(text)] == pieces


def test_the_vocabulary_has_its_landmarks() -> None:
    """The ids that the code knows by number."""
    vocabulary = wordpiece.VOCABULARY.read_text(encoding="utf-8").splitlines()
    assert len(vocabulary) == 30_522
    assert vocabulary[wordpiece.UNKNOWN] == "[UNK]"
    assert vocabulary[wordpiece.BEGIN] == "[CLS]"
    assert vocabulary[wordpiece.END] == "[SEP]"
    assert vocabulary[wordpiece.FIRST] == "!"


@given(st.text(alphabet=st.characters(codec=None)))
def test_every_text_has_ids(text: str) -> None:
    """Never a special id, whatever is in the text; no error for half surrogates."""
    for number in wordpiece.load().ids(text):
        assert number == wordpiece.UNKNOWN or number >= wordpiece.FIRST
