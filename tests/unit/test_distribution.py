"""What ships is what is tracked: the wheel's files, its one package, its command."""

import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import distribution
from pathlib import Path, PurePosixPath

import pytest

REPOSITORY = Path(__file__).parents[2]
LINKED = ("events", "projections", "workers", "migrations")

wheel = pytest.mark.wheel


def tracked_files() -> set[str]:
    """Return the tracked files of the packages, named as in the wheel."""
    git = ("git", "-c", "safe.directory=*", "-C", REPOSITORY, "ls-files", "-z", "--", "src/foldlog", *LINKED)
    names = subprocess.run(git, check=True, capture_output=True, text=True).stdout.split("\0")[:-1]
    return {
        name.removeprefix("src/") if name.startswith("src/") else f"foldlog/{name}"
        for name in names
        if not (REPOSITORY / name).is_symlink()
    }


def installed_files() -> list[PurePosixPath]:
    """Return the files of the installed wheel, without what the installation added."""
    files = distribution("foldlog").files or []
    return [file for file in files if file.parts[0] != ".." and "__pycache__" not in file.parts]


def distribution_name(requirement: str) -> str:
    return re.split(r"[^\w-]", requirement, maxsplit=1)[0].lower().replace("_", "-")


def foldlog(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the installed command in an empty folder, with no settings from outside."""
    return subprocess.run(
        [Path(sys.executable).with_name("foldlog"), *arguments],
        check=False,
        cwd=folder,
        env={name: os.environ[name] for name in os.environ if not name.startswith(("FOLDLOG_", "PYTHON"))},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.parametrize("name", LINKED)
def test_each_top_level_folder_is_linked_into_the_package(name):
    """A link is relative, so that it holds in every checkout."""
    assert os.readlink(REPOSITORY / "src/foldlog" / name) == f"../../{name}"


def test_constraints_pin_every_dependency_and_nothing_else_is_in_them():
    """Each line is one exact version: no index, no address, no option."""
    lines = (REPOSITORY / "constraints.txt").read_text().splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert [pin for pin in pins if not re.fullmatch(r"[\w-]+==[\w.]+(; .+)?", pin)] == []

    declared = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())
    lists = [
        declared["project"]["dependencies"],
        *declared["project"]["optional-dependencies"].values(),
        *declared["dependency-groups"].values(),
    ]
    wanted = {distribution_name(item) for items in lists for item in items if isinstance(item, str)}
    assert wanted - {distribution_name(pin) for pin in pins} == set()


@wheel
def test_the_wheel_holds_exactly_the_tracked_files():
    """Nothing is lost on the way through the sdist, and nothing else slips in."""
    shipped = {str(file) for file in installed_files() if not file.parts[0].endswith(".dist-info")}
    assert shipped == tracked_files()


@wheel
def test_the_wheel_has_one_top_level_package():
    """A top-level `events` or `tests` would collide with other distributions."""
    folders = {file.parts[0] for file in installed_files()}
    assert folders == {"foldlog", f"foldlog-{distribution('foldlog').version}.dist-info"}


@wheel
def test_the_command_explains_itself(tmp_path):
    """`foldlog --help` works outside the repository."""
    done = foldlog("--help", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("usage: foldlog")


@wheel
def test_the_demo_runs_from_the_wheel(tmp_path):
    """`foldlog demo` needs nothing but the wheel and its extra, and leaves nothing behind."""
    done = foldlog("demo", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert list(tmp_path.iterdir()) == []
