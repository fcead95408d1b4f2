"""The composition root: the one place that names concrete classes and wires them together.

Whatever needs Postgres is imported when it is first used: a program that only writes never loads it.
"""

from foldlog.composition.foreground import ForegroundFolding
from foldlog.composition.lazy_index import LazyIndex
from foldlog.composition.opening import open_log, open_memory, rank
from foldlog.composition.servers import (
    NO_INDEX,
    NO_QUEUE,
    database_url,
    embedded_postgres,
    embedded_valkey,
    home,
    index_clock,
    redis_url,
)
from foldlog.composition.wiring import (
    embed_all,
    embedder_of,
    generations,
    limits,
    log_id,
    projection,
    recipe,
    stages,
)

__all__ = [
    "NO_INDEX",
    "NO_QUEUE",
    "ForegroundFolding",
    "LazyIndex",
    "database_url",
    "embed_all",
    "embedded_postgres",
    "embedded_valkey",
    "embedder_of",
    "generations",
    "home",
    "index_clock",
    "limits",
    "log_id",
    "open_log",
    "open_memory",
    "projection",
    "rank",
    "recipe",
    "redis_url",
    "stages",
]
