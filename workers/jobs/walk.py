"""A walk over the threads that changed since the last run, in slices."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from foldlog.events import statements
from foldlog.projections.local import threads, tokens

if TYPE_CHECKING:
    from foldlog.projections.local.threads import Thread
    from foldlog.workers.jobs.job import Work


class Walk:
    """The threads of one run; its state is what the next run begins with.

    A thread that changes while the run lasts is looked at again by the next one.
    """

    def __init__(self, work: Work, recipe: str, *, again: Iterable[int] = ()) -> None:
        """`recipe` says what is asked for: every thread is looked at again when it changes.

        `again` are the streams of threads that are to be looked at though they did not change.
        """
        self._work = work
        self._recipe = recipe
        same = work.state.get("recipe") == recipe
        #: Threads untouched since this position were looked at by an earlier run.
        self._position = int(work.state.get("position", 0)) if same else 0
        self._stream = int(work.state.get("stream", 0)) if same else 0
        self._upto = int(work.state.get("upto", 0)) if same else 0
        with work.memory.log.read() as connection:
            if not self._upto:
                self._upto = connection.execute(statements.HEAD_POSITION).fetchone()[0]
            streams = {*again, *tokens.changed(connection, self._position, self._upto)}
        self._waiting = sorted(stream_id for stream_id in streams if stream_id > self._stream)

    def __iter__(self) -> Iterator[Thread]:
        """Yield thread after thread until the run is to stop."""
        log = self._work.memory.log
        while self._waiting and not self._work.stop():
            with log.read() as connection:
                thread = threads.by_stream(connection, self._waiting[0])
            if thread is not None:
                yield thread
            self._stream = self._waiting.pop(0)
            self._work.progress(self._stream)

    @property
    def finished(self) -> bool:
        """Say whether every thread was looked at."""
        return not self._waiting

    @property
    def state(self) -> dict[str, Any]:
        """What the next run begins with."""
        if self.finished:
            return {"recipe": self._recipe, "position": self._upto}
        return {
            "recipe": self._recipe,
            "position": self._position,
            "upto": self._upto,
            "stream": self._stream,
        }


def count(
    work: Work, thread: Thread, tokenizer: str, counter: Callable[[list[str]], list[int]]
) -> dict[int, int]:
    """Return what the shown messages of a thread count in tokens, by memory id; count what is not counted.

    A dry run counts too: a count is no change of memory.
    """
    log = work.memory.log
    while True:
        with log.read() as connection:
            new = tokens.uncounted(connection, thread.stream_id, tokenizer)
            if not new:
                return tokens.counts(connection, thread.stream_id, tokenizer)
        # Outside of any transaction: counting takes its time.
        counted = counter([spelled(item.content) for item in new])
        with log.write() as transaction:
            tokens.put(transaction.connection, tokenizer, zip(new, counted, strict=True))


def spelled(content: Any) -> str:
    """Return a content as a model gets it: text as it is, parts as JSON."""
    from foldlog.events.encoding import encode

    return content if isinstance(content, str) else encode(content)
