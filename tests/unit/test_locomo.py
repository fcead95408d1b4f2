"""The LoCoMo import: what becomes of a file, and what is refused before anything is written."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from foldlog import Memory
from foldlog.errors import AlreadyExists, InvalidInput
from foldlog.events.encoding import instant
from foldlog.imports import locomo

SAMPLE = Path(__file__).parents[1] / "data/locomo_sample.json"


def turn(samples: Any, number: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = samples[0]["conversation"]["session_1"][number]
    return found


def test_a_sample_becomes_threads_and_messages(memory: Memory) -> None:
    """A session is a thread, a turn a message; a session of which only the date is known is left out."""
    report = locomo.import_file(memory, SAMPLE)
    assert report == locomo.Report(conversations=2, threads=4, messages=8, new=8, unchanged=0)
    threads = memory.threads.list()
    assert [(item.thread_id, item.namespace, item.messages) for item in threads] == [
        ("harbour-1/session_1", "user:harbour-1", 3),
        ("harbour-1/session_2", "user:harbour-1", 2),
        ("harbour-1/session_10", "user:harbour-1", 1),
        ("orchard:2/session_1", "user:orchard%3A2", 2),
    ]
    said = memory.messages.list("harbour-1/session_1")
    assert [(item.message_id, item.author) for item in said] == [
        ("harbour-1/D1:1", "Ines"),
        ("harbour-1/D1:2", "Tomas"),
        ("harbour-1/D1:3", "Ines"),
    ]


def test_a_caption_is_part_of_the_text(memory: Memory) -> None:
    """What a picture shows can be found; an empty caption adds nothing."""
    locomo.import_file(memory, SAMPLE)
    shown, plain = memory.messages.get("harbour-1/D1:2"), memory.messages.get("harbour-1/D2:2")
    assert shown is not None
    assert shown.text.endswith("runs until one. [image: a yellow tram in the rain]")
    assert plain is not None
    assert plain.text.endswith("the third one stands.")


@pytest.mark.parametrize(
    ("thread", "expected"),
    [
        ("harbour-1/session_1", datetime(2024, 3, 3, 0, 5, tzinfo=UTC)),
        ("harbour-1/session_2", datetime(2024, 3, 14, 12, 30, tzinfo=UTC)),
        ("harbour-1/session_10", datetime(2024, 4, 1, 8, 15, tzinfo=UTC)),
        ("orchard:2/session_1", datetime(2024, 2, 29, 18, 40, tzinfo=UTC)),
    ],
)
def test_a_message_happened_when_its_session_did(memory: Memory, thread: str, expected: datetime) -> None:
    """Dates are read as UTC, whatever the locale; noon and midnight are the twelfth hour."""
    locomo.import_file(memory, SAMPLE)
    assert {instant(item.created_at) for item in memory.messages.list(thread)} == {expected}


def test_twice_adds_nothing(memory: Memory) -> None:
    """The ids are those of the file, so a repeat is recognised, and said."""
    locomo.import_file(memory, SAMPLE)
    head = memory.log.head()
    assert locomo.import_file(memory, SAMPLE).unchanged == 8
    assert memory.log.head() == head


def test_a_text_that_changed_is_a_new_version(memory: Memory, tmp_path: Path) -> None:
    """A corrected file can be imported over the first one."""
    locomo.import_file(memory, SAMPLE)
    samples = json.loads(SAMPLE.read_text())
    turn(samples)["text"] = "I took the tram home."
    changed = tmp_path / "changed.json"
    changed.write_text(json.dumps(samples))
    report = locomo.import_file(memory, changed)
    assert (report.new, report.unchanged) == (1, 7)


def test_a_session_is_written_whole_or_not_at_all(memory: Memory) -> None:
    """An id that is taken stops the import with an error; what it says of the session before stands."""
    memory.threads.create("user:other", thread_id="t")
    memory.messages.save("t", "mine", message_id="harbour-1/D2:2")
    with pytest.raises(AlreadyExists, match="harbour-1/D2:2"):
        locomo.import_file(memory, SAMPLE)
    assert [item.thread_id for item in memory.threads.list("user:harbour-1")] == ["harbour-1/session_1"]


def test_progress_is_told(memory: Memory) -> None:
    """After each session, how many messages are done."""
    seen: list[int] = []
    locomo.write(memory, locomo.read(SAMPLE), progress=seen.append)
    assert seen == [3, 5, 6, 8]


def change(path: str, value: Any) -> Callable[[Any], None]:
    """Return a change of one field of the first sample; `...` removes it."""

    def apply(samples: Any) -> None:
        *way, last = path.split(".")
        holder = samples[0]
        for part in way:
            holder = holder[int(part) if part.isdigit() else part]
        if value is ...:
            del holder[last]
        else:
            holder[last] = value

    return apply


FIRST = "conversation.session_1.1"

BROKEN = {
    "no sample id": (change("sample_id", ...), r"sample 1: has no sample_id"),
    "sample id": (change("sample_id", " x "), r"sample 1: sample_id: must not start or end with white space"),
    "no conversation": (change("conversation", ...), r"sample 1 \(harbour-1\): has no conversation"),
    "conversation": (change("conversation", []), r"conversation: must be of type dict, not list"),
    "no date": (
        change("conversation.session_1_date_time", ...),
        r"sample 1 \(harbour-1\): has no session_1_date_time",
    ),
    "date": (
        change("conversation.session_1_date_time", "2024-03-03"),
        r"must be like '1:56 pm on 8 May, 2023'",
    ),
    "month": (change("conversation.session_1_date_time", "1:56 pm on 8 Mai, 2023"), r"not '1:56 pm on 8 Mai"),
    "hour": (
        change("conversation.session_1_date_time", "13:56 pm on 8 May, 2023"),
        r"session_1_date_time: must",
    ),
    "day": (change("conversation.session_1_date_time", "1:56 pm on 31 June, 2023"), r"is no date: '1:56 pm"),
    "session": (change("conversation.session_1", "x"), r"session_1: must be of type list, not str"),
    "no dia_id": (change(f"{FIRST}.dia_id", ...), r"\(harbour-1\): session_1, turn 2: has no dia_id"),
    "dia_id": (change(f"{FIRST}.dia_id", 7), r"session_1, turn 2: dia_id: must be of type str, not int"),
    "double dia_id": (
        change(f"{FIRST}.dia_id", "D2:1"),
        r"has the turn harbour-1/D2:1 in .*session_1 and again",
    ),
    "no text": (change(f"{FIRST}.text", ...), r"session_1, turn 2 \(D1:2\): has no text"),
    "blank text": (change(f"{FIRST}.text", " \n"), r"session_1, turn 2 \(D1:2\): text: must not be blank"),
    "half text": (
        change(f"{FIRST}.text", "\ud800"),
        r"turn 2 \(D1:2\): text: holds half of a surrogate pair",
    ),
    "no speaker": (change(f"{FIRST}.speaker", ...), r"turn 2 \(D1:2\): has no speaker"),
    "speaker": (change(f"{FIRST}.speaker", ""), r"turn 2 \(D1:2\): speaker: must not be empty"),
    "caption": (change(f"{FIRST}.blip_caption", ["x"]), r"blip_caption: must be of type str, not list"),
    "turn": (change("conversation.session_1", ["x"]), r"session_1, turn 1: must be an object, not str"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_refused_whole(memory: Memory, tmp_path: Path, name: str) -> None:
    """One line says what is wrong in which sample and turn, and nothing is written, of no sample."""
    samples = json.loads(SAMPLE.read_text())
    # Behind a sample in order, which must not be written either.
    samples.insert(0, copy.deepcopy(samples[1]))
    samples[0]["sample_id"] = "fine"
    apply, expected = BROKEN[name]
    apply(samples[1:])
    path = tmp_path / "broken.json"
    path.write_text(json.dumps(samples))
    with pytest.raises(InvalidInput, match=expected.replace("sample 1", "sample 2")) as found:
        locomo.import_file(memory, path)
    assert str(found.value).startswith(str(path))
    assert "\n" not in str(found.value)
    assert memory.log.head() == 0


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "is not JSON that can be stored"),
        (b"{", "is not JSON that can be stored"),
        (b'{"a": 1, "a": 2}', "the key 'a' stands twice"),
        (b"{}", "must be a list of samples"),
        (b"[1]", "sample 1: must be an object, not int"),
        (b'["\xff"]', "is not UTF-8 at byte 2"),
    ],
)
def test_another_file_is_refused(tmp_path: Path, content: bytes, expected: str) -> None:
    """What is not in the format at all is named for what it is."""
    path = tmp_path / "other.json"
    path.write_bytes(content)
    with pytest.raises(InvalidInput, match=expected):
        locomo.read(path)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    """The error names the path."""
    with pytest.raises(InvalidInput, match=r"absent\.json: cannot be read: No such file"):
        locomo.read(tmp_path / "absent.json")


def test_a_sample_that_stands_twice_is_refused(tmp_path: Path) -> None:
    """Two samples of one name would be mixed into one."""
    samples = json.loads(SAMPLE.read_text())
    path = tmp_path / "double.json"
    path.write_text(json.dumps([samples[0], samples[0]]))
    with pytest.raises(InvalidInput, match="has the sample of user:harbour-1 twice"):
        locomo.read(path)
