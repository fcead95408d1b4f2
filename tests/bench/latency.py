"""How long it takes until what one process appends is found by another, with real workers in between.

A writer process appends facts with a word of their own, at irregular intervals; this process asks the
index (never the log, which would know at once) until it finds the word, and then until the text has its
vector. Run by `make bench-latency`; exits 1 when the words take longer than they may.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any

from foldlog import composition
from foldlog.composition import LazyIndex
from foldlog.embedded import Home, Postgres, Valkey
from foldlog.embedded.removal import remove
from foldlog.errors import ProjectionError
from foldlog.projections import analysis
from foldlog.projections.index import GRAPH, SEMANTIC, TEXT, TIME, Query
from foldlog.projections.scope import Scope
from foldlog.settings import Settings, environment, load

ALICE = "user:alice"

#: The bars, in ms: within which 95 of 100 appends are found by their words.
UP_BAR = 500
WORKERS_BAR = 1500

#: Seconds between two looks; a look takes some milliseconds more.
LOOK_SECONDS = 0.002

#: Longest pause between two appends, in seconds: longer than any interval of the workers.
LONGEST_PAUSE = 0.4

#: Seconds after which something is wrong.
PATIENCE = 60.0

#: Appends a fact for each line, and answers when it was acknowledged: the clock is the machine's.
WRITER = """
import json, sys, time
import foldlog
with foldlog.open() as memory:
    for line in sys.stdin:
        word = line.strip()
        receipt = memory.facts.set("user:alice", word, f"the {word} stands in the garden")
        print(json.dumps([receipt.position, time.monotonic()]), flush=True)
"""


def main() -> int:
    """Measure both ways of running, and say how they compare with the bars."""
    # What is temporary goes also when the benchmark is told to stop.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    given = arguments()
    ways: list[tuple[str, int, Callable[[Settings, Path], Any]]] = [
        ("foldlog up", UP_BAR, with_up),
        ("two foldlog workers", WORKERS_BAR, with_workers),
    ]
    results = [result(name, bar, way, given.appends) for name, bar, way in ways]
    if given.json:
        print(json.dumps(results, indent=2))
    return 0 if all(each["met"] for each in results) else 1


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--appends", type=int, default=200, help="how many are measured in each way (200)")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    return parser.parse_args()


def result(name: str, bar: int, way: Callable[[Settings, Path], Any], appends: int) -> dict[str, Any]:
    """Measure one way of running; the others are told on stderr how far it is."""
    with TemporaryDirectory() as folder, way(load(log=Path(folder) / "memory.db"), Path(folder)) as settings:
        words, vectors = measure(settings, appends)
    found = {"way": name, "bar_ms": bar, "words": summary(words), "vectors": summary(vectors)}
    found["met"] = found["words"]["p95_ms"] < bar
    for kind in ("words", "vectors"):
        line = "  ".join(f"{key.removesuffix('_ms')} {value:6.0f} ms" for key, value in found[kind].items())
        note = f"  bar p95 {bar} ms: {'met' if found['met'] else 'MISSED'}" if kind == "words" else ""
        print(f"{name:<20} found by {kind:<8} {line}{note}", file=sys.stderr)
    return found


def summary(times: list[float]) -> dict[str, float]:
    """Return what of many times one looks at, in ms."""
    cuts = statistics.quantiles(times, n=100)
    return {"p50_ms": cuts[49] * 1000, "p95_ms": cuts[94] * 1000, "max_ms": max(times) * 1000}


@contextmanager
def with_up(settings: Settings, folder: Path) -> Iterator[Settings]:
    """Run `foldlog up` with servers of its own."""
    settings = replace(settings, database_url=None, redis_url=None)
    with ExitStack() as stack:
        stack.callback(remove, composition.home(settings))
        stack.enter_context(command(settings, folder / "up.log", "up"))
        yield settings


@contextmanager
def with_workers(settings: Settings, folder: Path) -> Iterator[Settings]:
    """Run two `foldlog worker` on one Postgres and one Redis."""
    home = Home.of(folder / "servers")
    with ExitStack() as stack:
        stack.callback(remove, home)
        postgres, valkey = Postgres(home), Valkey(home)
        urls = {
            "database_url": stack.enter_context(postgres).url,
            "redis_url": stack.enter_context(valkey).url,
        }
        settings = replace(settings, **urls)
        for number in range(2):
            stack.enter_context(command(settings, folder / f"worker{number}.log", "worker"))
        yield settings


@contextmanager
def command(settings: Settings, log: Path, *words: str) -> Iterator[None]:
    """Run a command beside the block."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "foldlog", *words],
            env=os.environ | environment(settings),
            stdout=output,
            stderr=output,
        )
        try:
            yield
        finally:
            process.terminate()
            process.wait()


def measure(settings: Settings, appends: int) -> tuple[list[float], list[float]]:
    """Return the seconds from each append until its words, and until its vector, were found."""
    draw = random.Random(1)
    words: list[float] = []
    vectors: list[float] = []
    with closing(composition.open_log(settings)) as log, writer(settings) as (ask, answer):
        index = LazyIndex(settings, log)

        def has_vectors() -> bool:
            return composition.projection(settings, log, index.session()).unembedded()[0] == 0

        for number in range(-5, appends):
            word = f"monument{number + 5:05d}"
            ask.write(f"{word}\n")
            ask.flush()
            _, began = json.loads(answer.readline())
            found = until(lambda word=word: has_word(index, word), began)
            embedded = until(has_vectors, began)
            # What is loaded, and made, with the first ones is no part of any other.
            if number >= 0:
                words.append(found)
                vectors.append(embedded)
            time.sleep(draw.uniform(0, LONGEST_PAUSE))
        index.close()
    return words, vectors


@contextmanager
def writer(settings: Settings) -> Iterator[tuple[IO[str], IO[str]]]:
    """Run the process that appends; yield where to ask, and where it answers."""
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER],
        env=os.environ | environment(settings),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    with process:
        yield process.stdin, process.stdout
        process.stdin.close()


def until(condition: Callable[[], bool], began: float) -> float:
    """Return the seconds from `began` until a condition holds; an index that is not there yet has nothing."""
    while True:
        try:
            if condition():
                return time.monotonic() - began
        except ProjectionError:
            pass
        if time.monotonic() - began > PATIENCE:
            raise SystemExit("nothing came; do the workers run?")
        time.sleep(LOOK_SECONDS)


def has_word(index: LazyIndex, word: str) -> bool:
    """Say whether the index, without the log, finds a word."""
    query = Query(text=word, words=analysis.query_words(word), off=frozenset((SEMANTIC, GRAPH, TIME)))
    answer = index.search(query, Scope(namespaces=(ALICE,)), now=time.time_ns() // 1_000_000, limit=3)
    return bool(answer.channels[TEXT])


if __name__ == "__main__":
    sys.exit(main())
