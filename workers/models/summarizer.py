"""The protocol of a summarizer, and what every summary must be before it may stand for messages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from foldlog.errors import InvalidInput, SummaryRefused
from foldlog.workers.models.transcript import rendered

if TYPE_CHECKING:
    from foldlog.workers.models.transcript import Spoken
    from foldlog.workers.tokens.counter import Counter


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What may stand for messages."""

    text: str
    #: Ids of the messages it was made from, in their order.
    sources: tuple[str, ...]
    #: The summarizer's name and version.
    summarizer: str
    version: int
    #: The language model, as the service calls it; None when there was none.
    model: str | None = None
    #: Requests made for it, those that failed counted.
    calls: int = 0
    #: Whether every sentence of it is one of the messages', word for word.
    extractive: bool


class Summarizer(Protocol):
    """What says in few words what was said in many."""

    @property
    def name(self) -> str:
        """The word by which the setting FOLDLOG_SUMMARIZER chooses it."""

    @property
    def version(self) -> int:
        """Goes up whenever our code would make another summary."""

    @property
    def model(self) -> str | None:
        """The language model, as the service calls it; None when there is none."""

    def summarize(self, messages: Sequence[Spoken], *, budget: int) -> Summary:
        """Return a summary of messages, given in their order, of at most `budget` tokens.

        Raises SummaryRefused when there is none that may stand for them, ModelUnavailable when it may
        work later, ModelRefused when a person must act first, InvalidInput for a budget below 1.
        """


def said(messages: Sequence[Spoken], budget: int) -> list[Spoken]:
    """Return the messages that hold a text; raises InvalidInput for a budget below 1.

    Raises SummaryRefused when there are none: a model that is asked to summarise nothing answers politely.
    """
    if budget < 1:
        raise InvalidInput("budget", f"must be a positive number of tokens, not {budget}")
    found = [message for message in messages if message.text.strip()]
    if not found:
        raise SummaryRefused(f"there is nothing to summarise: {len(messages)} messages, and no text in them")
    return found


def accepted(text: str, messages: Sequence[Spoken], budget: int, counter: Counter) -> str:
    """Return a summary without the blanks around it; raises SummaryRefused when it may not be used."""
    text = text.strip()
    if not text:
        raise SummaryRefused("the summary is empty")
    tokens, originals = counter.count([text, rendered(messages)])
    if tokens > budget:
        raise SummaryRefused(f"the summary has {tokens} tokens, more than its budget of {budget}")
    if tokens > originals:
        raise SummaryRefused(f"the summary has {tokens} tokens, more than the {originals} it stands for")
    return text
