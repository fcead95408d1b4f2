"""LoCoMo (snap-research/LoCoMo): which turns of a long conversation answer a question.

The gold turns are those that the set names as evidence. Adversarial questions ask one person about what
the other one said; the turn that they misquote is to be found all the same.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from foldlog.imports.locomo import import_file
from foldlog.memory import Memory
from foldlog.names import format_namespace
from quality.question_set import COMPLETE, LOG_ALONE, Question, QuestionSet, Way, bars

FILE = "locomo_dev.json"

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open", 4: "single-hop", 5: "adversarial"}

ANSWERABLE = tuple(name for number, name in CATEGORIES.items() if number < 5)


def write(memory: Memory, folder: Path) -> list[Question]:
    """Write all conversations, through the importer that foldlog ships."""
    import_file(memory, folder / FILE)
    samples = json.loads((folder / FILE).read_text(encoding="utf-8"))
    return [question for sample in samples for question in _questions(sample)]


def _questions(sample: dict[str, Any]) -> list[Question]:
    """Return the questions that have gold turns; some name turns that do not exist."""
    sample_id = sample["sample_id"]
    sessions = [turns for turns in sample["conversation"].values() if isinstance(turns, list)]
    known = {turn["dia_id"] for turns in sessions for turn in turns}
    found = []
    for item in sample["qa"]:
        # One string may name several turns.
        gold = known.intersection(re.findall(r"D\d+:\d+", " ".join(item["evidence"])))
        if gold:
            found.append(
                Question(
                    namespace=format_namespace("user", sample_id),
                    text=item["question"],
                    gold=frozenset(f"{sample_id}/{turn}" for turn in gold),
                    group=CATEGORIES[item["category"]],
                )
            )
    return found


SET = QuestionSet(
    name="locomo",
    title="LoCoMo dev: evidence turns in their conversation",
    files=(FILE,),
    write=write,
    ways=(
        Way(label="text alone", only="text"),
        Way(label="semantic alone", only="semantic"),
        COMPLETE,
        LOG_ALONE,
    ),
    depths=(5, 10, 20),
    rows={"categories 1-4": ANSWERABLE, **{name: (name,) for name in CATEGORIES.values()}},
    bars=(
        *bars("categories 1-4", {5: 0.72, 10: 0.785, 20: 0.84}),
        *bars("adversarial", {10: 0.92}),
    ),
)
