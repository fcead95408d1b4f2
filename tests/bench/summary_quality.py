"""How much of a written summary an extractive one holds, on the sessions of LoCoMo, without a language model.

ROUGE-N recall (Lin, 2004): the share of the N-grams of the data set's own session summaries that stand in
ours, as often as there; words in lower case, not stemmed. A token is a word, so that the budget is what other
figures are given for. Run by `make bench-summaries`; exits 1 when a figure is below its bar. The data are not
part of the project.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections import Counter as Multiset
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from foldlog.events.encoding import instant_ms
from foldlog.imports import locomo
from foldlog.workers.models.extractive import ExtractiveSummarizer
from foldlog.workers.models.summarizer import said
from foldlog.workers.models.transcript import Spoken, rendered

REPOSITORY = Path(__file__).parents[2]

FILE = "locomo_dev.json"

#: Words of a summary; those of the data set have 109 on average.
BUDGET = 120

#: Least ROUGE-1 and ROUGE-2 recall.
BARS = (0.37, 0.08)


class Words:
    """Counts words."""

    name = "words"
    exact = True

    def count(self, texts: Sequence[str]) -> list[int]:
        """Return the words of each text."""
        return [len(text.split()) for text in texts]


@dataclass(frozen=True)
class Session:
    """A session, and what the data set says about it."""

    messages: list[Spoken]
    summary: str


@dataclass(frozen=True)
class Measured:
    """The means of a way to summarise."""

    name: str
    recall: tuple[float, float]
    words: float
    milliseconds: float


def sessions(path: Path) -> Iterator[Session]:
    """Yield the sessions that have a summary."""
    samples = json.loads(path.read_text(encoding="utf-8"))
    for sample, conversation in zip(samples, locomo.read(path), strict=True):
        for session in conversation.sessions:
            name = session.thread_id.rpartition("/")[2]
            summary = sample["session_summary"].get(f"{name}_summary")
            if summary:
                stamp = instant_ms(session.at)
                messages = [
                    Spoken(
                        message_id=turn.message_id,
                        role="user",
                        author=turn.author,
                        text=turn.text,
                        happened_at=stamp,
                    )
                    for turn in session.turns
                ]
                yield Session(messages, summary)


def first_words(messages: Sequence[Spoken]) -> str:
    """Return the begin of a session, what any summary must be better than."""
    return " ".join(rendered(said(messages, BUDGET)).split()[:BUDGET])


def recall(text: str, reference: str, size: int) -> float:
    """Return ROUGE recall for N-grams of a size."""
    ours, theirs = _grams(text, size), _grams(reference, size)
    return (ours & theirs).total() / theirs.total()


def _grams(text: str, size: int) -> Multiset[tuple[str, ...]]:
    words = re.findall(r"[a-z0-9]+", text.lower())
    return Multiset(zip(*(words[start:] for start in range(size)), strict=False))


def measure(name: str, summarize: Callable[[Sequence[Spoken]], str], given: Sequence[Session]) -> Measured:
    """Summarise all sessions."""
    begun = time.process_time()
    texts = [summarize(session.messages) for session in given]
    spent = time.process_time() - begun
    pairs = [(text, session.summary) for text, session in zip(texts, given, strict=True)]
    one, two = (sum(recall(*pair, size) for pair in pairs) / len(given) for size in (1, 2))
    words = sum(len(text.split()) for text in texts) / len(given)
    return Measured(name, (one, two), words, spent / len(given) * 1000)


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument(
        "--data", type=Path, default=REPOSITORY / "../shared/data", help="the folder with the question sets"
    )
    path = parser.parse_args().data / FILE
    if not path.is_file():
        print(
            f"not measured, since there is no {path}; name the folder of the data with --data",
            file=sys.stderr,
        )
        return 0
    given = list(sessions(path))
    summarizer = ExtractiveSummarizer(Words())
    ways = [
        measure("first words", first_words, given),
        measure("extractive", lambda items: summarizer.summarize(items, budget=BUDGET).text, given),
    ]
    print(f"{len(given)} sessions, {BUDGET} words: recall of ROUGE-1 and ROUGE-2, words, ms of CPU a session")
    for way in ways:
        print(
            f"{way.name:12} {way.recall[0]:.3f} {way.recall[1]:.3f} {way.words:6.1f} {way.milliseconds:6.1f}"
        )
    below = any(figure < bar for figure, bar in zip(ways[-1].recall, BARS, strict=True))
    print(f"below the bar of {BARS[0]} and {BARS[1]}" if below else "the bars are met")
    return 1 if below else 0


if __name__ == "__main__":
    sys.exit(main())
