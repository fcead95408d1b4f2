"""The memories and the questions, from a seed: the same numbers give the same log.

Half of the memories are in one namespace, the others spread over many by 1/rank. Eight in ten are
messages of threads, the others facts and notes; some speak of dates, identifiers, people and facts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np

from scaling.words import COMMON, RARE, STOPS, Words, name, word

NAMESPACES = 1_000
LARGEST = "agent:largest"
#: With 1/rank over the smaller half, this one holds about a hundredth of all memories.
HUNDREDTH = "user:n7"

TAGS = [f"tag{number}" for number in range(1, 21)]
PEOPLE = (
    "Anna",
    "Boris",
    "Carla",
    "Dmitri",
    "Elena",
    "Farid",
    "Greta",
    "Hugo",
    "Ines",
    "Jonas",
    "Kira",
    "Liam",
)
MONTHS = ("January", "March", "May", "June", "August", "October", "December")
YEARS = range(2019, 2025)

#: Shares of memories that speak of something; each identifier stands in two.
IDENTIFIERS = 0.05
DATES = 0.25
MENTIONS = 0.05
ASKS = 0.1

BEGAN = datetime(2020, 1, 1, 9, tzinfo=UTC)
STEP = timedelta(minutes=20)

KINDS = ("mixed", "common", "identifier")


@dataclass(frozen=True, kw_only=True)
class Item:
    """One memory to be written."""

    kind: str
    namespace: str
    #: The fact's key; for a message its thread.
    name: str
    text: str
    speaker: str
    tags: list[str]
    at: datetime
    #: The thread is new and must be created first.
    opens: bool = False
    #: A fact that has expired by the time it is asked for.
    expires: bool = False
    #: A note that supersedes the namespace's note before.
    supersedes: bool = False


@dataclass(frozen=True, kw_only=True)
class Question:
    """One question."""

    kind: str
    text: str
    namespace: str


class Data:
    """Makes the memories, and then questions about them."""

    def __init__(self, memories: int, seed: int) -> None:
        self.memories = memories
        self._random = np.random.default_rng(seed)
        self._words = Words(self._random)
        self._threads: dict[str, tuple[str, int]] = {}
        self._opened = self._facts = 0
        #: By namespace: (rare words, speaker) of memories that questions can be about.
        self._known: dict[str, list[tuple[list[str], str]]] = {LARGEST: [], HUNDREDTH: []}

    def items(self) -> Iterator[Item]:
        """Yield the memories, in the order of their time."""
        weights = 1 / np.arange(1, NAMESPACES)
        others = self._random.choice(NAMESPACES - 1, self.memories, p=weights / weights.sum())
        for number in range(self.memories):
            largest = self._random.random() < 0.5
            yield self._item(number, LARGEST if largest else f"user:n{others[number] + 1}")

    def _item(self, number: int, namespace: str) -> Item:
        kind = str(self._random.choice(["message", "fact", "note"], p=[0.8, 0.12, 0.08]))
        speaker = PEOPLE[self._random.integers(len(PEOPLE))]
        ranks = self._words.ranks(int(self._random.integers(20, 61)))
        text = " ".join([self._words.sentences(ranks), *self._extras(number, kind)])
        if namespace in self._known and kind == "message":
            rare = [word(int(rank)) for rank in ranks if rank > RARE]
            self._known[namespace].append((rare, speaker))
        opens, called = self._place(namespace) if kind == "message" else (False, "")
        if kind == "fact":
            self._facts += 1
            called = name(self._facts)
        return Item(
            kind=kind,
            namespace=namespace,
            name=called,
            text=text,
            speaker=speaker,
            tags=list(dict.fromkeys(self._tag() for _ in range(2))),
            at=BEGAN + number * STEP,
            opens=opens,
            expires=kind == "fact" and self._random.random() < 0.1,
            supersedes=kind == "note" and self._random.random() < 0.3,
        )

    def _place(self, namespace: str) -> tuple[bool, str]:
        """Return the namespace's open thread, and whether it is a new one."""
        thread, left = self._threads.get(namespace, ("", 0))
        opens = left == 0
        if opens:
            self._opened += 1
            thread, left = f"thread-{self._opened}", int(self._random.integers(20, 200))
        self._threads[namespace] = (thread, left - 1)
        return opens, thread

    def _extras(self, number: int, kind: str) -> Iterator[str]:
        chances = self._random.random(4)
        if chances[0] < IDENTIFIERS:
            yield f"See {identifier(number // 2)}."
        if chances[1] < DATES:
            yield self._date()
        if chances[2] < MENTIONS and self._facts:
            yield f"It is about {name(int(self._random.integers(1, self._facts + 1)))}."
        if chances[3] < ASKS and kind == "message":
            yield "What do you think?"

    def _date(self) -> str:
        year, month = self._random.choice(YEARS), self._random.choice(MONTHS)
        day = self._random.integers(1, 29)
        forms = (
            f"It was in {year}.",
            f"That was on {day} {month} {year}.",
            f"In {month} {year}.",
            "Yesterday.",
        )
        return forms[self._random.integers(len(forms))]

    def _tag(self) -> str:
        weights = 1 / np.arange(1, len(TAGS) + 1)
        return TAGS[np.searchsorted(np.cumsum(weights) / weights.sum(), self._random.random())]

    def questions(self, count: int, namespace: str = LARGEST) -> list[Question]:
        """Return questions of all kinds in turn; to be called when the memories are made."""
        return [
            Question(kind=kind, text=self._question(kind, namespace), namespace=namespace)
            for kind in (KINDS[place % len(KINDS)] for place in range(count))
        ]

    def _question(self, kind: str, namespace: str) -> str:
        common = [word(int(rank)) for rank in self._random.integers(STOPS, COMMON, size=6)]
        known = self._known[namespace]
        rare, speaker = known[self._random.integers(len(known))]
        when = f" in {self._random.choice(YEARS)}" if self._random.random() < 0.3 else ""
        if kind == "mixed":
            who = f" did {speaker} say" if self._random.random() < 0.5 else ""
            return f"What{who} {' '.join(rare[:4] + common[:3])}{when}?"
        if kind == "common":
            return f"What did {speaker} do with {' '.join(common)}{when}?"
        found = identifier(int(self._random.integers(self.memories // 2)))
        return " ".join([found, *common[: self._random.integers(4)]])


def identifier(number: int) -> str:
    """Return an identifier, as the text of two memories may have it."""
    return f"PRJ-{number:06d}"
