"""The stages whose memory is measured, each in a process of its own: `python -m scaling.stages NAME`.

A stage prints one line of JSON: seconds, how much it did, and the most memory its process ever had.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from foldlog import composition
from foldlog.composition.foreground import BULK
from foldlog.events import reader
from foldlog.events.log import Log
from foldlog.events.reader import Page
from foldlog.projections import engine
from foldlog.projections.engine import Limits
from foldlog.projections.hindsight import ahead, control
from foldlog.projections.hindsight.embedding import BATCH
from foldlog.projections.hindsight.prepared import Prepared
from foldlog.projections.hindsight.prepared import prepare as prepare_page
from foldlog.projections.hindsight.session import Session
from foldlog.settings import Settings, environment, load

TESTS = Path(__file__).parents[1]

_TEXTS = "SELECT text FROM embed_todo ORDER BY next_try, id"


@dataclass(frozen=True, kw_only=True)
class Done:
    """What a stage did."""

    #: Events, or vectors.
    done: int
    seconds: float
    #: Of these, until pages were prepared.
    waited: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Stage(Done):
    """The same, with the memory that it took."""

    #: Most memory of its process, and of the largest process that it started, MB.
    peak_mb: float
    child_mb: float

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


def fold(settings: Settings, log: Log, session: Session) -> Done:
    """Fold the log, as a worker does; nothing is embedded."""
    target = composition.projection(settings, log, session)
    target.prepare()
    with _waiting() as waited:
        began = time.perf_counter()
        done = engine.run_once(log, target, composition.limits(settings))
        return Done(done=done.events, seconds=time.perf_counter() - began, waited=sum(waited))


def rebuild(settings: Settings, log: Log, session: Session) -> Done:
    """Load a new generation in large pages, and make its indexes and counts; then drop it."""
    builds = composition.generations(settings, log, session)
    large = Limits(page_events=BULK * settings.page_events, page_bytes=BULK * settings.page_bytes)
    with _waiting() as waited:
        began = time.perf_counter()
        generation_id = builds.create()
        done = engine.run_once(log, builds.projection(generation_id), large)
        builds.finish_loading(generation_id)
        seconds = time.perf_counter() - began
    builds.drop(generation_id)
    return Done(done=done.events, seconds=seconds, waited=sum(waited))


@contextmanager
def _waiting() -> Iterator[list[float]]:
    """Note how long each page is waited for, or prepared here, before it can be written."""
    times: list[float] = []
    prepared = ahead.prepared

    def timed(page: Page) -> Prepared:
        began = time.perf_counter()
        try:
            return prepared(page)
        finally:
            times.append(time.perf_counter() - began)

    ahead.prepared = timed
    try:
        yield times
    finally:
        ahead.prepared = prepared


def prepare(settings: Settings, log: Log, session: Session) -> Done:
    """Do the part of the fold that needs no database: decode, find words, dates and names, pack rows."""
    events = 0
    began = time.perf_counter()
    for page in reader.pages(log, events=settings.page_events, size=settings.page_bytes):
        prepare_page(page)
        events += len(page)
    return Done(done=events, seconds=time.perf_counter() - began)


def model(settings: Settings, log: Log, session: Session) -> Done:
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
    return Done(done=len(texts), seconds=time.perf_counter() - began)


def embed(settings: Settings, log: Log, session: Session) -> Done:
    """Embed what is to be embedded, as a worker does."""
    stored = 0
    stages = composition.stages(settings, log.meta.log_id, session)
    began = time.perf_counter()
    for stage in stages:
        while (done := stage.run_once()).claimed:
            stored += done.stored
    return Done(done=stored, seconds=time.perf_counter() - began)


STAGES: dict[str, Callable[[Settings, Log, Session], Done]] = {
    "fold": fold,
    "rebuild": rebuild,
    "prepare": prepare,
    "model": model,
    "embed": embed,
}


def peak_mb() -> tuple[float, float]:
    """Return the most memory this process ever had, and the largest of those that it started."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    return int(status.split("VmHWM:")[1].split()[0]) / 1024, children / 1024


def main() -> None:
    """Run the stage that the command line names."""
    settings = load()
    log = composition.open_log(settings)
    session = Session(composition.database_url(settings), timeout_ms=settings.connect_timeout_ms)
    done = STAGES[sys.argv[1]](settings, log, session)
    own, child = peak_mb()
    print(json.dumps(asdict(done) | {"peak_mb": own, "child_mb": child}))
    session.close()
    log.close()


if __name__ == "__main__":
    main()
