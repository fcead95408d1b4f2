"""The hash chain: each event's hash covers the one before, every column, and digests of what can be erased.

A digest is salted, so that it says nothing about a short private text once text and salt are erased,
while the chain still verifies.
"""

from __future__ import annotations

import os
from hashlib import sha256
from typing import Final

#: Bytes of a salt.
SALT_BYTES: Final = 16

ALGORITHM: Final = "sha256"


def new_salt() -> bytes:
    """Return a fresh random salt."""
    return os.urandom(SALT_BYTES)


def _fields(*parts: bytes) -> bytes:
    """Join fields, each after its length, so that no two lists of fields give the same bytes."""
    return b"".join([piece for part in parts for piece in (len(part).to_bytes(4, "big"), part)])


def _utf8(text: str) -> bytes:
    # Verification reads damaged text with its bad bytes escaped; what was appended has none.
    return text.encode("utf-8", "surrogateescape")


def genesis(log_id: bytes) -> bytes:
    """Return the hash before the first event."""
    return sha256(_fields(b"foldlog", log_id)).digest()


def payload_digest(salt: bytes, data: str) -> bytes:
    """Return the digest that stands for a payload in the chain."""
    return sha256(_fields(salt, _utf8(data))).digest()


def stream_digest(salt: bytes, kind: str, namespace: str, name: str) -> bytes:
    """Return the digest that stands for a stream's name in the chain."""
    return sha256(_fields(salt, _utf8(kind), _utf8(namespace), _utf8(name))).digest()


def event_hash(
    previous: bytes,
    *,
    position: int,
    event_id: bytes,
    stream_id: int,
    name_digest: bytes,
    version: int,
    type_name: str,
    schema_version: int,
    links: str,
    metadata: str,
    occurred_at: int,
    recorded_at: int,
    data_digest: bytes | None,
) -> bytes:
    """Return the event's 32-byte hash; the digests are those from above."""
    numbers = f"{position},{stream_id},{version},{schema_version},{occurred_at},{recorded_at}"
    return sha256(
        _fields(
            previous,
            numbers.encode(),
            event_id,
            name_digest,
            _utf8(type_name),
            _utf8(links),
            _utf8(metadata),
            data_digest or b"",
        )
    ).digest()
