"""The summarizer `extractive`: the sentences that say most of what was said, word for word; no model.

Words weigh by how often they come in the conversation; sentences are taken one by one, the best value for
its length first, and a word counts less once a taken sentence holds it (SumBasic, Nenkova and Vanderwende,
2005). The summary has them in the order of the conversation, with speaker and day.
"""

from __future__ import annotations

import math
from collections import Counter as Multiset
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from heapq import heapify, heappop, heappush
from itertools import groupby
from typing import TYPE_CHECKING, Final

from foldlog.errors import SummaryRefused
from foldlog.projections import analysis
from foldlog.projections.document import date_words
from foldlog.workers.models.sentences import sentences
from foldlog.workers.models.summarizer import Summary, accepted, said
from foldlog.workers.models.transcript import Spoken, rendered

if TYPE_CHECKING:
    from foldlog.workers.tokens.counter import Counter

VERSION: Final = 1

#: What a word is still worth for each taken sentence that holds it.
REPEATED: Final = 0.3

#: A question says less than its answer. Those of the last message may be open, and count in full.
QUESTION: Final = 0.5

#: What is mostly signs and digits (code, JSON, tables) says little in one line of it.
SIGNS: Final = 0.3
MOSTLY: Final = 0.6

#: How much its length lowers the value of a sentence: an exponent, and what it needs beside itself, in
#: characters: without that, "Hi!" is the cheapest word.
LENGTH: Final = 0.5
BESIDE: Final = 32

#: Greetings and nods have one word, stop words not counted, or none; so have few sentences that matter.
NOD: Final = 0.3

#: Between two sentences of a message that did not stand together.
GAP: Final = " … "

#: After what is left of a sentence too long for the budget.
CUT: Final = " …"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sentence:
    #: Which message it is of, which sentence of the conversation it is, and where it is in the message.
    message: int
    place: int
    start: int
    end: int
    #: Its different words, sorted: sums of fractions depend on the order.
    words: tuple[str, ...]
    tokens: int
    #: Its value by the rules alone.
    factor: float
    #: Whether it ends where it ends in the message.
    whole: bool = True


class ExtractiveSummarizer:
    """Takes sentences until the budget is full; the same summary for the same messages, always."""

    name = "extractive"
    version = VERSION
    model = None

    def __init__(self, counter: Counter) -> None:
        self._counter = counter

    def summarize(self, messages: Sequence[Spoken], *, budget: int) -> Summary:
        """Return the sentences taken, of at most `budget` tokens; raises SummaryRefused when none fits."""
        spoken = said(messages, budget)
        chosen = self._chosen(spoken, budget)
        return Summary(
            text=accepted(_text(spoken, chosen), spoken, budget, self._counter),
            sources=tuple(spoken[number].message_id for number in sorted({item.message for item in chosen})),
            summarizer=self.name,
            version=self.version,
            extractive=True,
        )

    def _chosen(self, spoken: Sequence[Spoken], budget: int) -> Sequence[_Sentence]:
        found = list(self._sentences(spoken))
        if self._counter.count([rendered(spoken)])[0] <= budget:
            return found
        room = _Room(spoken, self._counter, budget)
        chosen = list(_best(found, room.takes))
        if chosen:
            return chosen
        part = room.beginning(next(_best(found, lambda _: True)))
        if part is None:
            raise SummaryRefused(f"a budget of {budget} tokens holds no word with its speaker and day")
        return [part]

    def _sentences(self, spoken: Sequence[Spoken]) -> Iterator[_Sentence]:
        spans = [(number, *span) for number, item in enumerate(spoken) for span in sentences(item.text)]
        texts = [spoken[number].text[start:end] for number, start, end in spans]
        counts = self._counter.count(texts)
        for place, ((number, start, end), text, tokens) in enumerate(zip(spans, texts, counts, strict=True)):
            words = tuple(sorted(set(analysis.words(text))))
            yield _Sentence(
                message=number,
                place=place,
                start=start,
                end=end,
                words=words,
                tokens=tokens,
                factor=_factor(text, words, last=number == len(spoken) - 1),
            )


