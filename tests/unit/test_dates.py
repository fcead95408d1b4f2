"""Dates in text: which expressions are found, what they mean, and what is no date."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from itertools import pairwise
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldlog.projections.dates import EARLIEST_MS, LATEST_MS, find
from foldlog.projections.dates.atoms import RULES
from foldlog.projections.dates.rules import Rule, compiled, starts
from foldlog.projections.dates.span import PRECISIONS
from foldlog.projections.dates.tokens import CHAR, lower_of, may_hold_dates
from foldlog.projections.dates.words import TRIGGERS

#: Wednesday, 15 July 2026, 14:30 UTC.
ANCHOR = datetime(2026, 7, 15, 14, 30, tzinfo=UTC)
BERLIN = ZoneInfo("Europe/Berlin")
NEW_YORK = ZoneInfo("America/New_York")


def ms(when: datetime | str) -> int:
    """Return an instant; text is ISO 8601 in UTC."""
    if isinstance(when, str):
        when = datetime.fromisoformat(when).replace(tzinfo=UTC)
    return (when - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)


def spans(text: str, anchor: datetime | str = ANCHOR, zone: tzinfo = UTC) -> list[tuple[int, int]]:
    return [(span.start_ms, span.end_ms) for span in find(text, ms(anchor), zone)]


#: The 16 relative and 16 absolute or range expressions that the grammar is measured by.
EXPRESSIONS = [
    ("yesterday", "2026-07-14", "2026-07-15", "day"),
    ("the day before yesterday", "2026-07-13", "2026-07-14", "day"),
    ("last week", "2026-07-06", "2026-07-13", "week"),
    ("last month", "2026-06-01", "2026-07-01", "month"),
    ("last Tuesday", "2026-07-14", "2026-07-15", "day"),
    ("three days ago", "2026-07-12", "2026-07-13", "day"),
    ("a couple of days ago", "2026-07-13", "2026-07-14", "day"),
    ("two weeks ago", "2026-06-29", "2026-07-06", "week"),
    ("3 hours ago", "2026-07-15T11:00", "2026-07-15T12:00", "hour"),
    ("this morning", "2026-07-15T06:00", "2026-07-15T12:00", "hour"),
    ("last night", "2026-07-14T18:00", "2026-07-15T06:00", "hour"),
    ("this weekend", "2026-07-18", "2026-07-20", "day"),
    ("next month", "2026-08-01", "2026-09-01", "month"),
    ("the past few days", "2026-07-12", "2026-07-16", "day"),
    ("end of last month", "2026-06-21", "2026-07-01", "month"),
    ("last summer", "2025-06-01", "2025-09-01", "season"),
    ("2026-03-14", "2026-03-14", "2026-03-15", "day"),
    ("2026-03-14T10:30Z", "2026-03-14T10:30", "2026-03-14T10:31", "minute"),
    ("2026-W12", "2026-03-16", "2026-03-23", "week"),
    ("8 May 2023", "2023-05-08", "2023-05-09", "day"),
    ("May 8th, 2023", "2023-05-08", "2023-05-09", "day"),
    ("March 2024", "2024-03-01", "2024-04-01", "month"),
    ("in 2022", "2022-01-01", "2023-01-01", "year"),
    ("the 1990s", "1990-01-01", "2000-01-01", "decade"),
    ("Q3 2024", "2024-07-01", "2024-10-01", "quarter"),
    ("the summer of 2023", "2023-06-01", "2023-09-01", "season"),
    ("early 2024", "2024-01-01", "2024-05-01", "year"),
    ("between May and June 2023", "2023-05-01", "2023-07-01", "month"),
    ("from 3 to 5 March 2024", "2024-03-03", "2024-03-06", "day"),
    ("1998 to 2003", "1998-01-01", "2004-01-01", "year"),
    ("since 2021", "2021-01-01", "2026-07-16", "year"),
    ("before the migration on 2024-03-02", "1000-01-01", "2024-03-02", "day"),
]


@pytest.mark.parametrize("frame", ["{}", "What did we decide {}?", "It was ({}), as they said."])
@pytest.mark.parametrize(
    ("text", "start", "end", "precision"), EXPRESSIONS, ids=[row[0] for row in EXPRESSIONS]
)
def test_the_expressions_of_the_reference(
    text: str, start: str, end: str, precision: str, frame: str
) -> None:
    """Each is found alone and in a sentence, with its range and precision."""
    (span,) = find(frame.format(text), ms(ANCHOR))
    assert (span.start_ms, span.end_ms, span.precision) == (ms(start), ms(end), precision)


MORE = [
    # digits
    ("2026-03-14 10:30", "2026-03-14T10:30", "2026-03-14T10:31"),
    ("2026-03-14T10:30:05.250+02:00", "2026-03-14T08:30:05", "2026-03-14T08:30:06"),
    ("20240302T143000Z", "2024-03-02T14:30", "2024-03-02T14:30:01"),
    ("2024-03", "2024-03-01", "2024-04-01"),
    ("2024-Q3", "2024-07-01", "2024-10-01"),
    ("2026-W12-3", "2026-03-18", "2026-03-19"),
    ("2024/3/2", "2024-03-02", "2024-03-03"),
    ("13/2/2024", "2024-02-13", "2024-02-14"),
    ("2/13/2024", "2024-02-13", "2024-02-14"),
    ("backup-2024-03-02.sql", "2024-03-02", "2024-03-03"),
    # months and years by name
    ("the 5th of May 2023", "2023-05-05", "2023-05-06"),
    ("Sat, 8 May 2023", "2023-05-08", "2023-05-09"),
    ("Jan. 5, 2023", "2023-01-05", "2023-01-06"),
    ("MAY 8, 2023", "2023-05-08", "2023-05-09"),
    ("8-May-2023", "2023-05-08", "2023-05-09"),
    ("third quarter of 2024", "2024-07-01", "2024-10-01"),
    ("H1 2024", "2024-01-01", "2024-07-01"),
    ("the second half of 2024", "2024-07-01", "2025-01-01"),
    ("week 12 of 2026", "2026-03-16", "2026-03-23"),
    ("winter 2022", "2022-12-01", "2023-03-01"),
    ("(2019)", "2019-01-01", "2020-01-01"),
    ("2022", "2022-01-01", "2023-01-01"),
    ("the 2022 report", "2022-01-01", "2023-01-01"),
    ("by 2025", "2025-01-01", "2026-01-01"),
    ("'90s", "1990-01-01", "2000-01-01"),
    ("in the 90s", "1990-01-01", "2000-01-01"),
    ("the 1800s", "1800-01-01", "1900-01-01"),
    ("the 19th century", "1800-01-01", "1900-01-01"),
    ("mid-2023", "2023-05-01", "2023-09-01"),
    ("late March 2024", "2024-03-21", "2024-04-01"),
    ("the first week of May 2023", "2023-05-01", "2023-05-08"),
    ("the last weekend of July", "2026-07-25", "2026-07-27"),
    ("last day of 2023", "2023-12-31", "2024-01-01"),
    # counted from the anchor
    ("today", "2026-07-15", "2026-07-16"),
    ("tomorrow", "2026-07-16", "2026-07-17"),
    ("tonight", "2026-07-15T18:00", "2026-07-16T06:00"),
    ("yesterday morning", "2026-07-14T06:00", "2026-07-14T12:00"),
    ("the day after tomorrow", "2026-07-17", "2026-07-18"),
    ("the other day", "2026-07-08", "2026-07-15"),
    ("this week", "2026-07-13", "2026-07-20"),
    ("last quarter", "2026-04-01", "2026-07-01"),
    ("last weekend", "2026-07-11", "2026-07-13"),
    ("two weekends ago", "2026-07-04", "2026-07-06"),
    ("the week before last", "2026-06-29", "2026-07-06"),
    ("a few days ago", "2026-07-11", "2026-07-14"),
    ("a month ago", "2026-06-01", "2026-07-01"),
    ("5 years ago", "2021-01-01", "2022-01-01"),
    ("twenty minutes ago", "2026-07-15T14:10", "2026-07-15T14:11"),
    ("in two weeks", "2026-07-27", "2026-08-03"),
    ("3 days from now", "2026-07-18", "2026-07-19"),
    ("in the last 24 hours", "2026-07-14T14:30", "2026-07-15T14:30"),
    ("the past two months", "2026-05-15", "2026-07-16"),
    ("the past weekend", "2026-07-11", "2026-07-13"),
    ("the next 3 days", "2026-07-15", "2026-07-19"),
    ("earlier this week", "2026-07-13", "2026-07-16"),
    ("later this year", "2026-07-15", "2027-01-01"),
    ("the end of the month", "2026-07-21", "2026-08-01"),
    # without a year
    ("Thursday", "2026-07-09", "2026-07-10"),
    ("on Wednesday", "2026-07-08", "2026-07-09"),
    ("next Friday", "2026-07-17", "2026-07-18"),
    ("this Friday", "2026-07-17", "2026-07-18"),
    ("by Friday", "2026-07-17", "2026-07-18"),
    ("Tuesday of last week", "2026-07-07", "2026-07-08"),
    ("last Fri", "2026-07-10", "2026-07-11"),
    ("in March", "2026-03-01", "2026-04-01"),
    ("in may", "2026-05-01", "2026-06-01"),
    ("in December", "2025-12-01", "2026-01-01"),
    ("we will launch in December", "2026-12-01", "2027-01-01"),
    ("last March", "2026-03-01", "2026-04-01"),
    ("next March", "2027-03-01", "2027-04-01"),
    ("on 8 May", "2026-05-08", "2026-05-09"),
    ("on 8 August", "2025-08-08", "2025-08-09"),
    ("on the 5th", "2026-07-05", "2026-07-06"),
    ("Feb 29", "2024-02-29", "2024-03-01"),
    ("Q4", "2025-10-01", "2026-01-01"),
    # with a time of day
    ("1:56 pm on 8 May, 2023", "2023-05-08T13:56", "2023-05-08T13:57"),
    ("yesterday at 3pm", "2026-07-14T15:00", "2026-07-14T16:00"),
    ("2024-03-02, 12:30 a.m.", "2024-03-02T00:30", "2024-03-02T00:31"),
    # two dates
    ("May 2022 to June 2023", "2022-05-01", "2023-07-01"),
    ("5 March to 8 April 2024", "2024-03-05", "2024-04-09"),
    ("March 5-8, 2024", "2024-03-05", "2024-03-09"),
    ("November to February 2023", "2022-11-01", "2023-03-01"),
    ("between 10 June and 12 July", "2026-06-10", "2026-07-13"),
    ("from Monday to Friday", "2026-07-13", "2026-07-18"),
    ("2019 to present", "2019-01-01", "2026-07-16"),
    ("from May 2022 until now", "2022-05-01", "2026-07-16"),
    ("2024-03-01/2024-03-05", "2024-03-01", "2024-03-06"),
    ("1998–2003", "1998-01-01", "2004-01-01"),
    ("the 1966–67 season", "1966-01-01", "1968-01-01"),
    ("between 1998 and 2003", "1998-01-01", "2004-01-01"),
    ("two weeks before 2024-03-02", "2024-02-17", "2024-02-24"),
    ("the Sunday before 25 May 2023", "2023-05-21", "2023-05-22"),
    ("the weekend of 24 June 2022", "2022-06-25", "2022-06-27"),
    # one end
    ("until June", "1000-01-01", "2026-07-01"),
    ("prior to 8 May 2023", "1000-01-01", "2023-05-08"),
    ("before the end of 2024", "1000-01-01", "2025-01-01"),
    ("after 2020-01-01", "2020-01-02", "3000-01-01"),
    ("from 2019 onwards", "2019-01-01", "2026-07-16"),
    ("since next Monday", "2026-07-20", "3000-01-01"),
    ("before lunch on Monday", "2026-07-13", "2026-07-14"),
]


@pytest.mark.parametrize(("text", "start", "end"), MORE, ids=[row[0] for row in MORE])
def test_more_expressions(text: str, start: str, end: str) -> None:
    """Every form that the documentation promises."""
    assert spans(text) == [(ms(start), ms(end))]


NO_DATES = [
    # words that are months, weekdays, seasons and units too
    "You may go, and we may 2 times",
    "He will march 3 miles; the march of 12 people",
    "chapter 5 may be skipped",
    "The sun sat on the wall. Sun came out and Sat there.",
    "April called. June laughed with May.",
    "a letter from April",
    "mar the surface, dec the counter, sep the files",
    "fall down; spring up; winter is coming",
    "one second, please: the second attempt",
    "the last straw, and the next thing",
    "every Monday",
    # versions
    "upgrade to version 2.10.3, v2022.1.1 or 10.15.2020",
    "Python 3.11 and node 20.3",
    # ports and addresses
    "port 8080 and port 2022, listen on 127.0.0.1:8080",
    # time-outs and durations
    "the timeout is 30 seconds, retry in 5 minutes",
    "wait 2000 ms, sleep 1800s, then 60s",
    "it took three days and was finished in three days",
    "the 60s timeout",
    # sizes and identifiers
    "a limit of 2000 tokens, between 1024 and 2048 tokens, in 2000 steps",
    "increase it from 1500 to 2000",
    "the 2048 game, lines 1998-2003, error 1999",
    "CVE-2024-12345, RFC 2616, call 555-1998, #2022, $2022",
    "on the 5th floor",
    "step 2 of 12, ratio 16/9, 24/7, 1/2",
    "at 14:30 or 3pm",
    "src/may/2022/today.py",
    # impossible or ambiguous
    "2024-02-30",
    "2024-13-01",
    "03/02/2024",
]


@pytest.mark.parametrize("text", NO_DATES)
def test_no_dates(text: str) -> None:
    """What only looks like a date gives nothing."""
    assert [text[span.start : span.end] for span in find(text, ms(ANCHOR))] == []


def test_what_is_documented_is_found() -> None:
    """Every expression in the table of docs/dates-and-names.md gives one span, every precision is named."""
    page = (Path(__file__).parents[2] / "docs/dates-and-names.md").read_text(encoding="utf-8")
    table = page.partition("| written |")[2].partition("\n\n")[0]
    written = [text for row in table.splitlines()[2:] for text in re.findall("`([^`]+)`", row.split("|")[1])]
    assert len(written) > 50
    for text in written:
        assert len(find(text, ms(ANCHOR))) == 1, text
    for precision in PRECISIONS:
        assert f"`{precision}`" in page


def test_the_characters_of_a_span() -> None:
    """A span says which characters it was read from, also after letters that grow in lower case."""
    text = "İstanbul: met on 8 May 2023, then last week’s call"
    assert [text[span.start : span.end] for span in find(text, ms(ANCHOR))] == ["8 May 2023", "last week"]


def test_kinds() -> None:
    """Absolute is what names its year; the rest depends on the anchor."""
    found = find("On 8 May 2023, since 2021 and yesterday; 20 May to 3 June 2023; in March", ms(ANCHOR))
    assert [span.kind for span in found] == ["absolute", "absolute", "relative", "absolute", "relative"]


def test_open_ranges_end_at_the_bounds() -> None:
    """One end that is not named is the documented first or last instant."""
    before, after = find("before 2020 and after 2021-01-01", ms(ANCHOR))
    assert before.start_ms == EARLIEST_MS == ms("1000-01-01")
    assert after.end_ms == LATEST_MS == ms(datetime(3000, 1, 1, tzinfo=UTC))
    assert before.is_open
    assert after.is_open
    assert not find("in 2020", ms(ANCHOR))[0].is_open


def test_the_asker_has_a_zone() -> None:
    """`Today` is the day on the speaker's calendar, and a time without a zone is theirs."""
    assert spans("today", "2026-07-15T23:30", BERLIN) == [(ms("2026-07-15T22:00"), ms("2026-07-16T22:00"))]
    assert spans("2026-01-02 10:30", zone=NEW_YORK) == [(ms("2026-01-02T15:30"), ms("2026-01-02T15:31"))]
    assert spans("2026-01-02 10:30Z", zone=NEW_YORK) == [(ms("2026-01-02T10:30"), ms("2026-01-02T10:31"))]
    fixed = timezone(timedelta(hours=5, minutes=45))
    assert spans("2026-01-02", zone=fixed) == [(ms("2026-01-01T18:15"), ms("2026-01-02T18:15"))]


