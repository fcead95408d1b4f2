"""Names in a text: files, symbols, tickets, hosts, people and the like, by rules.

A pure function of the text. The rules are in docs/dates-and-names.md.
"""

from typing import Final

from foldlog.projections.extraction.finding import find
from foldlog.projections.extraction.mention import TYPES, Mention, canonical

#: Changes whenever the same text would give other mentions: indexes made before must be rebuilt.
EXTRACTOR_VERSION: Final = 1

__all__ = ["EXTRACTOR_VERSION", "TYPES", "Mention", "canonical", "find"]
