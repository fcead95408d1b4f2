"""Names in text: what each type looks like, and what only looks like one."""

from __future__ import annotations

import time
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldlog.projections.extraction import TYPES, Mention, canonical, find, finding, people, pieces


def names(text: str) -> list[tuple[str, str]]:
    """Return (type, name) of each mention."""
    return [(mention.type, mention.name) for mention in find(text)]


#: Text, type, name as written, canonical name. One mention each.
EXAMPLES = [
    ("see src/app/main.py:42 for it", "file", "src/app/main.py", "src/app/main.py"),
    ("in ./src/App.tsx, line 3", "file", "./src/App.tsx", "src/app.tsx"),
    ("edit /etc/hosts by hand", "file", "/etc/hosts", "/etc/hosts"),
    ("the file ~/.bashrc", "file", "~/.bashrc", "~/.bashrc"),
    (r"open C:\temp\notes.txt", "file", r"C:\temp\notes.txt", "c:/temp/notes.txt"),
    ("all of projections/dates/ is new", "file", "projections/dates/", "projections/dates"),
    ("read README.md first", "file", "README.md", "readme.md"),
    ("the Dockerfile is old", "file", "Dockerfile", "dockerfile"),
    ("put it in .env", "file", ".env", ".env"),
    ("call get_user_by_id first", "symbol", "get_user_by_id", "get_user_by_id"),
    ("the camelCaseName variable", "symbol", "camelCaseName", "camelcasename"),
    ("an EventLog is opened", "symbol", "EventLog", "eventlog"),
    ("raises HTTPException then", "symbol", "HTTPException", "httpexception"),
    ("it calls log.append() twice", "symbol", "log.append", "log.append"),
    ("it calls flush() twice", "symbol", "flush", "flush"),
    ("from foldlog.events.log we import", "symbol", "foldlog.events.log", "foldlog.events.log"),
    ("a std::vector of them", "symbol", "std::vector", "std::vector"),
    ("the `users` table", "symbol", "users", "users"),
    ("ticket POL-358 is open", "ticket", "POL-358", "pol-358"),
    ("fixed CVE-2024-12345 today", "ticket", "CVE-2024-12345", "cve-2024-12345"),
    ("merged #482 today", "pr", "#482", "#482"),
    ("merged PR 482 today", "pr", "PR 482", "#482"),
    ("merged pull request #482.", "pr", "pull request #482", "#482"),
    ("see acme/widgets#12, too", "pr", "acme/widgets#12", "acme/widgets#12"),
    ("fixes #7", "pr", "#7", "#7"),
    ("since 3f2a9bcd1e it fails", "commit", "3f2a9bcd1e", "3f2a9bc"),
    ("at commit 1234567 it fails", "commit", "1234567", "1234567"),
    (
        "go to https://Example.org/a?b=1#c.",
        "url",
        "https://Example.org/a?b=1#c",
        "https://example.org/a?b=1#c",
    ),
    (
        "(https://example.org/Foo_(bar))",
        "url",
        "https://example.org/Foo_(bar)",
        "https://example.org/foo_(bar)",
    ),
    ("[docs](https://example.org/docs/)", "url", "https://example.org/docs/", "https://example.org/docs"),
    ("postgres://me:secret@db/main", "url", "postgres://me:secret@db/main", "postgres://db/main"),
    ("on example.com/path now", "url", "example.com/path", "https://example.com/path"),
    ("on db-1.internal:5432 now", "host", "db-1.internal:5432", "db-1.internal"),
    ("ping api.example.com, please", "host", "api.example.com", "api.example.com"),
    ("at 10.0.0.12:6379 now", "host", "10.0.0.12:6379", "10.0.0.12"),
    ("on localhost:8080 now", "host", "localhost:8080", "localhost"),
    ("write to Imani@Example.org!", "email", "Imani@Example.org", "imani@example.org"),
    ("asked @imani about it", "person", "@imani", "imani"),
    ("Hey Jon, how are you?", "person", "Jon", "jon"),
    ("Thanks, Maria!", "person", "Maria", "maria"),
    ("That sounds great, Melanie!", "person", "Melanie", "melanie"),
    ("Caroline said no.", "person", "Caroline", "caroline"),
    ("Imani: I did it.", "person", "Imani", "imani"),
    ("my sister Anna is here", "person", "Anna", "anna"),
    ("it was reviewed by Zoë Kravitz.", "person", "Zoë Kravitz", "zoë kravitz"),
    ("we saw Dr. Smith there", "person", "Smith", "smith"),
    ("we went to Spain again", "name", "Spain", "spain"),
    ("a trip to New York again", "name", "New York", "new york"),
    ("he read Ludwig van Beethoven then", "name", "Ludwig van Beethoven", "ludwig van beethoven"),
    ("that is Caroline's dog", "name", "Caroline", "caroline"),
    ("the billing-api is down", "service", "billing-api", "billing-api"),
    ("restart worker-2 now", "service", "worker-2", "worker-2"),
    ("Postgres is down", "service", "Postgres", "postgres"),
    ("the postgresql server", "service", "postgresql", "postgres"),
    ("it runs on k8s", "service", "k8s", "kubernetes"),
    ("we like Python here", "service", "Python", "python"),
    ("built with node.js", "service", "node.js", "node.js"),
    ("release v1.2.3-rc1 is out", "version", "v1.2.3-rc1", "1.2.3-rc1"),
    ("now at 2.10.3.", "version", "2.10.3", "2.10.3"),
    ("in version 3.2 it works", "version", "3.2", "3.2"),
    ("needs Python 3.11 or so", "version", "Python 3.11", "python 3.11"),
    ("needs Postgres 15.", "version", "Postgres 15", "postgres 15"),
    ("set DATABASE_URL first", "env", "DATABASE_URL", "database_url"),
    ("set $HOME first", "env", "$HOME", "home"),
    ("set ${HOME} first", "env", "${HOME}", "home"),
    ("it failed in production.", "env", "production", "production"),
    ("it failed on prod.", "env", "prod", "production"),
    ("the staging environment", "env", "staging", "staging"),
    ("run `docker compose up -d` now", "command", "docker compose up -d", "docker compose up -d"),
    ("then git push --force failed", "command", "git push --force", "git push --force"),
    ("use pytest -q tests/unit now", "command", "pytest -q tests/unit", "pytest -q tests/unit"),
    ("$ make test", "command", "make test", "make test"),
]


