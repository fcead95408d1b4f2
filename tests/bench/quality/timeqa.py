"""TimeQA (wenhuchen/Time-Sensitive-QA): which paragraph of a page says what was so at a time.

A page is a namespace, each of its paragraphs a fact: the key is the heading it stands under and its
number, the value its text. Headings are paragraphs too, as in the set.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from foldlog.memory import Memory
from foldlog.names import format_namespace
from quality.facts import write_facts
from quality.question_set import COMPLETE, LOG_ALONE, Question, QuestionSet, Way, bars

FILE = "timeqa_dev.json"

#: Most words of a heading.
HEADING_WORDS = 9

_HEADING = re.compile(r"[^-].* \.")


def write(memory: Memory, folder: Path) -> list[Question]:
    """Write all pages; gold are the paragraphs that hold an answer."""
    pages = json.loads((folder / FILE).read_text(encoding="utf-8"))
    keys = [_keys(page["paras"]) for page in pages]
    write_facts(
        memory,
        (
            (_namespace(page), key, text)
            for page, names in zip(pages, keys, strict=True)
            for key, text in zip(names, page["paras"], strict=True)
        ),
    )
    return [
        question
        for page, names in zip(pages, keys, strict=True)
        for question in _questions(_namespace(page), page, names)
    ]


def _namespace(page: dict[str, Any]) -> str:
    name = unicodedata.normalize("NFC", page["index"].removeprefix("/wiki/"))
    return format_namespace("global", name)


def _keys(paragraphs: list[str]) -> list[str]:
    """Return a key for each paragraph; the first one is the page's title."""
    title = heading = _clean(paragraphs[0])
    found = []
    for number, text in enumerate(paragraphs):
        if _HEADING.fullmatch(text) and len(text.split()) <= HEADING_WORDS:
            heading = _clean(text)
            found.append(f"{title} {number}")
        else:
            found.append(f"{heading} {number}")
    return found


def _clean(heading: str) -> str:
    return unicodedata.normalize("NFC", heading.removesuffix(" .")).strip()


def _questions(namespace: str, page: dict[str, Any], keys: list[str]) -> Iterator[Question]:
    """Yield the questions that have an answer."""
    for text, answers in page["questions"]:
        gold = frozenset(keys[answer["para"]] for answer in answers if answer["answer"])
        if gold:
            yield Question(namespace=namespace, text=text, gold=gold)


SET = QuestionSet(
    name="timeqa",
    title="TimeQA dev: the paragraph with the answer in its page",
    files=(FILE,),
    write=write,
    ways=(Way(label="without the time channel", without="time"), COMPLETE, LOG_ALONE),
    depths=(1, 3, 5),
    rows={"all": ("all",)},
    bars=bars("all", {1: 0.58, 3: 0.76, 5: 0.83}),
)
