"""Sizes that a reader can hold: no module over 400 lines, no function over 50.

Run by `make check`; prints what is too long and exits 1.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]
FOLDERS = ("events", "projections", "workers", "migrations", "src/foldlog")

#: Lines, the blank ones and the docstrings counted.
MAX_MODULE = 400
MAX_FUNCTION = 50

#: What may be longer, as `path` or `path:function`, and why.
EXCEPTIONS: dict[str, str] = {
    "src/foldlog/errors.py": "every error stands in one tree, which a reader looks up and does not read",
}


def sizes(path: Path) -> Iterator[tuple[str, int, int]]:
    """Yield (name, lines, limit) for a module and each function in it."""
    name = path.relative_to(REPOSITORY).as_posix()
    source = path.read_text(encoding="utf-8")
    yield name, len(source.splitlines()), MAX_MODULE
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield f"{name}:{node.name}", (node.end_lineno or 0) - node.lineno + 1, MAX_FUNCTION


def problems() -> list[str]:
    """Return a line for each thing too long, and for each exception that no longer is."""
    too_long = {
        name: f"{name} has {lines} lines; the limit is {limit}"
        for folder in FOLDERS
        # rglob does not follow the links in src/foldlog, so each file is seen once.
        for path in sorted((REPOSITORY / folder).rglob("*.py"))
        for name, lines, limit in sizes(path)
        if lines > limit
    }
    return [
        *(line for name, line in too_long.items() if name not in EXCEPTIONS),
        *(f"{name} is an exception but not too long" for name in EXCEPTIONS if name not in too_long),
    ]


if __name__ == "__main__":
    found = problems()
    print("\n".join(found) or "limits: all modules and functions are within their limits")
    sys.exit(bool(found))