class _Room:
    """What was taken, and what room is left for more."""

    def __init__(self, spoken: Sequence[Spoken], counter: Counter, budget: int) -> None:
        self.taken: list[_Sentence] = []
        self._spoken = spoken
        self._counter = counter
        self._budget = budget
        #: Tokens of what was taken; more than it has, unless it was counted as a whole.
        self._used = 0
        self._counted = True
        speakers = counter.count(sorted({f"{item.speaker}:" for item in spoken}))
        days = counter.count(sorted({f"{date_words(item.happened_at)}:" for item in spoken}))
        #: Most that a sentence may need beside itself: both lines, and what stands between.
        self._beside = max(speakers) + max(days) + 3

    def takes(self, item: _Sentence) -> bool:
        """Take a sentence in if there is room for it, and say so."""
        used = self._used + item.tokens + self._beside
        if used <= self._budget:
            self._counted = False
        else:
            used = self._close_look(item)
            if used > self._budget:
                return False
        self._used = used
        self.taken.append(item)
        return True

    def _close_look(self, item: _Sentence) -> int:
        """Return the tokens with one more sentence: counted as a whole, unless there is clearly no room."""
        if not self._counted:
            self._used = self._count(self.taken)
            self._counted = True
        if self._used + item.tokens > self._budget:
            return self._used + item.tokens
        return self._count([*self.taken, item])

    def beginning(self, item: _Sentence) -> _Sentence | None:
        """Return as much of a sentence as there is room for; None when there is none."""
        fits, too_long = item.start, item.end
        while too_long - fits > 1:
            middle = (fits + too_long) // 2
            if self._count([replace(item, end=middle, whole=False)]) <= self._budget:
                fits = middle
            else:
                too_long = middle
        return replace(item, end=fits, whole=False) if fits > item.start else None

    def _count(self, chosen: Sequence[_Sentence]) -> int:
        return self._counter.count([_text(self._spoken, chosen)])[0]


def _best(found: Sequence[_Sentence], takes: Callable[[_Sentence], bool]) -> Iterator[_Sentence]:
    """Yield the sentences that are taken, always the one of the highest value next."""
    counts = Multiset(word for item in found for word in item.words)
    weights = {word: math.log(1 + count) for word, count in counts.items()}
    said_before: Multiset[str] = Multiset()

    def value(item: _Sentence) -> float:
        worth = sum(weights[word] * math.pow(REPEATED, said_before[word]) for word in item.words)
        return item.factor * worth / math.pow(BESIDE + item.end - item.start, LENGTH)

    waiting = [(-value(item), item.place, item) for item in found]
    heapify(waiting)
    while waiting:
        _, place, item = heappop(waiting)
        now = -value(item)
        if waiting and (now, place) > waiting[0][:2]:
            # Values only fall: what is still the best after a new look is the best of all.
            heappush(waiting, (now, place, item))
        elif takes(item):
            said_before.update(item.words)
            yield item


def _factor(text: str, words: Sequence[str], *, last: bool) -> float:
    factor = NOD if len(words) < 2 else 1.0
    if text.endswith(("?", "？")) and not last:
        factor *= QUESTION
    if sum(sign.isalpha() or sign.isspace() for sign in text) < MOSTLY * len(text):
        factor *= SIGNS
    return factor


def _text(spoken: Sequence[Spoken], chosen: Sequence[_Sentence]) -> str:
    """Return sentences in the order of the conversation, one line a message."""
    ordered = sorted(chosen, key=lambda item: item.place)
    shown = []
    for number, group in groupby(ordered, key=lambda item: item.message):
        text, before = "", None
        for item in group:
            text += _between(before, item) + spoken[number].text[item.start : item.end].rstrip()
            text += "" if item.whole else CUT
            before = item
        shown.append(replace(spoken[number], text=text))
    return rendered(shown)


def _between(before: _Sentence | None, item: _Sentence) -> str:
    if before is None:
        return ""
    if item.place > before.place + 1:
        return GAP
    # Some languages put no blank between sentences.
    return " " if before.end < item.start else ""
