"""Primers and a budget for the block of an answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from foldlog.errors import InvalidInput
from foldlog.events.log import Access
from foldlog.names import check_names
from foldlog.projections.local import primers as local
from foldlog.projections.recall import block
from foldlog.projections.recall.answer import OK, PARTIAL, Recall
from foldlog.projections.recall.block import Primed

#: Tokens of a block whose cap is no number: infinite, or NaN.
DEFAULT_TOKENS: Final = 2048

#: Most primers of a namespace that are looked at when all are asked for.
MOST_PRIMERS: Final = 100

#: Primers by name, all (True) or none.
Wanted = Sequence[str] | bool | None


def check_tokens(value: object, path: str = "max_tokens") -> int | None:
    """Return a cap in tokens, None for none; an infinite one, or NaN, is DEFAULT_TOKENS."""
    if value is None:
        return None
    if isinstance(value, float) and (value != value or value == float("inf")):
        return DEFAULT_TOKENS
    if type(value) is not int or value < 1:
        raise InvalidInput(path, f"must be a whole number of tokens from 1, not {value!r}")
    return value


def dress(
    log: Access,
    answer: Recall,
    namespaces: Sequence[str],
    *,
    primers: Wanted,
    cap: int | None,
    count: Callable[[str], int] | None,
) -> Recall:
    """Return an answer with primers in its block, which costs at most `cap`.

    A primer that is not there makes the answer partial, and the reason names it; the others stay.
    """
    names = None if primers is True else check_names(primers or (), "primers")
    found: list[Primed] = []
    if names is None or names:
        with log.read() as connection:
            found = [
                Primed(namespace=item.namespace, name=item.name, text=item.text)
                for item in local.wanted(connection, namespaces, names, MOST_PRIMERS)
            ]
    have = {item.name for item in found}
    missing = [name for name in names or () if name not in have]
    composed = block.compose(answer.memories, found, missing, cap=cap, count=count or block.utf8_bytes)
    dressed = replace(
        answer,
        block=composed.text,
        omitted=composed.omitted,
        primers=tuple((item.namespace, item.name) for item in composed.primers),
    )
    return _without(dressed, missing, namespaces) if missing else dressed


def _without(answer: Recall, missing: Sequence[str], namespaces: Sequence[str]) -> Recall:
    reasons = [f"primer {name}: there is none in {', '.join(namespaces)}; set it first" for name in missing]
    return replace(
        answer,
        status=PARTIAL if answer.status == OK else answer.status,
        reason="; ".join([answer.reason, *reasons] if answer.reason else reasons),
    )
