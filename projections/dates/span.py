"""A span: what a text says about time, as a half-open range with its precision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, get_args

#: How exactly the text names the time, from coarse to fine.
Precision = Literal[
    "century", "decade", "year", "season", "quarter", "month", "week", "day", "hour", "minute", "second"
]

PRECISIONS: Final[tuple[Precision, ...]] = get_args(Precision)

#: `absolute` names its year; `relative` needs the anchor to say which day is meant.
Kind = Literal["absolute", "relative"]

#: Where `before` and `until` begin: the start of the year 1000, UTC ms. No earlier year is a date.
EARLIEST_MS: Final = -30_610_224_000_000

#: Where `after` ends: the start of the year 3000, UTC ms. No later year is a date.
LATEST_MS: Final = 32_503_680_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """One stretch of time, and the characters that name it: `text[start:end]`."""

    #: First millisecond, UTC.
    start_ms: int
    #: The millisecond after the last, UTC; always more than `start_ms`.
    end_ms: int
    precision: Precision
    kind: Kind
    #: Offset of the first character, in code points.
    start: int
    #: Offset after the last character.
    end: int

    @property
    def is_open(self) -> bool:
        """Whether the text gives only one end, as in `before 2020`."""
        return self.start_ms == EARLIEST_MS or self.end_ms == LATEST_MS


def coarser(first: Precision, second: Precision) -> Precision:
    """Return the less exact of two precisions."""
    return min(first, second, key=PRECISIONS.index)
