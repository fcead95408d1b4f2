"""The control schema: migrated, declared, and safe when many start at once."""

from __future__ import annotations

import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import psycopg
from sqlalchemy import create_engine, inspect

from foldlog import composition
from foldlog.projections.extraction import EXTRACTOR_VERSION
from foldlog.projections.hindsight import control, tables
from foldlog.settings import Settings

#: Layout of a generation -> digest of its tables, and of what finds the names in them.
PINNED = {2: "04d5f7c4feb5d260"}


def _prepared(tmp_path: Path, url: str) -> None:
    with composition.open_memory(settings=Settings(log=tmp_path / "memory.db", database_url=url)) as memory:
        memory.catch_up()


def test_migrated_schema_is_the_declared_one(tmp_path: Path, database_url: str, postgres: Any) -> None:
    """What the revisions make is what the table definitions say: columns, keys, indexes, checks."""
    _prepared(tmp_path, database_url)
    engine = create_engine("postgresql+psycopg://", creator=lambda: psycopg.connect(database_url))
    migrated = _shape(engine)
    with psycopg.connect(database_url) as connection:
        connection.execute("DROP SCHEMA foldlog CASCADE")
        connection.execute("CREATE SCHEMA foldlog")
    tables.control.create_all(engine)
    declared = _shape(engine)
    engine.dispose()
    assert migrated.keys() == declared.keys()
    for name in migrated:
        assert migrated[name] == declared[name], name


def _shape(engine: Any) -> dict[str, Any]:
    inspector = inspect(engine)
    found = {}
    for name in inspector.get_table_names(schema="foldlog"):
        if name == "alembic_version":
            continue
        columns = [
            (item["name"], str(item["type"]), item["nullable"], item["default"])
            for item in inspector.get_columns(name, schema="foldlog")
        ]
        found[name] = {
            "columns": columns,
            "primary key": inspector.get_pk_constraint(name, schema="foldlog")["constrained_columns"],
            "foreign keys": sorted(
                (key["constrained_columns"], key["referred_table"], str(key["options"]))
                for key in inspector.get_foreign_keys(name, schema="foldlog")
            ),
            "unique": sorted(
                item["column_names"] for item in inspector.get_unique_constraints(name, schema="foldlog")
            ),
            "indexes": sorted(
                (item["column_names"], item["unique"], str(item.get("dialect_options")))
                for item in inspector.get_indexes(name, schema="foldlog")
            ),
            "checks": sorted(
                item["sqltext"] for item in inspector.get_check_constraints(name, schema="foldlog")
            ),
        }
    return found


def test_many_processes_prepare_one_index(tmp_path: Path, database_url: str) -> None:
    """One migrates and makes the first generation, the others wait; nobody fails."""
    code = (
        "import sys, foldlog\n"
        "from pathlib import Path\n"
        "settings = foldlog.Settings(log=Path(sys.argv[1]), database_url=sys.argv[2])\n"
        "with foldlog.open(settings=settings) as memory:\n"
        "    memory.facts.set('user:alice', 'k' + sys.argv[3], 1)\n"
        "    memory.catch_up()\n"
    )
    processes = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "memory.db"), database_url, str(number)])
        for number in range(4)
    ]
    assert [process.wait() for process in processes] == [0] * 4
    with psycopg.connect(database_url) as connection:
        assert connection.execute("SELECT count(*) FROM foldlog.generations").fetchone() == (1,)


def test_the_tables_of_a_generation_are_pinned_to_its_layout() -> None:
    """Whoever changes them must raise the layout, so that old generations are rebuilt, not misread."""
    shape = []
    for table in tables.generation.sorted_tables:
        columns = [f"{item.name} {item.type} {item.nullable} {item.primary_key}" for item in table.columns]
        shape += [str(table.name), *columns, *sorted(str(index.name) for index in table.indexes)]
    # What another extractor found must be found again, too.
    shape.append(f"extractor {EXTRACTOR_VERSION}")
    digest = sha256("\n".join(shape).encode()).hexdigest()[:16]
    assert {control.LAYOUT: digest} == PINNED
