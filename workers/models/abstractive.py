"""Summaries in a language model's own words: conversations of any length, a bounded number of requests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from foldlog.errors import SummaryRefused
from foldlog.workers.models import prompts
from foldlog.workers.models.pieces import pieces
from foldlog.workers.models.summarizer import Summary, accepted, said

if TYPE_CHECKING:
    from foldlog.workers.models.model import Calls, Model, Prompt
    from foldlog.workers.models.transcript import Spoken
    from foldlog.workers.tokens.counter import Counter

#: Fewest tokens that the summary of one piece is given; in fewer, nothing but a topic can be said.
SMALLEST_SHARE: Final = 150


class AbstractiveSummarizer:
    """Asks a model once a piece, and once more when what it wrote does not fit the budget."""

    version = prompts.VERSION

    def __init__(self, model: Model, counter: Counter, calls: Calls, *, input_tokens: int) -> None:
        self.name = model.name
        self.model = model.model
        self._model = model
        self._counter = counter
        self._calls = calls
        self._input_tokens = input_tokens

    def summarize(self, messages: Sequence[Spoken], *, budget: int) -> Summary:
        """Return the model's summary; each piece is summarised from the messages themselves."""
        spoken = said(messages, budget)
        before = self._calls.made
        parts = pieces(spoken, self._input_tokens, self._counter)
        share = max(min(SMALLEST_SHARE, budget), budget // len(parts))
        self._check_calls(len(parts) + (len(parts) * share > budget))
        words = prompts.words(share, self._counter)
        text = "\n\n".join([self._ask(prompts.summary(part, words)) for part in parts])
        if self._count(text) > budget:
            text = self._shorter(text, budget)
        return Summary(
            text=accepted(text, spoken, budget, self._counter),
            sources=tuple(message.message_id for message in spoken),
            summarizer=self.name,
            version=self.version,
            model=self.model,
            calls=self._calls.made - before,
            extractive=False,
        )

    def _shorter(self, text: str, budget: int) -> str:
        tokens = self._count(text)
        if tokens > self._input_tokens:
            raise SummaryRefused(
                f"the summaries of the pieces have {tokens} tokens, more than one request takes; "
                "summarise fewer messages at a time, or raise FOLDLOG_MODEL_INPUT_TOKENS"
            )
        return self._ask(prompts.merge(text, prompts.words(budget, self._counter)))

    def _check_calls(self, needed: int) -> None:
        """Refuse before the first request what no run could finish."""
        if needed > self._calls.limit:
            raise SummaryRefused(
                f"these messages need {needed} requests to the model, and a run may make "
                f"{self._calls.limit}; summarise fewer at a time, or raise FOLDLOG_MODEL_CALLS or "
                "FOLDLOG_MODEL_INPUT_TOKENS"
            )

    def _ask(self, prompt: Prompt) -> str:
        answer = self._model.ask(prompt, self._calls)
        if answer.declined:
            raise SummaryRefused(f"{self.model} declined to summarise these messages")
        if answer.cut:
            raise SummaryRefused(
                f"{self.model} did not finish its summary in {self._model.output_tokens} tokens; "
                "raise FOLDLOG_MODEL_OUTPUT_TOKENS"
            )
        text = answer.text()
        if not text:
            raise SummaryRefused(f"{self.model} answered with an empty summary")
        return text

    def _count(self, text: str) -> int:
        return self._counter.count([text])[0]