@pytest.mark.parametrize(("text", "type_", "name", "plain"), EXAMPLES, ids=[row[0] for row in EXAMPLES])
def test_examples(text: str, type_: str, name: str, plain: str) -> None:
    """Each type, its name as written and the one under which all spellings meet."""
    start = text.index(name)
    expected = Mention(name=name, canonical=plain, type=type_, start=start, end=start + len(name))
    assert find(text) == [expected]


NO_NAMES = [
    "",
    "The quick brown fox jumps over the lazy dog. It was late. Yes!",
    "I think we should go. Maybe tomorrow? However, Monday in March is fine.",
    "This Is A Heading With Many Capitals",
    "and/or he/she 24/7 TCP/IP 1/2 I/O w/o n/a /help",
    "e.g. this, i.e. that, a.k.a. what, U.S. policy, end.We start",
    "3.14 is pi, 1.5 hours, 5.5.5.5.5",
    "port 8080, timeout 30s, at 14:30, ratio 16:9, step:12",
    "state-of-the-art, dairy-free, two-day, 10-year-old, follow-up, well-known",
    "UTF-8 SHA-256 COVID-19 GPT-4 ISO-8601",
    "the #1 reason, #fff and #123456",
    "deadbeef, 1234567, decade",
    "make sure to go home; git is fine; production of goods",
    "@dataclass and @property() and icon@2x",
    "McDonald and the iPhone",
    "word(s) and more (see below)",
    "id a50e8400-e29b-41d4-a716-446655440000",
]


@pytest.mark.parametrize("text", NO_NAMES)
def test_no_names(text: str) -> None:
    """What only looks like a name gives nothing."""
    assert names(text) == []


def test_every_type_is_documented_and_has_an_example() -> None:
    """The table of docs/dates-and-names.md has a row for each."""
    page = (Path(__file__).parents[2] / "docs/dates-and-names.md").read_text(encoding="utf-8")
    assert {row[1] for row in EXAMPLES} == set(TYPES)
    for type_ in TYPES:
        assert f"\n| `{type_}` |" in page


def test_a_developer_note() -> None:
    """Many types in one line, in order."""
    text = (
        "Deployed billing-api v2.3.1 to staging (POL-358, PR #482, commit 3f2a9bc): foo_bar() in "
        "src/app/main.py calls https://x.org/y on db-1.internal:5432; ask @imani or ops@example.org."
    )
    assert names(text) == [
        ("service", "billing-api"),
        ("version", "v2.3.1"),
        ("env", "staging"),
        ("ticket", "POL-358"),
        ("pr", "PR #482"),
        ("commit", "3f2a9bc"),
        ("symbol", "foo_bar"),
        ("file", "src/app/main.py"),
        ("url", "https://x.org/y"),
        ("host", "db-1.internal:5432"),
        ("person", "@imani"),
        ("email", "ops@example.org"),
    ]


