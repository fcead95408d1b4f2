"""Log lines: one a record, constant messages, ids as fields, no secrets."""

from __future__ import annotations

import io
import json
import logging
import sys
import threading
import warnings
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest

from foldlog import logs
from foldlog.errors import SettingsError
from foldlog.settings import Settings

SECRET = Settings(
    database_url="postgresql://foldlog:s%2Fcret-one@db/foldlog",
    redis_url="redis://:secret-two@cache/0",
    embedding_key="sk-secret-three",
    log_format="json",
)


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    """What the loggers write to; afterwards they are as before."""
    root, hooks = logging.getLogger(), (sys.excepthook, threading.excepthook)
    handlers, levels = root.handlers[:], {name: logging.getLogger(name).level for name in ("", *logs.OURS)}
    yield io.StringIO()
    logging.captureWarnings(capture=False)
    sys.excepthook, threading.excepthook = hooks
    for handler in root.handlers[:]:
        root.removeHandler(handler)
    for handler in handlers:
        root.addHandler(handler)
    for name, level in levels.items():
        logging.getLogger(name).setLevel(level)


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_a_line_is_an_object(stream: io.StringIO) -> None:
    """Time in UTC, level, logger, process, message, and the fields."""
    logs.configure(SECRET, stream)
    extra = {"action": "worker_died", "code": -9, "seconds": 0.5, "text": "größer\n", "none": None}
    logging.getLogger("foldlog.workers.supervisor").warning("the worker died", extra=extra)
    (found,) = lines(stream)
    at = datetime.fromisoformat(found.pop("time"))
    assert at.utcoffset() is not None
    assert at.utcoffset().total_seconds() == 0  # type: ignore[union-attr]
    assert found.pop("pid") > 0
    assert found == {
        "level": "warning",
        "logger": "foldlog.workers.supervisor",
        "message": "the worker died",
        **extra,
    }


def test_a_field_takes_no_place_that_is_taken(stream: io.StringIO) -> None:
    """Whoever parses the lines can rely on what every line has."""
    logs.configure(SECRET, stream)
    logging.getLogger("foldlog").warning("m", extra={"level": "x", "logger": "y", "pid": "z", "time": "t"})
    (found,) = lines(stream)
    assert (found["level"], found["logger"]) == ("warning", "foldlog")
    assert (found["level_"], found["time_"]) == ("x", "t")


def test_an_exception_is_one_text(stream: io.StringIO) -> None:
    """So is what nobody caught, in the main thread or another one."""
    logs.configure(SECRET, stream)
    try:
        raise ValueError("no\nsuch thing")
    except ValueError:
        logging.getLogger("foldlog").exception("failed", extra={"action": "failed"})

    def fail() -> None:
        raise RuntimeError("in a thread")

    thread = threading.Thread(target=fail)
    thread.start()
    thread.join()
    first, second = lines(stream)
    assert first["exception"].startswith("Traceback")
    assert first["exception"].endswith("ValueError: no\nsuch thing")
    assert (second["level"], second["action"]) == ("critical", "crashed")
    assert second["exception"].endswith("RuntimeError: in a thread")


@pytest.mark.parametrize("form", ["json", "text"])
def test_no_line_holds_a_secret(stream: io.StringIO, form: str) -> None:
    """Whatever message, field or exception it got into, quoted or not."""
    from dataclasses import replace

    logs.configure(replace(SECRET, log_format=form), stream)
    logger = logging.getLogger("foldlog")
    logger.warning("at %s", SECRET.redis_url, extra={"url": SECRET.database_url, "deep": ["s/cret-one"]})
    try:
        raise ValueError(f"refused: {SECRET.embedding_key}")
    except ValueError:
        logger.exception("failed")
    text = stream.getvalue()
    assert "cret-" not in text
    assert text.count("***") == 4


def test_levels(stream: io.StringIO) -> None:
    """Of foldlog and its queue as it is set, of everything else only warnings."""
    from dataclasses import replace

    logs.configure(replace(SECRET, log_level="debug"), stream)
    logging.getLogger("foldlog.x").debug("one")
    logging.getLogger("dramatiq.y").debug("two")
    logging.getLogger("alembic").info("three")
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.warn("four", stacklevel=1)
    assert [item["message"][-4:].strip() for item in lines(stream)][:2] == ["one", "two"]
    assert len(lines(stream)) == 3
    logs.configure(replace(SECRET, log_level="error"), stream)
    logging.getLogger("foldlog.x").warning("five")
    assert len(lines(stream)) == 3


def test_text_for_a_person(stream: io.StringIO) -> None:
    """Fields stand behind the message, quoted where they need it."""
    logs.configure(Settings(log_format="text"), stream)
    logging.getLogger("foldlog.w").info("folded", extra={"events": 3, "why": "a b", "empty": ""})
    line = stream.getvalue()
    assert line.endswith(' folded events=3 why="a b" empty=""\n')
    assert " info     foldlog.w[" in line


def test_by_itself_it_is_json_for_whatever_is_no_terminal(
    stream: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A person reads a terminal, a program reads a pipe."""
    assert logs.resolve(Settings(), stream) == "json"
    monkeypatch.setattr(stream, "isatty", lambda: True)
    assert logs.resolve(Settings(), stream) == "text"
    assert logs.resolve(Settings(log_format="json"), stream) == "json"


@pytest.mark.parametrize("given", [{"log_format": "xml"}, {"log_level": "loud"}])
def test_a_wrong_setting_is_named(given: dict[str, str]) -> None:
    """With what it may be."""
    with pytest.raises(SettingsError, match=r"FOLDLOG_LOG_\w+ must be one of"):
        Settings(**given)  # type: ignore[arg-type]
