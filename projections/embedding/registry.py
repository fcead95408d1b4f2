"""The table of embedders: each by its name, loaded when it is chosen."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from foldlog.errors import SettingsError

if TYPE_CHECKING:
    from foldlog.projections.embedding.embedder import Embedder
    from foldlog.settings import Settings


def create(settings: Settings) -> Embedder | None:
    """Return the embedder that FOLDLOG_EMBEDDER names; None for `none`.

    Nothing is loaded or reached before the first text. Raises SettingsError for a name that is not in
    the table, for an extra that is not installed, and for a setting that is missing.
    """
    try:
        make = EMBEDDERS[settings.embedder]
    except KeyError:
        names = ", ".join(EMBEDDERS)
        raise SettingsError(f"FOLDLOG_EMBEDDER must be one of {names}, not {settings.embedder!r}") from None
    return make(settings)


def _none(_: Settings) -> None:
    return None


def _static(_: Settings) -> Embedder:
    from foldlog.projections.embedding.static import StaticEmbedder

    return StaticEmbedder()


def _hash(_: Settings) -> Embedder:
    from foldlog.projections.embedding.hashed import HashEmbedder

    return HashEmbedder()


def _onnx(settings: Settings) -> Embedder:
    from foldlog.projections.embedding.onnx import OnnxEmbedder

    return OnnxEmbedder(threads=settings.embedding_threads)


def _http(settings: Settings) -> Embedder:
    from foldlog.projections.embedding.http import HttpEmbedder, endpoint
    from foldlog.projections.embedding.service import Service

    url, model, dimension = settings.embedding_url, settings.embedding_model, settings.embedding_dimension
    if url is None or model is None or dimension is None:
        raise SettingsError(
            "FOLDLOG_EMBEDDER is http, which needs FOLDLOG_EMBEDDING_URL, FOLDLOG_EMBEDDING_MODEL and "
            "FOLDLOG_EMBEDDING_DIMENSION"
        )
    return HttpEmbedder(
        Service(
            endpoint=endpoint(url), key=settings.embedding_key, timeout=settings.embedding_timeout_ms / 1000
        ),
        model=model,
        dimension=dimension,
        batch=settings.embedding_batch,
        passage_prefix=settings.embedding_passage_prefix or "",
        query_prefix=settings.embedding_query_prefix or "",
    )


#: By name, in the order in which messages list them.
EMBEDDERS: Final[dict[str, Callable[[Settings], Embedder | None]]] = {
    "static": _static,
    "none": _none,
    "hash": _hash,
    "onnx": _onnx,
    "http": _http,
}
