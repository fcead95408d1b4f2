"""The command line: what each command prints, its exit codes, and how it fails."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import foldlog
from fixtures.logs import Clock, open_memory
from fixtures.smithers import Smithers
from foldlog import Memory, composition
from foldlog.cli import backfill, diff, graph, importing, main, note, output, wording
from foldlog.cli import options as cli_options
from foldlog.cli.main import build
from foldlog.cli.options import KINDS as PARSER_KINDS
from foldlog.embedded import Home
from foldlog.events import past
from foldlog.events.log import SCHEMA_VERSION
from foldlog.events.types import EVENT_TYPES
from foldlog.memory import diff as memory_diff
from foldlog.memory import graph as walks
from foldlog.projections.document import KINDS
from foldlog.projections.engine import Folded
from foldlog.projections.local.notes import STATUSES
from foldlog.settings import Settings

IS_ROOT = os.geteuid() == 0
SOURCE = Path(foldlog.__file__).parents[1]
SAMPLE = Path(__file__).parents[1] / "data/locomo_sample.json"

#: Refuses connections at once.
NO_SERVER = "postgresql://nobody:hunter2@127.0.0.1:1/none"

ALICE = "user:alice"


@dataclass(frozen=True)
class Done:
    """What one command did."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()

    @property
    def rows(self) -> list[list[str]]:
        return [line.split("\t") for line in self.lines]

    def json(self) -> Any:
        (line,) = self.lines
        return json.loads(line)


