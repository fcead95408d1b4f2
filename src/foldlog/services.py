"""What a foreign service says when it fails: its message, and when to come back."""

from __future__ import annotations

import math
from typing import Any, Final

#: Most characters of a service's own message that are passed on.
MAX_SAID: Final = 200


def said(answer: Any, key: str | None) -> str:
    """Return the one line of a failure, without the key; empty when there is none.

    `answer` is its JSON. Nothing else of it is passed on, because many services repeat what they got.
    """
    if not isinstance(answer, dict):
        return ""
    inner = answer.get("error")
    found = inner if isinstance(inner, dict) else answer
    lines = [found.get(name) for name in ("message", "error", "detail")]
    line = next((" ".join(line.split()) for line in lines if isinstance(line, str)), "")
    return (line.replace(key, "***") if key else line)[:MAX_SAID]


def seconds(retry_after: str | None) -> float | None:
    """Return a Retry-After in seconds; its other form, a date, would need the two clocks to agree."""
    try:
        found = float(retry_after or "nan")
    except ValueError:
        return None
    return max(0.0, found) if math.isfinite(found) else None
