"""The program of a process that prepares pages: rows of the log in, a prepared page out, until the end.

It reads and writes pickles on its standard streams, which nobody but the process that started it
holds: when that one ends, however it does, this one meets the end of its input and ends too.
"""

from __future__ import annotations

import os
import pickle
import sys
from typing import BinaryIO

from foldlog.errors import FoldlogError
from foldlog.events.reader import Page
from foldlog.projections.hindsight.prepared import Prepared, prepare


def main() -> None:
    """Prepare pages until there are no more."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    # What anything prints goes where errors go, and not between the answers.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    try:
        _serve(sys.stdin.buffer, answers)
    except (BrokenPipeError, KeyboardInterrupt):
        pass
    # Whoever asked is gone, or has all answers: there is nothing to flush.
    os._exit(0)


def _serve(questions: BinaryIO, answers: BinaryIO) -> None:
    while True:
        try:
            rows = pickle.load(questions)
        except EOFError:
            return
        pickle.dump(_answer(rows), answers, pickle.HIGHEST_PROTOCOL)
        answers.flush()


def _answer(rows: list[tuple[object, ...]]) -> Prepared | None:
    try:
        return prepare(Page(rows).events())
    except FoldlogError:
        # Whoever folds the page meets the same error, and shows it.
        return None


if __name__ == "__main__":
    main()
