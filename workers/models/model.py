"""The protocol of a language model: one prompt, one answer, and how many were asked for in a run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from foldlog.errors import ModelUnavailable
from foldlog.workers.tokens.counter import encoded


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """What a model is asked."""

    #: What it is to do; ours alone, nothing that anybody said.
    instructions: str
    #: What it is to do it with, between fences.
    material: str
    #: The JSON schema of the answer; None for an answer in words.
    schema: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a model answered, not yet looked at."""

    #: A string, most of the time; services also give None, lists of parts and objects.
    content: Any
    #: Whether it ends because it reached the most tokens of one answer.
    cut: bool = False
    #: Whether the model, or a filter of the service, declined.
    declined: bool = False

    def text(self) -> str:
        """Return the answer in words, without blanks around it; of another shape, the text in it.

        A string, the `text` or the `output` of an object, the texts of parts one after another; anything
        else as JSON. Nothing is an empty text.
        """
        return encoded(_text(self.content)).decode().strip()


class Calls:
    """How many requests one run may make; those that fail count too."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.made = 0

    def take(self) -> None:
        """Count one request; raises ModelUnavailable when the run has made all it may."""
        if self.made >= self.limit:
            raise ModelUnavailable(
                f"this run has made {self.limit} requests to the model, the most that FOLDLOG_MODEL_CALLS "
                "allows; the next run goes on"
            )
        self.made += 1


class Model(Protocol):
    """A language model behind a service."""

    @property
    def name(self) -> str:
        """The kind of service, as FOLDLOG_SUMMARIZER names it."""

    @property
    def model(self) -> str:
        """The service's name of the model."""

    @property
    def output_tokens(self) -> int:
        """Most tokens of one answer."""

    def ask(self, prompt: Prompt, calls: Calls) -> Answer:
        """Return the answer; failures that pass are tried again, each attempt counted in `calls`.

        Raises ModelUnavailable when it may work later, ModelRefused when a person must act first.
        """


def _text(content: Any) -> str:
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, dict):
        for name in ("text", "output"):
            if isinstance(content.get(name), str):
                return str(content[name])
    if isinstance(content, list):
        return "\n".join(filter(None, map(_text, content)))
    return json.dumps(content, ensure_ascii=False)
