"""Where each migration tree keeps its version."""

from typing import Final

from foldlog.events.log import VERSION_TABLE

LOG_VERSION_TABLE: Final = VERSION_TABLE
CONTROL_SCHEMA: Final = "foldlog"
CONTROL_VERSION_TABLE: Final = "alembic_version"
