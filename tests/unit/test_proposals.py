"""Notes that a model proposes: an answer is as asked for, or none of it is used."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foldlog.errors import ExtractionRefused, SettingsError
from foldlog.events.encoding import instant_ms
from foldlog.settings import Settings
from foldlog.workers.models import registry
from foldlog.workers.models.extraction import (
    KINDS,
    MAX_CHARACTERS,
    MAX_NOTES,
    SCHEMA,
    Extractor,
    Proposed,
    checked,
)
from foldlog.workers.models.model import Answer, Calls, Prompt
from foldlog.workers.models.transcript import Spoken
from foldlog.workers.tokens.counter import ByteCounter

IDS = {"m1": "first", "m2": "second", "m3": "third"}

NOTE = {"body": "Alice lives in Bern.", "kind": "fact", "sources": ["m1"]}


def answer(*notes: object) -> Answer:
    return Answer(content=json.dumps({"notes": notes}))


def test_a_note_has_a_body_a_kind_and_ids_of_messages() -> None:
    """Each id once, in the order of the conversation, whatever order and brackets the marks came in."""
    found = checked(answer(NOTE | {"sources": ["[m3]", "m1", " m3"]}), IDS)
    assert found == [Proposed(body="Alice lives in Bern.", kind="fact", sources=("first", "third"))]


@pytest.mark.parametrize(
    "content",
    [
        {"notes": [NOTE]},
        json.dumps({"notes": [NOTE]}),
        f"```json\n{json.dumps({'notes': [NOTE]}, indent=2)}\n```",
        f"\n```\n{json.dumps({'notes': [NOTE]})}\n```\n",
        {"text": json.dumps({"notes": [NOTE]})},
    ],
)
def test_json_comes_in_several_wrappings(content: Any) -> None:
    """An object, its text, that between marks of code, or in a field of the service."""
    assert [note.body for note in checked(Answer(content=content), IDS)] == ["Alice lives in Bern."]


def test_nothing_may_be_worth_a_note() -> None:
    """That is an answer too."""
    assert checked(answer(), IDS) == []


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "did not answer with JSON"),
        ("", "did not answer with JSON"),
        ("I found no notes.", "did not answer with JSON"),
        ('{"notes": [', "did not answer with JSON"),
        ("[" * 100_000, "did not answer with JSON"),
        ("[]", 'object that has a list "notes"'),
        ("null", 'object that has a list "notes"'),
        ({"note": []}, 'object that has a list "notes"'),
        ({"notes": {"m1": "x"}}, 'object that has a list "notes"'),
    ],
)
def test_an_answer_that_is_no_list_of_notes_is_refused(content: Any, says: str) -> None:
    """What it says is not repeated."""
    with pytest.raises(ExtractionRefused, match=says):
        checked(Answer(content=content), IDS)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"body": None}, "body is not a text"),
        ({"body": 7}, "body is not a text"),
        ({"body": " \n"}, "body is not a text"),
        ({"body": "x" * (MAX_CHARACTERS + 1)}, f"body has {MAX_CHARACTERS + 1} characters, more than"),
        ({"body": "half \ud800"}, "body: holds half of a surrogate pair"),
        ({"kind": "rumour"}, "kind is not one of fact, decision"),
        ({"kind": None}, "kind is not one of"),
        ({"kind": ["fact"]}, "kind is not one of"),
        ({"body": float("nan")}, "body is not a text"),
        ({"sources": []}, "sources names no message"),
        ({"sources": None}, "sources names no message"),
        ({"sources": "m1"}, "sources names no message"),
        ({"sources": ["m1", "m4"]}, "sources names a message that was not given"),
        ({"sources": ["first"]}, "sources names a message that was not given"),
        ({"sources": [1]}, "sources names a message that was not given"),
        ({"sources": [["m1"]]}, "sources names a message that was not given"),
    ],
)
def test_a_note_that_is_not_as_asked_for_is_refused(change: dict[str, Any], says: str) -> None:
    """With its place; the good note before it is not used either."""
    with pytest.raises(ExtractionRefused, match=rf"^notes\[1\]\.?{says}"):
        checked(answer(NOTE, NOTE | change), IDS)


def test_what_is_no_note_at_all_is_refused() -> None:
    """As is more than was asked for."""
    with pytest.raises(ExtractionRefused, match=r"notes\[0\] is not an object"):
        checked(answer("Alice lives in Bern."), IDS)
    with pytest.raises(ExtractionRefused, match=f"proposed {MAX_NOTES + 1} notes, and at most {MAX_NOTES}"):
        checked(answer(*[NOTE] * (MAX_NOTES + 1)), IDS)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.sampled_from(["m1", "m2", "fact", "task"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["notes", "body", "kind", "sources", "text"]), inner, max_size=4)
    ),
)


@settings(deadline=None)
@given(JSON)
def test_whatever_a_model_answers_is_notes_or_refused(content: Any) -> None:
    """Nothing else comes out, and no other error."""
    try:
        found = checked(Answer(content=content), IDS)
    except ExtractionRefused:
        return
    for note in found:
        assert note.body == note.body.strip() != ""
        assert note.kind in KINDS
        assert note.sources
        assert set(note.sources) <= set(IDS.values())


class FakeModel:
    """Proposes one note from the first message of each piece."""

    name = "openai"
    model = "fake-1"
    output_tokens = 500

    def __init__(self) -> None:
        self.asked: list[Prompt] = []

    def ask(self, prompt: Prompt, calls: Calls) -> Answer:
        calls.take()
        self.asked.append(prompt)
        mark = prompt.material.split("[")[1].split("]")[0]
        return answer({"body": f"From {mark}.", "kind": "fact", "sources": [mark]})


def spoken(*texts: str) -> list[Spoken]:
    stamp = instant_ms(datetime(2026, 5, 8, tzinfo=UTC))
    return [
        Spoken(message_id=f"id-{number}", role="user", text=text, happened_at=stamp)
        for number, text in enumerate(texts, 1)
    ]


def test_long_conversations_are_read_in_pieces() -> None:
    """A mark means the same message in all of them."""
    model = FakeModel()
    found = Extractor(model, ByteCounter(), Calls(9), input_tokens=1000).extract(spoken(*["word " * 150] * 3))
    assert [note.sources for note in found] == [("id-1",), ("id-2",), ("id-3",)]
    assert all(prompt.schema == SCHEMA for prompt in model.asked)
    assert all(f"at most {MAX_NOTES} notes" in prompt.instructions for prompt in model.asked)


def test_nothing_is_asked_about_nothing() -> None:
    """Messages without a text hold no notes."""
    model = FakeModel()
    assert Extractor(model, ByteCounter(), Calls(9), input_tokens=1000).extract(spoken("", " \n")) == []
    assert model.asked == []


def test_more_requests_than_a_run_may_make_are_refused_before_the_first() -> None:
    """Notes of half the pieces would look like those of all."""
    model = FakeModel()
    with pytest.raises(ExtractionRefused, match=r"need 3 requests to the model.*2 in a run"):
        Extractor(model, ByteCounter(), Calls(2), input_tokens=1000).extract(spoken(*["word " * 150] * 3))
    assert model.asked == []


def test_without_a_model_there_are_no_notes() -> None:
    """The message says what is needed."""
    with pytest.raises(
        SettingsError, match="proposes no notes; that needs a language model: set it to openai or"
    ):
        registry.create_extractor(Settings())
