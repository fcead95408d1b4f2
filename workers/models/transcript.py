"""Messages as text: who said what, on which day."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from foldlog.projections.document import date_words

#: Longest name of a speaker or a role, in characters.
MAX_NAME: Final = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """One message, as the jobs hand it over."""

    message_id: str
    role: str
    author: str | None = None
    text: str
    #: UTC ms.
    happened_at: int

    @property
    def speaker(self) -> str:
        """Who said it, in one line: the author, else the role."""
        return one_line(self.author or "") or one_line(self.role) or "unknown"


def one_line(name: str) -> str:
    """Return a name without line breaks, cut where it is too long to be one."""
    return " ".join(name.split())[:MAX_NAME]


def rendered(messages: Sequence[Spoken]) -> str:
    """Return messages as text: a line for each new day, a line for each message."""
    lines = []
    day = ""
    for message in messages:
        if day != date_words(message.happened_at):
            day = date_words(message.happened_at)
            lines.append(f"{day}:")
        lines.append(f"{message.speaker}: {message.text}")
    return "\n".join(lines)
