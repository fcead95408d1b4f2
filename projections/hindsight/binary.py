"""Rows in COPY's binary format: quicker to make and to read than its text, and a number stays what it is.

Every value is its length and its bytes, in network order; each function here gives one value so. The
formats of the types are those of their receive functions in Postgres and pgvector.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from struct import Struct
from typing import Any, Final

from foldlog.projections.hindsight.connection import Connection

_HEADER: Final = b"PGCOPY\n\xff\r\n\0" + bytes(8)
_TRAILER: Final = b"\xff\xff"
_NULL: Final = b"\xff\xff\xff\xff"
_COPY: Final = "COPY {} FROM STDIN (FORMAT BINARY)"

_INT4: Final = Struct(">ii").pack
_INT8: Final = Struct(">iq").pack
_LENGTH: Final = Struct(">i").pack
_RANGE: Final = Struct(">iBiqiq").pack
_ARRAY: Final = Struct(">iiiiii").pack
_EMPTY_ARRAY: Final = Struct(">iii").pack

#: Numbers of built-in types, the same in every Postgres.
_OID_INT4: Final = 23
_OID_TEXT: Final = 25

#: What a range says of its bounds: the lower belongs to it, the upper does not.
_LOWER_INCLUDED: Final = 0x02

#: Returns one value as it is copied.
Encoder = Callable[[Any], bytes]


def copy(connection: Connection, into: str, rows: bytes | Iterable[bytes]) -> None:
    """Copy packed rows into a table, given as `table (columns)`."""
    data = rows if isinstance(rows, bytes) else b"".join(rows)
    if data:
        with connection.cursor() as cursor, cursor.copy(_COPY.format(into)) as stream:
            stream.write(_HEADER + data + _TRAILER)


def packer(*columns: Encoder) -> Callable[[Sequence[Any]], bytes]:
    """Return what makes a row of values that are encoded each by its own function."""
    count = len(columns).to_bytes(2, "big")

    def pack(row: Sequence[Any]) -> bytes:
        return count + b"".join([encode(value) for encode, value in zip(columns, row, strict=True)])

    return pack


def int4(value: int) -> bytes:
    """Return an integer of 4 bytes."""
    return _INT4(4, value)


def int8(value: int | None) -> bytes:
    """Return an integer of 8 bytes, or NULL."""
    return _NULL if value is None else _INT8(8, value)


def boolean(value: bool) -> bytes:
    """Return a boolean; its last byte is 1 or 0."""
    return b"\0\0\0\1\1" if value else b"\0\0\0\1\0"


def raw(value: bytes) -> bytes:
    """Return a bytea."""
    return _LENGTH(len(value)) + value


def text(value: str | None) -> bytes:
    """Return a text, or NULL; the connection's encoding is UTF-8."""
    if value is None:
        return _NULL
    encoded = value.encode()
    return _LENGTH(len(encoded)) + encoded


def texts(values: Sequence[str]) -> bytes:
    """Return an array of texts."""
    if not values:
        return _EMPTY_ARRAY(12, 0, 0) + _LENGTH(_OID_TEXT)
    elements = b"".join(map(text, values))
    return _ARRAY(20 + len(elements), 1, 0, _OID_TEXT, len(values), 1) + elements


def int4s(values: Sequence[int]) -> bytes:
    """Return an array of integers of 4 bytes."""
    if not values:
        return _EMPTY_ARRAY(12, 0, 0) + _LENGTH(_OID_INT4)
    # Length and value of each element at once, as one number of 8 bytes.
    elements = _numbers(len(values))(*[4 << 32 | value & 0xFFFF_FFFF for value in values])
    return _ARRAY(20 + len(elements), 1, 0, _OID_INT4, len(values), 1) + elements


def int8range(bounds: tuple[int, int]) -> bytes:
    """Return a half-open range of integers of 8 bytes; it must not be empty."""
    first, last = bounds
    return _RANGE(25, _LOWER_INCLUDED, 8, first, 8, last)


def sparsevec(dimensions: int) -> Callable[[Mapping[int, float]], bytes]:
    """Return the encoder of sparse vectors with so many dimensions; indexes begin at 0."""

    def encode(values: Mapping[int, float]) -> bytes:
        indexes = sorted(values)
        count = len(indexes)
        weights = map(values.__getitem__, indexes)
        return _sparse(count)(12 + 8 * count, dimensions, count, 0, *indexes, *weights)

    return encode


@lru_cache(maxsize=512)
def _numbers(count: int) -> Callable[..., bytes]:
    return Struct(f">{count}q").pack


@lru_cache(maxsize=512)
def _sparse(count: int) -> Callable[..., bytes]:
    return Struct(f">iiii{count}i{count}f").pack
