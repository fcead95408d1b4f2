"""A conversation in pieces that a model can read: cut between messages, and inside one that is too long."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from foldlog.events.encoding import instant
from foldlog.workers.models.transcript import one_line

if TYPE_CHECKING:
    from foldlog.workers.models.transcript import Spoken
    from foldlog.workers.tokens.counter import Counter

#: How far before its middle a text may be cut so that no word is: this part of its length.
NEAR: Final = 8

#: As many parts as a message may have until its marks are longer than was reckoned with.
MOST: Final = 9999


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A message, or a part of one, as a model reads it."""

    #: What the model calls the message: `m1` for the first of the conversation.
    ref: str
    message: Spoken
    #: What of the message's text is here.
    text: str
    #: Which part of the message it is, and of how many.
    part: int = 1
    parts: int = 1

    def __str__(self) -> str:
        """Return the line; only the first begins at the margin, so that no text can look like a message."""
        when = instant(self.message.happened_at).strftime("%Y-%m-%d %H:%M")
        part = f" (part {self.part} of {self.parts} of this message)" if self.parts > 1 else ""
        speaker = self.message.speaker
        if self.message.author:
            speaker += f" ({one_line(self.message.role)})"
        text = "\n  ".join(self.text.splitlines())
        return f"[{self.ref}] {when} {speaker}{part}: {text}"


def pieces(messages: Sequence[Spoken], limit: int, counter: Counter) -> list[list[Line]]:
    """Return the messages in order, in pieces of about `limit` tokens at most; a part is never empty."""
    lines = [
        line for number, item in enumerate(messages, 1) for line in _lines(f"m{number}", item, limit, counter)
    ]
    counts = counter.count([str(line) for line in lines])
    found: list[list[Line]] = []
    left = 0
    for line, tokens in zip(lines, counts, strict=True):
        # With the line break.
        if not found or tokens + 1 > left:
            found.append([])
            left = limit
        found[-1].append(line)
        left -= tokens + 1
    return found


def _lines(ref: str, message: Spoken, limit: int, counter: Counter) -> Iterator[Line]:
    line = Line(ref=ref, message=message, text=message.text)
    texts = list(_halves(line, limit, counter))
    for part, text in enumerate(texts, 1):
        yield replace(line, text=text, part=part, parts=len(texts))


def _halves(line: Line, limit: int, counter: Counter) -> Iterator[str]:
    """Yield the text of a line as a whole if it is short enough, else the halves of its halves."""
    text = line.text
    if len(text) < 2 or counter.count([str(line)])[0] < limit:
        yield text
        return
    middle, near = len(text) // 2, len(text) // NEAR
    cut = max(text.rfind(blank, middle - near, middle + 1) for blank in (" ", "\n"))
    cut = middle if cut < 1 else cut
    for half in (text[:cut], text[cut:]):
        if half.strip():
            # It will say which part it is; how many there are is not known yet.
            part = replace(line, text=half.strip(), part=MOST, parts=MOST)
            yield from _halves(part, limit, counter)
