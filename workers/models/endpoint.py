"""The service of a language model on the other side of a client library: when to try again, what failed.

The libraries of OpenAI and Anthropic have the same clients and errors under the same names. Nothing that is
raised here holds the key; nothing is taken from the libraries' own variables but proxies.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, TypeVar

from foldlog.errors import ModelRefused, ModelUnavailable, SettingsError
from foldlog.services import said, seconds

if TYPE_CHECKING:
    from foldlog.workers.models.model import Calls

Result = TypeVar("Result")

#: Seconds before the first retry; doubled before each further one.
PAUSE: Final = 1.0

#: Most seconds between two attempts. Who is told to wait longer raises, and the next run comes back.
LONGEST_PAUSE: Final = 20.0

#: What passes by itself, besides every 5xx.
_LATER: Final = (
    HTTPStatus.REQUEST_TIMEOUT,
    HTTPStatus.CONFLICT,
    HTTPStatus.TOO_EARLY,
    HTTPStatus.TOO_MANY_REQUESTS,
)

#: What services say when they do not know a parameter, and when a text is too long.
_NOT_TAKEN: Final = (
    HTTPStatus.BAD_REQUEST,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    HTTPStatus.UNPROCESSABLE_ENTITY,
)

_HINTS: Final[dict[int, str]] = {
    HTTPStatus.BAD_REQUEST: "; if it was too long, lower FOLDLOG_MODEL_INPUT_TOKENS",
    HTTPStatus.UNAUTHORIZED: "; check FOLDLOG_MODEL_KEY",
    HTTPStatus.PAYMENT_REQUIRED: "; the account of FOLDLOG_MODEL_KEY must be topped up",
    HTTPStatus.FORBIDDEN: "; check FOLDLOG_MODEL_KEY",
    HTTPStatus.NOT_FOUND: "; check FOLDLOG_MODEL_URL and FOLDLOG_MODEL",
    HTTPStatus.METHOD_NOT_ALLOWED: "; check FOLDLOG_MODEL_URL",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "; lower FOLDLOG_MODEL_INPUT_TOKENS",
}


class NotTaken(ModelRefused):
    """Raised when the service does not take this request, but may take a plainer one.

    `code` is the service's word for why, or None.
    """

    def __init__(self, message: str, code: object = None) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """An address behind a client library; may be used by several threads at once."""

    #: The library, which is also the name of the extra: `openai` or `anthropic`.
    library: str
    address: str
    key: str | None = field(default=None, repr=False)
    #: Seconds until an answer must begin, and again until it must have ended.
    timeout: float
    #: How often a request is made again.
    retries: int
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        if find_spec(self.library) is None:
            raise SettingsError(
                f"FOLDLOG_SUMMARIZER is {self.library}, which needs an extra: "
                f"pip install 'foldlog[{self.library}]'"
            )

    @property
    def sdk(self) -> ModuleType:
        """The library; it takes seconds to load, so nothing does before the first request."""
        return import_module(self.library)

    def http_client(self) -> Any:
        """Return a client for one request, that follows no redirect: the conversation would go along."""
        from foldlog.workers.models.bounded import bound

        logger = logging.getLogger(self.library)
        if logger.getEffectiveLevel() < logging.INFO:
            # It would write down the conversation.
            logger.setLevel(logging.INFO)
        return self.sdk.DefaultHttpxClient(
            timeout=self.timeout,
            follow_redirects=False,
            event_hooks={"response": [bound(self.timeout, self.clock)]},
        )

    def ask(self, send: Callable[[], Result], calls: Calls) -> Result:
        """Return what `send` gives, made again when it fails in a way that passes.

        Raises ModelUnavailable when no attempt succeeded, NotTaken or ModelRefused at once.
        """
        for attempt in range(self.retries):
            calls.take()
            try:
                return self._once(send)
            except ModelUnavailable as error:
                pause = PAUSE * 2**attempt if error.retry_after is None else error.retry_after
                if pause > LONGEST_PAUSE:
                    raise
                self.sleep(pause)
        calls.take()
        return self._once(send)

    def _once(self, send: Callable[[], Result]) -> Result:
        try:
            return send()
        except self.sdk.APIStatusError as error:
            # Not `from error`: its request holds the key.
            raise self._problem(error.response) from None
        except self.sdk.APIConnectionError as error:
            raise ModelUnavailable(f"{self.address} does not answer: {_reason(error)}") from None
        except (ValueError, RecursionError, self.sdk.APIError):
            # Not refused: an answer that was cut looks like this too.
            raise self.no_json() from None

    def no_json(self) -> ModelUnavailable:
        """Return the error for an answer that is a page, or half of one."""
        return ModelUnavailable(
            f"{self.address} answers something that is not JSON; if that stays so, check FOLDLOG_MODEL_URL"
        )

    def _problem(self, response: Any) -> ModelUnavailable | ModelRefused:
        """Return what an answer other than 200 means for the caller."""
        body = _json(response)
        line = said(body, self.key)
        status = response.status_code
        text = f"{self.address} answers {status}{f': {line}' if line else ''}"
        if status == HTTPStatus.TOO_MANY_REQUESTS and _code(body) == "insufficient_quota":
            # Says "too many requests", but no waiting helps.
            return ModelRefused(text + _HINTS[HTTPStatus.PAYMENT_REQUIRED])
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR or status in _LATER:
            return ModelUnavailable(text, seconds(response.headers.get("Retry-After")))
        if status < HTTPStatus.BAD_REQUEST:
            return ModelRefused(f"{text}, which leads elsewhere; set FOLDLOG_MODEL_URL to the end of it")
        text += _HINTS.get(status, "")
        return NotTaken(text, _code(body)) if status in _NOT_TAKEN else ModelRefused(text)


def _reason(error: Exception) -> str:
    """Return why there was no answer: what the library reports stands in its cause."""
    cause = error.__cause__ or error
    return str(cause) or type(cause).__name__


def _json(response: Any) -> Any:
    try:
        return response.json()
    except (ValueError, RecursionError):
        return None


def _code(body: Any) -> object:
    """Return the machine-readable code of a failure; OpenAI gives it twice."""
    error = body.get("error") if isinstance(body, dict) else None
    return (error.get("code") or error.get("type")) if isinstance(error, dict) else None
