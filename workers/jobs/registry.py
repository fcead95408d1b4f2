"""The jobs that there are."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from foldlog import composition
from foldlog.settings import Settings
from foldlog.workers.jobs.embed import EmbedJob
from foldlog.workers.jobs.extract import ExtractJob
from foldlog.workers.jobs.job import Job
from foldlog.workers.jobs.limit import LimitJob
from foldlog.workers.jobs.primers import PrimersJob
from foldlog.workers.jobs.summarize import SummarizeJob
from foldlog.workers.jobs.ttl import TtlJob
from foldlog.workers.jobs.verify import VerifyJob


def create(settings: Settings) -> Mapping[str, Job]:
    """Return every job by its name; those that the settings do not schedule run only when asked for."""
    jobs: list[Job] = [
        TtlJob(settings, partial(composition.index_clock, settings)),
        LimitJob(settings),
        SummarizeJob(settings),
        ExtractJob(settings),
        EmbedJob(settings),
        PrimersJob(settings),
        VerifyJob(settings),
    ]
    return {job.name: job for job in jobs}