class Cli:
    """Runs commands in this process, in a folder of their own with a log that is not there yet."""

    def __init__(self, folder: Path, capture: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self.log = folder / ".foldlog/memory.db"
        self._capture = capture

    def __call__(self, *arguments: str) -> Done:
        self._capture.readouterr()
        code = main.main(arguments)
        return Done(code, *self._capture.readouterr())

    def ok(self, *arguments: str) -> Done:
        done = self(*arguments)
        assert (done.code, done.err) == (0, "")
        return done

    def fails(self, code: int, *arguments: str) -> str:
        """Run what must fail with one line, and return that."""
        done = self(*arguments)
        assert (done.code, done.out) == (code, "")
        (line,) = done.err.splitlines()
        assert line.startswith("foldlog: error: ")
        return line

    def fold(self) -> Any:
        """Fold the log, and return what the command says of it."""
        done = self("backfill", "--json")
        assert done.code == 0
        return done.json()

    def memory(self) -> Memory:
        return open_memory(self.log, database_url=NO_SERVER)


@pytest.fixture
def cli(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    for name in [name for name in os.environ if name.startswith("FOLDLOG_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("FOLDLOG_DATABASE_URL", NO_SERVER)
    monkeypatch.chdir(tmp_path)
    return Cli(tmp_path, capsys)


@pytest.fixture
def indexed(cli: Cli, database_url: str, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """The same with a Postgres."""
    monkeypatch.setenv("FOLDLOG_DATABASE_URL", database_url)
    return cli


def command(*arguments: str | bytes) -> list[str | bytes]:
    return [sys.executable, "-m", "foldlog", *arguments]


def environment(**more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("FOLDLOG_")}
    settings = {"FOLDLOG_DATABASE_URL": NO_SERVER, "PYTHONPATH": str(SOURCE), "PYTHONDONTWRITEBYTECODE": "1"}
    return kept | settings | more


def tamper(log: Path, statement: str) -> None:
    """Change a log behind foldlog's back."""
    with closing(sqlite3.connect(log)) as connection, connection:
        triggers = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'").fetchall()
        for (name,) in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute(statement)


def without_times(lines: list[str]) -> list[str]:
    """Return lines that are the same whenever they were printed."""
    return [re.sub(r"[0-9-]{10}T[0-9:.]{12}Z", "TIME", line) for line in lines]


def run(*arguments: str | bytes, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*arguments), env=environment(**more), check=False, capture_output=True, text=True, timeout=60
    )


class TestParsing:
    def test_help_imports_nothing_heavy(self) -> None:
        """`foldlog --help` loads neither servers' clients nor what only one command needs."""
        script = "import sys; from foldlog.cli.main import build; build().format_help(); print(*sys.modules)"
        done = subprocess.run(
            [sys.executable, "-c", script], env=environment(), check=True, capture_output=True, text=True
        )
        heavy = {
            "foldlog.composition",
            "sqlalchemy",
            "alembic",
            "psycopg",
            "dramatiq",
            "redis",
            "numpy",
            "rich",
            "importlib.metadata",
        }
        assert heavy & set(done.stdout.split()) == set()

    def test_help_names_every_command(self) -> None:
        """One line each, in the order of the table."""
        shown = build().format_help()
        names = [module.__name__.rpartition(".")[2] for module in main.COMMANDS]
        for name in ["import" if name == importing.__name__.rpartition(".")[2] else name for name in names]:
            assert f"\n    {name} " in shown

    def test_version_and_help_exit_with_success(self, capsys: pytest.CaptureFixture[str]) -> None:
        """They print to stdout and do nothing else."""
        for option, start in (("--version", "foldlog "), ("--help", "usage: foldlog ")):
            with pytest.raises(SystemExit) as exited:
                main.main([option])
            assert exited.value.code == 0
            assert capsys.readouterr().out.startswith(start)

    def test_common_options_stand_before_or_after_the_command(self, cli: Cli) -> None:
        """`--log` and `--json` mean the same in both places; `--log` stands over FOLDLOG_LOG."""
        other = str(cli.folder / "other.db")
        cli.ok("fact", "set", ALICE, "k", "1", "--log", other)
        before = cli.ok("--log", other, "--json", "fact", "get", ALICE, "k")
        after = cli.ok("fact", "get", ALICE, "k", "--json", "--log", other)
        assert before.json() == after.json()
        assert not cli.log.exists()

    def test_the_log_is_read_from_the_environment(self, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
        """FOLDLOG_LOG names it when no option does."""
        monkeypatch.setenv("FOLDLOG_LOG", "named.db")
        cli.ok("fact", "set", ALICE, "k", "1")
        assert (cli.folder / "named.db").exists()

    @pytest.mark.parametrize(
        ("arguments", "expected"),
        [
            ([], "required: COMMAND; see `foldlog --help`"),
            (["fact"], "required: VERB; see `foldlog fact --help`"),
            (["nonsense"], "invalid choice: 'nonsense'"),
            (["fact", "get", ALICE], "required: KEY; see `foldlog fact get --help`"),
            (["events", "--lim", "3"], "unrecognized arguments: --lim 3"),
            (["events", "--limit", "0"], "argument --limit: must be a whole number from 1, not '0'"),
            (["events", "--after", "9" * 30], "argument --after: must be a whole number from 0"),
            (
                ["fact", "set", ALICE, "k", "1", "--ttl", "30"],
                "--ttl: must be a number from 1 and one of ms, s",
            ),
            (["fact", "set", ALICE, "k", "1", "--ttl", "0d"], "--ttl: must be a number from 1"),
            (
                ["fact", "set", ALICE, "k", "1", "--iteration", "-1"],
                "--iteration: must be a whole number from 0",
            ),
            (["fact", "set", ALICE, "k", "1", "--run", ""], "provenance.run: must not be empty"),
            (["note", "list", ALICE, "--status", "odd"], "argument --status: invalid choice: 'odd'"),
            (
                ["note", "save", ALICE, "x", "--relates", "owns"],
                "--relates: must be a kind and a name, as in",
            ),
            (
                ["note", "save", ALICE, "x", "--relates", "mentions:y"],
                "relates[0].kind: must not be mentions",
            ),
            (
                ["graph", "show", "x", "--as-of", "noon"],
                "argument --as-of: must be a position of the log, or",
            ),
            (["graph", "show", "x", "--as-of", "2026-01-01"], "--as-of: has no time zone; add Z for UTC"),
            (["recall", " ", ALICE], "query: must not be blank"),
            (["verify", "--expect", "3"], "anchor: must be"),
            (["import", "locomo", "absent.json"], "absent.json: cannot be read: No such file or directory"),
            (["import", "smithers", "absent.db"], "absent.db: cannot be read: No such file or directory"),
            (["import", "smithers", "."], ".: is not a file"),
            (["fact", "get", ALICE, "\udcff"], r"the argument '\udcff' is not text in UTF-8"),
        ],
    )
    def test_wrong_usage_is_one_line_and_exit_2(self, cli: Cli, arguments: list[str], expected: str) -> None:
        """The line says which argument, and where the help is; there is no traceback."""
        if arguments[:1] in (["recall"], ["verify"]):
            cli.ok("fact", "set", ALICE, "k", "1")
        assert expected in cli.fails(2, *arguments)

    @pytest.mark.parametrize(
        ("variable", "value"),
        [("FOLDLOG_DATABASE_URL", "mysql://x"), ("FOLDLOG_PAGE_EVENTS", "many"), ("FOLDLOG_NAME", "A-B")],
    )
    def test_a_wrong_setting_is_named(
        self, cli: Cli, monkeypatch: pytest.MonkeyPatch, variable: str, value: str
    ) -> None:
        """Exit 2 and the setting's name."""
        monkeypatch.setenv(variable, value)
        assert variable in cli.fails(2, "settings")


class TestFacts:
    @pytest.mark.parametrize("value", ["null", "0", "-5", '""', '"ü"', '{"b":[1.5,true]}'])
    def test_a_value_comes_back_as_json(self, cli: Cli, value: str) -> None:
        """What `get` prints can be given to `set`."""
        cli.ok("fact", "set", ALICE, "k", value)
        assert cli.ok("fact", "get", ALICE, "k").out == f"{value}\n"

    @pytest.mark.parametrize("value", ["dark", "NaN", "it's", "", "x" * 1000])
    def test_bare_text_is_refused_with_the_way_out(self, cli: Cli, value: str) -> None:
        """The error shows the value quoted as JSON, and `--text`; no log is begun by a refusal."""
        error = cli.fails(2, "fact", "set", ALICE, "k", value)
        assert "is not JSON that can be stored" in error
        assert error.endswith("add --text")
        assert len(error) < 250
        assert not cli.log.exists()
        cli.ok("fact", "set", ALICE, "k", value, "--text")
        assert cli.ok("fact", "get", ALICE, "k", "--json").json()["value"] == value

    def test_a_schema_holds_on_the_command_line(self, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
        """Exit 2 with the path; what passed says by which schema, also in its history."""
        (cli.folder / "schemas.json").write_text('{"user:*/port": {"type": "integer"}}')
        monkeypatch.setenv("FOLDLOG_SCHEMAS", "schemas.json")
        error = cli.fails(2, "fact", "set", ALICE, "port", '"x"')
        assert "value: 'x' is not of type 'integer' (schema of user:*/port)" in error
        cli.ok("fact", "set", ALICE, "port", "1")
        fingerprint = cli.ok("fact", "get", ALICE, "port", "--json").json()["schema"]
        assert f"set to 1, checked by schema {fingerprint}" in cli.ok("history", "fact", ALICE, "port").out

    def test_broken_json_has_no_hint(self, cli: Cli) -> None:
        """Who began with a brace meant JSON."""
        assert "--text" not in cli.fails(2, "fact", "set", ALICE, "k", '{"a": 1, "a": 2}')

    def test_a_change_is_attributed(self, cli: Cli) -> None:
        """`--run`, `--node`, `--iteration` and `--actor` stand in the event."""
        by = ["--run", "r1", "--node", "plan", "--iteration", "0", "--actor", "bob"]
        cli.ok("fact", "set", ALICE, "k", "1", *by)
        expected = {"run": "r1", "node": "plan", "iteration": 0, "actor": "bob"}
        assert cli.ok("fact", "get", ALICE, "k", "--json").json()["provenance"] == expected

    def test_ttl_and_tags(self, cli: Cli) -> None:
        """A ttl counts from the log's clock; the next set replaces both."""
        cli.ok("fact", "set", ALICE, "k", "1", "--ttl", "2h", "--tag", "a", "--tag", "b")
        fact = cli.ok("fact", "get", ALICE, "k", "--json").json()
        assert fact["tags"] == ["a", "b"]
        with cli.memory() as memory:
            found = memory.facts.get(ALICE, "k")
            assert found is not None
            assert found.expires_at == found.updated_at + 7_200_000
        cli.ok("fact", "set", ALICE, "k", "1")
        assert cli.ok("fact", "list", ALICE).rows[0][3:] == ["-", "-", "1"]

    def test_compare_and_set(self, cli: Cli) -> None:
        """`--expect` with another version is a failure that says which it is."""
        cli.ok("fact", "set", ALICE, "k", "1", "--expect", "0")
        assert "is at version 1, not 0" in cli.fails(3, "fact", "set", ALICE, "k", "2", "--expect", "0")
        assert "is at version 1, not 7" in cli.fails(3, "fact", "delete", ALICE, "k", "--expect", "7")

    def test_a_repeated_request_is_recognised(self, cli: Cli) -> None:
        """The same key and request again is reported as such, another request under it refused."""
        one = ["fact", "set", ALICE, "k", "1", "--idempotency-key", "i", "--json"]
        expected = {"id": "k", "outcome": "appended", "position": 1, "version": 1, "count": 1}
        assert cli.ok(*one).json() == expected
        assert cli.ok(*one).json()["outcome"] == "already appended"
        other = ["fact", "set", ALICE, "k", "2", "--idempotency-key", "i"]
        assert "belongs to another request" in cli.fails(3, *other)

    def test_list_prints_all_of_them(self, cli: Cli) -> None:
        """More than one page, by key, unless `--limit` says otherwise."""
        with cli.memory() as memory, memory.batch():
            for number in range(1001):
                memory.facts.set(ALICE, f"k{number:04}", number)
        found = cli.ok("fact", "list", ALICE, "--json").lines
        assert [json.loads(line)["value"] for line in found] == list(range(1001))
        assert [row[0] for row in cli.ok("fact", "list", ALICE, "--limit", "2").rows] == ["k0000", "k0001"]

    def test_all_namespaces_and_what_has_expired(self, cli: Cli) -> None:
        """Without a namespace all of them; what has expired only on request, until it is collected."""
        clock = Clock(int(time.time() * 1000) - 60_000)
        given = Settings(log=cli.log, database_url=NO_SERVER)
        with composition.open_memory(settings=given, clock=clock) as memory:
            memory.facts.set(ALICE, "gone", 1, ttl=1000)
            memory.facts.set("user:bob", "here", 2)
        assert [row[:2] for row in cli.ok("fact", "list").rows] == [["user:bob", "here"]]
        assert [row[:2] for row in cli.ok("fact", "list", "--expired").rows] == [
            [ALICE, "gone"],
            ["user:bob", "here"],
        ]
        assert "there is no fact gone" in cli.fails(3, "fact", "get", ALICE, "gone")
        assert cli.ok("fact", "get", ALICE, "gone", "--expired").out == "1\n"
        assert cli.ok("fact", "collect").out == "1 fact collected\n"
        assert cli.ok("fact", "collect", "--limit", "5", "--json").json() == {"collected": 0}
        assert "there is no fact gone" in cli.fails(3, "fact", "get", ALICE, "gone", "--expired")

    def test_a_fact_that_is_not_there(self, cli: Cli) -> None:
        """Getting it fails, deleting it changes nothing."""
        cli.ok("fact", "set", ALICE, "k", "1")
        assert cli.ok("fact", "delete", ALICE, "k").out == "fact user:alice k: appended, position 2\n"
        assert cli.ok("fact", "delete", ALICE, "k").out == "fact user:alice k: unchanged, position 2\n"
        assert f"there is no fact k in {ALICE}" in cli.fails(3, "fact", "get", ALICE, "k")

    def test_an_unknown_kind_of_namespace(self, cli: Cli) -> None:
        """Writing to it is refused; reading from it finds what an import brought, and warns of the slip."""
        assert "kind one of workflow, agent, user, global" in cli.fails(2, "fact", "set", "usr:a", "k", "1")
        done = cli("fact", "list", "usr:a")
        assert (done.code, done.out) == (0, "")
        assert done.err.startswith("foldlog: warning: namespace: must be kind:id")


class TestThreads:
    def test_a_conversation(self, cli: Cli) -> None:
        """Created, said, shown in order, listed with its count, deleted."""
        cli.ok("thread", "create", ALICE, "--id", "t", "--title", "Plans")
        cli.ok("thread", "say", "t", "Hello", "--author", "Ann", "--id", "m1")
        cli.ok("thread", "say", "t", "Hi\nthere", "--role", "assistant", "--id", "m2")
        rows = cli.ok("thread", "show", "t").rows
        assert [(row[0], *row[2:]) for row in rows] == [
            ("1", "m1", "Ann", "Hello"),
            ("2", "m2", "assistant", "Hi\\nthere"),
        ]
        (row,) = cli.ok("thread", "list").rows
        assert (row[0], row[1], row[2], row[4]) == ("t", ALICE, "2", "Plans")
        assert cli.ok("thread", "list", "user:bob").out == ""
        assert cli.ok("thread", "delete", "t").out == "thread t: appended, position 4\n"
        assert cli.ok("thread", "list", ALICE, "--json").out == ""

    def test_ids_are_made_when_none_is_given(self, cli: Cli) -> None:
        """The receipt says which."""
        thread = cli.ok("thread", "create", ALICE, "--json").json()["id"]
        message = cli.ok("thread", "say", thread, "Hello", "--json").json()["id"]
        assert cli.ok("thread", "show", thread, "--json").json()["message_id"] == message

    def test_show_prints_all_of_them(self, cli: Cli) -> None:
        """More than one page; `--limit` keeps the first, with `--latest` the last, in order."""
        with cli.memory() as memory, memory.batch():
            memory.threads.create(ALICE, thread_id="t")
            for number in range(1, 1502):
                memory.messages.save("t", str(number))
        assert [row[0] for row in cli.ok("thread", "show", "t").rows] == [str(n) for n in range(1, 1502)]
        assert [row[0] for row in cli.ok("thread", "show", "t", "--limit", "2").rows] == ["1", "2"]
        latest = cli.ok("thread", "show", "t", "--limit", "2", "--latest").rows
        assert [row[0] for row in latest] == ["1500", "1501"]

    @pytest.mark.parametrize("arguments", [["show", "t"], ["say", "t", "x"]])
    def test_an_unknown_thread(self, cli: Cli, arguments: list[str]) -> None:
        """Reading it and adding to it fail with its id."""
        cli.ok("fact", "set", ALICE, "k", "1")
        assert "there is no thread t" in cli.fails(3, "thread", *arguments)


class TestNotes:
    def test_a_note_is_superseded(self, cli: Cli) -> None:
        """It leaves the list while the other is accepted, and comes back when that is rejected."""
        cli.ok("note", "save", ALICE, "The port is 5432", "--id", "n1", "--kind", "fact", "--author", "Ann")
        cli.ok("note", "save", ALICE, "The port is 6432", "--id", "n2", "--supersedes", "n1", "--tag", "db")
        assert [row[0] for row in cli.ok("note", "list", ALICE).rows] == ["n2"]
        everything = cli.ok("note", "list", ALICE, "--superseded", "--status", "any").rows
        assert [row[0] for row in everything] == ["n1", "n2"]
        cli.ok("note", "reject", "n2", "--reason", "a slip", "--actor", "bob")
        assert [row[0] for row in cli.ok("note", "list", ALICE).rows] == ["n1"]
        assert [row[0] for row in cli.ok("note", "list", ALICE, "--status", "rejected").rows] == ["n2"]

    def test_a_pending_note_is_accepted(self, cli: Cli) -> None:
        """The status it has already is no change."""
        cli.ok("note", "save", ALICE, "x", "--id", "n1", "--status", "pending")
        assert cli.ok("note", "list", ALICE).out == ""
        assert cli.ok("note", "accept", "n1", "--json").json()["outcome"] == "appended"
        assert cli.ok("note", "accept", "n1", "--json").json()["outcome"] == "unchanged"

    def test_get_prints_the_whole_note(self, cli: Cli) -> None:
        """Whatever its status; the body keeps its line breaks."""
        cli.ok("note", "save", ALICE, "one\ntwo", "--id", "n1", "--status", "rejected", "--author", "Ann")
        lines = cli.ok("note", "get", "n1").lines
        assert lines[0].split() == ["note", "n1"]
        assert ["status", "rejected"] in [line.split() for line in lines]
        assert lines[-3:] == ["", "one", "two"]
        assert cli.ok("note", "get", "n1", "--json").json()["body"] == "one\ntwo"

    def test_a_second_superseder_needs_the_option(self, cli: Cli) -> None:
        """The error names the winner, and the option as the command line has it."""
        cli.ok("note", "save", ALICE, "a", "--id", "n1")
        cli.ok("note", "save", ALICE, "b", "--id", "n2", "--supersedes", "n1")
        third = ["note", "save", ALICE, "c", "--id", "n3", "--supersedes", "n1"]
        error = cli.fails(3, *third)
        assert "supersede n2 instead, or add --allow-fork to keep both" in error
        cli.ok(*third, "--status", "pending")
        assert "add --allow-fork" in cli.fails(3, "note", "accept", "n3")
        cli.ok("note", "accept", "n3", "--allow-fork")

    def test_targets_that_need_an_option(self, cli: Cli) -> None:
        """Each refusal names the option as the command line has it; both ends are shown."""
        cli.ok("note", "save", "user:bob", "theirs", "--id", "n0")
        missing = ["note", "save", ALICE, "a", "--id", "n1", "--supersedes", "n9"]
        assert "or add --allow-missing" in cli.fails(3, *missing)
        cli.ok(*missing, "--allow-missing")
        other = ["note", "save", ALICE, "b", "--id", "n2", "--supersedes", "n0", "--kind", "k"]
        assert "or add --allow-other-namespace" in cli.fails(3, *other)
        cli.ok(*other, "--allow-other-namespace")
        shown = [line.split() for line in cli.ok("note", "get", "n0").lines]
        assert ["superseded", "by", "n2"] in shown
        assert [row[0] for row in cli.ok("note", "heads", "n0").rows] == ["n2"]
        assert [row[0] for row in cli.ok("note", "list", ALICE, "--kind", "k").rows] == ["n2"]

    def test_what_a_note_states_is_shown_with_it(self, cli: Cli) -> None:
        """By `get` and in its history, as it was given; a name may have colons."""
        relations = ["owns:payments-api", "see:https://example.org/a"]
        cli.ok("note", "save", ALICE, "x", "--id", "n1", "--relates", relations[0], "--relates", relations[1])
        assert f"relates        {', '.join(relations)}" in cli.ok("note", "get", "n1").lines
        assert cli.ok("note", "get", "n1", "--json").json()["relates"] == [
            {"kind": "owns", "entity": "payments-api"},
            {"kind": "see", "entity": "https://example.org/a"},
        ]
        assert f"accepted, relates {', '.join(relations)}: x" in cli.ok("history", "note", "n1").out
        cli.ok("note", "save", ALICE, "y", "--id", "n2")
        assert "relates        -" in cli.ok("note", "get", "n2").lines

    def test_an_unknown_note(self, cli: Cli) -> None:
        """Every verb that names it fails with its id."""
        cli.ok("fact", "set", ALICE, "k", "1")
        for verb in ("get", "accept", "reject", "heads"):
            assert "there is no note n9" in cli.fails(3, "note", verb, "n9")

    def test_the_parser_has_all_statuses(self) -> None:
        """They are written twice, so that a parser needs no import."""
        assert note.STATUSES == STATUSES
        assert set(note.VERDICTS.values()) < set(STATUSES)


def test_the_parser_has_all_kinds() -> None:
    """They are written twice, so that a parser needs no import."""
    assert PARSER_KINDS == KINDS


class TestMessages:
    def test_get_and_delete(self, cli: Cli) -> None:
        """One message in its last version; deleting says how many there were."""
        cli.ok("thread", "create", ALICE, "--id", "t", "--title", "Plans")
        cli.ok("thread", "say", "t", "one\ntwo", "--id", "m1", "--author", "Ann", "--tag", "a")
        cli.ok("thread", "say", "t", "three", "--id", "m2")
        lines = cli.ok("message", "get", "m1").lines
        assert ["who", "Ann"] in [line.split() for line in lines]
        assert lines[-3:] == ["", "one", "two"]
        assert cli.ok("message", "get", "m1", "--json").json()["tags"] == ["a"]
        assert ["messages", "2"] in [line.split() for line in cli.ok("thread", "get", "t").lines]
        done = cli.ok("message", "delete", "t", "m1", "m2", "m9")
        assert done.out == "thread t: 2 messages deleted, position 4\n"
        assert cli.ok("message", "delete", "t", "m1", "--json").json()["count"] == 0
        assert cli.ok("thread", "get", "t", "--json").json()["messages"] == 0
        assert "there is no message m1" in cli.fails(3, "message", "get", "m1")
        assert "there is no thread u" in cli.fails(3, "thread", "get", "u")


class TestRetained:
    def test_a_document(self, cli: Cli) -> None:
        """Units are added, shown, listed, printed as one text, replaced and deleted."""
        cli.ok("retained", "add", ALICE, "one", "--id", "r1", "--document", "d", "--metadata", '{"a": 1}')
        cli.ok("retained", "add", ALICE, "two", "--id", "r2", "--document", "d", "--tag", "x")
        cli.ok("retained", "add", ALICE, "three", "--id", "r3")
        assert [row[0] for row in cli.ok("retained", "list", ALICE).rows] == ["r1", "r2", "r3"]
        assert [row[3] for row in cli.ok("retained", "list", ALICE, "d").rows] == ["one", "two"]
        assert cli.ok("retained", "text", ALICE, "d").out == "one\ntwo\n"
        assert cli.ok("retained", "get", "r1", "--json").json()["metadata"] == {"a": 1}
        assert cli.ok("retained", "get", "r2").lines[-1] == "two"
        cli.ok("retained", "add", ALICE, "anew", "--document", "d", "--replace")
        assert cli.ok("retained", "text", ALICE, "d", "--json").json()["text"] == "anew"
        assert cli.ok("retained", "clear", ALICE, "d").out == "document d: 1 unit deleted, position 7\n"
        assert cli.ok("retained", "delete", "r3").out == "retained r3: appended, position 8\n"
        assert cli.ok("retained", "list", ALICE, "--json").out == ""
        assert "there is no document d" in cli.fails(3, "retained", "text", ALICE, "d")
        assert "there is no retained text r3" in cli.fails(3, "retained", "get", "r3")

    def test_what_is_refused(self, cli: Cli) -> None:
        """Metadata that is no object, and a replacement of nothing; no log is begun by either."""
        assert "must be a JSON object" in cli.fails(2, "retained", "add", ALICE, "x", "--metadata", "[1]")
        assert "needs a document" in cli.fails(2, "retained", "add", ALICE, "x", "--replace")
        cli.ok("retained", "add", ALICE, "x", "--id", "r")
        assert "choose another id" in cli.fails(3, "retained", "add", ALICE, "y", "--id", "r")


class TestPrimers:
    def test_set_get_list_rm(self, cli: Cli) -> None:
        """A text as it is, under a name."""
        cli.ok("primer", "set", ALICE, "tone", "Be brief.\nBe kind.")
        assert cli.ok("primer", "set", ALICE, "tone", "Be brief.\nBe kind.", "--json").json()["count"] == 0
        assert cli.ok("primer", "get", ALICE, "tone").out == "Be brief.\nBe kind.\n"
        assert [row[:2] for row in cli.ok("primer", "list", ALICE).rows] == [["tone", "1"]]
        assert "is at version 1, not 7" in cli.fails(3, "primer", "rm", ALICE, "tone", "--expect", "7")
        assert cli.ok("primer", "rm", ALICE, "tone").out == f"primer {ALICE} tone: appended, position 2\n"
        assert cli.ok("primer", "rm", ALICE, "tone").out == f"primer {ALICE} tone: unchanged, position 2\n"
        assert "there is no primer tone" in cli.fails(3, "primer", "get", ALICE, "tone")

    def test_in_a_block(self, cli: Cli) -> None:
        """By name, or all; a missing one is warned of; the cap holds for the whole."""
        cli.ok("note", "save", ALICE, "the port is 1")
        cli.ok("primer", "set", ALICE, "tone", "Be brief.")
        done = cli("recall", "port", ALICE, "--primer", "tone", "--primer", "never", "--block")
        assert done.code == 0
        assert "primer never: there is none in user:alice" in done.err
        assert done.lines[2] == "Missing primers: never"
        assert done.lines[5:7] == [f"### tone ({ALICE})", "Be brief."]
        assert "Be brief." in cli("recall", "port", ALICE, "--all-primers", "--block").out
        capped = cli("recall", "port", ALICE, "--all-primers", "--max-tokens", "240", "--block").out
        assert len(capped.encode()) <= 241
        assert "Be brief." in capped
        assert "--max-tokens: must be a whole number" in cli.fails(
            2, "recall", "port", ALICE, "--max-tokens", "0"
        )


class TestEvents:
    @pytest.fixture
    def written(self, cli: Cli) -> Cli:
        cli.ok("fact", "set", ALICE, "k", '"a\\tb"', "--run", "r1")
        cli.ok("fact", "set", "user:bob", "k", "2", "--run", "r1")
        cli.ok("note", "save", ALICE, "x", "--id", "n1", "--run", "r2", "--actor", "eve")
        return cli

    def test_one_line_each(self, written: Cli) -> None:
        """Position, time, stream, type, who, what; a tab in a text does not make a cell."""
        rows = written.ok("events").rows
        assert [row[0] for row in rows] == ["1", "2", "3"]
        assert rows[0][2:] == [f"fact {ALICE} k", "FactSet", "run=r1", 'set to "a\\tb"']
        assert rows[2][2:] == [f"note {ALICE} n1", "NoteSaved", "eve run=r2", "saved as accepted: x"]

    @pytest.mark.parametrize(
        ("options", "expected"),
        [
            ([], [1, 2, 3]),
            (["--after", "1"], [2, 3]),
            (["--limit", "2"], [1, 2]),
            (["--namespace", ALICE], [1, 3]),
            (["--run", "r1"], [1, 2]),
            (["--run", "r1", "--namespace", ALICE], [1]),
            (["--run", "r1", "--after", "1"], [2]),
            (["--namespace", ALICE, "--after", "1", "--limit", "1"], [3]),
            (["--run", "nobody"], []),
        ],
    )
    def test_filters(self, written: Cli, options: list[str], expected: list[int]) -> None:
        """All of them can be combined."""
        found = written.ok("events", "--json", *options).lines
        assert [json.loads(line)["position"] for line in found] == expected

    def test_json_is_the_event(self, written: Cli) -> None:
        """JSON Lines of everything in it."""
        with written.memory() as memory:
            expected = next(iter(memory.follow()))[0].as_dict()
        assert json.loads(written.ok("events", "--json").lines[0]) == expected

    def test_many_pages(self, cli: Cli) -> None:
        """All of the log, by whichever index it is read."""
        with cli.memory().by(foldlog.Provenance(run="r")) as memory, memory.batch():
            for number in range(2500):
                memory.facts.set(ALICE, "k", number)
        for options in ([], ["--run", "r"], ["--namespace", ALICE]):
            assert [row[0] for row in cli.ok("events", *options).rows] == [str(n) for n in range(1, 2501)]

    def test_follow_waits_for_new_ones_until_ctrl_c(self, written: Cli) -> None:
        """Each event is printed when it is committed; Ctrl-C is exit 130 without a traceback."""
        with subprocess.Popen(
            command("events", "--follow", "--log", str(written.log)),
            env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        ) as process:  # fmt: skip
            assert process.stdout is not None
            assert [process.stdout.readline().split("\t")[0] for _ in range(3)] == ["1", "2", "3"]
            written.ok("fact", "delete", ALICE, "k")
            assert process.stdout.readline().split("\t")[3] == "FactDeleted"
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=30)
        assert (process.returncode, out, err) == (130, "", "")

    def test_a_reader_that_leaves_is_no_error(self, cli: Cli) -> None:
        """As in `foldlog events | head`: nothing on stderr."""
        with cli.memory() as memory, memory.batch():
            for _ in range(3000):
                memory.facts.set(ALICE, "k", "x" * 100)
        with subprocess.Popen(
            command("events", "--log", str(cli.log)),
            env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        ) as process:  # fmt: skip
            assert process.stdout is not None
            assert process.stderr is not None
            process.stdout.readline()
            process.stdout.close()
            assert process.stderr.read() == b""
        assert process.returncode == main.NO_READER

    def test_every_type_has_its_words(self) -> None:
        """A new event type is not shown as nothing."""
        assert set(wording._WORDS) == set(EVENT_TYPES.values())


class TestHistory:
    def test_a_fact(self, cli: Cli) -> None:
        """Each value with the one it replaced, who set it, until it was deleted."""
        cli.ok("fact", "set", ALICE, "theme", '"dark"', "--actor", "ann", "--ttl", "1d")
        cli.ok("fact", "set", ALICE, "theme", '"light"', "--run", "r1")
        cli.ok("fact", "delete", ALICE, "theme")
        cli.ok("fact", "set", ALICE, "theme", "1")
        heading, *rows = [line.split("  ") for line in cli.ok("history", "fact", ALICE, "theme").lines]
        assert heading == [f"fact theme in {ALICE}"]
        assert [row[-2] for row in rows] == ["ann", "run=r1", "-", "-"]
        assert rows[0][-1].startswith('set to "dark", expires 2')
        assert [row[-1] for row in rows[1:]] == ['set to "light" (was "dark")', "deleted", "set to 1"]

    def test_a_superseded_note(self, cli: Cli) -> None:
        """The graph as a tree, the same from both ends, with how each note stood over time."""
        cli.ok("note", "save", ALICE, "The port is 5432", "--id", "n1")
        pending = ["--supersedes", "n1", "--status", "pending"]
        cli.ok("note", "save", ALICE, "The port is 6432", "--id", "n2", *pending)
        cli.ok("note", "accept", "n2", "--reason", "measured")
        lines = cli.ok("history", "note", "n2").lines
        assert lines[1].endswith("saved as pending, supersedes n1: The port is 6432")
        assert lines[2].endswith("became accepted: measured")
        assert without_times(lines[3:]) == [
            "  who supersedes whom, and how each note stood:",
            "  n2  pending TIME (2), accepted TIME (3): measured  <- asked for",
            "  └─ n1  accepted TIME (1), superseded TIME (3) by n2",
        ]
        cli.ok("note", "reject", "n2")
        assert without_times(cli.ok("history", "note", "n1").lines[3:]) == [
            "  n2  pending TIME (2), accepted TIME (3): measured, rejected TIME (4)",
            (
                "  └─ n1  accepted TIME (1), superseded TIME (3) by n2, back TIME (4), since n2 was rejected"
                "  <- asked for"
            ),
        ]

    def test_a_tree_of_notes(self, cli: Cli) -> None:
        """Superseding is not handed on; a note with two superseders stands under both."""
        cli.ok("note", "save", ALICE, "a", "--id", "n1")
        cli.ok("note", "save", ALICE, "b", "--id", "n2", "--supersedes", "n1")
        cli.ok("note", "save", ALICE, "x", "--id", "n0")
        cli.ok("note", "save", ALICE, "c", "--id", "n3", "--supersedes", "n2", "--supersedes", "n0")
        cli.ok("note", "save", ALICE, "d", "--id", "n4", "--supersedes", "n1", "--allow-fork")
        assert without_times(cli.ok("history", "note", "n3").lines[3:]) == [
            "  n3  accepted TIME (4)  <- asked for",
            "  ├─ n2  accepted TIME (2), superseded TIME (4) by n3",
            "  │  └─ n1  accepted TIME (1), superseded TIME (2) by n2",
            "  └─ n0  accepted TIME (3), superseded TIME (4) by n3",
            "  n4  accepted TIME (5)",
            "  └─ n1  (above)",
        ]
        alone = cli.ok("history", "note", "n0", "--as-of", "3").lines
        assert len(alone) == 2

    def test_a_long_chain_stays_readable(self, cli: Cli) -> None:
        """The indentation ends somewhere."""
        with cli.memory() as memory, memory.batch():
            for number in range(200):
                before = [f"n{number - 1}"] if number else []
                memory.notes.save(ALICE, "x", note_id=f"n{number}", supersedes=before)
        lines = cli.ok("history", "note", "n0").lines
        assert len(lines) == 203
        assert max(len(line) - len(line.lstrip(" └─")) for line in lines) < 50

    def test_who_when_and_hash(self, cli: Cli) -> None:
        """Position, time, the beginning of the hash, who, what: two spaces apart."""
        cli.ok("fact", "set", ALICE, "k", "1", "--run", "r1", "--actor", "ann")
        (event,) = cli.ok("history", "fact", ALICE, "k", "--json").json()["events"]
        _, line = cli.ok("history", "fact", ALICE, "k").lines
        position, _, digest, who, what = line.split("  ")[-5:]
        assert (position.strip(), digest, who, what) == ("1", event["hash"][:12], "ann run=r1", "set to 1")

    def test_a_message_and_its_thread(self, cli: Cli) -> None:
        """A message's versions; the thread's history has those of all, also after it was deleted."""
        cli.ok("thread", "create", ALICE, "--id", "t", "--title", "Plans")
        cli.ok("thread", "say", "t", "Hello", "--id", "m1", "--author", "Ann")
        cli.ok("thread", "say", "t", "Bye", "--id", "m2")
        cli.ok("thread", "say", "t", "Hello!", "--id", "m1", "--author", "Ann")
        cli.ok("thread", "delete", "t")
        texts = [line.split("  ")[-1] for line in cli.ok("history", "message", "m1").lines[1:]]
        assert texts == [
            "created: Plans",
            "message m1 (1) Ann: Hello",
            "message m1 (1) Ann: Hello! (was Hello)",
            "deleted with its messages",
        ]
        assert "message m2 (2) user: Bye" in cli.ok("history", "thread", "t").out

    def test_what_happened_earlier_says_so(self, cli: Cli) -> None:
        """An imported event has two instants."""
        cli.ok("import", "locomo", str(SAMPLE))
        line = cli.ok("history", "message", "harbour-1/D2:1").lines[-1]
        assert line.endswith("How was the first pottery class? (happened 2024-03-14T12:30:00.000Z)")

    def test_json_is_one_object(self, cli: Cli) -> None:
        """The events and the links."""
        cli.ok("note", "save", ALICE, "a", "--id", "n1")
        cli.ok("note", "save", ALICE, "b", "--id", "n2", "--supersedes", "n1")
        found = cli.ok("history", "note", "n1", "--json").json()
        assert [event["type"] for event in found["events"]] == ["NoteSaved"]
        assert [link["relation"] for link in found["links"]] == ["superseded by"]

    @pytest.mark.parametrize(
        "arguments", [["fact", ALICE, "x"], ["note", "x"], ["thread", "x"], ["message", "x"]]
    )
    def test_what_never_was(self, cli: Cli, arguments: list[str]) -> None:
        """A failure that says so."""
        cli.ok("fact", "set", ALICE, "k", "1")
        assert "never was" in cli.fails(3, "history", *arguments)


class TestGraph:
    @pytest.fixture
    def walked(self, indexed: Cli) -> Cli:
        indexed.ok("fact", "set", ALICE, "payments-api", '"Call Dana Whitfield."')
        indexed.ok("note", "save", ALICE, "The crew", "--id", "n1", "--relates", "runs:payments-api")
        indexed.fold()
        return indexed

    def test_one_line_an_edge(self, walked: Cli) -> None:
        """Steps, from, relation, to, since, until, namespace; a wrong way to ask changes nothing."""
        (stated, borne), *others = [walked.ok("graph", "show", "payments-api").rows]
        assert others == []
        assert stated[:4] == ["1", "note:n1", "runs", "payments-api"]
        assert stated[5:] == ["-", ALICE]
        assert borne[1:4] == ["fact:payments-api", "bears", "payments-api"]
        rows = walked.ok("graph", "show", "Dana Whitfield", "--hops", "2", "--namespace", ALICE).rows
        assert [row[:4] for row in rows] == [
            ["1", "fact:payments-api", "mentions", "Dana Whitfield"],
            ["2", "fact:payments-api", "bears", "payments-api"],
        ]

    def test_json_is_one_object(self, walked: Cli) -> None:
        """With what found each edge, and the moment that was asked for."""
        found = walked.ok("graph", "show", "note:n1", "--as-of", "2", "--json").json()
        (edge,) = found["edges"]
        since = edge.pop("since")
        assert edge == {
            "depth": 1,
            "from": "note:n1",
            "kind": "runs",
            "to": "payments-api",
            "namespace": ALICE,
            "until": None,
            "extractor": "stated",
            "via": "note:n1",
            "memory_id": 2 << 28,
        }
        assert found["as_of"] == {"instant": since, "position": 2}
        assert (found["cut"], found["followed"], found["behind"]) == ([], True, 0)

    def test_as_of(self, walked: Cli) -> None:
        """What has ended since is shown with its end; nothing is shown of before it began."""
        moment = walked.ok("graph", "show", "note:n1").rows[0][4]
        walked.ok("note", "reject", "n1")
        walked.fold()
        assert "nothing relates to note:n1" in walked.fails(3, "graph", "show", "note:n1")
        for when in ([moment], ["2"], [moment, "--clock", "occurred"]):
            (row,) = walked.ok("graph", "show", "note:n1", "--as-of", *when).rows
            assert row[4] == moment
            assert row[5] > moment
        error = walked.fails(3, "graph", "show", "note:n1", "--as-of", "2020-01-01T00:00:00Z")
        assert "nothing relates to note:n1, as of then" in error

    def test_what_is_missing_is_warned_of(self, walked: Cli) -> None:
        """Events that are not folded, and edges that were cut."""
        walked.ok("fact", "set", ALICE, "k", "1")
        done = walked("graph", "show", "payments-api", "--limit", "1")
        assert (done.code, len(done.lines)) == (0, 1)
        behind, cut = done.err.splitlines()
        assert behind == "foldlog: warning: the index is 1 event behind; what they say is missing"
        assert f"payments-api in {ALICE} has 2 edges, of which only the first are shown" in cut

    def test_what_nobody_speaks_of(self, walked: Cli) -> None:
        """A failure that says so."""
        assert "nothing relates to zed in user:bob" in walked.fails(
            3, "graph", "show", "zed", "--namespace", "user:bob"
        )

    def test_without_an_index_it_fails(self, cli: Cli) -> None:
        """The log has no graph; the error says which setting is meant."""
        cli.ok("fact", "set", ALICE, "k", "1")
        assert "FOLDLOG_DATABASE_URL" in cli.fails(3, "graph", "show", "k")

    def test_the_parser_has_the_same_limit(self) -> None:
        """It is written twice, so that a parser needs no import."""
        assert graph.LIMIT == walks.LIMIT


class TestAsOf:
    @pytest.fixture
    def changed(self, cli: Cli) -> Cli:
        """What was there up to position 7, and what happened to all of it since."""
        cli.ok("fact", "set", ALICE, "k", "1")
        cli.ok("note", "save", ALICE, "old", "--id", "n1")
        cli.ok("thread", "create", ALICE, "--id", "t", "--title", "Plans")
        cli.ok("thread", "say", "t", "Hello", "--id", "m1")
        cli.ok("thread", "say", "t", "World", "--id", "m2")
        cli.ok("primer", "set", ALICE, "p", "old")
        cli.ok("retained", "add", ALICE, "kept", "--id", "r", "--document", "d")
        cli.ok("fact", "delete", ALICE, "k")
        cli.ok("note", "save", ALICE, "new", "--id", "n2", "--supersedes", "n1")
        cli.ok("thread", "delete", "t")
        cli.ok("primer", "set", ALICE, "p", "new")
        cli.ok("primer", "rm", ALICE, "p")
        cli.ok("retained", "delete", "r")
        return cli

    @pytest.mark.parametrize(
        ("arguments", "expected"),
        [
            (["fact", "get", ALICE, "k"], ["1"]),
            (["fact", "list", ALICE], ["k"]),
            (["note", "list", ALICE], ["n1"]),
            (["thread", "list", ALICE], ["t"]),
            (["thread", "show", "t"], ["1", "2"]),
            (["thread", "show", "t", "--limit", "1", "--latest"], ["2"]),
            (["thread", "show", "t", "--limit", "1"], ["1"]),
            (["note", "heads", "n1"], ["n1"]),
            (["primer", "list", ALICE], ["p"]),
            (["primer", "get", ALICE, "p"], ["old"]),
            (["retained", "list", ALICE], ["r"]),
            (["retained", "text", ALICE, "d"], ["kept"]),
        ],
    )
    def test_what_was_there(self, changed: Cli, arguments: list[str], expected: list[str]) -> None:
        """Every reading command has it, though nothing of it is there today."""
        assert [row[0] for row in changed.ok(*arguments, "--as-of", "7").rows] == expected
        today = changed(*arguments)
        assert today.code == 3 or [row[0] for row in today.rows] != expected

    def test_an_instant(self, changed: Cli) -> None:
        """In ISO 8601, with its zone; by one of two clocks."""
        (event, *_) = (json.loads(line) for line in changed.ok("events", "--json").lines)
        for clock in ([], ["--clock", "recorded"], ["--clock", "occurred"]):
            done = changed.ok("fact", "get", ALICE, "k", "--as-of", event["recorded_at"], *clock)
            assert done.out == "1\n"
        early = changed.fails(3, "thread", "get", "t", "--as-of", "2020-01-01T01:00Z")
        assert "there is no thread t as of 2020-01-01 01:00:00+00:00" in early
        assert "there is no fact k" in changed.fails(
            3, "fact", "get", ALICE, "k", "--as-of", "2020-01-01T00:00Z"
        )
        assert "superseded by  -" in changed.ok("note", "get", "n1", "--as-of", "7").out

    @pytest.mark.parametrize(
        ("point", "problem"),
        [
            ("yesterday", "must be a position of the log, or an instant with its zone, as 2026-"),
            ("2026-03-02", "has no time zone; add Z for UTC"),
            ("-1", "must be a position of the log"),
            ("99", "position 99 has not come yet; the log's last one is 13"),
            ("9999-01-01T00:00Z", "has not come yet"),
        ],
    )
    def test_points_that_are_none(self, changed: Cli, point: str, problem: str) -> None:
        """Wrong usage, in one line."""
        assert problem in changed.fails(2, "fact", "list", ALICE, f"--as-of={point}")

    def test_a_clock_needs_an_instant(self, changed: Cli) -> None:
        """It says how one is meant."""
        assert "name one with --as-of" in changed.fails(2, "fact", "list", ALICE, "--clock", "occurred")
        error = changed.fails(2, "fact", "list", ALICE, "--as-of", "1", "--clock", "occurred")
        assert "can be `occurred` for an instant only" in error

    def test_the_parser_has_all_clocks_and_kinds(self) -> None:
        """They are written twice, so that a parser needs no import."""
        assert cli_options.CLOCKS == past.CLOCKS
        assert diff.KINDS == memory_diff.KINDS

    def test_diff(self, changed: Cli) -> None:
        """What changed, of which item, from what to what or why."""
        rows = changed.ok("diff", "7").rows
        assert rows == [
            ["hidden", "fact", ALICE, "k", "deleted: 1"],
            ["hidden", "thread", ALICE, "t", "deleted: Plans"],
            ["hidden", "message", ALICE, "m1", "deleted with its thread: Hello"],
            ["hidden", "message", ALICE, "m2", "deleted with its thread: World"],
            ["hidden", "note", ALICE, "n1", "superseded by n2: old"],
            ["created", "note", ALICE, "n2", "new"],
            ["hidden", "retained", ALICE, "r", "deleted: kept"],
            ["hidden", "primer", ALICE, "p", "deleted: old"],
        ]
        assert changed.ok("diff", "7", "--kind", "note", "--limit", "1").rows == rows[4:5]
        assert changed.ok("diff", "0", "7", "--namespace", "user:bob").out == ""
        (line,) = changed.ok("diff", "8", "9", "--kind", "note", "--limit", "1", "--json").lines
        found = json.loads(line)
        assert (found["name"], found["before"]["body"], found["after"]) == ("n1", "old", None)
        assert changed.ok("diff", "10", "11").rows == [["changed", "primer", ALICE, "p", "old -> new"]]
        head = 13
        for change, words in (
            (["2"], ["reappeared", "2 (was deleted)"]),
            (["3"], ["changed", "2 -> 3"]),
            (["3", "--tag", "x"], ["changed", "3 (its tags, time or place)"]),
        ):
            changed.ok("fact", "set", ALICE, "k", *change)
            (row,) = changed.ok("diff", str(head)).rows
            assert [row[0], row[-1]] == words
            head += 1
        assert "must not be after its second" in changed.fails(2, "diff", "2", "1")


class TestBlame:
    @pytest.fixture
    def served(self, cli: Cli) -> Cli:
        cli.ok("fact", "set", ALICE, "port", "5432")
        cli("recall", "port", ALICE, "--run", "w", "--node", "plan")
        cli.ok("note", "save", ALICE, "the port is wrong", "--id", "n1", "--run", "w", "--actor", "ann")
        cli.ok("fact", "set", ALICE, "done", "true", "--run", "w")
        cli("recall", "port", ALICE, "--run", "reader", "--iteration", "2")
        return cli

    def test_a_note(self, served: Cli) -> None:
        """Who wrote it, what that run had been given, what else it wrote, who was given it."""
        served.ok("note", "save", ALICE, "the right one", "--id", "n2", "--supersedes", "n1")
        lines = without_times(served.ok("blame", "note", "n1").lines)
        assert lines[0] == f"note n1 in {ALICE}"
        assert lines[2].endswith("ann run=w  saved as accepted: the port is wrong")
        assert lines[3:5] == [
            "what run w had been given before",
            "  TIME  run=w node=plan  fact port as of 1  today as given  port: 5432",
        ]
        assert lines[5] == "what else run w wrote"
        assert lines[6].endswith("run=w  fact done  set to true")
        assert lines[7:] == [
            "who was given it",
            "  TIME  run=reader iteration=2  note n1 as of 2  today superseded by n2  the port is wrong",
        ]

    def test_json_is_one_object(self, served: Cli) -> None:
        """All of it."""
        found = served.ok("blame", "note", "n1", "--json", "--limit", "1").json()
        assert found["written"]["position"] == 2
        assert [event["position"] for event in found["also_wrote"]] == [3]
        assert found["served"][0]["provenance"] == {"run": "reader", "iteration": 2}

    def test_without_a_run(self, served: Cli) -> None:
        """Nothing says what it was written from."""
        lines = served.ok("blame", "fact", ALICE, "port").lines
        assert lines[3] == "by no run: nothing says what it was written from"
        assert len(lines) == 7

    def test_more_than_is_shown(self, served: Cli) -> None:
        """Says how to see it."""
        for _ in range(2):
            served.ok("fact", "set", ALICE, "done", "true", "--run", "w", "--tag", "x")
        out = served.ok("blame", "fact", ALICE, "port", "--limit", "1").out
        assert "... and more: raise --limit" in out
        assert (
            "... and more: see `foldlog events --run`" in served.ok("blame", "note", "n1", "--limit", "1").out
        )

    def test_servings(self, served: Cli) -> None:
        """The newest first, one line a memory; JSON Lines of the answers."""
        served("recall", "nothing like it", "user:bob", "--run", "bob")
        rows = served.ok("servings").rows
        assert [row[1] for row in rows] == ["run=bob", *["run=reader iteration=2"] * 2, "run=w node=plan"]
        assert rows[0][2:] == ["-", "-", "-", "-", "nothing was found"]
        assert rows[3][2:] == ["fact", "port", "1", "as given", "port: 5432"]
        assert served.ok("servings", "--run", "w").rows == rows[3:]
        lines = served.ok("servings", "--json", "--limit", "2").lines
        assert [len(json.loads(line)["memories"]) for line in lines] == [0, 2]

    def test_what_never_was(self, served: Cli) -> None:
        """A failure that says so."""
        assert "never was" in served.fails(3, "blame", "message", "m")


class TestRecall:
    @pytest.fixture
    def asked(self, cli: Cli) -> Cli:
        cli.ok("note", "save", ALICE, "The port is 5432", "--id", "n1", "--author", "Ann", "--tag", "db")
        cli.ok("fact", "set", ALICE, "port", "6432")
        cli.ok("fact", "set", "user:bob", "port", "1")
        return cli

    def test_without_an_index_it_warns_and_answers(self, asked: Cli) -> None:
        """Exit 0: the log answers alone, stderr and the last line say why."""
        done = asked("recall", "which port", ALICE)
        assert done.code == 0
        assert done.err.startswith("foldlog: warning: the answer is degraded: Postgres at 127.0.0.1:1/none")
        assert "hunter2" not in done.err + done.out
        *rows, status = done.rows
        assert sorted((row[1], *row[3:]) for row in rows) == [
            ("fact", ALICE, "port", "port: 6432"),
            ("note", ALICE, "n1", "Ann: The port is 5432"),
        ]
        assert status[0].startswith("status degraded; 2 memories; Postgres at")

    @pytest.mark.parametrize(
        ("options", "expected"),
        [
            (["--kind", "fact"], {"port"}),
            (["--kind", "fact", "--kind", "note"], {"port", "n1"}),
            (["--tag", "db"], {"n1"}),
            (["user:bob"], {"port", "n1"}),
        ],
    )
    def test_filters(self, asked: Cli, options: list[str], expected: set[str]) -> None:
        """Kinds, tags and more than one namespace."""
        done = asked("recall", "port", ALICE, *options, "--json")
        assert {item["id"] for item in done.json()["memories"]} == expected

    @pytest.mark.parametrize(
        ("options", "expected"),
        [
            (["--tag", "db", "--match", "any"], {"n1", "port"}),
            (["--match", "exact"], {"port"}),
            (["--where", '{"not": {"tags": ["db"]}}'], {"port"}),
        ],
    )
    def test_tag_filters(self, asked: Cli, options: list[str], expected: set[str]) -> None:
        """The five modes and the trees, in recall and in search."""
        done = asked("recall", "port", ALICE, *options, "--json")
        assert {item["id"] for item in done.json()["memories"]} == expected
        found = [
            json.loads(line)["memory"] for line in asked.ok("search", "port", ALICE, *options, "--json").lines
        ]
        assert {item.get("key") or item.get("note_id") for item in found} == expected
        assert "where: is not JSON" in asked.fails(2, "recall", "port", ALICE, "--where", "{")
        assert "where.and: must be" in asked.fails(2, "search", "port", "--where", '{"and": []}')

    def test_limit(self, asked: Cli) -> None:
        """The best ones only."""
        assert len(asked("recall", "port", ALICE, "--limit", "1", "--json").json()["memories"]) == 1

    def test_block_is_the_text_alone(self, asked: Cli) -> None:
        """For a prompt: stdout has nothing else, and is empty when nothing was found."""
        done = asked("recall", "which port", ALICE, "--block")
        with asked.memory() as memory:
            assert done.out == memory.recall("which port", ALICE).block + "\n"
        assert asked("recall", "zebra", ALICE, "--block").out == ""

    def test_with_an_index(self, indexed: Cli) -> None:
        """No warning; what is not folded yet is there, and the status line says how much that is."""
        indexed.ok("note", "save", ALICE, "The port is 5432", "--id", "n1")
        indexed.fold()
        assert indexed.ok("recall", "which port", ALICE).lines[-1] == "status ok; 1 memory"
        indexed.ok("note", "save", ALICE, "The port is 6432 now", "--id", "n2")
        *rows, status = indexed.ok("recall", "which port", ALICE).rows
        assert {row[4] for row in rows} == {"n1", "n2"}
        assert "; the index is 1 event (" in status[0]


class TestStatus:
    def test_without_an_index_it_is_not_fine(self, cli: Cli) -> None:
        """Exit 1; the problem says what to do, without the password."""
        cli.ok("fact", "set", ALICE, "k", "1")
        done = cli("status")
        assert (done.code, done.err) == (1, "")
        assert "index      down" in done.lines
        assert "start it, or check FOLDLOG_DATABASE_URL" in done.out
        assert "hunter2" not in done.out

    def test_lag_without_a_worker_is_not_fine(self, indexed: Cli) -> None:
        """Exit 0 when all is folded, 1 when an event waits and nobody is there to fold it."""
        indexed.ok("fact", "set", ALICE, "k", "1")
        indexed.fold()
        done = indexed.ok("status")
        assert "index      ok, generation 1, position 1, lag 0 events" in done.out
        assert done.lines[-1].startswith("fine")
        indexed.ok("fact", "set", ALICE, "k", "2")
        done = indexed("status")
        assert done.code == 1
        assert "no worker is running, and 1 events wait" in done.out

    def test_json_is_one_object(self, indexed: Cli) -> None:
        """Everything there is to say, and `fine`."""
        indexed.ok("fact", "set", ALICE, "k", "1")
        indexed.fold()
        found = indexed.ok("status", "--json").json()
        assert (found["fine"], found["log"]["head"], found["index"]["state"]) == (True, 1, "ok")


class TestVerify:
    def test_an_intact_log(self, cli: Cli) -> None:
        """Exit 0; the anchor it prints is one to come back with."""
        cli.ok("fact", "set", ALICE, "k", "1")
        done = cli.ok("verify")
        assert done.lines[0] == "1 event, 0 erased: intact"
        anchor = done.lines[1].removeprefix("anchor ")
        cli.ok("fact", "set", ALICE, "k", "2")
        found = cli.ok("verify", "--expect", anchor, "--json").json()
        assert (found["ok"], found["events"], found["faults"]) == (True, 2, [])

    def test_a_changed_payload(self, cli: Cli) -> None:
        """Exit 1; the fault says where."""
        cli.ok("fact", "set", ALICE, "k", "1")
        tamper(cli.log, "UPDATE foldlog_payloads SET data = '{\"value\":2}'")
        done = cli("verify")
        assert (done.code, done.err) == (1, "")
        assert done.lines[0] == f"fault at position 1 (fact {ALICE} k): the payload was changed"
        assert cli("verify", "--json").json()["faults"][0]["position"] == 1

    def test_a_damaged_file(self, cli: Cli) -> None:
        """What SQLite cannot read to the end is a fault too, and there is no anchor to keep."""
        with cli.memory() as memory, memory.batch():
            for number in range(3000):
                memory.facts.set(ALICE, f"k{number}", "x" * 50)
        with closing(sqlite3.connect(cli.log)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            size = connection.execute("PRAGMA page_size").fetchone()[0]
        content = cli.log.read_bytes()
        # The last page with payloads.
        page = content.rindex(b'{"value":') // size
        cli.log.write_bytes(content[: page * size] + b"\xff" * size + content[(page + 1) * size :])
        done = cli("verify")
        assert (done.code, done.err) == (1, "")
        assert done.lines[0].startswith("fault at position 2001: the log .foldlog/memory.db is damaged")
        assert "anchor" not in done.out

    def test_another_history(self, cli: Cli) -> None:
        """An anchor that does not hold is a fault."""
        cli.ok("fact", "set", ALICE, "k", "1")
        done = cli("verify", "--expect", f"1:{'0' * 64}")
        assert done.code == 1
        assert "the hash differs from the anchor" in done.lines[0]


class TestBackfill:
    def test_it_folds_to_the_head(self, indexed: Cli) -> None:
        """Progress is on stderr in plain lines, the result on stdout; a second time nothing is left."""
        indexed.ok("import", "locomo", str(SAMPLE))
        done = indexed("backfill")
        assert done.code == 0
        assert done.err.startswith("folding: position 12 of 12, ")
        assert done.err.endswith(" events/s, 0 s left\n")
        assert done.out.startswith("caught up at position 12: 12 events in ")
        again = indexed.fold()
        assert (again["outcome"], again["position"], again["events"]) == ("caught up", 12, 0)

    @pytest.mark.slow
    def test_without_a_url_it_starts_the_embedded_server(
        self, cli: Cli, own_home: Home, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Nothing needs to run or to be set; the server is stopped afterwards."""
        monkeypatch.delenv("FOLDLOG_DATABASE_URL")
        log = str(own_home.folder / "memory.db")
        cli.ok("fact", "set", ALICE, "k", "1", "--log", log)
        assert cli("backfill", "--log", log).out.startswith("caught up at position 1: 1 event ")
        assert "no index is running" in cli("status", "--log", log).out

    def test_ctrl_c_says_where_it_stopped(self, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
        """Exit 130; before the first page, and after one."""
        cli.ok("fact", "set", ALICE, "k", "1")
        pages = [Folded(outcome="caught up", pages=1, events=1, position=1)]

        def interrupted(self: Memory, *, progress: Any) -> Folded:
            for page in pages:
                progress(page)
            raise KeyboardInterrupt

        monkeypatch.setattr(Memory, "catch_up", interrupted)
        done = cli("backfill")
        assert done.code == 130
        assert done.err.splitlines()[-1] == (
            "foldlog: warning: stopped at position 1 of 1; `foldlog backfill` goes on from there"
        )
        pages.clear()
        assert "stopped before the first page of 1" in cli("backfill").err

    def test_ctrl_c_leaves_what_is_folded(self, indexed: Cli, database_url: str) -> None:
        """A real one in the middle: no traceback, and the next run does the rest."""
        with indexed.memory() as memory, memory.batch():
            for number in range(3000):
                memory.facts.set(ALICE, f"k{number}", number)
        given = environment(FOLDLOG_DATABASE_URL=database_url, FOLDLOG_PAGE_EVENTS="1")
        with subprocess.Popen(
            command("backfill", "--log", str(indexed.log)), env=given, stderr=subprocess.PIPE, text=True
        ) as process:
            assert process.stderr is not None
            assert process.stderr.readline().startswith("folding: position 1 of 3000, ")
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=30)
        assert process.returncode == 130
        assert err.startswith("foldlog: warning: stopped at position ")
        assert len(err.splitlines()) == 1
        rest = indexed.fold()
        assert rest["position"] == 3000
        assert 0 < rest["events"] < 3000

    def test_without_a_server_it_fails(self, cli: Cli) -> None:
        """Exit 3: it needs the part that is down."""
        cli.ok("fact", "set", ALICE, "k", "1")
        assert "Postgres at 127.0.0.1:1/none does not answer" in cli.fails(3, "backfill")


class TestMigrate:
    def test_both_stores(self, indexed: Cli) -> None:
        """It begins what is not there yet, and prints the revisions; twice is no error."""
        first = indexed.ok("migrate")
        assert first.lines == [f"log        revision {SCHEMA_VERSION}", "index      revision 0001"]
        expected = {"log": SCHEMA_VERSION, "index": "0001", "reason": None}
        assert indexed.ok("migrate", "--json").json() == expected

    def test_no_index_is_no_failure(self, cli: Cli, own_home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
        """Without a URL, and nothing running, only the log is migrated, and the output says so."""
        monkeypatch.delenv("FOLDLOG_DATABASE_URL")
        lines = cli.ok("migrate", "--log", str(own_home.folder / "memory.db")).lines
        assert lines[1].startswith("index      none: no index is running")

    def test_an_index_that_is_set_and_down_is_a_failure(self, cli: Cli) -> None:
        """Exit 3; the log was migrated."""
        assert "does not answer" in cli.fails(3, "migrate")
        assert cli.log.exists()


class TestSettings:
    def test_every_setting_is_listed(self, cli: Cli) -> None:
        """Name, value, default, unit, help; a secret is masked, one that is not set shows that."""
        rows = {row[0]: row[1:] for row in cli.ok("settings").rows}
        assert rows["FOLDLOG_LOG"] == [
            ".foldlog/memory.db",
            ".foldlog/memory.db",
            "path",
            "The log's SQLite file.",
        ]
        assert rows["FOLDLOG_DATABASE_URL"][:2] == ["***", "-"]
        assert rows["FOLDLOG_REDIS_URL"][:2] == ["-", "-"]

    def test_json_lines(self, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
        """One object a setting; numbers stay numbers."""
        monkeypatch.setenv("FOLDLOG_PAGE_EVENTS", "7")
        found = [json.loads(line) for line in cli.ok("settings", "--json").lines]
        values = {item["name"]: (item["value"], item["default"]) for item in found}
        assert values["FOLDLOG_PAGE_EVENTS"] == (7, 1000)
        assert values["FOLDLOG_DATABASE_URL"] == ("***", None)


class TestImport:
    def test_twice_adds_nothing_and_says_so(self, cli: Cli) -> None:
        """The report counts what is in the file and what was written."""
        first = cli.ok("import", "locomo", str(SAMPLE))
        assert first.out == "2 conversations, 4 threads, 8 messages: 8 new, 0 unchanged\n"
        assert cli.ok("import", "locomo", str(SAMPLE)).out.endswith("all there already, nothing added\n")
        again = cli.ok("import", "locomo", str(SAMPLE), "--json").json()
        assert again == {"conversations": 2, "threads": 4, "messages": 8, "new": 0, "unchanged": 8}

    def test_it_is_attributed(self, cli: Cli) -> None:
        """The import is somebody's change like any other."""
        cli.ok("import", "locomo", str(SAMPLE), "--actor", "bob")
        assert {row[4] for row in cli.ok("events").rows} == {"bob"}

    def test_a_broken_file_begins_no_log(self, cli: Cli) -> None:
        """One line with sample and turn, exit 2, nothing written."""
        samples = json.loads(SAMPLE.read_text())
        samples[1]["conversation"]["session_1"][1]["text"] = ""
        path = cli.folder / "broken.json"
        path.write_text(json.dumps(samples))
        error = cli.fails(2, "import", "locomo", str(path))
        assert error.endswith("sample 2 (orchard:2): session_1, turn 2 (D1:2): text: must not be blank")
        assert not cli.log.exists()


class TestImportSmithers:
    """What becomes of each row is tested with the import; here, what is printed and what is not written."""

    @pytest.fixture
    def source(self, smithers: Smithers) -> str:
        """A database with one row of every outcome."""
        smithers.fact(ALICE, "k", "v")
        smithers.fact("team:x", "a\tb")
        smithers.thread()
        smithers.message("m")
        smithers.note("n", "n")
        return str(smithers.path)

    def test_the_report(self, cli: Cli, source: str) -> None:
        """A line for each row that is not as it was, then the counts; exit 1, since a link is refused."""
        done = cli("import", "smithers", source)
        assert (done.code, done.err) == (1, "")
        first, second, *counts = done.lines
        assert first.startswith("changed  fact team:x a\\tb: namespace 'team:x' is 'global:team%3Ax' here; ")
        assert second.startswith("refused  link n n: a note cannot supersede itself")
        assert counts == [
            "facts: 2, of these 2 new, 0 unchanged, 0 refused; 1 in another form",
            "threads: 1, of these 1 new, 0 unchanged, 0 refused; 0 in another form",
            "messages: 1, of these 1 new, 0 unchanged, 0 refused; 0 in another form",
            "notes: 1, of these 1 new, 0 unchanged, 0 refused; 0 in another form",
            "links: 1, of these 0 new, 0 unchanged, 1 refused; 0 in another form",
        ]
        assert cli.ok("fact", "get", ALICE, "k").out == '"v"\n'
        again = cli("import", "smithers", source)
        assert (again.code, again.lines[:2]) == (1, [first, second])
        assert again.lines[-1] == "all there already, nothing added"

    def test_the_report_as_json(self, cli: Cli, source: str) -> None:
        """One object a line, the counts last."""
        done = cli("import", "smithers", source, "--json")
        changed, refused, total = [json.loads(line) for line in done.lines]
        assert (changed["kind"], changed["outcome"], changed["source"]) == (
            "fact",
            "changed",
            {"namespace": "team:x", "key": "a\tb"},
        )
        assert (refused["outcome"], refused["source"]) == ("refused", {"note_id": "n", "supersedes_id": "n"})
        assert total["dry_run"] is False
        assert total["facts"] == {"rows": 2, "new": 2, "unchanged": 0, "refused": 0, "changed": 1}

    def test_nothing_refused_is_exit_0(self, cli: Cli, smithers: Smithers) -> None:
        """Also when rows are in another form."""
        smithers.fact("team:x", "k")
        cli.ok("import", "smithers", str(smithers.path))

    def test_a_dry_run_writes_nothing(self, cli: Cli, source: str) -> None:
        """Neither a log that is not there, nor into one that is; it tells what an import would."""
        dry = cli("import", "smithers", source, "--dry-run")
        assert (dry.code, dry.lines[-1]) == (1, "nothing was written")
        assert not cli.log.parent.exists()
        assert cli("import", "smithers", source).lines == dry.lines[:-1]
        before = cli.ok("events").out
        again = cli("import", "smithers", source, "--dry-run", "--json")
        assert json.loads(again.lines[-1])["facts"]["new"] == 0
        assert json.loads(again.lines[-1])["dry_run"] is True
        assert cli.ok("events").out == before

    def test_a_dry_run_upgrades_no_log(self, cli: Cli, source: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """An older one is left as it is, and the way out named."""
        cli.ok("fact", "set", ALICE, "k", "1")
        monkeypatch.setattr("foldlog.events.log.SCHEMA_VERSION", "9999")
        assert "run `foldlog migrate` first" in cli.fails(3, "import", "smithers", source, "--dry-run")

    def test_it_is_attributed(self, cli: Cli, source: str) -> None:
        """To whoever ran it; a name that is none is refused at once."""
        cli("import", "smithers", source, "--actor", "bob")
        assert {row[4] for row in cli.ok("events").rows} == {"bob correlation=import:smithers"}
        assert "provenance.actor" in cli.fails(2, "import", "smithers", source, "--actor", " x")

    def test_another_database_begins_no_log(self, cli: Cli) -> None:
        """Exit 2, one line, nothing written."""
        path = cli.folder / "other.db"
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("CREATE TABLE theirs (id INTEGER)")
        assert "is not a Smithers database" in cli.fails(2, "import", "smithers", str(path))
        assert not cli.log.parent.exists()

    def test_the_source_cannot_be_the_log(self, cli: Cli, source: str) -> None:
        """To open it as a log would write to it."""
        before = Path(source).read_bytes()
        for more in ([], ["--dry-run"]):
            error = cli.fails(2, "import", "smithers", source, "--log", source, *more)
            assert "is the log itself" in error
        assert Path(source).read_bytes() == before

    def test_progress_when_it_takes_long(
        self, cli: Cli, source: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Plain lines on stderr, but none for what is done in a moment; the report is not among them."""
        with monkeypatch.context() as patch:
            patch.setattr(output, "PROGRESS_SECONDS", 0.0)
            done = cli("import", "smithers", source)
        first, *_, last = done.err.splitlines()
        assert first.startswith("importing: position 2 of 5, ")
        assert last.startswith("importing: position 5 of 5, ")
        assert done.lines[0].startswith("changed  fact")

    def test_ctrl_c(self, cli: Cli, source: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """Exit 130, and a line that says how to go on; the same command completes it."""

        def interrupt(*given: object) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(output.Progress, "move", interrupt)
            done = cli("import", "smithers", source)
        assert (done.code, done.out) == (130, "")
        assert done.err == "foldlog: warning: stopped; what was imported stays, the same command goes on\n"
        assert cli.ok("fact", "get", ALICE, "k").out == '"v"\n'
        assert cli("import", "smithers", source).lines[2].startswith("facts: 2, of these 0 new, 2 unchanged")
        assert cli.ok("note", "list", ALICE).rows[0][0] == "n"


class TestWorkers:
    """What these run is tested with the workers; here, that it is called as asked."""

    def test_up(self, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
        """It gets the settings, and its code is the command's."""
        seen: list[Any] = []
        monkeypatch.setattr(
            "foldlog.workers.supervisor.up", lambda settings, ready: seen.append(settings) or 7
        )
        assert cli("up", "--log", "x.db").code == 7
        assert seen[0].log == Path("x.db")

    @pytest.mark.parametrize(
        ("options", "expected"),
        [
            ([], {"queues": None, "processes": 1, "threads": 4}),
            (
                ["--queues", "live", "bulk", "--processes", "2", "--threads", "8"],
                {"queues": ["live", "bulk"], "processes": 2, "threads": 8},
            ),
        ],
    )
    def test_worker(
        self, cli: Cli, monkeypatch: pytest.MonkeyPatch, options: list[str], expected: dict[str, Any]
    ) -> None:
        """Queues, processes and threads are handed on."""
        seen: list[Any] = []
        monkeypatch.setattr("foldlog.workers.run.run", lambda settings, **given: seen.append(given) or 0)
        cli.ok("worker", *options)
        assert seen == [expected]

    def test_demo(self, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
        """It takes no settings: it has a folder of its own."""
        monkeypatch.setattr("foldlog.demo.run.run", lambda: 0)
        cli.ok("demo")


class TestBadLogs:
    #: One of each kind: they read, write or migrate, and some need more than the log.
    READING = (
        ["fact", "get", ALICE, "k"],
        ["fact", "list", ALICE],
        ["fact", "delete", ALICE, "k"],
        ["thread", "list"],
        ["thread", "show", "t"],
        ["thread", "say", "t", "x"],
        ["thread", "delete", "t"],
        ["note", "get", "n"],
        ["note", "list", ALICE],
        ["note", "accept", "n"],
        ["history", "note", "n"],
        ["diff", "0"],
        ["blame", "note", "n"],
        ["servings"],
        ["events"],
        ["recall", "x", ALICE],
        ["graph", "show", "x"],
        ["status"],
        ["verify"],
        ["backfill"],
    )
    BEGINNING = (
        ["fact", "set", ALICE, "k", "1"],
        ["thread", "create", ALICE],
        ["note", "save", ALICE, "x"],
        ["migrate"],
        ["import", "locomo", str(SAMPLE)],
    )

    @pytest.mark.parametrize("arguments", READING, ids=" ".join)
    def test_a_wrong_path_is_an_error_and_begins_no_log(self, cli: Cli, arguments: list[str]) -> None:
        """A command that can only use a log says that there is none, and where it looked."""
        error = cli.fails(3, *arguments)
        assert "there is no log at .foldlog/memory.db; name another with --log or FOLDLOG_LOG" in error
        assert not cli.log.parent.exists()

    @pytest.mark.parametrize("arguments", [*READING, *BEGINNING], ids=" ".join)
    def test_a_directory(self, cli: Cli, arguments: list[str]) -> None:
        """The error proposes a file in it."""
        error = cli.fails(3, *arguments, "--log", str(cli.folder))
        assert "is a directory; name a file, as in" in error

    @pytest.mark.parametrize("arguments", [*READING, *BEGINNING], ids=" ".join)
    def test_not_a_database(self, cli: Cli, arguments: list[str]) -> None:
        """The file is left as it is."""
        path = cli.folder / "letter.txt"
        path.write_text("Dear Alice, this is no database at all.")
        assert "is not an SQLite database; it was left as it is" in cli.fails(
            3, *arguments, "--log", str(path)
        )
        assert path.read_text().startswith("Dear Alice")

    @pytest.mark.parametrize("arguments", READING, ids=" ".join)
    def test_somebody_elses_database(self, cli: Cli, arguments: list[str]) -> None:
        """A command that only uses a log does not put one into a database that has none."""
        path = cli.folder / "other.db"
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("CREATE TABLE theirs (id INTEGER)")
        before = path.read_bytes()
        assert "there is no log at" in cli.fails(3, *arguments, "--log", str(path))
        assert path.read_bytes() == before

    def test_a_folder_that_cannot_be(self, cli: Cli) -> None:
        """A file stands where the log's folder should."""
        (cli.folder / "file").write_text("")
        error = cli.fails(3, "fact", "set", ALICE, "k", "1", "--log", str(cli.folder / "file/memory.db"))
        assert "the log" in error

    def test_an_event_of_the_future(self, cli: Cli) -> None:
        """It is an error with its position, and what to do."""
        cli.ok("fact", "set", ALICE, "k", "1")
        tamper(cli.log, "UPDATE foldlog_events SET schema_version = 99")
        assert "event 1 has type FactSet version 99" in cli.fails(3, "events")


#: Imports what the commands need, then becomes nobody, from whom the interpreter may be out of reach.
AS_NOBODY = """
import importlib, os, pkgutil, pwd, sys
import foldlog.cli, foldlog.composition, foldlog.embedded, foldlog.status
from foldlog.cli.main import main
for module in pkgutil.iter_modules(foldlog.cli.__path__):
    importlib.import_module(f"foldlog.cli.{module.name}")
if os.geteuid() == 0:
    nobody = pwd.getpwnam("nobody")
    os.setgroups([])
    os.setgid(nobody.pw_gid)
    os.setuid(nobody.pw_uid)
sys.exit(main())
"""


class TestPermissions:
    @pytest.fixture
    def path(self) -> Iterator[Path]:
        # Not tmp_path: that is root's alone.
        with tempfile.TemporaryDirectory(prefix="foldlog-test-") as folder:
            Path(folder).chmod(0o777)
            path = Path(folder) / "memory.db"
            with open_memory(path, database_url=NO_SERVER) as memory:
                memory.facts.set(ALICE, "k", 1)
            yield path

    def as_nobody(self, path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", AS_NOBODY, *arguments, "--log", str(path)],
            env=environment(), check=False, capture_output=True, text=True, timeout=60, cwd="/",
        )  # fmt: skip

    def test_a_read_only_file_is_read(self, path: Path) -> None:
        """Reading goes on; writing is refused in one line that says why."""
        path.chmod(0o444)
        done = self.as_nobody(path, "fact", "get", ALICE, "k")
        assert (done.returncode, done.stdout, done.stderr) == (0, "1\n", "")
        done = self.as_nobody(path, "fact", "set", ALICE, "k", "2")
        assert (done.returncode, done.stdout) == (3, "")
        assert done.stderr == (
            f"foldlog: error: the log {path} may not be written: the file or its folder is read-only "
            "(SQLite keeps files beside it even to read)\n"
        )

    def test_a_file_of_somebody_else(self, path: Path) -> None:
        """Neither read nor written; one line."""
        path.chmod(0o000)
        for arguments in (["events"], ["fact", "set", ALICE, "k", "2"], ["status"]):
            done = self.as_nobody(path, *arguments)
            assert (done.returncode, done.stdout) == (3, "")
            assert done.stderr == f"foldlog: error: the log {path} cannot be read: Permission denied\n"

    def test_a_folder_of_somebody_else(self, path: Path) -> None:
        """No log can be begun there; one line."""
        path.parent.chmod(0o555)
        done = self.as_nobody(path.with_name("new.db"), "fact", "set", ALICE, "k", "2")
        path.parent.chmod(0o777)
        assert (done.returncode, done.stdout) == (3, "")
        assert "cannot be created: Permission denied" in done.stderr
        assert len(done.stderr.splitlines()) == 1


class TestOutput:
    def on_a_terminal(self, *arguments: str, code: int = 0, **more: str) -> str:
        """Run a command whose stdout is a terminal and return what it prints there."""
        outer, inner = pty.openpty()
        with subprocess.Popen(
            command(*arguments),
            env=environment(TERM="xterm", COLUMNS="100", **more),
            stdout=inner,
            stderr=inner,
        ) as process:
            os.close(inner)
            shown = b""
            # The terminal's end is an error on Linux.
            with suppress(OSError):
                while found := os.read(outer, 4096):
                    shown += found
            assert process.wait(timeout=60) == code
        os.close(outer)
        return shown.decode()

    def test_a_terminal_gets_a_table(self, cli: Cli) -> None:
        """With a heading; markup and control characters in a text stay text."""
        cli.ok("fact", "set", ALICE, "k", "[red]\x1b[31mx\u202e[/red]", "--text")
        shown = self.on_a_terminal("fact", "list", ALICE, "--log", str(cli.log))
        assert "key" in shown.splitlines()[0]
        assert r"[red]\u001b[31mx\u202e[/red]" in shown
        shown = self.on_a_terminal("recall", "x", ALICE, "--block", "--log", str(cli.log))
        assert "\x1b" not in shown
        assert "\u202e" not in shown

    def test_a_terminal_gets_a_tree(self, indexed: Cli, database_url: str) -> None:
        """Each name and memory once, below what led to it; markup in a name stays text."""
        indexed.ok("fact", "set", ALICE, "payments-api", '"Call Dana Whitfield."')
        indexed.ok("note", "save", ALICE, "x", "--id", "n1", "--relates", "[red]:payments-api")
        indexed.fold()
        shown = self.on_a_terminal(
            *("graph", "show", "payments-api", "--hops", "2", "--log", str(indexed.log)),
            FOLDLOG_DATABASE_URL=database_url,
        )
        assert shown.splitlines()[0] == f"payments-api in {ALICE}"
        assert [line.split(", since")[0] for line in shown.splitlines()[1:]] == [
            "├── note:n1 [red] payments-api",
            "└── fact:payments-api bears payments-api",
            "    └── fact:payments-api mentions Dana Whitfield",
        ]

    def test_a_row_of_a_long_list_is_cut_on_a_terminal(self, cli: Cli) -> None:
        """Events are for the eye there; piped they are whole."""
        cli.ok("fact", "set", ALICE, "k", "x" * 1000, "--text")
        (row,) = self.on_a_terminal("events", "--log", str(cli.log)).splitlines()
        assert row.endswith("x…")
        assert len(cli.ok("events").out) > 1000

    def test_a_timeline_has_colours_on_a_terminal_only(self, cli: Cli) -> None:
        """And none where NO_COLOR is set; control characters in a text stay text."""
        cli.ok("note", "save", ALICE, "[red]\x1b[31mx[/red]", "--id", "n1", "--actor", "ann")
        arguments = ["history", "note", "n1", "--log", str(cli.log)]
        shown = self.on_a_terminal(*arguments)
        assert "\x1b[35m" in shown
        assert r"[red]\x1b[31mx[/red]" in shown
        plain = self.on_a_terminal(*arguments, NO_COLOR="1")
        assert "\x1b[35m" not in plain
        assert "ann" in plain
        assert "\x1b" not in cli.ok(*arguments).out

    def test_progress_is_a_bar_on_a_terminal(self, indexed: Cli, database_url: str) -> None:
        """It is gone when the work is done."""
        indexed.ok("import", "locomo", str(SAMPLE))
        shown = self.on_a_terminal("backfill", "--log", str(indexed.log), FOLDLOG_DATABASE_URL=database_url)
        assert "folding" in shown
        assert "12/12" in shown
        assert "caught up at position 12: 12 events" in shown.splitlines()[-1]

    def test_a_report_after_a_bar(self, cli: Cli, smithers: Smithers) -> None:
        """Every row that an import refused has its line, and no bar is left in it."""
        smithers.note("n", "n")
        shown = self.on_a_terminal("import", "smithers", str(smithers.path), "--log", str(cli.log), code=1)
        *_, notes, links = shown.splitlines()
        assert "refused  link n n: a note cannot supersede itself" in shown
        assert (notes[:6], links[:6]) == ("notes:", "links:")

    def test_an_encoding_that_lacks_a_character(self, cli: Cli) -> None:
        """It is escaped: in JSON as JSON has it, elsewhere visibly."""
        cli.ok("fact", "set", ALICE, "k", '"ü€"')
        given = {"PYTHONIOENCODING": "ascii"}
        plain = run("fact", "get", ALICE, "k", "--log", str(cli.log), **given)
        assert (plain.returncode, plain.stdout) == (0, '"\\xfc\\u20ac"\n')
        as_json = run("fact", "get", ALICE, "k", "--json", "--log", str(cli.log), **given)
        assert json.loads(as_json.stdout)["value"] == "ü€"

    def test_bytes_that_are_no_text(self, cli: Cli) -> None:
        """An argument in another encoding is wrong usage."""
        done = run("fact", "get", ALICE, b"\xff", "--log", str(cli.log))
        assert done.returncode == 2
        assert done.stderr == "foldlog: error: the argument '\\udcff' is not text in UTF-8\n"

    def test_an_unexpected_error_keeps_its_traceback(self, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
        """Only what foldlog raises on purpose becomes a line."""
        monkeypatch.setattr(backfill.options, "memory", lambda args: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            cli("backfill")

    def test_ctrl_c_anywhere(self, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
        """Exit 130 and nothing printed."""

        def interrupted(settings: object, ready: object) -> int:
            raise KeyboardInterrupt

        monkeypatch.setattr("foldlog.workers.supervisor.up", interrupted)
        assert cli("up") == Done(130, "", "")
