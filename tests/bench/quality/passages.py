"""MuSiQue and HotpotQA (as sampled by HippoRAG): which passages of a whole corpus answer a question
that takes several of them together.

A passage is a fact: its key is the title, its value the text.
"""

from __future__ import annotations

import json
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from foldlog.memory import Memory
from quality.facts import write_facts
from quality.question_set import COMPLETE, LOG_ALONE, Question, QuestionSet, Way, bars

WAYS = (Way(label="without the graph", without="graph"), COMPLETE, LOG_ALONE)
DEPTHS = (2, 5, 10)
ROWS = {"all": ("all",)}

#: Title and text.
Passage = tuple[str, str]


def keys(passages: Iterable[Passage]) -> dict[Passage, str]:
    """Return each passage's key: its title, and from the second of that title on its number."""
    seen: Counter[str] = Counter()
    found: dict[Passage, str] = {}
    for title, text in passages:
        name = unicodedata.normalize("NFC", title).strip()
        seen[name] += 1
        found[title, text] = name if seen[name] == 1 else f"{name} ({seen[name]})"
    return found


def write_musique(memory: Memory, folder: Path) -> list[Question]:
    """Write MuSiQue's corpus; gold are the paragraphs marked as supporting."""
    corpus = [(item["title"], item["text"]) for item in _read(folder, "musique_corpus.json")]
    known = keys(corpus)
    _write(memory, "global:musique", known)
    return [
        _question(
            "global:musique",
            item["question"],
            [
                known[paragraph["title"], paragraph["paragraph_text"]]
                for paragraph in item["paragraphs"]
                if paragraph["is_supporting"]
            ],
        )
        for item in _read(folder, "musique_dev.json")
    ]


def write_hotpotqa(memory: Memory, folder: Path) -> list[Question]:
    """Write HotpotQA's corpus; gold are the passages whose titles are among the supporting facts."""
    corpus = {title: "".join(lines) for title, lines in _read(folder, "hotpotqa_corpus.json").items()}
    known = keys(corpus.items())
    _write(memory, "global:hotpotqa", known)
    return [
        _question(
            "global:hotpotqa",
            item["question"],
            [known[title, corpus[title]] for title, _ in item["supporting_facts"]],
        )
        for item in _read(folder, "hotpotqa_dev.json")
    ]


def _read(folder: Path, name: str) -> Any:
    return json.loads((folder / name).read_text(encoding="utf-8"))


def _write(memory: Memory, namespace: str, known: dict[Passage, str]) -> None:
    write_facts(memory, ((namespace, key, text) for (_, text), key in known.items()))


def _question(namespace: str, text: str, gold: Sequence[str]) -> Question:
    return Question(namespace=namespace, text=text, gold=frozenset(gold))


MUSIQUE = QuestionSet(
    name="musique",
    title="MuSiQue dev: supporting passages in the whole corpus",
    files=("musique_dev.json", "musique_corpus.json"),
    write=write_musique,
    ways=WAYS,
    depths=DEPTHS,
    rows=ROWS,
    bars=bars("all", {2: 0.48, 5: 0.61, 10: 0.69}),
)

HOTPOTQA = QuestionSet(
    name="hotpotqa",
    title="HotpotQA dev: supporting passages in the whole corpus",
    files=("hotpotqa_dev.json", "hotpotqa_corpus.json"),
    write=write_hotpotqa,
    ways=WAYS,
    depths=DEPTHS,
    rows=ROWS,
    bars=bars("all", {2: 0.75, 5: 0.91, 10: 0.96}),
)
