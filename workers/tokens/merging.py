"""Byte pair encoding of one piece: how many tokens are left when nothing more can be merged.

Sennrich et al., 2016, as tiktoken does it: of all neighbours the pair of the lowest rank is merged, the
first of equals, until none has a rank. A heap keeps it at n log n: a piece without a break, as a long
line of Chinese, may be as long as a message.
"""

from __future__ import annotations

from collections.abc import Mapping
from heapq import heapify, heappop, heappush
from typing import Final

#: What stands for the end of a part that was merged into the one before it.
_MERGED: Final = 0


def tokens(piece: bytes, ranks: Mapping[bytes, int]) -> int:
    """Return the number of tokens of a piece of at least one byte."""
    size = count = len(piece)
    #: Parts are named by their first byte: where the part ends, and which part stands before it.
    ends = list(range(1, size + 1))
    before = list(range(-1, size - 1))
    pairs = [
        (rank, start, start + 2)
        for start in range(size - 1)
        if (rank := ranks.get(piece[start : start + 2])) is not None
    ]
    heapify(pairs)
    while pairs:
        _, start, end = heappop(pairs)
        middle = ends[start]
        # A part of this pair may have been merged since.
        if not start < middle < size or ends[middle] != end:
            continue
        ends[start], ends[middle] = end, _MERGED
        count -= 1
        if end < size:
            before[end] = start
            _push(pairs, ranks, piece, start, ends[end])
        if start:
            _push(pairs, ranks, piece, before[start], end)
    return count


def _push(
    pairs: list[tuple[int, int, int]], ranks: Mapping[bytes, int], piece: bytes, start: int, end: int
) -> None:
    rank = ranks.get(piece[start:end])
    if rank is not None:
        heappush(pairs, (rank, start, end))
