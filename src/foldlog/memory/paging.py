"""Pages: what every list takes as its limit."""

from __future__ import annotations

from typing import Final

from foldlog.errors import InvalidInput

#: Largest limit: SQLite's integers have 64 bits.
MAX_LIMIT: Final = 2**62


def check_limit(limit: object, path: str = "limit") -> int:
    """Return `limit` if it is a whole number from 0, else raise InvalidInput."""
    if type(limit) is not int or not 0 <= limit <= MAX_LIMIT:
        raise InvalidInput(path, f"must be a whole number from 0, not {limit!r}")
    return limit
