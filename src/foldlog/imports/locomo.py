"""Conversations in the format of the LoCoMo benchmark (snap-research/LoCoMo, `locomo10.json`).

A sample becomes the namespace `user:<sample_id>`; each of its sessions a thread, each turn a message.
The whole file is read and checked before anything is written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from foldlog.errors import InvalidInput
from foldlog.events.encoding import check_not_blank, check_text, parse
from foldlog.memory import Memory
from foldlog.names import check_name, check_namespace, format_namespace

_SESSION: Final = re.compile(r"session_([1-9][0-9]*)")
_DATE: Final = re.compile(
    r"(?P<hour>\d{1,2}):(?P<minute>\d\d) (?P<half>am|pm) on "
    r"(?P<day>\d{1,2}) (?P<month>[a-z]+), (?P<year>\d{4})",
    re.ASCII | re.IGNORECASE,
)
#: In English whatever the locale is.
_MONTHS: Final = (
    "january february march april may june july august september october november december"
).split()  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One message."""

    #: `<sample_id>/<dia_id>`.
    message_id: str
    author: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One thread."""

    #: `<sample_id>/session_<n>`.
    thread_id: str
    #: When all of it was said; the format knows no more.
    at: datetime
    turns: list[Turn]


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """One sample."""

    namespace: str
    sessions: list[Session]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What an import found, and what it wrote."""

    #: In the file.
    conversations: int
    threads: int
    messages: int
    #: Of the messages: written now (also as a new version of one that had another text), and not.
    new: int
    unchanged: int

    def as_dict(self) -> dict[str, int]:
        """Return the report as JSON."""
        return asdict(self)


def import_file(memory: Memory, path: Path) -> Report:
    """Import a file; a second time adds nothing. Raises InvalidInput, with nothing written."""
    return write(memory, read(path))


def read(path: Path) -> list[Conversation]:
    """Return the conversations of a file; raises InvalidInput that names the sample and the turn."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InvalidInput(str(path), f"cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InvalidInput(str(path), f"is not UTF-8 at byte {error.start}") from error
    samples = parse(text, str(path))
    if not isinstance(samples, list):
        raise InvalidInput(str(path), "must be a list of samples")
    found = [_conversation(sample, f"{path}: sample {number}") for number, sample in enumerate(samples, 1)]
    names = [item.namespace for item in found]
    for name in names:
        if names.count(name) > 1:
            raise InvalidInput(str(path), f"has the sample of {name} twice")
    return found


def write(
    memory: Memory,
    conversations: list[Conversation],
    *,
    progress: Callable[[int], None] = lambda messages: None,
) -> Report:
    """Write what was read, a session in one transaction; `progress` is told how many messages.

    Raises AlreadyExists when a thread or message has an id of these, and is another; the sessions
    before it are written.
    """
    threads = messages = new = 0
    for conversation in conversations:
        for session in conversation.sessions:
            new += _write(memory, conversation.namespace, session)
            threads, messages = threads + 1, messages + len(session.turns)
            progress(messages)
    return Report(
        conversations=len(conversations),
        threads=threads,
        messages=messages,
        new=new,
        unchanged=messages - new,
    )


def _write(memory: Memory, namespace: str, session: Session) -> int:
    """Write a session and return how many of its messages are new."""
    with memory.batch():
        memory.threads.create(namespace, thread_id=session.thread_id, occurred_at=session.at)
        receipts = [
            memory.messages.save(
                session.thread_id,
                turn.text,
                author=turn.author,
                message_id=turn.message_id,
                occurred_at=session.at,
            )
            for turn in session.turns
        ]
    return sum(receipt.created for receipt in receipts)


def _conversation(sample: Any, where: str) -> Conversation:
    sample_id = check_name(_get(sample, "sample_id", str, where), f"{where}: sample_id")
    where = f"{where} ({sample_id})"
    namespace = check_namespace(format_namespace("user", sample_id), where)
    content = _get(sample, "conversation", dict, where)
    numbers = sorted(int(found[1]) for key in content if (found := _SESSION.fullmatch(key)))
    # A session of which only the date is given has no turns: nothing was said that we could keep.
    sessions = [_session(content, number, sample_id, where) for number in numbers]
    _check_distinct(sessions, where)
    return Conversation(namespace=namespace, sessions=sessions)


def _session(content: dict[str, Any], number: int, sample_id: str, where: str) -> Session:
    name = f"session_{number}"
    date = _get(content, f"{name}_date_time", str, where)
    turns = _get(content, name, list, where)
    return Session(
        thread_id=check_name(f"{sample_id}/{name}", f"{where}: {name}"),
        at=_instant(date, f"{where}: {name}_date_time"),
        turns=[
            _turn(turn, sample_id, f"{where}: {name}, turn {place}") for place, turn in enumerate(turns, 1)
        ],
    )


def _turn(turn: Any, sample_id: str, where: str) -> Turn:
    dia_id = check_name(_get(turn, "dia_id", str, where), f"{where}: dia_id")
    where = f"{where} ({dia_id})"
    text = check_not_blank(_get(turn, "text", str, where), f"{where}: text")
    if turn.get("blip_caption"):
        caption = check_text(_get(turn, "blip_caption", str, where), f"{where}: blip_caption")
        text = f"{text} [image: {caption}]"
    return Turn(
        message_id=check_name(f"{sample_id}/{dia_id}", f"{where}: dia_id"),
        author=check_name(_get(turn, "speaker", str, where), f"{where}: speaker"),
        text=text,
    )


def _get(holder: Any, key: str, kind: type, where: str) -> Any:
    if not isinstance(holder, dict):
        raise InvalidInput(where, f"must be an object, not {type(holder).__name__}")
    if key not in holder:
        raise InvalidInput(where, f"has no {key}")
    if not isinstance(holder[key], kind):
        raise InvalidInput(
            f"{where}: {key}", f"must be of type {kind.__name__}, not {type(holder[key]).__name__}"
        )
    return holder[key]


def _check_distinct(sessions: list[Session], where: str) -> None:
    seen: dict[str, str] = {}
    for message_id, thread_id in _ids(sessions):
        if message_id in seen:
            raise InvalidInput(
                where, f"has the turn {message_id} in {seen[message_id]} and again in {thread_id}"
            )
        seen[message_id] = thread_id


def _ids(sessions: list[Session]) -> Iterator[tuple[str, str]]:
    for session in sessions:
        for turn in session.turns:
            yield turn.message_id, session.thread_id


def _instant(text: str, where: str) -> datetime:
    """Read `1:56 pm on 8 May, 2023` as UTC."""
    found = _DATE.fullmatch(text.strip())
    month = found["month"].lower() if found else ""
    hour = int(found["hour"]) if found else 0
    if found is None or month not in _MONTHS or not 1 <= hour <= 12:
        raise InvalidInput(where, f"must be like '1:56 pm on 8 May, 2023', not {text!r}")
    try:
        return datetime(
            int(found["year"]),
            _MONTHS.index(month) + 1,
            int(found["day"]),
            # Noon and midnight are the twelfth hour of their half.
            hour % 12 + (12 if found["half"].lower() == "pm" else 0),
            int(found["minute"]),
            tzinfo=UTC,
        )
    except ValueError as error:
        raise InvalidInput(where, f"is no date: {text!r} ({error})") from error
