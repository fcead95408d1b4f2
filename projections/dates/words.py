"""The words of dates: what each means, by kind."""

from __future__ import annotations

from typing import Final

MONTHS: Final = {
    name: number
    for number, names in enumerate(
        (
            *("january jan", "february feb", "march mar", "april apr", "may", "june jun", "july jul"),
            *("august aug", "september sept sep", "october oct", "november nov", "december dec"),
        ),
        start=1,
    )
    for name in names.split()
}

#: Months whose name is nothing else: alone, in any case, they are dates.
PLAIN_MONTHS: Final = frozenset("january february july september october november december".split())

#: Months whose name is an English word too: in lower case they need a year or a preposition.
WORD_MONTHS: Final = frozenset("may march mar".split())

#: Months whose name is a given name: after `from` and `of` they need more than a capital.
NAME_MONTHS: Final = frozenset("april may june august jan".split())

WEEKDAYS: Final = {
    name: number
    for number, names in enumerate(
        (
            *("monday mon", "tuesday tue tues", "wednesday wed", "thursday thu thur thurs"),
            *("friday fri", "saturday sat", "sunday sun"),
        )
    )
    for name in names.split()
}

#: First month and number of months; northern. Winter begins in the year that names it.
SEASONS: Final = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}

UNITS: Final = {
    spelling: unit
    for unit, spellings in {
        "second": "seconds sec secs",
        "minute": "minute minutes min mins",
        "hour": "hour hours hr hrs",
        "day": "day days",
        "week": "week weeks",
        "weekend": "weekend weekends",
        "fortnight": "fortnight fortnights",
        "month": "month months",
        "quarter": "quarter quarters",
        "year": "year years yr yrs",
        "decade": "decade decades",
        "century": "century centuries",
    }.items()
    for spelling in spellings.split()
}

COUNTS: Final = {
    word: number
    for number, word in enumerate(
        "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
        "sixteen seventeen eighteen nineteen twenty".split(),
        start=1,
    )
} | {"thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "ninety": 90, "hundred": 100}

#: Amounts that are not exact, with the amount they count as and how far they may be off.
VAGUE: Final = {"couple": (2, 0), "few": (3, 1), "several": (5, 2)}

RANKS: Final = {
    word: number
    for number, word in enumerate(
        "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth "
        "fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth".split(),
        start=1,
    )
}

PARTS: Final = {
    "morning": "morning",
    "noon": "noon",
    "midday": "noon",
    "afternoon": "afternoon",
    "evening": "evening",
    "night": "night",
}

#: Every word that takes part in a date, with its kind; the kinds are what rules are written in.
KIND_OF_WORD: Final[dict[str, str]] = {
    **dict.fromkeys(MONTHS, "month"),
    **dict.fromkeys(WEEKDAYS, "weekday"),
    **dict.fromkeys(SEASONS, "season"),
    **dict.fromkeys(UNITS, "unit"),
    **dict.fromkeys(COUNTS, "count"),
    **dict.fromkeys(VAGUE, "vague"),
    **dict.fromkeys(RANKS, "rank"),
    **dict.fromkeys(PARTS, "part"),
    **{f"q{number}": "quarter" for number in range(1, 5)},
    **{f"h{number}": "half" for number in range(1, 3)},
    **{word: word for word in "today tonight yesterday tomorrow now the of in on at by and from to".split()},
    **{word: word for word in "between before after since past this earlier later end".split()},
    **dict.fromkeys(("a", "an"), "a"),
    **dict.fromkeys(("during", "throughout"), "in"),
    **dict.fromkeys(("last", "previous"), "last"),
    **dict.fromkeys(("next", "coming", "upcoming", "following"), "next"),
    **dict.fromkeys(("current",), "this"),
    **dict.fromkeys(("ago", "back"), "ago"),
    **dict.fromkeys(("until", "till", "through", "thru"), "until"),
    **dict.fromkeys(("early", "beginning", "start"), "early"),
    **dict.fromkeys(("mid", "middle"), "mid"),
    "late": "late",
    **dict.fromkeys(("onward", "onwards"), "onwards"),
    **dict.fromkeys(("every", "each"), "every"),
    **dict.fromkeys(("my", "our", "your", "his", "her", "their", "its"), "whose"),
    **dict.fromkeys("will shall gonna due deadline expires expire".split(), "ahead"),
    "present": "now",
    "half": "half",
    "prior": "prior",
    "going": "going",
    "other": "other",
}

#: Without one of these, or a digit that looks like a date, a text holds no date.
TRIGGERS: Final = frozenset(
    word
    for word, kind in KIND_OF_WORD.items()
    if kind in {"month", "weekday", "season", "unit", "part", "quarter", "half"}
) | {"today", "tonight", "yesterday", "tomorrow"}

#: What a number before it measures: `2000 ms` holds no year.
MEASURES: Final = frozenset(
    "kb mb gb tb kib mib gib ms us ns s sec px pt km kg usd eur rpm hz percent people feet".split()
)

#: What a number before it counts, in the singular: `2000 users` holds no year, nor does `the 2000 limit`.
QUANTITIES: Final = frozenset(
    "bit byte pixel point dimension dim token word character char line row column page file item entry "
    "record message event request user person client customer employee account node pod core thread "
    "worker job task test case step iteration epoch sample document vector query call retry error warning "
    "unit piece copy time mile meter metre m gram calorie dollar euro foot limit timeout port default "
    "threshold budget size value connection session key index id code commit ticket issue hour minute "
    "second day week month year watt member follower subscriber visitor guest book photo game player seat "
    "student question answer".split()
)

#: What a range of numbers after it counts: `lines 1998-2003` holds no years.
COUNTED_BEFORE: Final = frozenset(
    "line lines page pages pp p row rows port ports id ids item items issue issues ticket tickets step "
    "steps number numbers no nos range code codes error errors record records entry entries size".split()
)

#: `done in three days` tells how long, not when.
LASTING: Final = frozenset("done built made took ran written fixed back within only just taken".split())
