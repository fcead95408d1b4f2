"""Files, hosts and versions: pieces with slashes, dots and ports."""

from __future__ import annotations

import re
from typing import Final

from foldlog.projections.extraction.lists import (
    DOMAINS,
    DOTTED_WORDS,
    FILE_ENDINGS,
    FILE_NAMES,
    FOLDERS,
    SERVICES,
    WORD_ENDINGS,
)
from foldlog.projections.extraction.mention import folded
from foldlog.projections.extraction.symbols import as_dotted_symbol

_LINE: Final = re.compile(r"(?::\d+)+$")
_ROOTED: Final = re.compile(r"(?:[A-Za-z]:)?[/\\]|~[/\\]|\.{1,2}[/\\]")
_SAFE_PATH: Final = re.compile(r"[\w.~@+%:/\\-]+")
_ADDRESS: Final = re.compile(r"(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})(?::(\d{1,5}))?")
_PORT: Final = re.compile(r"([A-Za-z][\w.-]*):(\d{2,5})")
_NUMBERS: Final = re.compile(
    r"[vV]?(\d{1,4}(?:\.\d{1,8}){1,3}(?:[-+.]?(?:alpha|beta|rc|dev|post|a|b)[.-]?\d*)?(?:[-+][0-9A-Za-z.-]+)?)"
)
_HOST: Final = re.compile(
    r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)+", re.IGNORECASE
)
_LETTER: Final = re.compile(r"[^\W\d_]")
_LARGEST_PORT: Final = 65_535
_FIRST_USER_PORT: Final = 1_024


def as_path(piece: str) -> tuple[str, str] | None:
    """Return a piece with slashes as a file; not `and/or`, `24/7`, `TCP/IP` or `1/2`."""
    path = _LINE.sub("", piece)
    if not _SAFE_PATH.fullmatch(path) or not _LETTER.search(path) or "//" in path:
        return None
    parts = [part for part in re.split(r"[/\\]", path) if part not in ("", ".", "..", "~")]
    if not parts:
        return None
    if "." in parts[0] and path[0] not in "./~" and _is_host(folded(parts[0])):
        return "url", folded(f"https://{path}").rstrip("/")
    ends_as_file = _is_file_name(parts[-1])
    rooted = _ROOTED.match(path) is not None
    # A single word after a slash is a command of a chat: `/help`.
    if rooted and (len(parts) > 1 or ends_as_file or path[0] in "~."):
        return "file", _canonical_path(path)
    if ends_as_file or (parts[0].casefold() in FOLDERS and len(parts) + path.endswith("/") > 1):
        return "file", _canonical_path(path)
    if path.endswith("/") and len(parts) > 1:
        return "file", _canonical_path(path)
    return None


def _canonical_path(path: str) -> str:
    return folded(path.replace("\\", "/").removeprefix("./")).rstrip("/")


def _is_file_name(name: str) -> bool:
    folded_name = folded(name)
    if folded_name in FILE_NAMES:
        return True
    stem, dot, ending = folded_name.rpartition(".")
    if not dot or ending not in FILE_ENDINGS or not _LETTER.search(stem):
        return False
    # `main.c`, not `a.k.a`.
    return len(ending) > 1 or len(stem.rpartition(".")[2]) > 1


def as_port(piece: str) -> tuple[str, str] | None:
    """Return `localhost`, an IPv4 address or `host:port` as a host, under its name without the port."""
    if match := _ADDRESS.fullmatch(piece):
        if all(int(part) <= 255 for part in match.groups()[:4]):
            return "host", ".".join(match.groups()[:4])
        return None
    match = _PORT.fullmatch(piece)
    if match is None or _is_file_name(match[1]) or int(match[2]) > _LARGEST_PORT:
        return None
    # `step:12` is no host; a name with a dot, a hyphen or a digit, or a port of a service, is one.
    plain = match[1].isalpha() and match[1] != "localhost"
    return None if plain and int(match[2]) < _FIRST_USER_PORT else ("host", folded(match[1]))


def as_dotted(piece: str) -> tuple[str, str] | None:
    """Return a piece with dots as version, file, host or symbol."""
    if match := _NUMBERS.fullmatch(piece):
        # `3.11` alone is any number; a version has two dots or a `v`.
        return ("version", folded(match[1])) if piece[0] in "vV" or match[1].count(".") > 1 else None
    lower = folded(piece)
    if lower in DOTTED_WORDS:
        return None
    if lower in SERVICES:
        return "service", SERVICES[lower]
    if (
        lower.count(".") > 1
        and lower.rpartition(".")[2] in WORD_ENDINGS
        and (symbol := as_dotted_symbol(piece))
    ):
        return symbol
    if _is_file_name(_LINE.sub("", piece)):
        return "file", folded(_LINE.sub("", piece))
    if _HOST.fullmatch(piece) and _is_host(lower):
        return "host", lower
    return as_dotted_symbol(piece)


def _is_host(lower: str) -> bool:
    """Return whether a dotted name is a host: `example.com`, not `foo.get` or a sentence's `end.We`."""
    parts = lower.split(".")
    if parts[-1] not in DOMAINS or not _LETTER.search("".join(parts[:-1])):
        return False
    return len(parts[0]) > 1
