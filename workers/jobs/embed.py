"""The job embed: vectors for what has none yet; workers do the same all the time, without being asked."""

from __future__ import annotations

import time
from contextlib import closing

from foldlog import composition
from foldlog.projections.hindsight.session import Session
from foldlog.settings import Settings
from foldlog.workers.jobs.job import Result, Work


class EmbedJob:
    """Embeds what is due, in every generation of the index; for a machine without workers, or at once."""

    name = "embed"
    whole = False
    #: Workers that serve the queue `embed` do it as it comes.
    every_ms = None

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def run(self, work: Work) -> Result:
        """Embed until nothing is due; raises ProjectionError when Postgres cannot be used."""
        url = composition.database_url(self._settings)
        done = failed = 0
        with closing(Session(url, timeout_ms=self._settings.connect_timeout_ms)) as session:
            stages = composition.stages(self._settings, work.memory.log.meta.log_id, session)
            if work.dry_run:
                due = sum(stage.due(time.time_ns() // 1_000_000) for stage in stages)
                return Result(counts={"generations": due})
            for stage in stages:
                while not work.stop() and (batch := stage.run_once()).claimed:
                    done, failed = done + batch.stored, failed + batch.failed
                    work.progress(done)
                stage.index_if_large()
        problems = [f"{failed} texts got no vector; see `foldlog status`"] if failed else []
        return Result(counts={"embedded": done}, problems=problems, more=work.stop())