def test_days_have_23_and_25_hours_when_clocks_change() -> None:
    """A day is from midnight to midnight of its zone."""
    ((start, end),) = spans("2026-03-29", zone=BERLIN)
    assert end - start == 23 * 3_600_000
    ((start, end),) = spans("2026-10-25", zone=BERLIN)
    assert end - start == 25 * 3_600_000


@pytest.mark.case("A10")
def test_times_that_the_clock_leaves_out_or_repeats() -> None:
    """A time in the gap counts as if the clock had not jumped yet; of two, the first is meant."""
    assert spans("2026-03-29 02:30", zone=BERLIN) == [(ms("2026-03-29T01:30"), ms("2026-03-29T01:31"))]
    assert spans("29 March 2026 at 2am", zone=BERLIN) == [(ms("2026-03-29T01:00"), ms("2026-03-29T02:00"))]
    assert spans("2026-10-25 02:30", zone=BERLIN) == [(ms("2026-10-25T00:30"), ms("2026-10-25T00:31"))]


def test_years_at_the_bounds() -> None:
    """Results beyond the years 1000 to 2999 are clipped or none, and no error."""
    assert spans("2999-12-31") == [(ms("2999-12-31"), LATEST_MS)]
    assert spans("999 centuries ago, 999 years from now") == []
    for anchor in (-(10**18), 10**18):
        assert find("yesterday", anchor)


