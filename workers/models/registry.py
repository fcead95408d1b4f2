"""The table of summarizers: each by its name, loaded when it is chosen."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from foldlog.errors import SettingsError
from foldlog.workers.tokens import registry as tokens

if TYPE_CHECKING:
    from foldlog.settings import Settings
    from foldlog.workers.models.endpoint import Endpoint
    from foldlog.workers.models.extraction import Extractor
    from foldlog.workers.models.model import Model
    from foldlog.workers.models.summarizer import Summarizer


def create(settings: Settings) -> Summarizer:
    """Return the summarizer that FOLDLOG_SUMMARIZER names, for one run: it counts its requests.

    Nothing is loaded or reached before the first summary. Raises SettingsError for a name that is not in
    the table, for an extra that is not installed, and for a setting that is missing.
    """
    counter = tokens.create(settings)
    if settings.summarizer == "extractive":
        from foldlog.workers.models.extractive import ExtractiveSummarizer

        return ExtractiveSummarizer(counter)
    from foldlog.workers.models.abstractive import AbstractiveSummarizer
    from foldlog.workers.models.model import Calls

    return AbstractiveSummarizer(
        model(settings), counter, Calls(settings.model_calls), input_tokens=settings.model_input_tokens
    )


def create_extractor(settings: Settings) -> Extractor:
    """Return what proposes notes, for one run: it counts its requests. Raises SettingsError as `create`."""
    if settings.summarizer == "extractive":
        raise SettingsError(
            "FOLDLOG_SUMMARIZER is extractive, which proposes no notes; that needs a language model: "
            f"set it to {' or '.join(MODELS)}, and FOLDLOG_MODEL"
        )
    from foldlog.workers.models.extraction import Extractor
    from foldlog.workers.models.model import Calls

    return Extractor(
        model(settings),
        tokens.create(settings),
        Calls(settings.model_calls),
        input_tokens=settings.model_input_tokens,
    )


def model(settings: Settings) -> Model:
    """Return the language model that the settings name; raises SettingsError as `create`."""
    try:
        make = MODELS[settings.summarizer]
    except KeyError:
        names = ", ".join(MODELS)
        raise SettingsError(
            f"FOLDLOG_SUMMARIZER must be one of {names}, not {settings.summarizer!r}"
        ) from None
    if settings.model is None:
        raise SettingsError(f"FOLDLOG_SUMMARIZER is {settings.summarizer}, which needs FOLDLOG_MODEL")
    return make(settings, settings.model)


def _openai(settings: Settings, name: str) -> Model:
    from foldlog.workers.models.openai import ADDRESS, OpenAIModel, base

    if settings.model_url is None and settings.model_key is None:
        raise SettingsError(
            "FOLDLOG_SUMMARIZER is openai, which needs FOLDLOG_MODEL_KEY, or the FOLDLOG_MODEL_URL of a "
            "service without keys"
        )
    endpoint = _endpoint(settings, "openai", base(settings.model_url or ADDRESS))
    return OpenAIModel(endpoint, model=name, output_tokens=settings.model_output_tokens)


def _anthropic(settings: Settings, name: str) -> Model:
    from foldlog.workers.models.anthropic import ADDRESS, AnthropicModel, base

    if settings.model_key is None:
        raise SettingsError("FOLDLOG_SUMMARIZER is anthropic, which needs FOLDLOG_MODEL_KEY")
    endpoint = _endpoint(settings, "anthropic", base(settings.model_url or ADDRESS))
    return AnthropicModel(endpoint, model=name, output_tokens=settings.model_output_tokens)


def _endpoint(settings: Settings, library: str, address: str) -> Endpoint:
    from foldlog.workers.models.endpoint import Endpoint

    return Endpoint(
        library=library,
        address=address,
        key=settings.model_key,
        timeout=settings.model_timeout_ms / 1000,
        retries=settings.model_retries,
    )


#: The kinds of services, by name, in the order in which messages list them.
MODELS: Final[dict[str, Callable[[Settings, str], Model]]] = {
    "openai": _openai,
    "anthropic": _anthropic,
}
