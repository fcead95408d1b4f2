"""The numbers of this process as Prometheus reads them; for `/metrics`, or a program's own registry.

from prometheus_client import REGISTRY
from foldlog.exposition import Collector

REGISTRY.register(Collector())
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import accumulate
from typing import Final, TypeVar

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector as AnyCollector

from foldlog import metrics
from foldlog.metrics import COUNTER, GAUGE, METRICS, Key, Snapshot

#: Before every name.
PREFIX: Final = "foldlog_"

CONTENT_TYPE: Final = CONTENT_TYPE_LATEST

#: A gauge's value by its name and labels.
Gauges = Mapping[Key, float]

T = TypeVar("T")


class Collector(AnyCollector):
    """Gives what was counted, and what is looked at only when somebody asks."""

    def __init__(
        self,
        numbers: Callable[[], Snapshot] = metrics.snapshot,
        gauges: Callable[[], Gauges] = dict,
    ) -> None:
        """Without arguments: what this process has counted."""
        self._numbers = numbers
        self._gauges = gauges

    def collect(self) -> Iterator[Metric]:
        """Yield every number there is now."""
        numbers, gauges = self._numbers(), self._gauges()
        for name, metric in METRICS.items():
            if metric.kind == COUNTER:
                yield _counter(name, metric, numbers.counters)
            elif metric.kind == GAUGE:
                if any(key[0] == name for key in gauges):
                    yield _gauge(name, metric, gauges)
            else:
                yield _histogram(name, metric, numbers.histograms)

    def describe(self) -> Iterable[Metric]:
        """Return nothing: a registry would otherwise collect once just to learn the names."""
        return []


def text(collector: Collector) -> bytes:
    """Return everything in Prometheus' text format."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(collector)
    return generate_latest(registry)


def exported(name: str) -> list[str]:
    """Return the names of the time series that a number is exported as."""
    full = f"{PREFIX}{name}"
    kind = METRICS[name].kind
    if kind == COUNTER:
        return [f"{full}_total"]
    return [full] if kind == GAUGE else [f"{full}_{part}" for part in ("bucket", "sum", "count")]


def _counter(name: str, metric: metrics.Metric, counters: Mapping[Key, float]) -> Metric:
    family = CounterMetricFamily(PREFIX + name, metric.help, labels=metric.labels)
    found = _values(name, metric, counters)
    # A rate needs a beginning: what never happened is 0, where that needs no label.
    for labels, value in found or ([((), 0.0)] if not metric.labels else []):
        family.add_metric(labels, value)
    return family


def _gauge(name: str, metric: metrics.Metric, gauges: Gauges) -> Metric:
    family = GaugeMetricFamily(PREFIX + name, metric.help, labels=metric.labels)
    for labels, value in _values(name, metric, gauges):
        family.add_metric(labels, value)
    return family


def _histogram(name: str, metric: metrics.Metric, histograms: Mapping[Key, list[float]]) -> Metric:
    family = HistogramMetricFamily(PREFIX + name, metric.help, labels=metric.labels)
    bounds = [*map(str, metric.buckets), "+Inf"]
    nothing = [0.0] * (len(bounds) + 1)
    found = _values(name, metric, histograms) or ([((), nothing)] if not metric.labels else [])
    for labels, values in found:
        family.add_metric(labels, list(zip(bounds, accumulate(values[:-1]), strict=True)), values[-1])
    return family


def _values(name: str, metric: metrics.Metric, of: Mapping[Key, T]) -> list[tuple[tuple[str, ...], T]]:
    """Return (values of the labels, in the order of their definition; value)."""
    return [
        (tuple(dict(key[1]).get(label, "") for label in metric.labels), value)
        for key, value in of.items()
        if key[0] == name
    ]
