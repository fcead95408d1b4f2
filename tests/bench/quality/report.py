"""The report: a table for each way, the bars and whether they are met; as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from quality.measuring import Measured, Result
from quality.question_set import COMPLETE, Bar


def reached(measured: Measured, bar: Bar) -> float:
    """Return what the complete way reached."""
    complete = next(result for result in measured.results if result.way == COMPLETE)
    return complete.recall(bar.depth, measured.set.rows[bar.row])


def met(measured: Measured, bar: Bar) -> bool:
    """Say whether a bar is met."""
    return reached(measured, bar) >= bar.least


def lines(measured: Measured) -> Iterator[str]:
    """Yield the report of a set for a person."""
    yield f"\n== {measured.set.title} =="
    yield (
        f"{measured.events} events written in {measured.writing_seconds:.1f} s, folded and embedded in "
        f"{measured.folding_seconds:.1f} s"
    )
    for way in measured.set.ways:
        if way.missing is not None:
            yield f"\n{way.label}: not measured, since this foldlog has no channel {way.missing}"
    for result in measured.results:
        yield from _table(measured, result)
    yield "\nbars, for the complete way"
    for bar in measured.set.bars:
        verdict = "met" if met(measured, bar) else "BELOW"
        name = f"{bar.row} recall@{bar.depth}"
        yield f"  {name:<26}{reached(measured, bar):>7.3f}  at least {bar.least:.3f}  {verdict}"


def _table(measured: Measured, result: Result) -> Iterator[str]:
    p50, p95 = result.milliseconds(0.5), result.milliseconds(0.95)
    off = f", off: {' '.join(result.way.off)}" if result.way.off else ""
    yield f"\n{result.way.label}{off} ({p50:.0f} ms a question, p95 {p95:.0f})"
    yield f"  {'questions':<20}" + "".join(f"{f'recall@{depth}':>11}" for depth in result.depths)
    for row, groups in measured.set.rows.items():
        figures = "".join(f"{result.recall(depth, groups):>11.3f}" for depth in result.depths)
        yield f"  {row:<15}{result.count(groups):>5}{figures}"


def as_dict(measured: Measured) -> dict[str, Any]:
    """Return the report of a set as JSON."""
    return {
        "set": measured.set.name,
        "title": measured.set.title,
        "events": measured.events,
        "writing_seconds": round(measured.writing_seconds, 3),
        "folding_seconds": round(measured.folding_seconds, 3),
        "ways": [_way(measured, result) for result in measured.results],
        "not_measured": {way.label: way.missing for way in measured.set.ways if way.missing is not None},
        "bars": [
            {
                "row": bar.row,
                "depth": bar.depth,
                "least": bar.least,
                "reached": round(reached(measured, bar), 4),
                "met": met(measured, bar),
            }
            for bar in measured.set.bars
        ],
    }


def _way(measured: Measured, result: Result) -> dict[str, Any]:
    return {
        "way": result.way.label,
        "off": list(result.way.off),
        "p50_ms": round(result.milliseconds(0.5), 2),
        "p95_ms": round(result.milliseconds(0.95), 2),
        "rows": {
            row: {
                "questions": result.count(groups),
                "recall": {str(depth): round(result.recall(depth, groups), 4) for depth in result.depths},
            }
            for row, groups in measured.set.rows.items()
        },
    }
