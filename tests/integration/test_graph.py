"""The graph: what notes state, when it holds, what names stand for each other, and the walk through it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg import sql

from fixtures.index import difference, graph_of, periods
from fixtures.logs import NOON, Clock
from foldlog import Memory, composition
from foldlog.errors import FoldlogError, IndexUnavailable, InvalidInput, NotFound
from foldlog.events.encoding import instant
from foldlog.memory.graph import Graph
from foldlog.projections import engine
from foldlog.projections.engine import Limits
from foldlog.projections.hindsight import graph, walk
from foldlog.projections.hindsight.session import Session
from foldlog.settings import Settings

ALICE = "user:alice"
BOB = "user:bob"


@pytest.fixture
def memory(tmp_path: Path, database_url: str, clock: Clock) -> Iterator[Memory]:
    given = Settings(log=tmp_path / "memory.db", database_url=database_url)
    with composition.open_memory(settings=given, clock=clock) as memory:
        yield memory


def edges(memory: Memory, name: str, *args: Any, **asked: Any) -> list[str]:
    """Return the edges around a name as words."""
    found = memory.graph.show(name, *args, **asked)
    return [f"{edge.source} {edge.kind} {edge.target}" for edge in found.edges]


def nothing(memory: Memory, name: str, **asked: Any) -> None:
    with pytest.raises(NotFound, match=f"nothing relates to {name}"):
        memory.graph.show(name, **asked)


class TestPeriods:
    """A relation holds while the note that states it is visible."""

    def test_a_relation_closes_and_opens_again(self, memory: Memory, clock: Clock) -> None:
        """With the instant of the event that hid its note, or showed it again."""
        memory.notes.save(ALICE, "a", note_id="n1", relates=[("owns", "payments-api")])
        for status in ("rejected", "accepted"):
            clock.pass_ms(1000)
            memory.notes.set_status("n1", status)
        clock.pass_ms(1000)
        memory.notes.save(ALICE, "b", note_id="n2", supersedes=["n1"])
        memory.catch_up()
        nothing(memory, "payments-api")
        for position, since in [(1, 0), (3, 2000)]:
            (edge,) = memory.graph.show("payments-api", as_of=position).edges
            assert (edge.source, edge.kind, edge.target) == ("note:n1", "owns", "payments-api")
            assert (edge.since - NOON, edge.until) == (since, NOON + since + 1000)
        for position in (2, 4):
            nothing(memory, "payments-api", as_of=position)
        for passed, holds in [(0, True), (999, True), (1000, False), (2000, True), (3000, False)]:
            moment = instant(NOON + passed)
            for by in ("recorded", "occurred"):
                if holds:
                    found = edges(memory, "payments-api", as_of=moment, clock=by)
                    assert found == ["note:n1 owns payments-api"]
                else:
                    nothing(memory, "payments-api", as_of=moment, clock=by)
        nothing(memory, "payments-api", as_of=instant(NOON - 1))
        memory.notes.set_status("n2", "rejected")
        memory.catch_up()
        assert edges(memory, "payments-api") == ["note:n1 owns payments-api"]

    def test_an_instant_by_either_clock(self, memory: Memory, clock: Clock) -> None:
        """An imported note holds since it was written down; the log holds it since it was imported."""
        memory.facts.set(ALICE, "k", 1)
        then = instant(NOON) - timedelta(days=30)
        memory.notes.save(ALICE, "a", relates=[("owns", "payments-api")], occurred_at=then)
        memory.catch_up()
        assert memory.graph.show("payments-api").edges[0].since == NOON - 30 * 86_400_000
        day = timedelta(days=1)
        assert memory.graph.show("payments-api", as_of=then + day, clock="occurred").edges
        nothing(memory, "payments-api", as_of=then - day, clock="occurred")
        nothing(memory, "payments-api", as_of=then + day)
        nothing(memory, "payments-api", as_of=1)
        assert memory.graph.show("payments-api", as_of=2).edges
        assert memory.graph.show("payments-api", as_of=instant(NOON)).edges

    def test_what_ends_before_it_began_holds_at_no_instant(self, memory: Memory) -> None:
        """An imported note may supersede what was written later: the end is not before the beginning."""
        memory.notes.save(ALICE, "a", note_id="n1", relates=[("owns", "payments-api")])
        memory.notes.save(
            ALICE, "b", note_id="n2", supersedes=["n1"], occurred_at=instant(NOON) - timedelta(days=1)
        )
        memory.catch_up()
        nothing(memory, "payments-api", as_of=instant(NOON), clock="occurred")
        assert memory.graph.show("payments-api", as_of=1).edges[0].until == NOON

    @settings(
        max_examples=30,
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )
    @given(
        st.lists(
            st.tuples(st.sampled_from("nnspPaarrfdc"), st.integers(0, 3), st.integers(0, 3)), max_size=30
        ),
        st.sampled_from([1, 3, 1000]),
    )
    def test_however_it_is_folded_it_is_what_the_log_says(
        self, tmp_path: Path, postgres: Any, changes: list[tuple[str, int, int]], page: int
    ) -> None:
        """In pages of any size, repeated from the beginning, and built anew: the same rows."""
        clock = Clock()
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.db"
        name = f"t{path.stem}"
        chosen = Settings(log=path, name=name, database_url=postgres.url, embedder="none")
        with composition.open_memory(settings=chosen, clock=clock) as memory:
            for what, one, two in changes:
                change(memory, clock, what, one, two)
            session = Session(postgres.url, timeout_ms=1000)
            target = composition.projection(chosen, memory.log, session)
            engine.run_once(memory.log, target, Limits(page_events=page))
            first = graph_of(memory, postgres.url)
            assert first["periods"] == periods(memory)
            with psycopg.connect(postgres.url) as connection:
                start = memory.log.hash_at(0)
                connection.execute("UPDATE foldlog.checkpoints SET position = 0, hash = %s", (start,))
            engine.run_once(memory.log, target, Limits(page_events=4 - min(page, 3)))
            assert graph_of(memory, postgres.url) == first
            memory.rebuild()
            assert graph_of(memory, postgres.url) == first
            assert difference(memory, postgres.url) == []
            session.close()
        with psycopg.connect(postgres.url) as connection:
            for number in (1, 2):
                schema = sql.Identifier(f"foldlog_{name}_g{number}")
                connection.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(schema))
            connection.execute("DELETE FROM foldlog.generations")
            connection.execute("DELETE FROM foldlog.logs")


def change(memory: Memory, clock: Clock, what: str, one: int, two: int) -> None:
    """Make one change; those the contract refuses are refused, and change nothing."""
    relates = [("owns", f"service-{two}"), ("after", f"note:n{two}"), ("alias", f"Name {one}")]
    earlier = instant(clock.now - 7 * two)
    actions: dict[str, Callable[[], object]] = {
        "n": lambda: memory.notes.save(
            ALICE, f"text {one} of Dana", note_id=f"n{one}", relates=relates, occurred_at=earlier
        ),
        "s": lambda: memory.notes.save(
            ALICE, "s", note_id=f"s{one}", supersedes=[f"n{two}"], relates=relates
        ),
        "p": lambda: memory.notes.save(
            ALICE, "p", note_id=f"p{one}", supersedes=[f"s{two}", f"n{one}"], status="pending"
        ),
        "P": lambda: memory.notes.save(
            ALICE, "P", note_id=f"P{one}", supersedes=[f"n{two}"], allow_fork=True, occurred_at=earlier
        ),
        "a": lambda: memory.notes.set_status(f"{'nspP'[one]}{two}", "accepted", allow_fork=True),
        "r": lambda: memory.notes.set_status(f"{'nspP'[one]}{two}", "rejected"),
        "f": lambda: memory.facts.set(ALICE, f"f{one}", f"Zed-{two} and service-{two}"),
        "d": lambda: memory.facts.delete(ALICE, f"f{one}"),
        "c": lambda: clock.pass_ms(5),
    }
    with contextlib.suppress(FoldlogError):
        actions[what]()


class TestWalk:
    def test_who_relates_to_whom(self, memory: Memory, clock: Clock) -> None:
        """What was stated first, then who bears the name, then who mentions it, the latest first."""
        memory.threads.create(ALICE, thread_id="t")
        memory.messages.save("t", "payments-api is down", message_id="m1")
        memory.messages.save("t", "payments-api is up", message_id="m2")
        memory.facts.set(ALICE, "payments-api", "Call Dana Whitfield.")
        memory.notes.save(ALICE, "The crew", note_id="n1", relates=[("runs", "payments-api")])
        memory.catch_up()
        assert edges(memory, "Payments-API") == [
            "note:n1 runs payments-api",
            "fact:payments-api bears payments-api",
            "message:m2 mentions payments-api",
            "message:m1 mentions payments-api",
        ]
        found = memory.graph.show("payments-api").edges
        assert [edge.extractor for edge in found] == ["stated", "key", "rules 1", "rules 1"]
        assert {(edge.depth, edge.via, edge.namespace, edge.until) for edge in found} == {
            (1, "payments-api", ALICE, None)
        }
        second = [edge for edge in memory.graph.show("payments-api", hops=2).edges if edge.depth == 2]
        assert [(edge.via, edge.reached) for edge in second if edge.kind != "mentions"] == []
        assert ("fact:payments-api", "Dana Whitfield") in [(edge.via, edge.reached) for edge in second]
        (back,) = memory.graph.show("Dana Whitfield").edges
        assert (back.source, back.kind) == ("fact:payments-api", "mentions")

    def test_notes_are_names_too(self, memory: Memory) -> None:
        """By `note:` and their id, in their own case, or by the id alone; also when there is no such note."""
        memory.notes.save(ALICE, "old", note_id="N1", relates=[("owns", "payments-api")])
        memory.notes.save(ALICE, "other", note_id="n1", relates=[("owns", "other-api")])
        memory.notes.save(
            ALICE,
            "new",
            note_id="n2",
            supersedes=["N1"],
            relates=[("answers", "note:n1"), ("asks", "note:x")],
        )
        memory.catch_up()
        assert edges(memory, "note:n2") == [
            "note:n2 supersedes note:N1",
            "note:n2 answers note:n1",
            "note:n2 asks note:x",
        ]
        assert edges(memory, "n2") == edges(memory, "note:n2")
        assert edges(memory, "note:n1") == ["note:n2 answers note:n1", "note:n1 owns other-api"]
        assert edges(memory, "note:x") == ["note:n2 asks note:x"]
        # What is hidden is named, but not followed.
        assert edges(memory, "note:N1", hops=3) == [
            "note:n2 supersedes note:N1",
            "note:n2 answers note:n1",
            "note:n2 asks note:x",
            "note:n1 owns other-api",
        ]
        nothing(memory, "payments-api")

    @pytest.mark.parametrize("name", ["k8s", "Kubernetes", "kubernetes"])
    def test_spellings_that_the_rules_know(self, memory: Memory, name: str) -> None:
        """What is stated of a name meets what texts say of it, however either is written."""
        memory.notes.save(ALICE, "x", note_id="n1", relates=[("owns", name)])
        memory.facts.set(ALICE, "k", "runs on k8s now")
        memory.catch_up()
        for asked in ("k8s", "Kubernetes"):
            found = memory.graph.show(asked).edges
            assert [(edge.source, edge.kind) for edge in found] == [
                ("note:n1", "owns"),
                ("fact:k", "mentions"),
            ]

    def test_other_names_of_a_thing(self, memory: Memory) -> None:
        """Either leads to what is known of all of them, while the note that says so is visible."""
        memory.facts.set(ALICE, "payments-api", "Drained at night.")
        memory.threads.create(ALICE, thread_id="t")
        memory.messages.save("t", "the pay desk was slow", message_id="m1")
        memory.notes.save(
            ALICE, "x", note_id="n1", relates=[("alias", "payments-api"), ("alias", "Pay desk")]
        )
        memory.catch_up()
        expected = {
            "note:n1 alias payments-api",
            "note:n1 alias Pay desk",
            "fact:payments-api bears payments-api",
            "message:m1 mentions Pay desk",
        }
        for name in ("payments-api", "pay desk", "note:n1"):
            assert set(edges(memory, name)) == expected, name
        assert [
            edge.extractor for edge in memory.graph.show("pay desk").edges if edge.kind == "mentions"
        ] == ["words"]
        memory.notes.set_status("n1", "rejected")
        memory.catch_up()
        assert edges(memory, "payments-api") == ["fact:payments-api bears payments-api"]
        assert set(edges(memory, "pay desk", as_of=4)) == expected

    def test_namespaces_are_apart(self, memory: Memory) -> None:
        """A name is another entity in each; a note of another namespace is named, and not followed."""
        for number, namespace in enumerate((ALICE, BOB)):
            memory.notes.save(namespace, "x", note_id=f"n{number}", relates=[("owns", "payments-api")])
        memory.notes.save(ALICE, "y", note_id="y", relates=[("about", "note:n1"), ("owns", "secret-api")])
        memory.catch_up()
        assert set(edges(memory, "payments-api")) == {
            f"note:n{number} owns payments-api" for number in (0, 1)
        }
        assert edges(memory, "payments-api", BOB) == ["note:n1 owns payments-api"]
        assert edges(memory, "payments-api", BOB, hops=4) == ["note:n1 owns payments-api"]
        assert edges(memory, "note:y", ALICE, hops=4) == ["note:y about note:n1", "note:y owns secret-api"]
        nothing(memory, "secret-api", namespaces=[BOB])

    def test_what_expired_is_no_part_of_it(self, memory: Memory, clock: Clock) -> None:
        """To the millisecond, with no collector; as of then it is."""
        memory.facts.set(ALICE, "payments-api", "by Dana Whitfield", ttl=10)
        memory.catch_up()
        clock.pass_ms(10)
        assert memory.graph.show("Dana Whitfield").edges[0].until == NOON + 10
        clock.pass_ms(1)
        nothing(memory, "Dana Whitfield")
        nothing(memory, "payments-api")
        assert edges(memory, "Dana Whitfield", as_of=1) == ["fact:payments-api mentions Dana Whitfield"]
        nothing(memory, "Dana Whitfield", as_of=instant(NOON - 1))

    def test_what_the_index_does_not_know_yet(self, memory: Memory) -> None:
        """The log has the last word: what was hidden since is left out, with all that hangs on it."""
        memory.notes.save(ALICE, "with Dana Whitfield", note_id="n1", relates=[("owns", "payments-api")])
        memory.notes.save(ALICE, "x", note_id="n2", relates=[("owns", "payments-api")])
        memory.catch_up()
        assert "note:n1 mentions Dana Whitfield" in edges(memory, "payments-api", hops=2)
        memory.notes.set_status("n1", "rejected")
        found = memory.graph.show("payments-api", hops=3)
        assert [(edge.source, edge.kind) for edge in found.edges] == [("note:n2", "owns")]
        assert found.behind == 1
        with pytest.raises(NotFound, match="1 events behind"):
            memory.graph.show("Dana Whitfield")

    def test_a_popular_name_is_cut_and_says_so(self, memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
        """The first edges of each end, and how many there are."""
        memory.threads.create(ALICE, thread_id="t")
        with memory.batch():
            for number in range(30):
                memory.messages.save("t", f"payments-api failed {number}", message_id=f"m{number}")
        memory.catch_up()
        found = memory.graph.show("payments-api", limit=3)
        assert [edge.source for edge in found.edges] == ["message:m29", "message:m28", "message:m27"]
        assert found.cut == {(ALICE, "payments-api"): 30}
        assert found.as_dict()["cut"] == [{"namespace": ALICE, "end": "payments-api", "edges": 30}]
        assert len(memory.graph.show("payments-api", limit=30).edges) == 30
        assert memory.graph.show("payments-api", limit=30).cut == {}
        monkeypatch.setattr(walk, "MOST_ENDS", 2)
        assert memory.graph.show("payments-api", hops=2, limit=30).followed is False
        assert memory.graph.show("payments-api", hops=2, limit=2).followed is True

    def test_words_that_hold_a_name_are_cut_too(self, memory: Memory) -> None:
        """They count with what is stored."""
        memory.threads.create(ALICE, thread_id="t")
        memory.facts.set(ALICE, "blue whale", "large")
        with memory.batch():
            for number in range(9):
                memory.messages.save("t", f"a blue whale {number}", message_id=f"m{number}")
        memory.messages.save("t", "a whale that is blue", message_id="other")
        memory.catch_up()
        found = memory.graph.show("blue whale", limit=4)
        assert [edge.source for edge in found.edges] == [
            "fact:blue whale",
            "message:m8",
            "message:m7",
            "message:m6",
        ]
        assert found.cut == {(ALICE, "blue whale"): 10}
        nothing(memory, "that is")

    @pytest.mark.parametrize(
        "asked",
        [
            *({"hops": hops} for hops in (0, 5, True)),
            {"limit": 0},
            *({"as_of": position} for position in (-1, 2, True, "1")),
            {"as_of": datetime.fromisoformat("2026-03-01")},
            {"as_of": datetime(2027, 1, 1, tzinfo=UTC)},
            {"clock": "wall", "as_of": 1},
        ],
        ids=str,
    )
    def test_what_cannot_be_asked(self, memory: Memory, asked: dict[str, Any]) -> None:
        """Refused, with the name of what is wrong."""
        memory.facts.set(ALICE, "k", 1)
        memory.catch_up()
        with pytest.raises(InvalidInput, match=f"^{next(iter(asked))}: "):
            memory.graph.show("k", **asked)

    def test_without_an_index_it_is_an_error(self, tmp_path: Path) -> None:
        """The log alone has no graph, and says so; never an empty answer."""
        given = Settings(log=tmp_path / "memory.db", database_url="postgresql://u@127.0.0.1:9/none")
        with composition.open_memory(settings=given) as memory, pytest.raises(IndexUnavailable):
            memory.graph.show("payments-api")
        with pytest.raises(IndexUnavailable, match="foldlog up"):
            Graph(memory.log, None).show("payments-api")


def hide(memory: Memory, clock: Clock, how: str) -> None:
    """Write the only memory that speaks of Zed, as a kind that can be hidden so, and hide it."""
    if how in ("reject", "supersede"):
        memory.notes.save(ALICE, "Ask @zed about zed-api", note_id="n1", relates=[("owns", "zed-api")])
    elif "message" in how:
        memory.threads.create(ALICE, thread_id="t")
        memory.messages.save("t", "Ask @zed about zed-api", message_id="m1")
    else:
        memory.facts.set(ALICE, "k", "Ask @zed about zed-api", ttl=10 if how == "expire" else None)
    memory.catch_up()
    assert edges(memory, "zed")
    actions: dict[str, Callable[[], object]] = {
        "reject": lambda: memory.notes.set_status("n1", "rejected"),
        "supersede": lambda: memory.notes.save(ALICE, "new", note_id="n2", supersedes=["n1"]),
        "delete a message": lambda: memory.messages.delete("t", ["m1"]),
        "delete": lambda: memory.facts.delete(ALICE, "k"),
        "replace": lambda: memory.facts.set(ALICE, "k", "nothing"),
        "expire": lambda: clock.pass_ms(11),
        "delete a message's thread": lambda: memory.threads.delete("t"),
        "trim a message": lambda: memory.messages.trim("t", [1], budget=1, tokens=1, tokenizer="none"),
    }
    actions[how]()


@pytest.mark.parametrize(
    "how",
    [
        "reject",
        "supersede",
        "delete a message",
        "delete a message's thread",
        "trim a message",
        "delete",
        "replace",
        "expire",
    ],
)
@pytest.mark.case("D03")
def test_nothing_outlives_what_it_comes_from(
    memory: Memory, clock: Clock, database_url: str, how: str
) -> None:
    """No recall and no walk leads to what only a hidden memory speaks of; shared names stay."""
    memory.facts.set(ALICE, "shared", "Postgres and billing-api")
    hide(memory, clock, how)
    for _ in range(2):
        nothing(memory, "zed")
        nothing(memory, "zed-api")
        assert "zed" not in str(memory.recall("who is zed, and zed-api", ALICE).memories)
        memory.catch_up()
    assert edges(memory, "billing-api") == ["fact:shared mentions billing-api"]
    if how not in ("reject", "supersede", "expire"):
        # What can come back keeps its rows.
        assert "zed" not in {row[2] for row in graph_of(memory, database_url)["entities"]}


class TestRecall:
    def test_only_a_stated_relation_answers(self, memory: Memory) -> None:
        """The answer shares no word with the question, and the note that does names it only as data."""
        memory.facts.set(ALICE, "payments-api", "Escalate to the duty phone at any hour.")
        memory.notes.save(
            ALICE, "The night rollout is run by the blue crew.", relates=[("on", "payments-api")]
        )
        filler(memory)
        memory.catch_up()
        question = "Where did the person who runs the night rollout go to school?"
        found = memory.recall(question, ALICE, limit=2)
        (second,) = [item for item in found.memories if item.id == "payments-api"]
        assert "graph" in second.channels
        assert second.parts["named by the best"] > 0
        without = memory.recall(question, ALICE, limit=2, off=["graph"])
        assert "payments-api" not in {item.id for item in without.memories}

    @pytest.mark.parametrize("name", ["payments-api", "blue whale"])
    def test_a_stated_relation_leads_to_who_mentions_it(self, memory: Memory, name: str) -> None:
        """Found by rules or by the words themselves."""
        memory.notes.save(ALICE, f"The {name} wants a duty phone at any hour.", note_id="right")
        memory.notes.save(ALICE, "The night rollout is run by the crew.", relates=[("on", name)])
        filler(memory)
        memory.catch_up()
        found = memory.recall("Who runs the night rollout?", ALICE, limit=2, off=["semantic"])
        assert "right" in {item.id for item in found.memories}

    def test_a_relation_that_does_not_hold_is_not_followed(self, memory: Memory) -> None:
        """Neither one of a hidden note, nor one to a hidden note, nor the one to what it replaced."""
        memory.notes.save(ALICE, "Escalate to the duty phone.", note_id="old")
        memory.notes.save(ALICE, "The night rollout is run by the crew.", supersedes=["old"])
        memory.facts.set(ALICE, "payments-api", "At any hour.")
        memory.notes.save(
            ALICE, "The night rollout is run by us.", status="rejected", relates=[("on", "payments-api")]
        )
        memory.catch_up()
        found = memory.recall("Who runs the night rollout?", ALICE, off=["semantic"])
        assert [item.text for item in found.memories] == ["The night rollout is run by the crew."]

    def test_a_thing_that_many_share_is_not_followed(self, memory: Memory) -> None:
        """What everybody relates to leads nowhere."""
        with memory.batch():
            for number in range(graph.STEP_OUT + 1):
                memory.notes.save(ALICE, f"Number {number}", relates=[("on", "payments-api")])
        memory.notes.save(ALICE, "The night rollout is run by the crew.", relates=[("on", "payments-api")])
        memory.catch_up()
        found = memory.recall("Who runs the night rollout?", ALICE, off=["semantic"])
        assert len(found.memories) == 1

    def test_by_another_name(self, memory: Memory) -> None:
        """A question finds what is said under either name, and a step leads to what bears the other."""
        memory.notes.save(
            ALICE, "x", note_id="n1", relates=[("alias", "payments-api"), ("alias", "pay desk")]
        )
        memory.facts.set(ALICE, "payments-api", "Drained at night.")
        memory.threads.create(ALICE, thread_id="t")
        memory.messages.save("t", "Ask the pay desk, says Noor.", message_id="m1")
        filler(memory)
        memory.catch_up()
        off = ["semantic", "time"]
        for question in ("payments-api", "the pay desk"):
            found = {item.id: item for item in memory.recall(question, ALICE, off=off).memories}
            assert {"payments-api", "m1", "n1"} <= found.keys(), question
            assert all("graph" in found[name].channels for name in ("payments-api", "n1")), question
        stepped = {item.id for item in memory.recall("what says Noor", ALICE, off=off).memories}
        assert "payments-api" in stepped
        memory.notes.set_status("n1", "rejected")
        memory.catch_up()
        found = {item.id: item for item in memory.recall("the pay desk", ALICE, off=off).memories}
        assert "payments-api" not in found


def filler(memory: Memory) -> None:
    """Add what is in the way of a good answer."""
    with memory.batch():
        for number in range(40):
            memory.facts.set(ALICE, f"Person {number}", f"Came from town {number} and went to school there.")


@pytest.mark.parametrize(
    ("text", "name", "held"),
    [
        ("The Pay  Desk's slow.", "pay desk", True),
        ("pay\ndesk", "pay desk", True),
        ("(pay desk)", "pay desk", True),
        ("prepay desk, pay desks", "pay desk", False),
        ("pay", "pay desk", False),
        ("", "pay desk", False),
        ("a b c d e f g", "a b c d e f", True),
        ("a b c d e f g", "a b c d e f g", False),
    ],
)
def test_a_text_holds_a_name_as_whole_words(text: str, name: str, held: bool) -> None:
    """In any case and across lines; names of more than six words are not looked for."""
    assert graph.holds(text, name) is held
