"""The demo: a team's incident is written, folded by a real worker, recalled and audited."""

from __future__ import annotations

import json
import shutil
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import timedelta
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from foldlog import composition
from foldlog.cli.history import lines as history_lines
from foldlog.embedded import Home
from foldlog.embedded.removal import in_use, remove
from foldlog.errors import FoldlogError, ServerError
from foldlog.memory import Memory
from foldlog.settings import Settings, load
from foldlog.status import status
from foldlog.workers import supervisor

PREFIX: Final = "foldlog-demo-"

#: Seconds the worker may take to start and to fold the sample.
PATIENCE: Final = 60.0


def run() -> int:
    """Run the demo in a temporary folder; afterwards nothing is left of it."""
    _sweep()
    sample = json.loads(files("foldlog.demo").joinpath("incident.json").read_text(encoding="utf-8"))
    with _folder() as folder:
        settings = replace(load(), log=folder / "memory.db", name="demo")
        with composition.open_memory(settings=settings) as memory, _running(settings):
            position = _write(memory, sample)
            print(f"written: {position} events in {settings.log.name}, the SQLite log")
            memory.wait_for(position, PATIENCE)
            print("folded: by a worker process, into Postgres")
            _recall(memory, sample)
            _audit(memory, settings, sample)
    return 0


def _write(memory: Memory, sample: dict[str, Any]) -> int:
    namespace, thread = sample["namespace"], sample["thread"]
    for fact in sample["facts"]:
        ttl = timedelta(milliseconds=fact["ttl"]) if "ttl" in fact else None
        memory.facts.set(namespace, fact["key"], fact["value"], ttl=ttl)
    memory.threads.create(namespace, thread_id=thread["id"], title=thread["title"])
    with memory.batch():
        for item in sample["messages"]:
            memory.messages.save(thread["id"], item["text"], author=item["author"], message_id=item["id"])
    with memory.batch():
        for note in sample["notes"]:
            memory.notes.save(
                namespace,
                note["body"],
                note_id=note["id"],
                author=note["author"],
                supersedes=note.get("supersedes", ()),
            )
    return memory.log.head()


def _recall(memory: Memory, sample: dict[str, Any]) -> None:
    for question in sample["questions"]:
        answer = memory.recall(question, sample["namespace"], limit=3)
        print(f"\nrecalled ({answer.status}): {question}")
        for item in answer.memories:
            speaker = f"{item.speaker}: " if item.speaker else ""
            print(f"  {item.score:5.2f}  {item.kind:<7}  {speaker}{item.text}")
        if answer.status != "ok":
            raise FoldlogError(f"the index did not answer: {answer.reason}")


def _audit(memory: Memory, settings: Settings, sample: dict[str, Any]) -> None:
    note = sample["audited_note"]
    print(f"\nhistory of note {note}")
    for line in history_lines(memory.history.note(note)):
        print(f"  {line}")
    report = memory.verify()
    found = status(settings, memory.log)
    print(f"\nlog: {report.events} events, hash chain {'intact' if report.ok else 'BROKEN'}")
    print(f"index: {found.index.state}, lag {found.index.lag_events}")
    if not report.ok or not found.fine:
        raise FoldlogError("; ".join(found.problems) or "the hash chain does not verify")


@contextmanager
def _running(settings: Settings) -> Iterator[None]:
    """Run servers and worker beside the block, as `foldlog up` does."""
    stop, ready = threading.Event(), threading.Event()
    failures: list[BaseException] = []

    def serve() -> None:
        try:
            supervisor.up(settings, ready=lambda _: ready.set(), stop=stop)
        except FoldlogError as error:
            failures.append(error)
            ready.set()

    thread = threading.Thread(target=serve, name="foldlog-up")
    thread.start()
    try:
        ready.wait()
        if failures:
            raise failures[0]
        yield
    finally:
        stop.set()
        thread.join()


@contextmanager
def _folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))
    try:
        yield folder
    finally:
        remove(Home.of(folder))
        shutil.rmtree(folder, ignore_errors=True)


def _sweep() -> None:
    """Stop the servers, and remove the folders, of demos that were killed."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with suppress(ServerError, OSError):
            home = Home.of(folder)
            if not in_use(home):
                remove(home)
                shutil.rmtree(folder)
