"""The embedder `http`: any service with OpenAI's `/v1/embeddings`, as vLLM, TEI, Ollama and others have."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import numpy as np

from foldlog.errors import EmbeddingRefused
from foldlog.projections.embedding.embedder import MAX_CHARACTERS, normalised
from foldlog.projections.embedding.service import ATTEMPTS, NotTaken, Service

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from foldlog.projections.embedding.embedder import Vectors

VERSION: Final = 1

#: A text that is not taken is cut in halves down to this, in characters.
SHORTEST: Final = 250


def endpoint(url: str) -> str:
    """Return where to post: `/embeddings` below the base; a bare host gets `/v1` before it."""
    base = url.rstrip("/")
    if base.endswith("/embeddings"):
        return base
    return f"{base}/embeddings" if urlsplit(base).path else f"{base}/v1/embeddings"


class HttpEmbedder:
    """Vectors from a service. One text always in the same form: prefix, text, at most MAX_CHARACTERS."""

    name = "http"
    version = VERSION
    weight = 0.5

    def __init__(
        self,
        service: Service,
        *,
        model: str,
        dimension: int,
        batch: int,
        passage_prefix: str = "",
        query_prefix: str = "",
    ) -> None:
        self.dimension = dimension
        # Neither address nor key: the same model behind another door gives the same vectors. Nor the
        # prefix of questions, whose vectors are not kept.
        recipe = json.dumps([model, passage_prefix]).encode()
        self.fingerprint = f"http-{VERSION}-{dimension}-{blake2b(recipe, digest_size=8).hexdigest()}"
        self._service = service
        self._model = model
        self._batch = batch
        self._passage_prefix = passage_prefix
        self._query_prefix = query_prefix
        #: Whether the service takes the parameter `dimensions`; None until it has answered.
        self._takes_dimensions: bool | None = None

    def passages(self, texts: Sequence[str]) -> Vectors:
        """Return shape (texts, dimension); tries again after what passes by itself."""
        return self._vectors(texts, self._passage_prefix, ATTEMPTS)

    def queries(self, texts: Sequence[str]) -> Vectors:
        """Return shape (texts, dimension); one attempt, because somebody waits."""
        return self._vectors(texts, self._query_prefix, 1)

    def _vectors(self, texts: Sequence[str], prefix: str, attempts: int) -> Vectors:
        rows = np.zeros((len(texts), self.dimension))
        # Services refuse an empty text, and all that came with it.
        places = [place for place, text in enumerate(texts) if text.strip()]
        for start in range(0, len(places), self._batch):
            some = places[start : start + self._batch]
            rows[some] = self._some([prefix + _plain(texts[place]) for place in some], attempts)
        return normalised(rows)

    def _some(self, texts: list[str], attempts: int) -> NDArray[np.float64]:
        """Return the vectors of a batch, smaller or cut where it is not taken: its limits are not known."""
        try:
            return self._ask(texts, attempts)
        except NotTaken:
            if len(texts) == 1 and len(texts[0]) < 2 * SHORTEST:
                raise
        return np.concatenate([self._some(part, attempts) for part in _smaller(texts)])

    def _ask(self, texts: list[str], attempts: int) -> NDArray[np.float64]:
        body = {"model": self._model, "input": texts}
        if self._takes_dimensions is not False:
            try:
                answer = self._service.ask(body | {"dimensions": self.dimension}, attempts=attempts)
            except NotTaken:
                if self._takes_dimensions:
                    raise
            else:
                rows = self._rows(answer, len(texts))
                self._takes_dimensions = True
                return rows
        # Many models have one length only, and refuse to be asked for it.
        rows = self._rows(self._service.ask(body, attempts=attempts), len(texts))
        self._takes_dimensions = False
        return rows

    def _rows(self, answer: Any, count: int) -> NDArray[np.float64]:
        """Return the vectors of an answer in the order of the texts, shape (count, dimension)."""
        try:
            numbered = dict(_numbered(answer["data"]))
            vectors = [numbered[place] for place in range(len(numbered))]
            lengths = {len(vector) for vector in vectors}
            if len(vectors) == count and lengths == {self.dimension}:
                return np.asarray(vectors, dtype=np.float64)
        except (TypeError, ValueError, LookupError, OverflowError, AttributeError):
            raise EmbeddingRefused(
                f"{self._service.endpoint} does not answer as OpenAI's /v1/embeddings does; "
                "check FOLDLOG_EMBEDDING_URL"
            ) from None
        if len(vectors) != count:
            raise EmbeddingRefused(
                f"{self._service.endpoint} answered {len(vectors)} vectors for {count} texts"
            )
        raise EmbeddingRefused(
            f"{self._model} gives vectors of {' and '.join(map(str, sorted(lengths)))} numbers, "
            f"and FOLDLOG_EMBEDDING_DIMENSION says {self.dimension}; set it to what the model gives"
        )


def _numbered(items: list[dict[str, Any]]) -> Iterator[tuple[int, list[float]]]:
    """Yield (place, vector); some services leave the places out and keep the order."""
    for place, item in enumerate(items):
        yield int(item.get("index", place)), item["embedding"]


def _smaller(texts: list[str]) -> tuple[list[str], ...]:
    """Return a batch in two, or one text as its first half."""
    if len(texts) == 1:
        return ([texts[0][: len(texts[0]) // 2]],)
    return texts[: len(texts) // 2], texts[len(texts) // 2 :]


def _plain(text: str) -> str:
    """Return what is sent of a text: its begin, without half surrogates, which are no text."""
    return text[:MAX_CHARACTERS].encode("utf-8", "replace").decode()
