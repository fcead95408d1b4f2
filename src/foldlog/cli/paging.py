"""All items of a list that the memory gives in pages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, TypeVar

#: Items read in one short transaction.
PAGE: Final = 1000

Item = TypeVar("Item")
Key = TypeVar("Key")


def every(
    fetch: Callable[[Key, int], list[Item]], key: Callable[[Item], Key], start: Key, limit: int | None
) -> Iterator[Item]:
    """Yield items, page after page; `fetch` takes the key to begin after, and how many."""
    left = limit
    while left is None or left > 0:
        size = PAGE if left is None else min(PAGE, left)
        page = fetch(start, size)
        yield from page
        if len(page) < size:
            return
        start = key(page[-1])
        left = None if left is None else left - size
