"""Stated relations: what a note says of things by their names, as data, beside what its text says."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from foldlog.errors import InvalidInput
from foldlog.names import check_name

MAX_RELATES: Final = 32

#: Kinds that the graph finds by itself, and how else they are given.
DERIVED: Final = {
    "supersedes": "name the notes in supersedes",
    "mentions": "write the name into the body",
    "bears": "set a fact with that key",
}


class Relation(NamedTuple):
    """One thing that a note relates to, and how: `owns`, `payments-api`."""

    kind: str
    entity: str


def check_relates(relates: Iterable[tuple[str, str]]) -> list[dict[str, str]]:
    """Return the distinct relations in the order given, as an event keeps them; raises InvalidInput."""
    found = list(dict.fromkeys(_checked(item, f"relates[{index}]") for index, item in enumerate(relates)))
    if len(found) > MAX_RELATES:
        raise InvalidInput("relates", f"are {len(found)}; at most {MAX_RELATES} are allowed")
    return [item._asdict() for item in found]


def _checked(item: object, path: str) -> Relation:
    if not isinstance(item, tuple | list) or len(item) != 2:
        raise InvalidInput(path, f"must be a pair of kind and entity, not {item!r}")
    kind, entity = check_name(item[0], f"{path}.kind"), check_name(item[1], f"{path}.entity")
    if ":" in kind:
        raise InvalidInput(f"{path}.kind", f"must have no ':', which ends the kind in {kind}:{entity}")
    if kind in DERIVED:
        raise InvalidInput(f"{path}.kind", f"must not be {kind}: {DERIVED[kind]}")
    return Relation(kind, entity)
