"""The model `anthropic`: Claude, by Anthropic's `/v1/messages`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from foldlog.errors import ModelRefused
from foldlog.workers.models.model import Answer

if TYPE_CHECKING:
    from foldlog.workers.models.endpoint import Endpoint
    from foldlog.workers.models.model import Calls, Prompt

#: Where Anthropic's own models are; the library adds `/v1/messages`.
ADDRESS: Final = "https://api.anthropic.com"

#: The tool that the model must call when the answer has a schema.
_TOOL: Final = "answer"


def base(url: str) -> str:
    """Return the address below which `/v1/messages` is."""
    return url.rstrip("/").removesuffix("/v1/messages").removesuffix("/v1")


class AnthropicModel:
    """Messages: instructions as the system prompt, one message of material, one answer."""

    name = "anthropic"

    def __init__(self, endpoint: Endpoint, *, model: str, output_tokens: int) -> None:
        self.model = model
        self.output_tokens = output_tokens
        self._endpoint = endpoint

    def ask(self, prompt: Prompt, calls: Calls) -> Answer:
        """Return the answer; one with a schema comes as what the model calls a tool with."""
        return self._endpoint.ask(lambda: self._send(self._request(prompt)), calls)

    def _request(self, prompt: Prompt) -> dict[str, Any]:
        request: dict[str, Any] = {
            "model": self.model,
            "max_tokens": self.output_tokens,
            "system": prompt.instructions,
            "messages": [{"role": "user", "content": prompt.material}],
        }
        if prompt.schema is not None:
            tool = {"name": _TOOL, "description": "Takes the answer.", "input_schema": prompt.schema}
            request |= {"tools": [tool], "tool_choice": {"type": "tool", "name": _TOOL}}
        return request

    def _send(self, request: dict[str, Any]) -> Answer:
        with self._endpoint.sdk.Anthropic(
            # With a key, the library looks for no other.
            api_key=self._endpoint.key,
            base_url=self._endpoint.address,
            max_retries=0,
            # Its traces may hold the conversation, if a variable says so.
            open_telemetry={"traces": False, "propagation": False},
            http_client=self._endpoint.http_client(),
        ) as client:
            return self._answer(client.messages.create(**request))

    def _answer(self, message: Any) -> Answer:
        if isinstance(message, str):
            raise self._endpoint.no_json()
        try:
            blocks = [(block.type, block) for block in message.content]
        except (AttributeError, TypeError):
            raise ModelRefused(
                f"{self._endpoint.address} does not answer as Anthropic's /v1/messages does; "
                "check FOLDLOG_MODEL_URL"
            ) from None
        given = next((block.input for kind, block in blocks if kind == "tool_use"), None)
        texts = [block.text for kind, block in blocks if kind == "text"]
        return Answer(
            content=texts if given is None else given,
            cut=message.stop_reason in ("max_tokens", "model_context_window_exceeded"),
            declined=message.stop_reason == "refusal",
        )
