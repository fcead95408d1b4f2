"""Counters: what this process did with a log, for a metrics page to read."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Final

from foldlog import metrics

FACT_WRITES: Final = "foldlog_fact_writes_total"
FACT_READS: Final = "foldlog_fact_reads_total"
FACTS_COLLECTED: Final = "foldlog_facts_collected_total"
MESSAGE_SAVES: Final = "foldlog_message_saves_total"
NOTE_SAVES: Final = "foldlog_note_saves_total"
RETAINED: Final = "foldlog_retained_total"
PRIMER_WRITES: Final = "foldlog_primer_writes_total"
RETAIN_FAILURES: Final = "foldlog_retain_failures_total"
RECALLS: Final = "foldlog_recalls_total"
RECALLS_INCOMPLETE: Final = "foldlog_recalls_incomplete_total"

#: Every counter, and what it counts. Only what was committed is counted, and no repeat of it.
COUNTERS: Final[Mapping[str, str]] = {
    FACT_WRITES: "Facts set or deleted.",
    FACT_READS: "Facts read by their key, found or not.",
    FACTS_COLLECTED: "Expired facts that the collector removed.",
    MESSAGE_SAVES: "Messages saved, new or in a new version.",
    NOTE_SAVES: "Notes saved.",
    RETAINED: "Texts retained.",
    PRIMER_WRITES: "Primers set or deleted.",
    RETAIN_FAILURES: "Outputs of completed tasks that could not be retained.",
    RECALLS: "Questions answered.",
    RECALLS_INCOMPLETE: "Of these, answers that were partial or degraded.",
}


#: Exported by whoever answers, with the answer's status as a label.
OTHERWISE: Final = frozenset((RECALLS, RECALLS_INCOMPLETE))


class Counters:
    """Numbers that only grow, also exported with all others; safe to use from many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._values = dict.fromkeys(COUNTERS, 0)

    def add(self, name: str, number: int = 1) -> None:
        """Raise a counter."""
        with self._lock:
            self._values[name] += number
        if name not in OTHERWISE:
            metrics.count(name.removeprefix("foldlog_").removesuffix("_total"), number)

    def as_dict(self) -> dict[str, int]:
        """Return every counter with its value."""
        with self._lock:
            return dict(self._values)