def test_a_long_text_takes_linear_time() -> None:
    """Twenty thousand dates, or one sentence without an end, are no trouble."""
    assert len(find("yesterday " * 20_000, ms(ANCHOR))) == 20_000
    assert find("x1" * 100_000 + "\n " * 50_000 + "before the " * 20_000, ms(ANCHOR)) == []


@pytest.mark.case("A10")
def test_the_time_zone_of_the_process_does_not_matter() -> None:
    """The same spans under any TZ."""
    program = (
        "from foldlog.projections.dates import find\n"
        "text = 'today, 3 hours ago, 2026-03-29 02:30, on 8 May, since 2021, last night'\n"
        f"print([(s.start_ms, s.end_ms) for s in find(text, {ms(ANCHOR)})])"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "TZ": zone},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for zone in ("UTC", "Asia/Kathmandu", "America/New_York")
    }
    assert len(printed) == 1


VOCABULARY = (
    "last next this the a few couple of two 3 3rd second May may march Sun Tuesday days week weekends month "
    "year ago back in on at by from to until since before after between and early mid late end first 2023 "
    "1998 29 31 00:30 3pm 24:00 2024-02-29 2024-03-31T02:30 2026-W53 1990s '90s century quarter Q3 H2 summer "
    "winter today yesterday tomorrow tonight night morning now past onwards will other - – , . ( ) / 's"
).split()

