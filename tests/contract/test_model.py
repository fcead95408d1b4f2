"""The whole contract at random against a model in plain dicts, under a clock that also steps back."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from fixtures._model import Model, Told
from fixtures.logs import NOON, Clock
from foldlog import Memory, composition
from foldlog.errors import FoldlogError
from foldlog.events import reader
from foldlog.memory.as_of import Past
from foldlog.memory.writer import Receipt
from foldlog.projections.local import private
from foldlog.settings import Settings

SPACES = ("agent:a", "user:alice")

# Few names, so that changes meet; mostly of one namespace.
spaces, keys = st.sampled_from([SPACES[1], SPACES[1], SPACES[0]]), st.just("k")
threads = st.sampled_from(["t1", "t2"])
messages = st.sampled_from(["m1", "m2"])
notes = st.sampled_from(["n1", "n2", "n3"])
texts = st.sampled_from(["r1", "r2", "r3"])
documents = st.sampled_from([None, "d1", "d2"])
values = st.sampled_from(["word one", "word two", None, 7, [1, {"a": None}]])
words = st.sampled_from(["word one", "word two"])
statuses = st.sampled_from(["accepted", "accepted", "pending", "rejected"])
spans = st.sampled_from([None, 10, 10, 1000])
#: What a compare-and-set expects: nothing, what is there, no fact, or something else.
expectations = st.sampled_from([None, None, "right", 0, 1, 2])
allowances = st.sampled_from([(), ("missing",), ("missing",), ("fork", "missing", "other_namespace")])


def read(memory: Memory | Past) -> dict[str, Any]:
    """Return what the model's `view` returns, by the readers."""
    notes = [note for space in SPACES for note in _all_notes(memory, space)]
    notes.sort(key=lambda note: note.memory_id)
    retained = [item for space in SPACES for item in memory.retained.list(space)]
    retained.sort(key=lambda item: item.memory_id)
    shown = {note.note_id for space in SPACES for note in memory.notes.list(space)}
    return {
        "facts": {
            (fact.namespace, fact.key): {
                "value": fact.value,
                "version": fact.version,
                "created": fact.created_at,
                "updated": fact.updated_at,
                "expires": fact.expires_at,
            }
            for fact in memory.facts.list()
        },
        "threads": {thread.thread_id: _thread(memory, thread) for thread in memory.threads.list()},
        "notes": {
            note.note_id: {
                "namespace": note.namespace,
                "body": note.body,
                "status": note.status,
                "supersedes": sorted(note.supersedes),
                "created": note.created_at,
                "changed": note.status_changed_at,
                "by": sorted(note.superseded_by),
            }
            for note in notes
        },
        "shown": [note.note_id for note in notes if note.note_id in shown],
        "primers": {
            (primer.namespace, primer.name): {
                "text": primer.text,
                "version": primer.version,
                "created": primer.created_at,
                "updated": primer.updated_at,
            }
            for space in SPACES
            for primer in memory.primers.list(space)
        },
        "retained": {
            item.retained_id: {
                "namespace": item.namespace,
                "content": item.content,
                "document": item.document,
                "created": item.created_at,
            }
            for item in retained
        },
    }


def _all_notes(memory: Memory | Past, space: str) -> list[Any]:
    return list(memory.notes.list(space, status="any", include_superseded=True))


def _thread(memory: Memory | Past, thread: Any) -> dict[str, Any]:
    found = memory.messages.list(thread.thread_id)
    assert thread.messages == len(found)
    return {
        "namespace": thread.namespace,
        "title": thread.title,
        "created": thread.created_at,
        "updated": thread.updated_at,
        "last": thread.last_ordinal,
        "messages": [
            {
                "id": item.message_id,
                "thread": item.thread_id,
                "ordinal": item.ordinal,
                "created": item.created_at,
                "role": item.role,
                "content": item.content,
                "updated": item.updated_at,
            }
            for item in found
        ],
    }


def _rows(connection: sqlite3.Connection, table: str) -> list[Any]:
    return sorted(connection.execute(f"SELECT * FROM {table}").fetchall(), key=repr)


