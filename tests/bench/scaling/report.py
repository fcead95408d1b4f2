"""The report: what each stage cost beside its bare counterpart, with the bars; as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from scaling import asking
from scaling.asking import Asked
from scaling.bare import Copied, Size
from scaling.data import KINDS
from scaling.stages import Stage
from scaling.writing import BATCH, Written

#: A process that folds or embeds stays below this, without a model of its own.
MEMORY_MB = 400

#: Share of the bare COPY that the fold and a rebuild reach, and of the slower of model and insert that
#: embedding does.
FOLD_SHARE = 0.5
REBUILD_SHARE = 0.5
EMBEDDING_SHARE = 0.9

#: Milliseconds within which 95 % are answered, at this many memories.
ANSWER_AT = 100_000
ANSWER_MS = {asking.COMPLETE: 80, asking.LOG_ALONE: 150, asking.LOG_ALONE_HUNDREDTH: 30}

#: Tables and indexes that are shown.
SHOWN = 8


@dataclass(frozen=True, kw_only=True)
class Measured:
    """What one run measured."""

    memories: int
    seed: int
    written: Written
    log_mb: float
    fold: Stage
    prepare: Stage
    copied: Copied
    rebuild: Stage
    #: The same rows with the indexes of search made after them, as a rebuild does.
    loaded: Copied
    model: Stage
    embed: Stage
    inserted: Copied
    #: Seconds until the approximate index of the vectors was made; None when there are too few.
    index_seconds: float | None
    tables: list[Size]
    indexes: list[Size]
    asked: list[Asked]

    @property
    def fold_share(self) -> float:
        """The fold's rate as a share of the bare COPY's."""
        return self.copied.seconds / self.fold.seconds

    @property
    def writing_share(self) -> float:
        """The same without the time until pages were prepared."""
        return self.copied.seconds / (self.fold.seconds - self.fold.waited)

    @property
    def rebuild_share(self) -> float:
        """The rebuild's rate as a share of the bare COPY's with its index builds."""
        return self.loaded.seconds / self.rebuild.seconds

    @property
    def embedding_share(self) -> float:
        """The embedding's rate as a share of the slower of model and insert."""
        return max(self.model.seconds, self.inserted.seconds) / self.embed.seconds


@dataclass(frozen=True, kw_only=True)
class Bar:
    """A bar and what was reached."""

    name: str
    reached: float
    limit: float
    #: `at least` or `at most`.
    sense: str

    @property
    def met(self) -> bool:
        """Say whether it is met."""
        return self.reached >= self.limit if self.sense == "at least" else self.reached <= self.limit


def bars(found: Measured) -> list[Bar]:
    """Return the bars; those of answers hold for one size only."""
    every = [
        Bar(name="fold, share of bare COPY", reached=found.fold_share, limit=FOLD_SHARE, sense="at least"),
        Bar(
            name="embedding, share of bare",
            reached=found.embedding_share,
            limit=EMBEDDING_SHARE,
            sense="at least",
        ),
        Bar(
            name="rebuild, share of bare COPY",
            reached=found.rebuild_share,
            limit=REBUILD_SHARE,
            sense="at least",
        ),
        Bar(name="fold, peak MB", reached=found.fold.peak_mb, limit=MEMORY_MB, sense="at most"),
        Bar(name="rebuild, peak MB", reached=found.rebuild.peak_mb, limit=MEMORY_MB, sense="at most"),
        Bar(name="embedding, peak MB", reached=found.embed.peak_mb, limit=MEMORY_MB, sense="at most"),
    ]
    if found.memories == ANSWER_AT:
        every += [
            Bar(
                name=f"{item.way}, p95 ms",
                reached=item.milliseconds(0.95),
                limit=ANSWER_MS[item.way],
                sense="at most",
            )
            for item in found.asked
            if item.way in ANSWER_MS
        ]
    return every


def lines(found: Measured) -> Iterator[str]:
    """Yield the report for a person."""
    yield f"\n== {found.memories} memories, seed {found.seed} =="
    yield from _loading(found)
    yield from _sizes("tables", found.tables)
    yield from _sizes("indexes", found.indexes)
    yield from _answers(found)
    yield "\nbars"
    for bar in bars(found):
        verdict = "met" if bar.met else "MISSED"
        yield f"  {bar.name:<34}{bar.reached:>9.2f}  {bar.sense} {bar.limit:g}  {verdict}"


