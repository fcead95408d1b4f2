"""What the long-running commands say on stderr: one line a record, as text for a person or as JSON.

A message is constant; what differs from one record to the next stands in fields, given by `extra`.
"""

from __future__ import annotations

import json
import logging
import sys
import threading
from dataclasses import fields
from datetime import UTC, datetime
from typing import Any, Final, TextIO
from urllib.parse import parse_qsl, unquote, urlsplit

from foldlog.settings import JSON, TEXT, Settings

#: Loggers that follow FOLDLOG_LOG_LEVEL; of everything else only warnings are of interest.
OURS: Final = ("foldlog", "dramatiq")

#: Stands for a secret.
MASK: Final = "***"

#: A shorter password is left alone: it would blank out parts of words.
SHORTEST_SECRET: Final = 4

#: What every record has; whatever else it has came from `extra`.
_USUAL: Final = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName"}


def configure(settings: Settings, stream: TextIO | None = None) -> None:
    """Let all loggers of this process write to `stream`, stderr unless given."""
    target = stream or sys.stderr
    formatter = JsonFormatter if resolve(settings, target) == JSON else TextFormatter
    handler = logging.StreamHandler(target)
    handler.setFormatter(formatter(secrets_of(settings)))
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    for name in OURS:
        logging.getLogger(name).setLevel(settings.log_level.upper())
    logging.captureWarnings(capture=True)
    sys.excepthook = _uncaught
    threading.excepthook = _uncaught_in_thread


def resolve(settings: Settings, stream: TextIO | None = None) -> str:
    """Return the format, `text` or `json`: by itself JSON for everything that is no terminal."""
    if settings.log_format in {TEXT, JSON}:
        return settings.log_format
    return TEXT if (stream or sys.stderr).isatty() else JSON


def secrets_of(settings: Settings) -> frozenset[str]:
    """Return what must not stand in any line: the passwords of the addresses, and the keys."""
    found: set[str] = set()
    for item in fields(settings):
        value = getattr(settings, item.name) if item.metadata["secret"] else None
        if value is not None:
            found |= {value} if "://" not in value else _passwords(value)
    return frozenset(text for text in found if len(text) >= SHORTEST_SECRET)


def _passwords(url: str) -> set[str]:
    """Return the passwords of an address, as they stand in it and as they are meant."""
    parts = urlsplit(url)
    given = [parts.password or "", *(value for key, value in parse_qsl(parts.query) if "pass" in key)]
    return {text for word in given for text in (word, unquote(word))}


class _Formatter(logging.Formatter):
    def __init__(self, secrets: frozenset[str]) -> None:
        super().__init__()
        # The longest first: one may be a part of another.
        self._secrets = sorted(secrets, key=len, reverse=True)

    def clean(self, text: str) -> str:
        """Return text without the secrets."""
        for secret in self._secrets:
            text = text.replace(secret, MASK)
        return text

    def message(self, record: logging.LogRecord) -> str:
        return self.clean(record.getMessage())

    def fields(self, record: logging.LogRecord) -> dict[str, Any]:
        """Return what the caller added; whatever is no number is text."""
        return {
            name: value if isinstance(value, int | float | None) else self.clean(str(value))
            for name, value in record.__dict__.items()
            if name not in _USUAL
        }

    def trace(self, record: logging.LogRecord) -> str:
        """Return the exception, and where it came from, as one text; empty without one."""
        parts = [self.formatException(record.exc_info)] if record.exc_info and record.exc_info[0] else []
        parts += [record.stack_info] if record.stack_info else []
        return self.clean("\n".join(parts))


class JsonFormatter(_Formatter):
    """One JSON object a line, in ASCII: time, level, logger, pid, message, the fields, the exception."""

    def format(self, record: logging.LogRecord) -> str:
        """Return a record as JSON."""
        found: dict[str, Any] = {
            "time": _time(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "pid": record.process,
            "message": self.message(record),
        }
        trace = self.trace(record)
        if trace:
            found["exception"] = trace
        # A field never takes the place of what every line has.
        found |= {f"{name}_" if name in found else name: value for name, value in self.fields(record).items()}
        return json.dumps(found)


class TextFormatter(_Formatter):
    """The same for a person: the time, what every line has, and the fields as `name=value`."""

    def format(self, record: logging.LogRecord) -> str:
        """Return a record as text."""
        fields = "".join(f" {name}={_value(value)}" for name, value in self.fields(record).items())
        head = f"{_time(record)} {record.levelname.lower():<8} {record.name}[{record.process}]"
        trace = self.trace(record)
        return f"{head} {self.message(record)}{fields}" + (f"\n{trace}" if trace else "")


def _time(record: logging.LogRecord) -> str:
    at = datetime.fromtimestamp(record.created, UTC)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _value(value: object) -> str:
    text = str(value)
    plain = text.isascii() and text.isprintable() and text and not set(text) & set(' "=')
    return text if plain else json.dumps(text)


def _uncaught(kind: type[BaseException], error: BaseException, trace: Any) -> None:
    logging.getLogger("foldlog").critical(
        "an error that nobody expected", exc_info=(kind, error, trace), extra={"action": "crashed"}
    )


def _uncaught_in_thread(found: threading.ExceptHookArgs) -> None:
    if found.exc_value is not None:
        _uncaught(found.exc_type, found.exc_value, found.exc_traceback)
