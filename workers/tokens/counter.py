"""The protocol of a token counter, and the one that needs nothing: the bytes of a text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Counter(Protocol):
    """What counts the tokens of texts. May be used by several threads at once."""

    @property
    def name(self) -> str:
        """The tokenizer, for whoever stores a count: two counts of one name can be compared and added."""

    @property
    def exact(self) -> bool:
        """Whether the counts are those of the tokenizer, and not only never lower."""

    def count(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text, in the order of the texts; an empty one has none."""


class ByteCounter:
    """The bytes of a text in UTF-8.

    A tokenizer that works on bytes (o200k, cl100k, those of Llama 3, Mistral and Qwen) never makes more
    tokens than that, since each token holds a byte at least.
    """

    name = "bytes"
    exact = False

    def count(self, texts: Sequence[str]) -> list[int]:
        """Return the bytes of each text."""
        return [len(encoded(text)) for text in texts]


def encoded(text: str) -> bytes:
    """Return a text as UTF-8; half a surrogate pair, which is no text, becomes `?`."""
    return text.encode("utf-8", "replace")
