"""The table of token counters: each by its name, loaded when the first text is counted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foldlog.workers.tokens import bpe
from foldlog.workers.tokens.counter import ByteCounter

if TYPE_CHECKING:
    from foldlog.settings import Settings
    from foldlog.workers.tokens.counter import Counter


def create(settings: Settings) -> Counter:
    """Return the counter that FOLDLOG_TOKENIZER names.

    `auto` is o200k where the extra `tokens` is installed, else `bytes`. Raises SettingsError for a
    tokenizer whose extra is not installed.
    """
    if settings.tokenizer == "bytes" or (settings.tokenizer == "auto" and not bpe.installed()):
        return ByteCounter()
    return bpe.BpeCounter("o200k" if settings.tokenizer == "auto" else settings.tokenizer)
