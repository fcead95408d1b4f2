"""The queues: each is served by workers that name it, or that name none."""

from typing import Final

#: Folding new events; needs the log's file.
LIVE: Final = "live"
#: Embedding texts; needs Postgres only, so it may run on other hosts.
EMBED: Final = "embed"
#: The jobs that are due; needs the log's file, and no Postgres.
JOBS: Final = "jobs"

#: Every queue there is.
QUEUES: Final = (LIVE, EMBED, JOBS)

#: Those whose workers must reach the log's file.
NEED_LOG: Final = frozenset((LIVE, JOBS))

#: The environment variable by which the processes of one worker know its queues.
VARIABLE: Final = "FOLDLOG_WORKER_QUEUES"
