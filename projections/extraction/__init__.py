"""Names in a text: files, symbols, tickets, hosts, people and the like, by rules; and names already known.

A pure function of the text. The rules are in docs/dates-and-names.md.
"""

from typing import Final

from foldlog.projections.extraction.finding import find
from foldlog.projections.extraction.gazetteer import Gazetteer
from foldlog.projections.extraction.mention import TYPES, Mention, canonical

#: Changes whenever the same text would give other mentions: edges made before must be found again.
EXTRACTOR_VERSION: Final = 1

__all__ = ["EXTRACTOR_VERSION", "TYPES", "Gazetteer", "Mention", "canonical", "find"]