texts = st.one_of(
    st.text(),
    st.lists(st.sampled_from(VOCABULARY), max_size=14).map(" ".join),
    st.lists(st.sampled_from(VOCABULARY), max_size=10).map("".join),
)
anchors = st.integers(-(10**14), 10**14)
zones = st.sampled_from([UTC, BERLIN, NEW_YORK, ZoneInfo("America/Sao_Paulo"), ZoneInfo("Pacific/Apia")])


@given(texts, anchors, zones)
def test_any_text_gives_spans_in_order(text: str, anchor: int, zone: tzinfo) -> None:
    """Never an error; ranges are not empty and in bounds; characters are in order and do not overlap."""
    found = find(text, anchor, zone)
    for span in found:
        assert EARLIEST_MS <= span.start_ms < span.end_ms <= LATEST_MS
        assert 0 <= span.start < span.end <= len(text)
        assert text[span.start : span.end].strip() == text[span.start : span.end]
        assert span.precision in PRECISIONS
    for one, other in pairwise(found):
        assert one.end <= other.start
    assert find(text, anchor, zone) == found


@given(st.dates(date(1000, 1, 2), date(2999, 12, 30)), anchors, zones)
def test_every_day_is_found_as_iso(day: date, anchor: int, zone: tzinfo) -> None:
    """An ISO date is one day of the zone, whenever it is asked about."""
    found = find(f"on {day.isoformat()}, as said", anchor, zone)
    skipped = (
        zone.key == "Pacific/Apia" and day == date(2011, 12, 30) if isinstance(zone, ZoneInfo) else False
    )
    assert [(span.precision, span.kind) for span in found] == [("day", "absolute")] * (not skipped)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.pattern)
