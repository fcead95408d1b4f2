"""Memory of Smithers (package 0.32.0 and like it): its SQLite database, taken over as events.

Facts, threads, messages and notes come with their original times and provenance. The source is only read.
Every row is in the log, in the report, or both; docs/import.md has the rules.
"""

from foldlog.imports.smithers.report import Counts, Entry, Report
from foldlog.imports.smithers.source import Source, open_source
from foldlog.imports.smithers.writing import check_apart, import_file, preview, write

__all__ = [
    "Counts",
    "Entry",
    "Report",
    "Source",
    "check_apart",
    "import_file",
    "open_source",
    "preview",
    "write",
]
