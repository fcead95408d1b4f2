"""The model `openai`: any service with OpenAI's `/v1/chat/completions`, as vLLM, Ollama and others have."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from foldlog.errors import ModelRefused, ModelUnavailable
from foldlog.services import said
from foldlog.workers.models.endpoint import NotTaken
from foldlog.workers.models.model import Answer

if TYPE_CHECKING:
    from foldlog.workers.models.endpoint import Endpoint
    from foldlog.workers.models.model import Calls, Prompt

#: Where OpenAI's own models are.
ADDRESS: Final = "https://api.openai.com/v1"

#: How a service says that it did not let the model read this; Azure sends it as a failure.
FILTERED: Final = "content_filter"

#: What models think before they answer, where the service does not keep it apart.
_THOUGHT: Final = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)


def base(url: str) -> str:
    """Return the address below which `/chat/completions` is; a bare host gets `/v1`."""
    found = url.rstrip("/").removesuffix("/chat/completions")
    return found if urlsplit(found).path else f"{found}/v1"


@dataclass(frozen=True, slots=True)
class _Shape:
    """How a request is worded, which differs from service to service."""

    #: What the parameter for the longest answer is called: reasoning models know the second name only.
    limit: str = "max_tokens"
    #: Whether the service takes a JSON schema.
    schema: bool = True

    def plainer(self, refused: NotTaken, prompt: Prompt) -> _Shape:
        """Return a shape that the service may take instead; raises what it says when there is none left."""
        if "max_completion_tokens" in str(refused) and self.limit == "max_tokens":
            return replace(self, limit="max_completion_tokens")
        if prompt.schema is not None and self.schema:
            return replace(self, schema=False)
        raise refused


class OpenAIModel:
    """Chat completions: one message of instructions, one of material, one answer."""

    name = "openai"

    def __init__(self, endpoint: Endpoint, *, model: str, output_tokens: int) -> None:
        self.model = model
        self.output_tokens = output_tokens
        self._endpoint = endpoint
        #: What the service took the last time.
        self._shape = _Shape()

    def ask(self, prompt: Prompt, calls: Calls) -> Answer:
        """Return the answer; a service that does not know a parameter is asked without it, once each."""
        shape = self._shape
        while True:
            request = self._request(prompt, shape)
            try:
                answer = self._endpoint.ask(partial(self._send, request), calls)
            except NotTaken as refused:
                if refused.code == FILTERED:
                    return Answer(content=None, declined=True)
                shape = shape.plainer(refused, prompt)
            else:
                self._shape = shape
                return answer

    def _request(self, prompt: Prompt, shape: _Shape) -> dict[str, Any]:
        request: dict[str, Any] = {
            "model": self.model,
            "messages": [
                {"role": "system", "content": prompt.instructions},
                {"role": "user", "content": prompt.material},
            ],
            shape.limit: self.output_tokens,
        }
        if prompt.schema is not None and shape.schema:
            schema = {"name": "answer", "schema": prompt.schema, "strict": True}
            request["response_format"] = {"type": "json_schema", "json_schema": schema}
        return request

    def _send(self, request: dict[str, Any]) -> Answer:
        sdk, key = self._endpoint.sdk, self._endpoint.key
        # What is not given would come from the library's own variables, and a key go to another's service.
        headers = {"OpenAI-Organization": sdk.Omit(), "OpenAI-Project": sdk.Omit()}
        if key is None:
            request = request | {"extra_headers": {"Authorization": sdk.Omit()}}
        with sdk.OpenAI(
            api_key=key or "none",
            base_url=self._endpoint.address,
            max_retries=0,
            default_headers=headers,
            http_client=self._endpoint.http_client(),
        ) as client:
            return self._answer(client.chat.completions.create(**request))

    def _answer(self, completion: Any) -> Answer:
        if isinstance(completion, str):
            raise self._endpoint.no_json()
        try:
            choice = completion.choices[0]
            message = choice.message
            content = message.content
        except (AttributeError, LookupError, TypeError):
            raise self._no_choice(completion) from None
        calls = getattr(message, "tool_calls", None)
        if content is None and calls:
            # A schema is a tool to some services.
            content = calls[0].function.arguments
        if isinstance(content, str):
            content = _THOUGHT.sub("", content)
        return Answer(
            content=content,
            cut=choice.finish_reason == "length",
            declined=choice.finish_reason == FILTERED or bool(getattr(message, "refusal", None)),
        )

    def _no_choice(self, completion: Any) -> ModelUnavailable | ModelRefused:
        """Return the error for an answer without an answer; some send their failures with status 200."""
        line = said({"error": getattr(completion, "error", None)}, self._endpoint.key)
        if line:
            return ModelUnavailable(f"{self._endpoint.address} answers: {line}")
        return ModelRefused(
            f"{self._endpoint.address} does not answer as OpenAI's /v1/chat/completions does; "
            "check FOLDLOG_MODEL_URL"
        )
