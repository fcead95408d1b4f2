"""What the log accepts, and the one way it is written: compact UTF-8 JSON, keys in the order given.

Whatever passes here can be held by every projection, so a bad value is refused before anything
is written, with the path where it stands.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any, Final

from foldlog.errors import InvalidInput

#: Deepest nesting of lists and objects.
MAX_DEPTH: Final = 64

#: Most digits of an integer; Python itself refuses to read more.
MAX_DIGITS: Final = 4300

_MAX_INT: Final = 10**MAX_DIGITS
_FIRST_MS: Final = -62_135_596_800_000  # 0001-01-01T00:00Z
_LAST_MS: Final = 253_402_300_799_999  # 9999-12-31T23:59:59.999Z
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)

_compact = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode
_sorted = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False, sort_keys=True).encode


def encode(value: object) -> str:
    """Return the stored form of a value that was checked before."""
    return _compact(value)


def decode(text: str) -> Any:
    """Return the value of a stored text, exactly as it was given."""
    return json.loads(text)


def parse(text: str, path: str = "value") -> Any:
    """Read JSON from a user; refuses duplicate keys, NaN, infinity and numbers too large."""
    try:
        return json.loads(text, parse_constant=_no_constant, parse_float=_finite, object_pairs_hook=_unique)
    except RecursionError:
        raise InvalidInput(path, f"is nested deeper than {MAX_DEPTH}") from None
    except ValueError as error:
        raise InvalidInput(path, f"is not JSON that can be stored: {error}") from None


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number")


def _finite(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise ValueError(f"{text} is too large for a number")
    return number


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        double = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {double!r} stands twice")
    return found


def request_digest(request: object) -> bytes:
    """Return the 32-byte digest by which a repeated request is recognised."""
    return sha256(_sorted(request).encode()).digest()


def check_json(value: object, path: str, depth: int = 0) -> None:
    """Raise InvalidInput, with the path, unless `value` is JSON that every store can hold."""
    kind = type(value)
    if kind is str:
        check_text(value, path)
    elif value is None or kind is bool:
        return
    elif kind is int:
        if not -_MAX_INT < value < _MAX_INT:  # type: ignore[operator]
            raise InvalidInput(path, f"has more than {MAX_DIGITS} digits")
    elif kind is float:
        if value != value or value in (float("inf"), float("-inf")):
            raise InvalidInput(path, f"is {value}, which is not a JSON number")
    else:
        _check_container(value, path, depth)


def _check_container(value: object, path: str, depth: int) -> None:
    if depth >= MAX_DEPTH:
        raise InvalidInput(path, f"is nested deeper than {MAX_DEPTH}")
    if type(value) is dict:
        for key, item in value.items():
            if type(key) is not str:
                raise InvalidInput(path, f"has the key {key!r}; keys must be strings")
            check_text(key, f"{path}.{key!r}")
            check_json(item, f"{path}.{key}", depth + 1)
    elif type(value) is list:
        for index, item in enumerate(value):
            check_json(item, f"{path}[{index}]", depth + 1)
    else:
        raise InvalidInput(path, f"is a {type(value).__name__}, which is not JSON")


def check_text(value: object, path: str) -> str:
    """Return `value` if it is text that can be stored as UTF-8."""
    if not isinstance(value, str):
        raise InvalidInput(path, f"must be text, not {type(value).__name__}")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise InvalidInput(
                path, f"holds half of a surrogate pair at character {error.start}, which is no text"
            ) from None
    return value


def check_not_blank(value: object, path: str) -> str:
    """Return `value` if it is text with something in it."""
    text = check_text(value, path)
    if not text or text.isspace():
        raise InvalidInput(path, "must not be blank")
    return text


def instant_ms(value: datetime, path: str = "instant") -> int:
    """Return an instant as UTC milliseconds; a time without a zone is refused."""
    if not isinstance(value, datetime):
        raise InvalidInput(path, f"must be a datetime, not {type(value).__name__}")
    if value.tzinfo is None or value.utcoffset() is None:
        raise InvalidInput(path, "has no time zone; say which, for example datetime(..., tzinfo=UTC)")
    stamp = (value - _EPOCH) // _MILLISECOND
    if not _FIRST_MS <= stamp <= _LAST_MS:
        raise InvalidInput(path, "is outside the years 1 to 9999 in UTC")
    return stamp


def instant(stamp: int) -> datetime:
    """Return UTC milliseconds as an aware datetime."""
    return _EPOCH + stamp * _MILLISECOND


def duration_ms(value: object, path: str = "ttl") -> int:
    """Return a timedelta or a positive whole number of milliseconds, as milliseconds."""
    if isinstance(value, timedelta):
        span = value // _MILLISECOND
    elif type(value) is int:
        span = value
    else:
        raise InvalidInput(path, f"must be a timedelta or whole milliseconds, not {value!r}")
    if span <= 0:
        raise InvalidInput(path, f"must be positive, not {value!r}; leave it out for no expiry")
    if span > _LAST_MS:
        raise InvalidInput(path, "is longer than any calendar")
    return span


def expiry_ms(now: int, ttl: int, path: str = "ttl") -> int:
    """Return the last millisecond at which something set at `now` is alive."""
    if now + ttl > _LAST_MS:
        raise InvalidInput(path, "ends after the year 9999; leave it out for no expiry")
    return now + ttl
