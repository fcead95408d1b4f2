"""Names that last: namespaces, streams, ids, and the rules for each.

A memory's identity in every store is one integer, `memory_id`: the stream's number and, for a
message, its ordinal in the thread. It is known from the event alone, needs no look-up, and all
memories of one stream form one range.
"""

from __future__ import annotations

import os
import time
import unicodedata
from collections.abc import Iterable
from typing import Final

from foldlog.errors import InvalidInput

NAMESPACE_KINDS: Final = ("workflow", "agent", "user", "global")

#: Longest name (key, id, namespace, tag), in UTF-8 bytes.
MAX_NAME_BYTES: Final = 512

#: Bits of a memory id that hold the ordinal inside the stream.
ORDINAL_BITS: Final = 28

#: Largest ordinal a stream can hold.
MAX_ORDINAL: Final = (1 << ORDINAL_BITS) - 1

#: Ordinals of a thread from here on are its summaries', below are its messages'.
FIRST_SUMMARY: Final = 1 << (ORDINAL_BITS - 1)


def memory_id(stream_id: int, ordinal: int = 0) -> int:
    """Return the memory's number: ordinal 0 is a fact or a note, from 1 on a message."""
    return stream_id << ORDINAL_BITS | ordinal


def memory_range(stream_id: int) -> tuple[int, int]:
    """Return the half-open range of all memory ids of a stream."""
    return stream_id << ORDINAL_BITS, (stream_id + 1) << ORDINAL_BITS


def check_name(value: object, path: str) -> str:
    """Return `value` if it can be a name in every store, else raise InvalidInput."""
    if not isinstance(value, str):
        raise InvalidInput(path, f"must be a string, not {type(value).__name__}")
    problem = _name_problem(value)
    if problem is not None:
        raise InvalidInput(path, problem)
    return value


def _name_problem(value: str) -> str | None:
    if not value:
        return "must not be empty"
    if value != value.strip():
        return "must not start or end with white space"
    try:
        size = len(value.encode())
    except UnicodeEncodeError:
        return "holds half of a surrogate pair, which is no text"
    if size > MAX_NAME_BYTES:
        return f"is {size} bytes long; at most {MAX_NAME_BYTES} are allowed"
    if value.isascii():
        return None if value.isprintable() else "holds a control character"
    if any(unicodedata.category(char) in ("Cc", "Cf") for char in value):
        return "holds a control character"
    if not unicodedata.is_normalized("NFC", value):
        return "is not in Unicode form NFC; normalise it first"
    return None


def check_names(values: Iterable[object], path: str) -> list[str]:
    """Return the distinct names in the order given; a bare string is no list of names."""
    if isinstance(values, str):
        raise InvalidInput(path, f"must be a list of strings, not the string {values!r}")
    return list(dict.fromkeys(check_name(value, f"{path}[{index}]") for index, value in enumerate(values)))


def check_namespace(value: object, path: str = "namespace") -> str:
    """Return a namespace `kind:id` that may be written to, else raise InvalidInput."""
    namespace = check_name(value, path)
    kind, colon, name = namespace.partition(":")
    if kind not in NAMESPACE_KINDS or not colon:
        kinds = ", ".join(NAMESPACE_KINDS)
        raise InvalidInput(path, f"must be kind:id with the kind one of {kinds}, not {namespace!r}")
    if ":" in name:
        raise InvalidInput(path, f"has a bare ':' in its id; write it as %3A: {namespace!r}")
    if name != name.lstrip():
        raise InvalidInput(path, f"has white space before its id: {namespace!r}")
    # Each id has one spelling: two of them would be two namespaces of one user.
    if "%" in name.replace("%25", "").replace("%3A", ""):
        raise InvalidInput(path, f"has a bare '%' in its id; write it as %25: {namespace!r}")
    return namespace


def format_namespace(kind: str, name: str) -> str:
    """Return `kind:id` with `%` and `:` of the id escaped."""
    return f"{kind}:{name.replace('%', '%25').replace(':', '%3A')}"


def parse_namespace(text: str) -> tuple[str, str]:
    """Return (kind, id); text of an unknown kind, or without a colon, is a global id."""
    kind, colon, name = text.partition(":")
    if not colon or kind not in NAMESPACE_KINDS:
        return "global", text
    return kind, name.replace("%3A", ":").replace("%25", "%")


def is_project(namespace: str) -> bool:
    """Say whether a namespace is that of a project, whose memories have branches."""
    return namespace.startswith("workflow:project-")


def is_user(namespace: str) -> bool:
    """Say whether a namespace is that of a person."""
    return namespace.startswith("user:")


def bank_namespace(bank: str) -> str:
    """Return the namespace of a bank: `user-alice` is `user:alice`, any other `b` is `workflow:b`."""
    kind, dash, name = bank.partition("-")
    if dash and kind in NAMESPACE_KINDS:
        return format_namespace(kind, name)
    return format_namespace("workflow", bank)


def namespace_bank(namespace: str) -> str:
    """Return the bank of a namespace, `kind-id`; `bank_namespace` leads back."""
    kind, name = parse_namespace(namespace)
    return f"{kind}-{name}"


def new_id_bytes(now_ms: int | None = None) -> bytes:
    """Return 16 bytes of a new UUIDv7 (RFC 9562): they sort by time, which keeps indexes small."""
    stamp = int(time.time() * 1000) if now_ms is None else now_ms
    random = int.from_bytes(os.urandom(10), "big")
    high = (stamp & 0xFFFF_FFFF_FFFF) << 16 | 0x7000 | random >> 68
    low = 0x8000_0000_0000_0000 | random & 0x3FFF_FFFF_FFFF_FFFF
    return high.to_bytes(8, "big") + low.to_bytes(8, "big")


def id_text(raw: bytes) -> str:
    """Return an id's 16 bytes in the usual 8-4-4-4-12 form."""
    text = raw.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def new_id() -> str:
    """Return a new UUIDv7 as text."""
    return id_text(new_id_bytes())
