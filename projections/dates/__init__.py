"""Dates and ranges named in a text or a question: English and ISO 8601, as half-open spans of time.

A pure function of text, anchor and zone: no clock of the machine, no time zone of the process.
The rules are in docs/dates-and-names.md.
"""

from typing import Final

from foldlog.projections.dates.finding import find
from foldlog.projections.dates.span import EARLIEST_MS, LATEST_MS, Kind, Precision, Span

#: Changes whenever the same text would give other spans: spans made before must be found again.
EXTRACTOR_VERSION: Final = 1

__all__ = ["EARLIEST_MS", "EXTRACTOR_VERSION", "LATEST_MS", "Kind", "Precision", "Span", "find"]
