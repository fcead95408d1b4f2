"""An embedding service on the other side of HTTP: one request, its deadline, and when to try again.

Nothing that is raised here holds the key or a text: services repeat both in their messages.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from http import HTTPStatus
from http.client import HTTPException, HTTPResponse, InvalidURL
from typing import Any, Final
from urllib.error import HTTPError
from urllib.request import HTTPRedirectHandler, OpenerDirector, Request, build_opener

from foldlog.errors import EmbeddingRefused, EmbeddingUnavailable
from foldlog.services import said, seconds

#: How often a request is made when nobody waits for it.
ATTEMPTS: Final = 3

#: Seconds before the second attempt; doubled before each further one.
PAUSE: Final = 0.5

#: Most seconds between two attempts. Who is told to wait longer raises, and its caller comes back.
LONGEST_PAUSE: Final = 10.0

#: Longest answer, in bytes: 2,000 vectors of 4,000 numbers as text.
MAX_ANSWER: Final = 256 << 20

#: What passes by itself, besides every 5xx.
_LATER: Final = (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS)

#: What services say when a text is too long, too many texts come at once, or a parameter is unknown.
_NOT_TAKEN: Final = (
    HTTPStatus.BAD_REQUEST,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    HTTPStatus.UNPROCESSABLE_ENTITY,
)

_HINTS: Final[dict[int, str]] = {
    HTTPStatus.UNAUTHORIZED: "; check FOLDLOG_EMBEDDING_KEY",
    HTTPStatus.FORBIDDEN: "; check FOLDLOG_EMBEDDING_KEY",
    HTTPStatus.NOT_FOUND: "; check FOLDLOG_EMBEDDING_URL and FOLDLOG_EMBEDDING_MODEL",
    HTTPStatus.METHOD_NOT_ALLOWED: "; check FOLDLOG_EMBEDDING_URL",
}


class NotTaken(EmbeddingRefused):
    """Raised when the service does not take this request, but may take a smaller or plainer one."""


@dataclass(frozen=True, kw_only=True)
class Service:
    """An address that takes JSON and answers JSON; may be used by several threads at once."""

    endpoint: str
    #: Sent as a bearer token.
    key: str | None = field(default=None, repr=False)
    #: Seconds for one attempt.
    timeout: float
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic

    def ask(self, body: Mapping[str, object], *, attempts: int) -> Any:
        """Return the answer to a request.

        Raises EmbeddingUnavailable when no attempt succeeded, NotTaken or EmbeddingRefused at once.
        """
        content = json.dumps(body).encode()
        for attempt in range(1, attempts):
            try:
                return self._once(content)
            except EmbeddingUnavailable as error:
                pause = PAUSE * 2 ** (attempt - 1) if error.retry_after is None else error.retry_after
                if pause > LONGEST_PAUSE:
                    raise
                self.sleep(pause)
        return self._once(content)

    def _once(self, content: bytes) -> Any:
        request = Request(self.endpoint, data=content, headers=self._headers, method="POST")
        deadline = self.clock() + self.timeout
        try:
            with self._opener.open(request, timeout=self.timeout) as response:
                answer = self._read(response, deadline)
        except HTTPError as error:
            with error:
                raise self._problem(error) from None
        except InvalidURL as error:
            raise EmbeddingRefused(f"{self.endpoint}: {error}; check FOLDLOG_EMBEDDING_URL") from error
        except (OSError, HTTPException) as error:
            reason = str(getattr(error, "reason", error)) or type(error).__name__
            raise EmbeddingUnavailable(f"{self.endpoint} does not answer: {reason}") from error
        return self._parsed(answer)

    @cached_property
    def _opener(self) -> OpenerDirector:
        return build_opener(_NoRedirect)

    @cached_property
    def _headers(self) -> dict[str, str]:
        headers = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "foldlog"}
        return headers if self.key is None else headers | {"Authorization": f"Bearer {self.key}"}

    def _read(self, response: HTTPResponse, deadline: float) -> bytes:
        """Return the body; the socket's own timeout would let it drip in without end."""
        content = bytearray()
        while part := response.read1(1 << 16):
            content += part
            if self.clock() > deadline:
                raise TimeoutError(f"not finished after {self.timeout:g} s")
            if len(content) > MAX_ANSWER:
                raise EmbeddingRefused(f"{self.endpoint} answers with more than {MAX_ANSWER} bytes")
        return bytes(content)

    def _parsed(self, content: bytes) -> Any:
        try:
            return json.loads(content)
        except (ValueError, RecursionError):
            # Not refused: an answer that was cut looks like this too.
            raise EmbeddingUnavailable(
                f"{self.endpoint} answers something that is not JSON; if that stays so, "
                "check FOLDLOG_EMBEDDING_URL"
            ) from None

    def _problem(self, error: HTTPError) -> EmbeddingUnavailable | EmbeddingRefused:
        """Return what an answer other than 200 means for the caller."""
        text = f"{self.endpoint} answers {error.code}{self._said(error)}"
        if error.code >= HTTPStatus.INTERNAL_SERVER_ERROR or error.code in _LATER:
            return EmbeddingUnavailable(text, seconds(error.headers.get("Retry-After")))
        if error.code in _NOT_TAKEN:
            return NotTaken(text)
        if error.code < HTTPStatus.BAD_REQUEST:
            # Not followed: the key would go to whatever address the answer names.
            return EmbeddingRefused(
                f"{text}, which leads elsewhere; set FOLDLOG_EMBEDDING_URL to the end of it"
            )
        return EmbeddingRefused(text + _HINTS.get(error.code, ""))

    def _said(self, error: HTTPError) -> str:
        """Return the service's message, without the key that some repeat in it."""
        try:
            line = said(json.loads(error.read(1 << 16)), self.key)
        except (OSError, HTTPException, ValueError, RecursionError):
            return ""
        return f": {line}" if line else ""


class _NoRedirect(HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        """Answer None, which makes a redirect an HTTPError."""
