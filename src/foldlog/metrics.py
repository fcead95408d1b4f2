"""The numbers of this process: counted where it happens, read by whoever exports them.

Plain sums under one lock. Nothing is imported for it, so that writing memory may count as well.
"""

from __future__ import annotations

import os
import threading
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

COUNTER: Final = "counter"
GAUGE: Final = "gauge"
HISTOGRAM: Final = "histogram"

#: Upper bounds of what is observed in seconds.
SECONDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)

#: Upper bounds of a block's tokens.
TOKENS: Final = (50.0, 100.0, 200.0, 400.0, 800.0, 1600.0, 3200.0, 6400.0, 12800.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """What a number means; exported as `foldlog_<name>`, a counter with `_total` behind it."""

    kind: str
    help: str
    labels: tuple[str, ...] = ()
    #: Upper bounds of a histogram's buckets.
    buckets: tuple[float, ...] = SECONDS


def _counter(text: str, *labels: str) -> Metric:
    return Metric(kind=COUNTER, help=text, labels=labels)


def _histogram(text: str, buckets: tuple[float, ...] = SECONDS) -> Metric:
    return Metric(kind=HISTOGRAM, help=text, buckets=buckets)


def _gauge(text: str, *labels: str) -> Metric:
    return Metric(kind=GAUGE, help=text, labels=labels)


#: Every number there is. Gauges are looked at when somebody asks; the others are counted.
METRICS: Final[dict[str, Metric]] = {
    "appends": _counter("Events appended to the log by this process.", "type"),
    "appended_bytes": _counter("Bytes of links and payload of these events."),
    "fact_writes": _counter("Facts set or deleted."),
    "fact_reads": _counter("Facts read by their key, found or not."),
    "facts_collected": _counter("Expired facts that the collector removed."),
    "message_saves": _counter("Messages saved, new or in a new version."),
    "note_saves": _counter("Notes saved."),
    "retained": _counter("Texts retained."),
    "primer_writes": _counter("Primers set or deleted."),
    "retain_failures": _counter("Outputs of completed tasks that could not be retained."),
    "folds": _counter("Runs of the fold, by how they ended.", "outcome"),
    "folded_events": _counter("Events folded into the index."),
    "fold_seconds": _histogram("Time for one page: read, folded and committed."),
    "recalls": _counter("Answers to recalls, by their status.", "status"),
    "recall_channels": _counter("Channels that answered a recall.", "channel"),
    "recall_missing_channels": _counter("Channels that a recall had to do without.", "channel"),
    "recall_seconds": _histogram("Time for one recall."),
    "recall_block_tokens": _histogram("Size of a recalled block: a quarter of its characters.", TOKENS),
    "embeddings": _counter("Texts that were to get a vector, by what came of it.", "outcome"),
    "embedding_seconds": _histogram("Time for the vectors of one batch of texts."),
    "job_results": _counter("Runs of jobs, by job and how they ended.", "job", "outcome"),
    "doorbell_messages": _counter("Messages sent to wake a fold or an embedding.", "queue"),
    "doorbell_failures": _counter("Times that Redis did not answer, or refused."),
    "ready": _gauge("1 when this worker can do its work, 0 when `/readyz` says why not."),
    "live_processes": _gauge("Processes of this command whose loop runs."),
    "resident_bytes": _gauge("Memory of the processes of this command."),
    "log_position": _gauge("The last position of the log."),
    "log_bytes": _gauge("Size of the log's file and of its write-ahead log."),
    "index_state": _gauge("1 for the state the index is in, 0 for the others.", "state"),
    "index_position": _gauge("How far the index has folded."),
    "lag_events": _gauge("Events that are not folded."),
    "lag_seconds": _gauge("Age of the oldest event that is not folded."),
    "failed_folds": _gauge("Failed folds since the checkpoint last moved."),
    "parked_events": _gauge("Events set aside because they could not be folded."),
    "unembedded_texts": _gauge("Texts that have no vector yet."),
    "workers": _gauge("Worker processes, of all commands, that gave a sign of life lately."),
}

#: A name, and its labels in the order of their names.
Key = tuple[str, tuple[tuple[str, str], ...]]


@dataclass(slots=True)
class Snapshot:
    """Numbers of one moment; those of several processes can be added up."""

    counters: dict[Key, float] = field(default_factory=dict)
    #: For each bucket how many values fell into it, the last for those above all bounds; then their sum.
    histograms: dict[Key, list[float]] = field(default_factory=dict)

    def add(self, other: Snapshot) -> None:
        """Add another process's numbers to these."""
        for key, value in other.counters.items():
            self.counters[key] = self.counters.get(key, 0) + value
        for key, values in other.histograms.items():
            mine = self.histograms.get(key)
            self.histograms[key] = (
                list(values) if mine is None else [a + b for a, b in zip(mine, values, strict=True)]
            )

    def as_lists(self) -> dict[str, Any]:
        """Return the numbers as JSON, for another process."""
        return {
            "counters": [[name, labels, value] for (name, labels), value in self.counters.items()],
            "histograms": [[name, labels, values] for (name, labels), values in self.histograms.items()],
        }

    @classmethod
    def from_lists(cls, lists: dict[str, Any]) -> Snapshot:
        """Return what another process sent."""
        return cls(
            counters={_key(name, labels): value for name, labels, value in lists["counters"]},
            histograms={_key(name, labels): values for name, labels, values in lists["histograms"]},
        )


_lock = threading.Lock()
_now = Snapshot()


def count(name: str, value: float = 1, **labels: str) -> None:
    """Add to a counter."""
    key = (name, tuple(sorted(labels.items())))
    with _lock:
        _now.counters[key] = _now.counters.get(key, 0) + value


def observe(name: str, value: float, **labels: str) -> None:
    """Put one value, as how many seconds something took, into a histogram."""
    bounds = METRICS[name].buckets if name in METRICS else SECONDS
    place = bisect_left(bounds, value)
    key = (name, tuple(sorted(labels.items())))
    with _lock:
        values = _now.histograms.get(key)
        if values is None:
            values = _now.histograms[key] = [0.0] * (len(bounds) + 2)
        values[place] += 1
        values[-1] += value


def snapshot() -> Snapshot:
    """Return a copy of this process's numbers."""
    found = Snapshot()
    with _lock:
        found.add(_now)
    return found


def total(name: str, **labels: str) -> float:
    """Return the sum of a counter over all labels that are not given."""
    wanted = set(labels.items())
    with _lock:
        return sum(value for key, value in _now.counters.items() if key[0] == name and wanted <= set(key[1]))


def _key(name: str, labels: Iterable[Iterable[str]]) -> Key:
    return name, tuple((label, value) for label, value in labels)


def _begin_anew() -> None:
    """A forked child counts from nothing: its parent's numbers are exported by the parent."""
    global _lock, _now
    _lock, _now = threading.Lock(), Snapshot()


os.register_at_fork(after_in_child=_begin_anew)
