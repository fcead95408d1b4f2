"""The filters of a search, as conditions on the table `search`, for every channel's own query."""

from __future__ import annotations

from typing import Any
from zlib import crc32

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
    return " AND ".join(parts), given
