"""What the log accepts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldlog.errors import InvalidInput
from foldlog.events import encoding

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def _nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({"score": float("nan")}, "value.score"),
        ([1, float("inf")], "value[1]"),
        ({"a": {"b": [object()]}}, "value.a.b[0]"),
        ({1: "one"}, "value"),
        ("\ud800", "value"),
        ({"\udfff": 1}, "value.'\\udfff'"),
        ({"n": 10**5000}, "value.n"),
        ((1, 2), "value"),
        ({"when": datetime(2026, 1, 1, tzinfo=UTC)}, "value.when"),
        (b"bytes", "value"),
    ],
)
def test_what_cannot_be_stored_is_named_by_its_path(value: object, path: str) -> None:
    """A refused value is found at once, however deep it stands."""
    with pytest.raises(InvalidInput) as caught:
        encoding.check_json(value, "value")
    assert caught.value.path == path


def test_depth_is_limited() -> None:
    """Depth 64 is accepted, 65 refused, and far more is no crash."""
    encoding.check_json(_nested(64), "value")
    for depth in (65, 5000):
        with pytest.raises(InvalidInput, match="nested deeper than 64"):
            encoding.check_json(_nested(depth), "value")


@given(JSON)
def test_stored_values_come_back_exactly(value: object) -> None:
    """Whatever is accepted is read as it was given: order of keys, large integers, NUL and all."""
    try:
        encoding.check_json(value, "value")
    except InvalidInput:
        assert any(0xD800 <= ord(char) <= 0xDFFF for char in repr(value)) or "\\ud" in repr(value)
        return
    back = encoding.decode(encoding.encode(value))
    assert back == value
    assert repr(back) == repr(value)


@pytest.mark.parametrize("text", ['{"a": NaN}', "1e999", '{"a": 1, "a": 2}', "{", "[" * 100_000, "9" * 5000])
@pytest.mark.case("A06")
def test_text_that_is_no_storable_json(text: str) -> None:
    """A user's JSON text is refused with one line."""
    with pytest.raises(InvalidInput):
        encoding.parse(text)


@pytest.mark.parametrize(
    "ttl", [0, -1, 0.0, 0.5, True, False, "60", timedelta(0), timedelta(seconds=-1), None]
)
def test_a_ttl_is_a_positive_span(ttl: object) -> None:
    """0, negatives, booleans and strings are refused: both readings of 0 lose data for somebody."""
    with pytest.raises(InvalidInput):
        encoding.duration_ms(ttl)


def test_ttl_in_both_spellings() -> None:
    """A timedelta, or whole milliseconds."""
    assert encoding.duration_ms(timedelta(hours=1)) == encoding.duration_ms(3_600_000) == 3_600_000


@pytest.mark.case("A10")
def test_an_instant_needs_a_zone() -> None:
    """A naive time means another instant on another machine."""
    with pytest.raises(InvalidInput, match="no time zone"):
        encoding.instant_ms(datetime(2026, 3, 29, 2, 30))  # noqa: DTZ001


@given(st.datetimes(min_value=datetime(2, 1, 1), max_value=datetime(9998, 1, 1), timezones=st.just(UTC)))  # noqa: DTZ001
def test_instants_round_down_to_milliseconds(when: datetime) -> None:
    """An instant is stored to the millisecond, before the epoch too."""
    back = encoding.instant(encoding.instant_ms(when))
    assert timedelta(0) <= when - back < timedelta(milliseconds=1)


@given(JSON, JSON)
def test_equal_requests_have_equal_digests(one: object, other: object) -> None:
    """A repeated request is recognised whatever the order of its keys."""
    try:
        encoding.check_json([one, other], "value")
    except InvalidInput:
        return
    first = encoding.request_digest({"a": one, "b": other})
    assert first == encoding.request_digest({"b": other, "a": one})