def test_a_person_is_one_everywhere_in_a_text() -> None:
    """Who is a person in one sentence is one in all."""
    assert names("Hey Caroline! We saw Caroline and Spain.") == [
        ("person", "Caroline"),
        ("person", "Caroline"),
        ("name", "Spain"),
    ]


def test_spellings_meet() -> None:
    """Different spellings of one thing have one canonical name."""
    for one, other in [
        ("see ./src/main.py", "see src/main.py:7"),
        ("merged PR 482", "merged #482"),
        ("at 3f2a9bcd1e", "at 3f2a9bc"),
        ("v1.2.3", "now 1.2.3"),
        ("asked @imani", "Hey Imani!"),
        ("call run_once()", "the run_once"),
        ("on localhost:80", "on localhost:8080"),
        ("Postgres", "postgresql"),
    ]:
        assert find(one)[0].canonical == find(other)[0].canonical


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("  Golden   Gate Bridge, ", "golden gate bridge"),
        ("“Caroline’s”", "caroline"),
        ("STRASSE", "strasse"),
        ("Straße", "strasse"),
        ("cafe\u0301", "café"),
    ],
)
def test_canonical(name: str, plain: str) -> None:
    """One case, NFC, single blanks, nothing around."""
    assert canonical(name) == plain


def test_a_long_text_takes_linear_time() -> None:
    """No text makes a rule slow: half a megabyte of nasty runs takes seconds at most."""
    nasty = [
        "a" * 50_000,
        "a." * 25_000,
        "Aa " * 15_000,
        "http://" * 8_000,
        "`a b " * 10_000,
        "git push -f " * 4_000,
    ]
    began = time.process_time()
    for text in nasty:
        find(text)
    assert time.process_time() - began < 20


VOCABULARY = (
    "Hey Caroline Jon's said @imani #12 PR 482 pull request POL-358 src/main.py:4 /etc/hosts a_b camelCase "
    "HTTPError f() std::x `x` `git push -f` $HOME ${X} A_B v1.2 1.2.3 3f2a9bc https://x.org/(a) a@b.org "
    "redis:6379 localhost postgres 15 in production $ git commit . , ( ) : - / \n New York Dr. billing-api 's"
).split(" ")

texts = st.one_of(
    st.text(),
    st.lists(st.sampled_from(VOCABULARY), max_size=14).map(" ".join),
    st.lists(st.sampled_from(VOCABULARY), max_size=10).map("".join),
)


@given(texts)
def test_any_text_gives_mentions_in_order(text: str) -> None:
    """Never an error; names are as written, in order, none inside another, the same every time."""
    mentions = find(text)
    for mention in mentions:
        assert text[mention.start : mention.end] == mention.name
        assert mention.name.strip() == mention.name != ""
        assert mention.canonical
        assert mention.type in TYPES
    for one, other in pairwise(mentions):
        assert one.end <= other.start
    assert find(text) == mentions


@given(st.text())
def test_canonical_is_stable(name: str) -> None:
    """The canonical form of a canonical form is itself."""
    assert canonical(canonical(name)) == canonical(name)


#: Pieces of text on which the quick looks and the rules could disagree.
PIECES = st.lists(
    st.sampled_from([
        *" \n.,:;!?'’\"()[]-_/@#$0é日ßśÀ", "a", "B", "ab", "Ab", "AB", "ABc", "aB", "thanks", "Jonas", "said",
        "assigned", "to", "Dr", "k8s", "3k8s", "node.js", "_x", ". ", ", ", "::", "()", "New York", "K",
    ]),
    max_size=20,
).map("".join)  # fmt: skip


@given(PIECES)
def test_the_quick_looks_leave_nothing_out(text: str) -> None:
    """What is passed over quickly is what the rules would not have found; the words are the same."""
    lower = text.casefold()
    assert set(finding._words(lower)) - {""} == set(finding._WORD.findall(lower))
    assert list(pieces._runs(text)) == [run.span() for run in pieces._RUN.finditer(text)]
    for start in range(len(text)):
        window = max(0, start - people._BEFORE), start
        begins = people._SENTENCE_BEFORE.search(text, max(0, start - 12), start) is not None
        assert people._begins_sentence(text, start) is begins
        before = people._WORDS_BEFORE.search(text, *window)
        if before is not None and not people._may_precede_person(text, start):
            assert before[2].lower() not in people._LAST_BEFORE_PERSONS
