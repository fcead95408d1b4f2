"""The jobs that the settings ask for."""

from __future__ import annotations

from collections.abc import Mapping

from foldlog.settings import Settings
from foldlog.workers.jobs.job import Job
from foldlog.workers.jobs.verify import VerifyJob


def create(settings: Settings) -> Mapping[str, Job]:
    """Return every job by its name; those that the settings do not schedule run only when asked for."""
    jobs: list[Job] = [VerifyJob(settings)]
    return {job.name: job for job in jobs}