@cache
def _empty_log() -> bytes:
    """Return the file of a new log: to migrate one for each example would take most of the time."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "memory.db"
        composition.open_memory(settings=Settings(log=path)).close()
        return path.read_bytes()


class Contract(RuleBasedStateMachine):
    """Each rule asks memory and the model the same, and expects the same answer."""

    @initialize()
    def begin(self) -> None:
        self.folder = TemporaryDirectory()
        self.clock = Clock()
        self.model = Model(NOON)
        path = Path(self.folder.name) / "memory.db"
        path.write_bytes(_empty_log())
        given = Settings(log=path, database_url="postgresql://nobody@/none?host=/nowhere")
        self.memory = composition.open_memory(settings=given, clock=self.clock)
        # Nothing here is about power cuts, and waiting for the disk would take most of the time.
        self.memory.log._connection("writer").execute("PRAGMA synchronous = OFF")
        #: Position -> what could be read when it was the last one.
        self.then: dict[int, dict[str, Any]] = {0: self.model.view()}

    def ask(self, expected: Told, command: Callable[[], Receipt]) -> None:
        """Hold a command against what the model said of it."""
        outcome, count = expected
        receipt: Receipt | None = None
        told: str | type[Exception]
        try:
            receipt = command()
            told = receipt.outcome
        except FoldlogError as error:
            told = type(error)
        assert told == outcome
        if receipt is not None and outcome == "appended":
            assert (receipt.position, receipt.count) == (self.model.head, count)
        self.keep()

    def keep(self) -> None:
        assert self.memory.log.head() == self.model.head
        self.then.setdefault(self.model.head, self.model.view())

    def _expected(self, expected: Any, there: dict[str, Any] | None) -> int | None:
        return (there["version"] if there else 0) if expected == "right" else expected

    def time_passes(self, span: int) -> None:
        self.clock.pass_ms(span)
        self.model.now = self.clock.now

    # Twice, and by what a ttl is too: so that something is always about to end.
    sooner_or_later = rule(span=st.sampled_from([1, 10, 11, 1000, -1, -10, -1000]))(time_passes)
    a_ttl_later = rule(span=st.just(10))(time_passes)

    @invariant()
    def readers_see_what_the_model_has(self) -> None:
        if hasattr(self, "memory"):
            assert read(self.memory) == self.model.view()

    def teardown(self) -> None:
        if not hasattr(self, "memory"):
            return
        with self.folder, self.memory:
            for position, view in self.then.items():
                assert read(self.memory.as_of(position)) == view
            events = [event for page in reader.pages(self.memory.log) for event in page]
            with self.memory.log.read() as log, private.folded(log, events) as folded:
                for table in private.TABLES:
                    assert _rows(folded, table) == _rows(log, table), table
            assert self.memory.verify().ok


class Facts(Contract):
    """Facts, by themselves."""

    @rule(space=spaces, key=keys, value=values, ttl=spans, expected=expectations)
    def set_fact(self, space: str, key: str, value: Any, ttl: int | None, expected: Any) -> None:
        version = self._expected(expected, self.model.fact(space, key))
        self.ask(
            self.model.set_fact(space, key, value, ttl, version),
            lambda: self.memory.facts.set(space, key, value, ttl=ttl, expected_version=version),
        )

    @rule(space=spaces, key=keys, expected=expectations)
    def delete_fact(self, space: str, key: str, expected: Any) -> None:
        version = self._expected(expected, self.model.fact(space, key))
        self.ask(
            self.model.delete_fact(space, key, version),
            lambda: self.memory.facts.delete(space, key, expected_version=version),
        )

    @rule()
    def collect(self) -> None:
        assert self.memory.facts.collect() == self.model.collect()
        self.keep()

    @rule(space=spaces, key=keys)
    def a_batch_that_fails(self, space: str, key: str) -> None:
        """None of it happened."""
        try:
            with self.memory.batch():
                self.memory.facts.set(space, key, "never")
                self.memory.facts.set(space, key, "never", expected_version=99)
        except FoldlogError:
            pass
        else:
            raise AssertionError("a compare-and-set with a version that never was")
        self.keep()


class Threads(Contract):
    """Threads and their messages."""

    @rule(thread=threads, space=spaces, title=st.sampled_from([None, "a title"]))
    def create_thread(self, thread: str, space: str, title: str | None) -> None:
        self.ask(
            self.model.create_thread(thread, space, title),
            lambda: self.memory.threads.create(space, thread_id=thread, title=title),
        )

    @rule(thread=threads)
    def delete_thread(self, thread: str) -> None:
        self.ask(self.model.delete_thread(thread), lambda: self.memory.threads.delete(thread))

    @rule(thread=threads, message=messages, role=st.sampled_from(["user", "assistant"]), content=words)
    def save_message(self, thread: str, message: str, role: str, content: str) -> None:
        self.ask(
            self.model.save_message(thread, message, role, content),
            lambda: self.memory.messages.save(thread, content, message_id=message, role=role),
        )

    @rule(thread=threads, found=st.lists(messages))
    def delete_messages(self, thread: str, found: list[str]) -> None:
        self.ask(
            self.model.delete_messages(thread, found), lambda: self.memory.messages.delete(thread, found)
        )


class Notes(Contract):
    """Notes, their statuses, and which supersede which."""

    @rule(
        note=notes,
        space=spaces,
        body=words,
        status=statuses,
        old=st.lists(notes, max_size=2, unique=True),
        allow=allowances,
    )
    def save_note(
        self, note: str, space: str, body: str, status: str, old: list[str], allow: tuple[str, ...]
    ) -> None:
        self.ask(
            self.model.save_note(note, space, body, status, old, allow),
            lambda: self.memory.notes.save(
                space,
                body,
                note_id=note,
                status=status,
                supersedes=old,
                **{f"allow_{name}": True for name in allow},
            ),
        )

    @rule(note=notes, status=statuses, fork=st.booleans())
    def set_status(self, note: str, status: str, fork: bool) -> None:
        self.ask(
            self.model.set_status(note, status, ["fork"] if fork else []),
            lambda: self.memory.notes.set_status(note, status, allow_fork=fork),
        )


class Primers(Contract):
    """Primers."""

    @rule(space=spaces, key=keys, text=words, expected=expectations)
    def set_primer(self, space: str, key: str, text: str, expected: Any) -> None:
        version = self._expected(expected, self.model.primers.get((space, key)))
        self.ask(
            self.model.set_primer(space, key, text, version),
            lambda: self.memory.primers.set(space, key, text, expected_version=version),
        )

    @rule(space=spaces, key=keys, expected=expectations)
    def delete_primer(self, space: str, key: str, expected: Any) -> None:
        version = self._expected(expected, self.model.primers.get((space, key)))
        self.ask(
            self.model.delete_primer(space, key, version),
            lambda: self.memory.primers.delete(space, key, expected_version=version),
        )


class Texts(Contract):
    """Retained texts and their documents."""

    @rule(name=texts, space=spaces, content=words, document=documents, replace=st.booleans())
    def retain(self, name: str, space: str, content: str, document: str | None, replace: bool) -> None:
        replace = replace and document is not None
        self.ask(
            self.model.retain(name, space, content, document, replace),
            lambda: self.memory.retained.add(
                space, content, retained_id=name, document=document, replace=replace
            ),
        )

    @rule(name=texts)
    def delete_retained(self, name: str) -> None:
        self.ask(self.model.delete_retained(name), lambda: self.memory.retained.delete(name))

    @rule(space=spaces, document=st.sampled_from(["d1", "d2"]))
    def delete_document(self, space: str, document: str) -> None:
        self.ask(
            self.model.delete_document(space, document),
            lambda: self.memory.retained.delete_document(space, document),
        )


class Everything(Facts, Threads, Notes, Primers, Texts):
    """All of it in one log."""


def _test(machine: type[Contract], examples: int) -> Any:
    test = machine.TestCase
    test.settings = settings(max_examples=examples, stateful_step_count=50, deadline=None)
    return test


TestFacts = _test(Facts, 30)
TestThreads = _test(Threads, 40)
TestNotes = _test(Notes, 40)
TestPrimers = _test(Primers, 8)
TestTexts = _test(Texts, 12)
TestEverything = _test(Everything, 15)
