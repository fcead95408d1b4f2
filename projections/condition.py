"""Conditions on tags: what a memory's tags must be, as a tree that every search turns into its own query.

Five ways for tags to match a list: `any` and `all` also take memories without a tag, `any_strict` and
`all_strict` do not, `exact` wants these tags and no others. Trees are made of such lists with and, or, not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal

from foldlog.errors import InvalidInput
from foldlog.names import check_names

Match = Literal["any", "all", "any_strict", "all_strict", "exact"]

MATCHES: Final = ("any", "all", "any_strict", "all_strict", "exact")

#: What a list of tags means unless it says otherwise: the memory has all of them.
DEFAULT: Final = "all_strict"

#: Deepest tree, and most tags in one: a filter is part of every channel's query.
MAX_DEPTH: Final = 8
MAX_TAGS: Final = 64

# What a node says of a memory.
HAS: Final = "has"
UNTAGGED: Final = "untagged"
EXACT: Final = "exact"
WITHIN: Final = "within"
AND: Final = "and"
OR: Final = "or"
NOT: Final = "not"


@dataclass(frozen=True, slots=True)
class Condition:
    """One node of a tree."""

    #: `has` the tag, `untagged`, `exact`ly these tags, `within` the namespace; `and`, `or`, `not`.
    says: str
    #: The tag, the tags or the namespace.
    names: tuple[str, ...] = ()
    #: What `and`, `or` and `not` are about.
    parts: tuple[Condition, ...] = ()


def has(tag: str) -> Condition:
    """Say that a memory has a tag."""
    return Condition(HAS, (tag,))


def within(namespace: str) -> Condition:
    """Say that a memory is of a namespace."""
    return Condition(WITHIN, (namespace,))


def both(*parts: Condition) -> Condition:
    """Say that all of it holds."""
    return parts[0] if len(parts) == 1 else Condition(AND, parts=parts)


def either(*parts: Condition) -> Condition:
    """Say that some of it holds."""
    return parts[0] if len(parts) == 1 else Condition(OR, parts=parts)


def matching(tags: list[str], match: str, path: str = "tags_match") -> Condition | None:
    """Return what a list of tags means, None when it means nothing; raises InvalidInput.

    No tags restrict nothing, except that they are `exact`ly the tags of a memory without any.
    """
    if match not in MATCHES:
        raise InvalidInput(path, f"must be one of {', '.join(MATCHES)}, not {match!r}")
    if match == EXACT:
        return Condition(EXACT, tuple(tags)) if tags else Condition(UNTAGGED)
    if not tags:
        return None
    join = both if match.startswith("all") else either
    found = join(*map(has, tags))
    return found if match.endswith("strict") else either(found, Condition(UNTAGGED))


def parse(value: Any, path: str = "where") -> Condition:
    """Read `{"tags": [...], "match": ...}`, `{"and": [...]}`, `{"or": [...]}`, `{"not": ...}`.

    A list stands for an `and`; without a match all of the tags are wanted. Raises InvalidInput with the
    path of what it cannot read.
    """
    found = _parse(value, path, MAX_DEPTH)
    tags = sum(len(node.names) for node in walk(found))
    if tags > MAX_TAGS:
        raise InvalidInput(path, f"names {tags} tags; at most {MAX_TAGS} are allowed")
    return found


def walk(condition: Condition) -> Iterator[Condition]:
    """Yield every node of a tree."""
    yield condition
    for part in condition.parts:
        yield from walk(part)


def _parse(value: Any, path: str, depth: int) -> Condition:
    if depth == 0:
        raise InvalidInput(path, f"is nested deeper than {MAX_DEPTH}")
    if isinstance(value, list):
        return both(*_parts(value, path, depth))
    keys = set(value) if isinstance(value, dict) else set()
    if keys in ({AND}, {OR}):
        (key,) = keys
        join = both if key == AND else either
        return join(*_parts(value[key], f"{path}.{key}", depth))
    if keys == {NOT}:
        return Condition(NOT, parts=(_parse(value[NOT], f"{path}.not", depth - 1),))
    if keys in ({"tags"}, {"tags", "match"}):
        tags = check_names(value["tags"], f"{path}.tags")
        found = matching(tags, value.get("match", DEFAULT), f"{path}.match")
        if found is None:
            raise InvalidInput(f"{path}.tags", "must not be empty, unless match is exact")
        return found
    raise InvalidInput(path, f'must be {{"tags": [...]}}, with and, or, not around it, not {value!r}')


def _parts(value: Any, path: str, depth: int) -> list[Condition]:
    if not isinstance(value, list) or not value:
        raise InvalidInput(path, f"must be a list of at least one part, not {value!r}")
    return [_parse(part, f"{path}[{place}]", depth - 1) for place, part in enumerate(value)]