def _loading(found: Measured) -> Iterator[str]:
    written, fold, copied = found.written, found.fold, found.copied
    yield (
        f"append   {written.events / written.seconds:>8.0f} events/s; a batch of {BATCH} in "
        f"{median(written.batches):.0f} ms (most {max(written.batches):.0f}); log {found.log_mb:.0f} MB"
    )
    yield (
        f"fold     {fold.rate:>8.0f} events/s ({fold.seconds:.1f} s), {found.fold_share:.2f} of a bare COPY "
        f"of its {copied.rows} rows ({copied.seconds:.1f} s); peak {fold.peak_mb:.0f} MB, and "
        f"{fold.child_mb:.0f} of a process that prepares pages"
    )
    alone, rebuild, loaded = found.prepare, found.rebuild, found.loaded
    yield (
        f"         {alone.rate:>8.0f} events/s for its part without a database ({alone.seconds:.1f} s); "
        f"it waited {fold.waited:.1f} s for it; the rest is {found.writing_share:.2f} of the bare COPY"
    )
    yield "         bare COPY by table: " + _slowest(copied)
    yield (
        f"rebuild  {rebuild.rate:>8.0f} events/s ({rebuild.seconds:.1f} s), {found.rebuild_share:.2f} of a "
        f"bare COPY and index builds ({loaded.seconds:.1f} s); peak {rebuild.peak_mb:.0f} MB, and "
        f"{rebuild.child_mb:.0f} of a process that prepares pages"
    )
    yield "         bare by table: " + _slowest(loaded)
    embed, model = found.embed, found.model
    insert_rate = found.inserted.rows / found.inserted.seconds
    yield (
        f"embed    {embed.rate:>8.0f} vectors/s ({embed.seconds:.1f} s), {found.embedding_share:.2f} of the "
        f"slower of the bare model ({model.rate:.0f}/s) and a bare insert ({insert_rate:.0f}/s); "
        f"peak {embed.peak_mb:.0f} MB"
    )
    if found.index_seconds is not None:
        yield f"         the approximate index of the vectors was made in {found.index_seconds:.1f} s"


def _slowest(copied: Copied) -> str:
    tables = sorted(copied.tables.items(), key=lambda item: -item[1])[:SHOWN]
    return ", ".join(f"{name} {seconds:.2f} s" for name, seconds in tables)


def _sizes(title: str, sizes: list[Size]) -> Iterator[str]:
    total = sum(item.megabytes for item in sizes)
    shown = ", ".join(f"{item.name} {item.megabytes:.1f}" for item in sizes[:SHOWN])
    yield f"{title:<8} {total:>8.0f} MB: {shown}"


def _answers(found: Measured) -> Iterator[str]:
    kinds = "".join(f"{f'{kind} p50/p95':>22}" for kind in KINDS)
    yield f"\nanswers, ms; {len(found.asked[0].times)} questions about half of all memories"
    yield f"  {'':<36}{'p50':>8}{'p95':>8}{kinds}"
    for item in found.asked:
        by_kind = "".join(f"{_pair(item, kind):>22}" for kind in KINDS)
        yield f"  {item.way:<36}{item.milliseconds(0.5):>8.1f}{item.milliseconds(0.95):>8.1f}{by_kind}"


def _pair(item: Asked, kind: str) -> str:
    return f"{item.milliseconds(0.5, kind):.1f} / {item.milliseconds(0.95, kind):.1f}"


def as_dict(found: Measured) -> dict[str, Any]:
    """Return the report as JSON."""
    plain = {name: value for name, value in asdict(found).items() if name != "asked"}
    return plain | {
        "fold_share": round(found.fold_share, 3),
        "writing_share": round(found.writing_share, 3),
        "rebuild_share": round(found.rebuild_share, 3),
        "embedding_share": round(found.embedding_share, 3),
        "answers_ms": [_answers_ms(item) for item in found.asked],
        "bars": [asdict(bar) | {"met": bar.met} for bar in bars(found)],
    }


def _answers_ms(item: Asked) -> dict[str, Any]:
    """Return a way's p50 and p95, of all questions and by their kind."""
    shares = {"p50": 0.5, "p95": 0.95}
    return {
        "way": item.way,
        **{name: round(item.milliseconds(share), 2) for name, share in shares.items()},
        **{
            kind: {name: round(item.milliseconds(share, kind), 2) for name, share in shares.items()}
            for kind in KINDS
        },
    }
