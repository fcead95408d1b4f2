"""Notes that a language model proposes from messages: checked, with the messages that they come from."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from foldlog.errors import ExtractionRefused, InvalidInput
from foldlog.events.encoding import check_text
from foldlog.workers.models import prompts
from foldlog.workers.models.pieces import pieces

if TYPE_CHECKING:
    from foldlog.workers.models.model import Answer, Calls, Model
    from foldlog.workers.models.pieces import Line
    from foldlog.workers.models.transcript import Spoken
    from foldlog.workers.tokens.counter import Counter

#: What a note can be.
KINDS: Final = ("fact", "decision", "preference", "task", "question")

#: Most notes from one request, and most characters of each.
MAX_NOTES: Final = 10
MAX_CHARACTERS: Final = 500

#: What models put around JSON, although they were asked not to.
_CODE_FENCE: Final = re.compile(r"\A\s*```(?:json)?\s*\n(.*)\n\s*```\s*\Z", re.DOTALL)

SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "notes": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "body": {"type": "string"},
                    "kind": {"type": "string", "enum": list(KINDS)},
                    "sources": {"type": "array", "items": {"type": "string"}},
                },
                "required": ["body", "kind", "sources"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["notes"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposed:
    """A note that somebody may accept."""

    body: str
    #: One of KINDS.
    kind: str
    #: Ids of the messages it comes from, in the order of the conversation; one at least.
    sources: tuple[str, ...]


class Extractor:
    """Asks a model once for each piece of a conversation."""

    def __init__(self, model: Model, counter: Counter, calls: Calls, *, input_tokens: int) -> None:
        self._model = model
        self._counter = counter
        self._calls = calls
        self._input_tokens = input_tokens

    def extract(self, messages: Sequence[Spoken]) -> list[Proposed]:
        """Return the notes proposed, in the order of the pieces; none for messages without a text.

        Raises ExtractionRefused when an answer is not as asked for: then none of them is used. Raises
        ModelUnavailable when it may work later, ModelRefused when a person must act first.
        """
        spoken = [message for message in messages if message.text.strip()]
        parts = pieces(spoken, self._input_tokens, self._counter)
        if len(parts) > self._calls.limit:
            raise ExtractionRefused(
                f"these messages need {len(parts)} requests to the model, and FOLDLOG_MODEL_CALLS allows "
                f"{self._calls.limit} in a run; give fewer at a time"
            )
        return [note for part in parts for note in self._notes(part)]

    def _notes(self, piece: Sequence[Line]) -> list[Proposed]:
        prompt = prompts.notes(piece, SCHEMA, kinds=KINDS, most=MAX_NOTES, characters=MAX_CHARACTERS)
        answer = self._model.ask(prompt, self._calls)
        if answer.declined:
            raise ExtractionRefused(f"{self._model.model} declined to propose notes from these messages")
        if answer.cut:
            raise ExtractionRefused(
                f"{self._model.model} did not finish its notes in {self._model.output_tokens} tokens; "
                "raise FOLDLOG_MODEL_OUTPUT_TOKENS"
            )
        return checked(answer, {line.ref: line.message.message_id for line in piece})


def checked(answer: Answer, ids: Mapping[str, str]) -> list[Proposed]:
    """Return the notes of an answer; `ids` are those of the messages by the marks that the model saw.

    Raises ExtractionRefused that says where the answer is not as asked for; what it says is not repeated.
    """
    found = _json(answer.text())
    items = found.get("notes") if isinstance(found, dict) else None
    if not isinstance(items, list):
        raise ExtractionRefused('the model did not answer with an object that has a list "notes"')
    if len(items) > MAX_NOTES:
        raise ExtractionRefused(
            f"the model proposed {len(items)} notes, and at most {MAX_NOTES} were asked for"
        )
    return [_note(item, ids, f"notes[{place}]") for place, item in enumerate(items)]


def _json(text: str) -> Any:
    fence = _CODE_FENCE.match(text)
    try:
        return json.loads(fence[1] if fence else text)
    except (ValueError, RecursionError):
        raise ExtractionRefused("the model did not answer with JSON") from None


def _note(item: Any, ids: Mapping[str, str], path: str) -> Proposed:
    if not isinstance(item, dict):
        raise ExtractionRefused(f"{path} is not an object")
    kind = item.get("kind")
    if kind not in KINDS:
        raise ExtractionRefused(f"{path}.kind is not one of {', '.join(KINDS)}")
    return Proposed(
        body=_body(item.get("body"), f"{path}.body"), kind=kind, sources=_sources(item, ids, path)
    )


def _body(body: Any, path: str) -> str:
    if not isinstance(body, str) or not body.strip():
        raise ExtractionRefused(f"{path} is not a text")
    if len(body := body.strip()) > MAX_CHARACTERS:
        raise ExtractionRefused(f"{path} has {len(body)} characters, more than {MAX_CHARACTERS}")
    try:
        return check_text(body, path)
    except InvalidInput as error:
        raise ExtractionRefused(str(error)) from error


def _sources(item: Mapping[str, Any], ids: Mapping[str, str], path: str) -> tuple[str, ...]:
    marks = item.get("sources")
    if not isinstance(marks, list) or not marks:
        raise ExtractionRefused(f"{path}.sources names no message")
    # Some write a mark as they saw it, in brackets.
    named = {mark.strip(" []") if isinstance(mark, str) else None for mark in marks}
    if not named <= set(ids):
        raise ExtractionRefused(f"{path}.sources names a message that was not given")
    return tuple(message_id for mark, message_id in ids.items() if mark in named)
