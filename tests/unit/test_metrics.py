"""Numbers are exact whoever counts, and Prometheus can read them."""

from __future__ import annotations

import ast
import json
import os
import re
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.parser import text_string_to_metric_families

from foldlog import Memory, exposition, metrics
from foldlog.exposition import Collector
from foldlog.memory.counters import COUNTERS
from foldlog.metrics import COUNTER, GAUGE, METRICS, Snapshot

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def own_numbers() -> Iterator[None]:
    """Let each test begin with nothing, as a forked child does."""
    before = metrics._now
    metrics._begin_anew()
    yield
    metrics._now = before


def exported(collector: Collector) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """Return what Prometheus reads."""
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(exposition.text(collector).decode())
        for sample in family.samples
    }


def test_counting_from_many_threads_loses_nothing() -> None:
    """A sum is exact."""

    def work() -> None:
        for number in range(2000):
            metrics.count("doorbell_failures")
            metrics.observe("fold_seconds", number % 2)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert metrics.total("doorbell_failures") == 16_000
    values = metrics.snapshot().histograms["fold_seconds", ()]
    assert sum(values[:-1]) == 16_000
    assert values[-1] == 8_000


def test_labels_are_kept_apart_whatever_their_order() -> None:
    """And summed over those that are not asked for."""
    metrics.count("job_results", job="ttl", outcome="ok")
    metrics.count("job_results", 2, outcome="ok", job="ttl")
    metrics.count("job_results", outcome="failed", job="ttl")
    assert metrics.total("job_results", outcome="ok") == 3
    assert metrics.total("job_results") == 4


def test_a_forked_child_counts_from_nothing() -> None:
    """Its parent's numbers are told by the parent: added up they are told once."""
    metrics.count("doorbell_failures", 5)
    child = os.fork()
    if child == 0:
        metrics.count("doorbell_failures")
        os._exit(0 if metrics.total("doorbell_failures") == 1 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert metrics.total("doorbell_failures") == 5


def test_numbers_of_processes_add_up() -> None:
    """After a way through JSON."""
    metrics.count("folds", outcome="caught up")
    metrics.observe("fold_seconds", 0.2)
    told = Snapshot.from_lists(json.loads(json.dumps(metrics.snapshot().as_lists())))
    assert told == metrics.snapshot()
    told.add(metrics.snapshot())
    found = exported(Collector(lambda: told))
    assert found["foldlog_folds_total", (("outcome", "caught up"),)] == 2
    assert found["foldlog_fold_seconds_count", ()] == 2
    assert found["foldlog_fold_seconds_sum", ()] == pytest.approx(0.4)
    assert found["foldlog_fold_seconds_bucket", (("le", "0.1"),)] == 0
    assert found["foldlog_fold_seconds_bucket", (("le", "0.25"),)] == 2
    assert found["foldlog_fold_seconds_bucket", (("le", "+Inf"),)] == 2


def test_what_never_happened_is_zero() -> None:
    """A rate needs a beginning; a gauge that nobody looked at is absent."""
    found = exported(Collector())
    assert found["foldlog_doorbell_failures_total", ()] == 0
    assert found["foldlog_recall_seconds_count", ()] == 0
    assert ("foldlog_lag_events", ()) not in found
    gauges = {("lag_events", ()): 3.0, ("index_state", (("state", "ok"),)): 1.0}
    assert exported(Collector(gauges=lambda: gauges))["foldlog_lag_events", ()] == 3


def test_a_program_exports_its_own_numbers(memory: Memory) -> None:
    """Appends and recalls are counted in the process that makes them."""
    registry = CollectorRegistry()
    registry.register(Collector())
    memory.facts.set("user:alice", "theme", "dark")
    with memory.batch():
        memory.facts.set("user:alice", "city", "Ulm")
        memory.facts.set("user:alice", "street", "Gasse")
    with pytest.raises(ZeroDivisionError), memory.batch():
        memory.facts.set("user:alice", "never", str(1 // 0))
    assert memory.recall("dark", "user:alice").status == "degraded"
    value = registry.get_sample_value
    assert value("foldlog_appends_total", {"type": "FactSet"}) == 3
    assert value("foldlog_fact_writes_total") == 3
    assert (value("foldlog_appended_bytes_total") or 0) > 3 * len('{"value":"Ulm"}')
    assert value("foldlog_recalls_total", {"status": "degraded"}) == 1
    assert value("foldlog_recall_channels_total", {"channel": "log"}) == 1
    assert value("foldlog_recall_block_tokens_count") == 1


def test_what_is_counted_is_declared() -> None:
    """With the labels that it is counted with; and what is declared is counted, or looked at."""
    used: dict[str, set[str]] = {}
    for folder in ("events", "projections", "workers", "migrations", "src/foldlog"):
        for path in (ROOT / folder).rglob("*.py"):
            for name, labels in _counted(path.read_text(encoding="utf-8")):
                used.setdefault(name, set()).update(labels)
    assert set(used) <= set(METRICS)
    for name, labels in used.items():
        assert labels == set(METRICS[name].labels), name
    counted = {name for name, metric in METRICS.items() if metric.kind != GAUGE}
    # A memory counts for itself, and for all memories of the process.
    of_memory = {name.removeprefix("foldlog_").removesuffix("_total") for name in COUNTERS}
    assert counted - set(used) == of_memory - {"recalls", "recalls_incomplete"}


def _counted(source: str) -> Iterator[tuple[str, set[str]]]:
    """Yield (name, labels) of every number that a module counts by a name that stands in it."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="metrics"), attr="count" | "observe"),
                args=[ast.Constant(value=str(name)), *_],
            ):
                yield name, {keyword.arg or "" for keyword in node.keywords}


def test_names_are_those_of_prometheus() -> None:
    """A counter ends in `_total`, which is not part of its name here."""
    for name, metric in METRICS.items():
        assert re.fullmatch(r"[a-z][a-z_]*[a-z]", name)
        assert not name.endswith("_total")
        assert metric.help.endswith(".")
        if metric.kind == COUNTER:
            assert exposition.exported(name) == [f"foldlog_{name}_total"]
