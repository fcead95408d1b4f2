"""Names that are words or several words: software, environments, `PR 123`, versions, commands."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from foldlog.projections.extraction.lists import ENVIRONMENTS, FILE_NAMES, SERVICES, TOOLS, WORD_SERVICES
from foldlog.projections.extraction.mention import Mention, canonical, folded

#: Longest command, in characters.
MAX_COMMAND: Final = 200

_WORD: Final = re.compile(r"[^\W\d_]\w*(?:[-.][^\W\d_]\w*)*")
_PULL: Final = re.compile(
    r"\b(?:PRs?|MRs?|[Pp]ull [Rr]equests?|[Mm]erge [Rr]equests?)\s+[#!]?(\d{1,6})\b(?![.,:]\d|%)"
)
_NUMBER: Final = r"(\d{1,4}(?:\.\d{1,8}){0,3}(?:[-.]?(?:alpha|beta|rc|a|b)\d*)?)(?![\w%]|[.:/]\d)"
_STATED: Final = re.compile(rf"\b(?:version|release)\s+(v?{_NUMBER})", re.IGNORECASE)
_AFTER_NAME: Final = re.compile(rf"(?:\s+v?|[ =@]=?){_NUMBER}")
_COUNTED: Final = re.compile(r"\s+([a-z]*s)\b")
_COMMIT: Final = re.compile(r"\b(?:commit|sha|revision)\s+(?=[a-f]*\d)([0-9a-f]{7,40})\b")
_ENVIRONMENT: Final = re.compile(
    rf"\b(?:(?:in|on|to|from|at|for|against|into)\s+(?:the\s+)?({'|'.join(ENVIRONMENTS)})\b"
    rf"(?!\s+(?:of|line|company|value))|({'|'.join(ENVIRONMENTS)})\s+(?:env|environment|cluster|database|deploy)\b)",
    re.IGNORECASE,
)
_TICKED: Final = re.compile(r"`([^`\n]{2,200})`")
_PROMPT: Final = re.compile(r"^[ \t]*\$ ([^\s$][^\n]{0,199})", re.MULTILINE)
_OPTION: Final = re.compile(
    r"\s+((?:--?[A-Za-z][\w-]*(?:=\S+)?|(?![\d.]+\b)[\w.~@-]*[/.:=@-][\w./:=@~-]*\w/?|/\S+))"
)
_SUBCOMMAND: Final = re.compile(r"\s+([a-z][\w:-]*)(?![\w.]*[/@])")
_BACKTICKED_NAME: Final = re.compile(r"[^\W\d]\w*(?:\(\))?")

_TRIGGERS: Final = frozenset((*SERVICES, *WORD_SERVICES, *ENVIRONMENTS, *TOOLS, *FILE_NAMES)) | frozenset(
    "pr prs mr mrs request requests version release commit sha revision pre".split()
)


def phrases(text: str, words: list[str]) -> Iterator[Mention]:
    """Yield the names made of several words; `words` are those of the text, folded."""
    if "`" in text:
        yield from _ticked(text)
    if "$ " in text:
        yield from _prompts(text)
    if _TRIGGERS.isdisjoint(words):
        return
    for match in _PULL.finditer(text):
        yield _mention(text, *match.span(), "pr", f"#{match[1]}")
    for match in _COMMIT.finditer(text):
        yield _mention(text, *match.span(1), "commit", match[1][:7])
    yield from (mention for mention in _software(text) if mention.type != "service")
    for match in _STATED.finditer(text):
        yield _mention(text, *match.span(1), "version", folded(match[2]))


def known_words(text: str, words: list[str]) -> Iterator[Mention]:
    """Yield the software and the environments of a text; `words` are those of the text, folded."""
    if _TRIGGERS.isdisjoint(words):
        return
    yield from (mention for mention in _software(text) if mention.type == "service")
    if not ENVIRONMENTS.keys().isdisjoint(words) or "pre" in words:
        for match in _ENVIRONMENT.finditer(text):
            group = 1 if match[1] else 2
            yield _mention(text, *match.span(group), "env", ENVIRONMENTS[folded(match[group])])


def _mention(text: str, start: int, end: int, type_: str, canonical_: str) -> Mention:
    return Mention(name=text[start:end], canonical=canonical_, type=type_, start=start, end=end)


def _software(text: str) -> Iterator[Mention]:
    """Yield software by its name, with a version after it as a name of its own, and commands."""
    done = 0
    for match in _WORD.finditer(text):
        start, end = match.span()
        if start < done:
            continue
        lower = folded(match[0])
        if lower in TOOLS and text[start].islower():
            command = _command(text, lower, end)
            if command > end:
                done = command
                yield _mention(text, start, command, "command", canonical(text[start:command]))
                continue
        if lower in FILE_NAMES and text[start].isupper() and (lower.endswith("file") or match[0].isupper()):
            yield _mention(text, start, end, "file", lower)
        name = SERVICES.get(lower)
        word = lower in WORD_SERVICES
        if name is None and not word:
            continue
        number = _AFTER_NAME.match(text, end)
        if number is not None and _is_version(text, number, word=word):
            version = f"{name or lower} {folded(number[1])}"
            done = number.end(1)
            yield _mention(text, start, done, "version", version)
        elif name is not None or (text[start].isupper() and start > 0 and text[start - 1] == " "):
            yield _mention(text, start, end, "service", name or lower)


def _is_version(text: str, number: re.Match[str], *, word: bool) -> bool:
    """Return whether the number after a name is its version: `Postgres 15`, not `Redis 5 times`."""
    if "." in number[1]:
        return True
    if word:
        return text[number.end() : number.end() + 1] in ("", ".", ",", ")", ";", "!", "?", "\n")
    counted = _COUNTED.match(text, number.end())
    return counted is None or counted[1] in ("is", "was", "has", "as", "vs")


def _command(text: str, tool: str, end: int) -> int:
    """Return where a command ends: after its subcommand, and the options and paths that follow."""
    subcommands = TOOLS[tool]
    at = end
    if subcommands:
        match = _SUBCOMMAND.match(text, at)
        if match is None or match[1] not in subcommands:
            return end
        at = match.end()
    while at - end < MAX_COMMAND and (match := _OPTION.match(text, at)):
        at = match.end()
    return at


def _ticked(text: str) -> Iterator[Mention]:
    """Yield what stands between backticks, if it is a command or a plain name of a program."""
    for match in _TICKED.finditer(text):
        inside = match[1].strip()
        start = text.index(inside, match.start(1))
        first, blank, _ = inside.partition(" ")
        if blank and first[:1].islower() and (first in TOOLS or " -" in inside):
            yield _mention(text, start, start + len(inside), "command", canonical(inside))
        elif _BACKTICKED_NAME.fullmatch(inside) and folded(inside) not in _TRIGGERS:
            name = inside.removesuffix("()")
            if not _is_variable(name):
                yield _mention(text, start, start + len(name), "symbol", folded(name))


def _is_variable(name: str) -> bool:
    """Return whether a name is written as a variable of the environment: `DATABASE_URL`."""
    return "_" in name and name.isupper()


def _prompts(text: str) -> Iterator[Mention]:
    """Yield the commands of lines that begin with a prompt: `$ make test`."""
    for match in _PROMPT.finditer(text):
        command = match[1].rstrip()
        start = match.start(1)
        yield _mention(text, start, start + len(command), "command", canonical(command))
