"""The stages whose memory is measured, each in a process of its own: `python -m scaling.stages NAME`.

A stage prints one line of JSON: seconds, how much it did, and the most memory its process ever had.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from foldlog import composition
from foldlog.events import reader
from foldlog.events.log import Log
from foldlog.projections import engine
from foldlog.projections.hindsight import control, effects, graph, text
from foldlog.projections.hindsight import time as spans
from foldlog.projections.hindsight.embedding import BATCH
from foldlog.projections.hindsight.session import Session
from foldlog.settings import Settings, environment, load

TESTS = Path(__file__).parents[1]

_TEXTS = "SELECT text FROM embed_todo ORDER BY next_try, id"


@dataclass(frozen=True, kw_only=True)
class Stage:
    """What one stage did."""

    #: Events, or vectors.
    done: int
    seconds: float
    #: Most memory of its process, MB.
    peak_mb: float

    @property
    def rate(self) -> float:
        """How much a second."""
        return self.done / self.seconds


def run(name: str, settings: Settings) -> Stage:
    """Run a stage in a process of its own."""
    path = os.pathsep.join([str(TESTS), *sys.path[1:]])
    done = subprocess.run(
        [sys.executable, "-m", "scaling.stages", name],
        env=os.environ | environment(settings) | {"PYTHONPATH": path},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return Stage(**json.loads(done.stdout))


def fold(settings: Settings, log: Log, session: Session) -> tuple[int, float]:
    """Fold the log, as a worker does; nothing is embedded."""
    target = composition.projection(settings, log, session)
    target.prepare()
    began = time.perf_counter()
    done = engine.run_once(log, target, composition.limits(settings))
    return done.events, time.perf_counter() - began


def prepare(settings: Settings, log: Log, session: Session) -> tuple[int, float]:
    """Do the part of the fold that needs no database: decode, find words, dates and names."""
    events = 0
    began = time.perf_counter()
    for page in reader.pages(log, events=settings.page_events, size=settings.page_bytes):
        documents = list(effects.of(page).documents.values())
        graph.rows(documents)
        for item in documents:
            list(text.rows(item, True))
            list(spans.rows(item))
        events += len(page)
    return events, time.perf_counter() - began


def model(settings: Settings, log: Log, session: Session) -> tuple[int, float]:
    """Call the model with what is to be embedded, and drop the vectors."""
    with session.transaction() as connection:
        generation = control.active(connection, log.meta.log_id)
        assert generation is not None
        assert generation.embedder is not None
        control.use(connection, generation)
        texts = [found for (found,) in connection.execute(_TEXTS).fetchall()]
    embedder = composition.embedder_of(settings, generation.embedder)
    assert embedder is not None
    embedder.passages(["what is loaded with the first text"])
    began = time.perf_counter()
    for first in range(0, len(texts), BATCH):
        embedder.passages(texts[first : first + BATCH])
    return len(texts), time.perf_counter() - began


def embed(settings: Settings, log: Log, session: Session) -> tuple[int, float]:
    """Embed what is to be embedded, as a worker does."""
    stored = 0
    stages = composition.stages(settings, log.meta.log_id, session)
    began = time.perf_counter()
    for stage in stages:
        while (done := stage.run_once()).claimed:
            stored += done.stored
    return stored, time.perf_counter() - began


STAGES: dict[str, Callable[[Settings, Log, Session], tuple[int, float]]] = {
    "fold": fold,
    "prepare": prepare,
    "model": model,
    "embed": embed,
}


def peak_mb() -> float:
    """Return the most memory this process ever had."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def main() -> None:
    """Run the stage that the command line names."""
    settings = load()
    log = composition.open_log(settings)
    session = Session(composition.database_url(settings), timeout_ms=settings.connect_timeout_ms)
    done, seconds = STAGES[sys.argv[1]](settings, log, session)
    print(json.dumps(asdict(Stage(done=done, seconds=seconds, peak_mb=peak_mb()))))
    session.close()
    log.close()


if __name__ == "__main__":
    main()
