"""The filters of a search, as conditions on the table `search`, for every channel's own query."""

from __future__ import annotations

from typing import Any
from zlib import crc32

from foldlog.projections.condition import AND, EXACT, HAS, NOT, OR, UNTAGGED, WITHIN, Condition
from foldlog.projections.scope import Scope

HASH_MASK = 0x3FFF_FFFF


def name_key(label: str, name: str) -> int:
    """Return the key of a namespace or tag; negative, so that no word has it."""
    return -1 - (crc32(f"{label}:{name}".encode()) & HASH_MASK)


def conditions(scope: Scope, now: int) -> tuple[str, dict[str, Any]]:
    """Return SQL over `search s`, and its parameters; `now` is UTC ms."""
    parts = [
        "s.live AND (s.expires_at IS NULL OR s.expires_at >= %(now)s)",
        "s.namespace = ANY(%(namespaces)s)",
    ]
    given: dict[str, Any] = {"namespaces": list(scope.namespaces), "now": now}
    if scope.kinds:
        parts.append("s.kind = ANY(%(kinds)s)")
        given["kinds"] = list(scope.kinds)
    if scope.tags:
        # Keys are hashes: the memory's own tags decide.
        parts.append("s.keys @> %(tag_keys)s::int[]")
        parts.append("EXISTS (SELECT 1 FROM memories t WHERE t.id = s.id AND t.tags @> %(tags)s::text[])")
        given["tag_keys"] = [name_key("tag", tag) for tag in scope.tags]
        given["tags"] = list(scope.tags)
    if scope.where is not None:
        narrower = _keys(scope.where)
        parts += [] if narrower is None else [narrower]
        whole = _tags(scope.where, given)
        parts.append(f"EXISTS (SELECT 1 FROM memories t WHERE t.id = s.id AND {whole})")
    return " AND ".join(parts), given


def _keys(condition: Condition) -> str | None:
    """Return what the keys of whatever meets a condition must be, for the GIN index; None: anything."""
    if condition.says in (HAS, WITHIN, EXACT):
        label = "namespace" if condition.says == WITHIN else "tag"
        keys = ",".join(str(name_key(label, name)) for name in condition.names)
        return f"s.keys @> '{{{keys}}}'::int[]"
    parts = [_keys(part) for part in condition.parts]
    if condition.says == AND:
        return " AND ".join(part for part in parts if part is not None) or None
    if condition.says == OR and None not in parts:
        return f"({' OR '.join(f'({part})' for part in parts)})"
    return None


def _tags(condition: Condition, given: dict[str, Any]) -> str:
    """Return a condition over `memories t`, and put the names in it among the parameters."""
    if condition.says == UNTAGGED:
        return "t.tags = '{}'"
    if condition.says == NOT:
        return f"NOT {_tags(condition.parts[0], given)}"
    if condition.says in (AND, OR):
        glue = f" {condition.says.upper()} "
        return f"({glue.join(_tags(part, given) for part in condition.parts)})"
    name = f"where_{len(given)}"
    if condition.says == WITHIN:
        given[name] = condition.names[0]
        return f"t.namespace = %({name})s"
    given[name] = list(condition.names)
    has = f"t.tags @> %({name})s::text[]"
    return has if condition.says == HAS else f"({has} AND cardinality(t.tags) = {len(condition.names)})"
