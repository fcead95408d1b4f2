"""The queues: each is served by workers that name it, or that name none."""

from typing import Final

#: Folding new events; needs the log's file.
LIVE: Final = "live"
#: Embedding texts; needs Postgres only, so it may run on other hosts.
EMBED: Final = "embed"

#: Every queue there is.
QUEUES: Final = (LIVE, EMBED)

#: The environment variable by which the processes of one worker know its queues.
VARIABLE: Final = "FOLDLOG_WORKER_QUEUES"
