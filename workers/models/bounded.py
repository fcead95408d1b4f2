"""A limit on time and size for the body of an answer: a socket's own timeout starts anew with each byte."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from httpx2 import ReadTimeout, Response, SyncByteStream

#: Longest answer, in bytes. The longest that a model gives has some hundred thousand.
MAX_ANSWER: Final = 16 << 20


class _Bounded(SyncByteStream):
    """A body that must have ended by an instant."""

    def __init__(self, body: SyncByteStream, deadline: float, clock: Callable[[], float]) -> None:
        self._body = body
        self._deadline = deadline
        self._clock = clock

    def __iter__(self) -> Iterator[bytes]:
        size = 0
        for part in self._body:
            size += len(part)
            if self._clock() > self._deadline:
                raise ReadTimeout("the answer did not end in time")
            if size > MAX_ANSWER:
                raise ReadTimeout(f"the answer has more than {MAX_ANSWER} bytes")
            yield part

    def close(self) -> None:
        self._body.close()


def bound(seconds: float, clock: Callable[[], float]) -> Callable[[Response], None]:
    """Return a hook for a client: whatever body it is about to read must end within so many seconds."""

    def hook(response: Response) -> None:
        body = response.stream
        if isinstance(body, SyncByteStream):
            response.stream = _Bounded(body, clock() + seconds, clock)

    return hook
