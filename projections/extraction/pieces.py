"""Names that show by their signs what they are: a slash, a dot, digits, capitals inside.

A piece is what stands between blanks and punctuation. Each rule of the table looks at the whole
piece; the first that accepts it says its type.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from foldlog.projections.extraction.lists import IMAGE_ENDINGS, NO_HANDLES, NO_TICKETS
from foldlog.projections.extraction.mention import Mention, folded
from foldlog.projections.extraction.places import as_dotted, as_path, as_port
from foldlog.projections.extraction.symbols import as_kebab, as_symbol

#: Longest run of characters without a blank that is looked into; longer ones are data.
MAX_RUN: Final = 2_000

#: A run without blanks that has a sign in it.
_RUN: Final = re.compile(r"(?<!\S)\S*?(?:[0-9_/@#$\\]|[a-z][A-Z]|[A-Z]{2}[a-z]|[.\-][^\W\d_]|\(\)|::|:\w)\S*")
#: The same of ASCII, as what stands side by side in its shape: a small letter `a`, a capital `A`, a sign `0`.
_SIGNS: Final = (b"0", b"aA", b"AAa", b".a", b".A", b"-a", b"-A", b"()", b"::", b":a", b":A")
_SHAPES: Final = bytes(
    ord("a" if char.islower() else "A" if char.isupper() else "0" if char in "0123456789_/@#$\\" else char)
    for char in map(chr, range(128))
) + bytes(128)
_PIECE: Final = re.compile(r"\$\{\w+\}|(?:[\w$@#~./\\+%-]|:(?=[\w:/\\]))+(?:\(\))?")
_URL: Final = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]{1,15}://|www\.(?=\w))[^\s<>\"'`{}|\\^]+")

_ENDS: Final = ".:-/\\+%#@"
_STOPS: Final = ".,;!?"
_SENTENCE_END: Final = ".,;:!?*_~"
_LAST_WORD: Final = re.compile(r"[^\W\d_]+$")
_LINE: Final = re.compile(r"(?::\d+)+$")
_BRACKETS: Final = {")": "(", "]": "["}


@dataclass(frozen=True, slots=True)
class Context:
    """Where a piece stands: the words before it tell `#7` of a pull request from a rank."""

    text: str
    start: int

    def word_before(self) -> str:
        """Return the word before the piece, folded; nothing if there is none on its line."""
        before = self.text[max(0, self.start - 24) : self.start].rstrip(" #")
        match = _LAST_WORD.search(before)
        return match[0].lower() if match else ""


#: Type and canonical form, or None: not this.
Verdict = tuple[str, str] | None

_EMAIL: Final = re.compile(r"[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)*\.[^\W\d_]{2,}")
_GIT_URL: Final = re.compile(r"git@[\w.-]+:[\w./-]+")
_PULL: Final = re.compile(r"(?:[\w.-]+/[\w.-]+)?#(\d{1,5})")
_HANDLE: Final = re.compile(r"@([^\W\d_][\w-]{1,38})")
_VARIABLE: Final = re.compile(r"\$\{?([A-Za-z_]\w*)\}?|([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)")
_TICKET: Final = re.compile(r"([A-Z][A-Z0-9]{1,9})-\d{1,7}|CVE-\d{4}-\d{4,7}")
_COMMIT: Final = re.compile(r"(?=\d*[a-f])(?=[a-f]*\d)[0-9a-f]{7,40}")
_VERSION: Final = re.compile(r"[vV](\d{1,4}(?:\.\d+)*(?:[-+.]?(?:alpha|beta|rc|dev|post|a|b)[.-]?\d*)?)")

#: Words before a number of one digit that make a pull request of it.
_BEFORE_PULL: Final = frozenset("pr prs pull request requests mr issue issues merge bug fixes closes".split())


def _email(piece: str, context: Context) -> Verdict:
    if _GIT_URL.fullmatch(piece):
        return "url", folded(piece)
    if not _EMAIL.fullmatch(piece) or piece.rpartition(".")[2] in IMAGE_ENDINGS:
        return None
    return "email", folded(piece)


def _pull(piece: str, context: Context) -> Verdict:
    match = _PULL.fullmatch(piece)
    if match is None:
        return None
    if len(match[1]) == 1 and piece[0] == "#" and context.word_before() not in _BEFORE_PULL:
        return None  # `the #1 reason`
    return "pr", folded(piece)


def _handle(piece: str, context: Context) -> Verdict:
    match = _HANDLE.fullmatch(piece)
    if match is None or folded(match[1]) in NO_HANDLES:
        return None
    following = context.text[context.start + len(piece) : context.start + len(piece) + 1]
    return None if following == "(" else ("person", folded(match[1]))


def _variable(piece: str, context: Context) -> Verdict:
    match = _VARIABLE.fullmatch(piece)
    return ("env", folded(match[1] or match[2])) if match else None


def _ticket(piece: str, context: Context) -> Verdict:
    match = _TICKET.fullmatch(piece)
    if match is None or (match[1] and folded(match[1]) in NO_TICKETS):
        return None
    return "ticket", folded(piece)


def _commit(piece: str, context: Context) -> Verdict:
    """Return a commit under its first seven digits, the shortest form in use."""
    return ("commit", piece[:7]) if _COMMIT.fullmatch(piece) else None


def _version(piece: str, context: Context) -> Verdict:
    match = _VERSION.fullmatch(piece)
    return ("version", folded(match[1])) if match else None


def _place(piece: str, context: Context) -> Verdict:
    if "/" in piece or "\\" in piece:
        return as_path(piece)
    return as_port(piece) or (as_dotted(piece) if "." in piece else None)


def _symbol(piece: str, context: Context) -> Verdict:
    return as_symbol(piece) or as_kebab(piece)


#: In this order: what is more certain comes first.
RULES: Final[list[Callable[[str, Context], Verdict]]] = [
    _email,
    _pull,
    _handle,
    _variable,
    _ticket,
    _commit,
    _version,
    _place,
    _symbol,
]


def pieces(text: str) -> Iterator[Mention]:
    """Yield the names of a text that show what they are, in order."""
    for start, end in _runs(text):
        if end - start > MAX_RUN:
            continue
        url = _URL.search(text, start, end)
        if url is None:
            yield from _in_run(text, start, end)
            continue
        yield from _in_run(text, start, url.start())
        last = _end_of_url(text, url.start(), url.end())
        yield Mention(
            name=text[url.start() : last],
            canonical=canonical_url(text[url.start() : last]),
            type="url",
            start=url.start(),
            end=last,
        )


def _has_signs(text: str) -> bool:
    """Return False, quickly, for most texts that are only words."""
    if not text.isascii():
        return True
    shape = text.encode().translate(_SHAPES)
    return any(sign in shape for sign in _SIGNS)


def _runs(text: str) -> Iterator[tuple[int, int]]:
    """Yield the places of runs without blanks that have a sign in them."""
    if not _has_signs(text):
        return
    end = -1
    for part in text.split(" "):
        start = end + 1
        end = start + len(part)
        # Most words are plain, and a stop after one of them is no sign.
        word = part if part.isalpha() else part.rstrip(_STOPS)
        if not (word.isalpha() and (word.islower() or word.istitle())):
            for run in _RUN.finditer(text, start, end):
                yield run.span()


def _in_run(text: str, start: int, end: int) -> Iterator[Mention]:
    for match in _PIECE.finditer(text, start, end):
        first, last = match.span()
        while last > first and text[last - 1] in _ENDS and not _is_folder(text, first, last):
            last -= 1
        while first < last and text[first] in ":-+%" and text[first : first + 2] != "::":
            first += 1
        if last - first < 2:
            continue
        piece = text[first:last]
        context = Context(text, first)
        for rule in RULES:
            verdict = rule(piece, context)
            if verdict is not None:
                length = _length(piece, verdict[0])
                yield Mention(
                    name=piece[:length],
                    canonical=verdict[1],
                    type=verdict[0],
                    start=first,
                    end=first + length,
                )
                break


def _length(piece: str, type_: str) -> int:
    """Return the length of the piece that is the name: `main.py:42` without the line, `f()` without `()`."""
    if type_ == "file":
        match = _LINE.search(piece)
        return match.start() if match else len(piece)
    return len(piece) - 2 if piece.endswith("()") else len(piece)


def _is_folder(text: str, first: int, last: int) -> bool:
    """Return whether the slash that ends the piece is the end of a path: `src/foldlog/`."""
    return text[last - 1] in "/\\" and last - first > 2 and text[last - 2] not in "/\\"


def _end_of_url(text: str, start: int, end: int) -> int:
    """Return where the address ends: before the stop of the sentence and a bracket it did not open."""
    while end > start:
        char = text[end - 1]
        if char in _SENTENCE_END or (
            char in _BRACKETS and text.count(char, start, end) > text.count(_BRACKETS[char], start, end)
        ):
            end -= 1
        else:
            break
    return end


def canonical_url(url: str) -> str:
    """Return an address folded, without user, password and last slash; `www.` counts as part of it."""
    scheme, separator, rest = url.partition("://")
    if not separator:
        scheme, rest = "https", url
    place, slash, path = rest.partition("/")
    host = place.rpartition("@")[2]
    return folded(f"{scheme}://{host}{slash}{path}").rstrip("/")
