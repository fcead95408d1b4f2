"""Names from source code, and names of services: snake_case, camelCase, `a.b()`, `billing-api`."""

from __future__ import annotations

import re
from typing import Final

from foldlog.projections.extraction.lists import (
    CAMEL_NAMES,
    FILE_NAMES,
    NO_SERVICES,
    PROSE_PARTS,
    SERVICE_ENDINGS,
)
from foldlog.projections.extraction.mention import folded

_WORD: Final = r"[^\W\d]\w*"
_CALL: Final = re.compile(rf"{_WORD}(?:(?:\.|::){_WORD})*\(\)")
_PATH: Final = re.compile(rf"{_WORD}(?:::{_WORD})+")
_DOTTED: Final = re.compile(rf"{_WORD}(?:\.{_WORD})+")
_SNAKE: Final = re.compile(r"_{0,2}[a-z][a-z0-9]*(?:_+[a-z0-9]+)+_{0,2}|_{1,2}[a-z][a-z0-9]+_{0,2}")
_MIXED_SNAKE: Final = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)+")
_CAMEL: Final = re.compile(
    r"[a-z][a-z0-9]+(?:[A-Z][a-z0-9]+)+[A-Z]?|[a-z]+[A-Z]{2,}[a-z]*|[a-z](?:[A-Z][a-z0-9]+){2,}"
)
_PASCAL: Final = re.compile(r"[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]+)+[A-Z]?|[A-Z]{2,}(?:[A-Z][a-z0-9]{2,})+")
_SURNAME: Final = re.compile(r"(?:Mc|Mac|De|Di|Du|La|Le|Van|Von|O)[A-Z][a-z]+")
_UUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_KEBAB: Final = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)+", re.IGNORECASE)


def as_symbol(piece: str) -> tuple[str, str] | None:
    """Return a piece as a symbol of a program, under its name without the parentheses of a call."""
    if _CALL.fullmatch(piece):
        return "symbol", folded(piece[:-2])
    if _PATH.fullmatch(piece) or _SNAKE.fullmatch(piece) or _MIXED_SNAKE.fullmatch(piece):
        return "symbol", folded(piece)
    return ("symbol", folded(piece)) if _is_camel(piece) else None


def as_dotted_symbol(piece: str) -> tuple[str, str] | None:
    """Return `module.function()`, `module.snake_case` or `module.Class`; not `end.We` of a sentence."""
    if _CALL.fullmatch(piece):
        return "symbol", folded(piece[:-2])
    if not _DOTTED.fullmatch(piece):
        return None
    parts = piece.split(".")
    code = any("_" in part.strip("_") or _is_camel(part) for part in parts)
    packages = len(parts) > 2 and all(part.islower() and len(part) > 1 for part in parts)
    return ("symbol", folded(piece)) if code or packages else None


def _is_camel(word: str) -> bool:
    if not (_CAMEL.fullmatch(word) or _PASCAL.fullmatch(word)):
        return False
    return folded(word) not in CAMEL_NAMES and not _SURNAME.fullmatch(word)


def as_kebab(piece: str) -> tuple[str, str] | None:
    """Return `billing-api` or `worker-2` as a service; not `dairy-free`, `state-of-the-art`, `two-day`."""
    if not _KEBAB.fullmatch(piece):
        return None
    lower = folded(piece)
    parts = lower.split("-")
    if parts[0] in NO_SERVICES or not PROSE_PARTS.isdisjoint(parts) or lower in FILE_NAMES:
        return None
    if _UUID.fullmatch(lower):
        return None
    # Capitals inside are a double name (`Mary-Jane`) or a title (`Spider-Man`).
    if piece != lower:
        return None
    numbered = any(char.isdigit() for char in lower)
    return ("service", lower) if numbered or parts[-1] in SERVICE_ENDINGS or len(parts) > 2 else None