def test_rules_are_tried_where_they_can_begin(rule: Rule) -> None:
    """The kinds a pattern is filed under are those with which its matches begin."""
    pattern = re.compile(compiled(rule.pattern))
    kinds = re.findall("[a-z]+", rule.pattern)
    draw = random.Random(1)
    shapes = ["".join(CHAR[kind] for kind in kinds if draw.random() < 0.6) for _ in range(5_000)]
    begun = {match[0][0] for shape in shapes for match in pattern.finditer(shape)}
    assert begun
    assert begun <= {CHAR[kind] for kind in starts(rule.pattern)}


@given(
    st.lists(
        st.sampled_from(
            [*" \n.-_'é日", "may", "q1", "h", "may3", "1st", "90s", "2023", "20", "a", "today", "İ"]
        ),
        max_size=12,
    ).map("".join)
)
def test_a_quick_no_is_right(text: str) -> None:
    """A text is passed over quickly only when it has neither a word of dates nor digits like a date's."""
    lower = lower_of(text)
    words = set(re.findall(r"[^\W\d_]+[1-4]?", lower))
    digits = re.search(r"[12][0-9]{3}|[0-9](?:0s|st|nd|rd|th)\b", lower)
    assert may_hold_dates(lower) is (digits is not None or not TRIGGERS.isdisjoint(words))
