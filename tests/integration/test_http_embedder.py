"""The embedder `http` against a local server that can be slow, fail, limit, and lie."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any

import pytest

from fixtures._http_service import (
    Handler,
    Server,
    Step,
    breaks_off,
    fails,
    hangs,
    hangs_up,
    says,
)
from fixtures.embedding_service import DIMENSION, gives, unit, vector, well
from foldlog.errors import EmbeddingRefused, EmbeddingUnavailable
from foldlog.projections.embedding import service
from foldlog.projections.embedding.embedder import MAX_CHARACTERS, check
from foldlog.projections.embedding.http import SHORTEST, HttpEmbedder
from foldlog.projections.embedding.service import ATTEMPTS, Service

KEY = "sk-very-secret-key"


@pytest.fixture
def pauses() -> list[float]:
    """How long was slept, instead of sleeping."""
    return []


@pytest.fixture
def make(embedding_server: Server, pauses: list[float]) -> Callable[..., HttpEmbedder]:
    def maker(*, timeout: float = 10, clock: Callable[[], float] = lambda: 0.0, **given: Any) -> HttpEmbedder:
        door = Service(
            endpoint=f"{embedding_server.url}/v1/embeddings",
            key=KEY,
            timeout=timeout,
            sleep=pauses.append,
            clock=clock,
        )
        return HttpEmbedder(door, **({"model": "m", "dimension": DIMENSION, "batch": 8} | given))

    return maker


@pytest.fixture
def embedder(make: Callable[..., HttpEmbedder]) -> HttpEmbedder:
    return make()


# What is asked


def test_a_request_is_that_of_openai(embedding_server: Server, make: Callable[..., HttpEmbedder]) -> None:
    """Path, key, model, texts with their prefix, dimensions; the answer in the order of the texts."""
    embedder = make(passage_prefix="passage: ", query_prefix="query: ")
    assert embedder.passages(["banana", "fig"]) == unit("passage: banana", "passage: fig")
    assert embedder.queries(["a fig?"]) == unit("query: a fig?")
    path, headers, body = embedding_server.requests[0]
    assert path == "/v1/embeddings"
    assert headers["Authorization"] == f"Bearer {KEY}"
    assert headers["Content-Type"] == "application/json"
    assert body == {"model": "m", "input": ["passage: banana", "passage: fig"], "dimensions": DIMENSION}
    assert embedding_server.bodies[1]["input"] == ["query: a fig?"]


def test_texts_are_sent_in_batches(embedding_server: Server, make: Callable[..., HttpEmbedder]) -> None:
    """As large as the setting says; empty texts are not sent, since services refuse them."""
    texts = ["a", "", "aa", "aaa", "\n", "aaaa", "aaaaa"]
    found = make(batch=2).passages(texts)
    assert [body["input"] for body in embedding_server.bodies] == [["a", "aa"], ["aaa", "aaaa"], ["aaaaa"]]
    assert found[[0, 2, 3, 5, 6]] == unit("a", "aa", "aaa", "aaaa", "aaaaa")
    assert not found[[1, 4]].any()


def test_nothing_is_asked_for_nothing(embedding_server: Server, embedder: HttpEmbedder) -> None:
    """An empty batch, and one of empty texts, need no service."""
    assert embedder.passages([]).shape == (0, DIMENSION)
    assert not embedder.passages(["", " "]).any()
    assert embedding_server.requests == []


def test_a_very_long_text_is_cut(embedding_server: Server, embedder: HttpEmbedder) -> None:
    """Before it is sent; half a surrogate pair, which is no text, is replaced."""
    embedder.passages(["x" * 1_000_000, "\ud800"])
    assert [len(text) for text in embedding_server.bodies[0]["input"]] == [MAX_CHARACTERS, 1]
    assert embedding_server.bodies[0]["input"][1] == "?"


def test_places_may_be_left_out(embedding_server: Server, embedder: HttpEmbedder) -> None:
    """Some services only keep the order."""
    embedding_server.script = [says({"data": [{"embedding": vector("a")}, {"embedding": vector("bb")}]})]
    assert embedder.passages(["a", "bb"]) == unit("a", "bb")


def test_a_redirect_is_not_followed(embedding_server: Server, embedder: HttpEmbedder) -> None:
    """The key would go along."""
    embedding_server.script = [fails(307, Location=f"{embedding_server.url}/elsewhere")]
    with pytest.raises(EmbeddingRefused, match="leads elsewhere"):
        embedder.passages(["a"])
    assert len(embedding_server.requests) == 1


# What passes by itself


def test_failures_pass(embedding_server: Server, embedder: HttpEmbedder, pauses: list[float]) -> None:
    """Two failures and then an answer: the pauses double."""
    embedding_server.script = [fails(500), fails(503)]
    assert embedder.passages(["a"]) == unit("a")
    assert pauses == [service.PAUSE, 2 * service.PAUSE]


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504, 529])
def test_failures_that_stay_are_for_later(
    embedding_server: Server, embedder: HttpEmbedder, status: int
) -> None:
    """The attempts are bounded; the caller has the patience."""
    embedding_server.usual = fails(status, {"error": {"message": "overloaded"}})
    with pytest.raises(EmbeddingUnavailable, match=f"answers {status}: overloaded"):
        embedder.passages(["a"])
    assert len(embedding_server.requests) == ATTEMPTS


def test_a_question_does_not_wait(
    embedding_server: Server, embedder: HttpEmbedder, pauses: list[float]
) -> None:
    """Recall has a deadline, and other channels."""
    embedding_server.script = [fails(503)]
    with pytest.raises(EmbeddingUnavailable):
        embedder.queries(["a"])
    assert len(embedding_server.requests) == 1
    assert pauses == []


def test_a_limit_is_respected(embedding_server: Server, embedder: HttpEmbedder, pauses: list[float]) -> None:
    """The service says when to come back."""
    embedding_server.script = [fails(429, Retry_After="7"), fails(429, Retry_After="0.25")]
    assert embedder.passages(["a"]) == unit("a")
    assert pauses == [7, 0.25]


def test_a_long_limit_is_left_to_the_caller(
    embedding_server: Server, embedder: HttpEmbedder, pauses: list[float]
) -> None:
    """Nobody sleeps for minutes with claimed rows in hand."""
    embedding_server.script = [fails(429, Retry_After="120")]
    with pytest.raises(EmbeddingUnavailable) as caught:
        embedder.passages(["a"])
    assert caught.value.retry_after == 120
    assert pauses == []


@pytest.mark.parametrize("value", ["Wed, 21 Oct 2026 07:28:00 GMT", "soon", "nan", "inf", ""])
def test_a_limit_in_other_words_is_no_limit(
    embedding_server: Server, embedder: HttpEmbedder, pauses: list[float], value: str
) -> None:
    """The usual pause is made instead."""
    embedding_server.script = [fails(429, Retry_After=value)]
    assert embedder.passages(["a"]) == unit("a")
    assert pauses == [service.PAUSE]


def test_a_negative_limit_is_no_pause(
    embedding_server: Server, embedder: HttpEmbedder, pauses: list[float]
) -> None:
    """Clocks differ."""
    embedding_server.script = [fails(503, Retry_After="-3")]
    assert embedder.passages(["a"]) == unit("a")
    assert pauses == [0]


def test_a_slow_service_is_not_waited_for(
    embedding_server: Server, make: Callable[..., HttpEmbedder]
) -> None:
    """The deadline is the setting's."""
    embedding_server.script = [hangs]
    with pytest.raises(EmbeddingUnavailable, match="timed out"):
        make(timeout=0.05).queries(["a"])


def test_an_answer_may_not_drip(embedding_server: Server, make: Callable[..., HttpEmbedder]) -> None:
    """Each byte comes in time, the whole does not."""
    ticks = iter([0.0, 11.0])
    with pytest.raises(EmbeddingUnavailable, match="not finished after 10 s"):
        make(clock=lambda: next(ticks)).queries(["a"])


@pytest.mark.parametrize("step", [breaks_off, hangs_up])
def test_a_cut_connection_is_tried_again(
    embedding_server: Server, embedder: HttpEmbedder, pauses: list[float], step: Step
) -> None:
    """In the middle of an answer, or before it."""
    embedding_server.script = [step]
    assert embedder.passages(["a"]) == unit("a")
    assert pauses == [service.PAUSE]


def test_nobody_listens(pauses: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    """The address is named."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with socket.socket() as taken:
        # Bound but not listening: no other program gets the port.
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1/embeddings"
        door = Service(endpoint=url, timeout=10, sleep=pauses.append)
        with pytest.raises(EmbeddingUnavailable, match=f"{url} does not answer.*refused"):
            HttpEmbedder(door, model="m", dimension=4, batch=8).passages(["a"])
    assert len(pauses) == ATTEMPTS - 1


def test_what_is_not_json_may_pass(embedding_server: Server, embedder: HttpEmbedder) -> None:
    """A proxy's page, or an answer without its end; if it stays, the address is wrong."""
    embedding_server.usual = lambda handler, _: handler.raw(b"<html>welcome</html>")
    with pytest.raises(EmbeddingUnavailable, match=r"not JSON.*FOLDLOG_EMBEDDING_URL"):
        embedder.queries(["a"])


# What a person must act on


@pytest.mark.parametrize("status", [401, 403])
def test_a_wrong_key_is_refused_and_not_repeated(
    embedding_server: Server, embedder: HttpEmbedder, status: int
) -> None:
    """At once, and not in the message, although services repeat it."""
    embedding_server.usual = fails(status, {"error": {"message": f"Incorrect API key provided: {KEY}."}})
    with pytest.raises(EmbeddingRefused, match=r"Incorrect API key.*check FOLDLOG_EMBEDDING_KEY") as caught:
        embedder.passages(["a"])
    assert KEY not in str(caught.value)
    assert KEY not in repr(embedder._service)
    assert len(embedding_server.requests) == 1


def test_an_unknown_model_is_refused(embedding_server: Server, embedder: HttpEmbedder) -> None:
    """With what the service says about it."""
    embedding_server.usual = fails(404, {"error": "model 'm' not found"})
    with pytest.raises(EmbeddingRefused, match=r"404: model 'm' not found; check FOLDLOG_EMBEDDING_URL"):
        embedder.passages(["a"])


def test_other_dimensions_are_refused(embedding_server: Server, embedder: HttpEmbedder) -> None:
    """Both numbers are named, and the setting."""
    embedding_server.usual = gives([1.0] * 768)
    with pytest.raises(EmbeddingRefused, match=r"vectors of 768 numbers.*EMBEDDING_DIMENSION says 4"):
        embedder.passages(["a"])


def test_one_vector_of_another_length_is_refused(embedding_server: Server, embedder: HttpEmbedder) -> None:
    """All of an answer is right or none of it is used."""
    embedding_server.usual = gives(vector("a"), [1.0, 2.0, 3.0])
    with pytest.raises(EmbeddingRefused, match="vectors of 3 and 4 numbers"):
        embedder.passages(["a", "b"])


@pytest.mark.parametrize("count", [0, 1, 3])
def test_another_number_of_vectors_is_refused(
    embedding_server: Server, embedder: HttpEmbedder, count: int
) -> None:
    """They could not be told apart."""
    embedding_server.usual = gives(*[vector("a")] * count)
    with pytest.raises(EmbeddingRefused, match=f"{count} vectors for 2 texts"):
        embedder.passages(["a", "b"])


@pytest.mark.parametrize(
    "content",
    [
        None,
        [],
        "fine",
        {},
        {"data": None},
        {"data": [1, 2]},
        {"data": [{"vector": [1]}]},
        {"data": [{"index": None, "embedding": [1, 2, 3, 4]}]},
        {"data": [{"index": 5, "embedding": [1, 2, 3, 4]}]},
        {"data": [{"embedding": "AACAPw=="}]},
        {"data": [{"embedding": ["a", "b", "c", "d"]}]},
        {"data": [{"embedding": [[1], [2], [3], [4, 5]]}]},
        {"data": [{"embedding": [10**400, 0, 0, 0]}]},
        {"error": {"message": "out of memory"}},
    ],
)
def test_another_interface_is_refused(
    embedding_server: Server, embedder: HttpEmbedder, content: object
) -> None:
    """JSON, but not what OpenAI's service answers."""
    embedding_server.usual = says(content)
    with pytest.raises(EmbeddingRefused):
        embedder.passages(["a"])


def test_an_endless_answer_is_refused(
    embedding_server: Server, embedder: HttpEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the memory is full."""
    monkeypatch.setattr(service, "MAX_ANSWER", 1000)
    embedding_server.usual = lambda handler, _: handler.raw(b" " * 2000)
    with pytest.raises(EmbeddingRefused, match="more than 1000 bytes"):
        embedder.passages(["a"])


def test_texts_do_not_come_into_messages(embedding_server: Server, embedder: HttpEmbedder) -> None:
    """Many services repeat the request that they refuse; an error is kept and shown, a memory is private."""
    embedding_server.usual = lambda handler, body: handler.answer(
        {"detail": [{"input": body}], "message": None}, 422
    )
    with pytest.raises(EmbeddingRefused) as caught:
        embedder.passages(["a private text"])
    assert "private" not in str(caught.value)


# What is not taken as it is


def test_a_model_of_one_length_is_not_asked_for_it_again(
    embedding_server: Server, embedder: HttpEmbedder
) -> None:
    """Many services refuse the parameter; what they give without it is checked all the same."""
    embedding_server.script = [fails(400, {"error": {"message": "dimensions is not supported"}})]
    assert embedder.passages(["a"]) == unit("a")
    assert embedder.passages(["bb"]) == unit("bb")
    assert ["dimensions" in body for body in embedding_server.bodies] == [True, False, False]


def test_a_batch_that_is_too_large_is_halved(embedding_server: Server, embedder: HttpEmbedder) -> None:
    """Down to what is taken."""

    def at_most_two(handler: Handler, body: dict[str, Any]) -> None:
        well(handler, body) if len(body["input"]) <= 2 else handler.answer({"error": "too many"}, 413)

    embedding_server.usual = at_most_two
    texts = ["a", "ab", "aab", "aabb", "aaabb"]
    assert embedder.passages(texts) == unit(*texts)


def test_a_text_that_is_too_long_is_cut(embedding_server: Server, embedder: HttpEmbedder) -> None:
    """In halves, until the model takes it; the others of its batch stay whole."""

    def at_most(handler: Handler, body: dict[str, Any]) -> None:
        fit = all(len(text) <= 3000 for text in body["input"])
        well(handler, body) if fit else handler.answer({"error": {"message": "maximum context"}}, 400)

    embedding_server.usual = at_most
    texts = ["a" * 2999, "b" * 10_000, "c" * 10]
    assert embedder.passages(texts) == unit("a" * 2999, "b" * 2500, "c" * 10)


def test_what_is_never_taken_is_refused(embedding_server: Server, embedder: HttpEmbedder) -> None:
    """After a bounded number of requests."""
    embedding_server.usual = fails(400, {"message": "no such model"})
    with pytest.raises(EmbeddingRefused, match="400: no such model"):
        embedder.passages(["a" * 10_000] * 8)
    assert len(embedding_server.requests) <= 2 * (3 + 6 + 1)
    assert len(embedding_server.bodies[-1]["input"][0]) < 2 * SHORTEST


# What cannot be stored


def test_vectors_without_a_direction_become_zeros(embedding_server: Server, embedder: HttpEmbedder) -> None:
    """NaN, null, infinity and zeros; the other rows can be stored."""
    bad = [[float("nan"), 1, 1, 1], [None, 1, 1, 1], [float("inf"), 1, 1, 1], [0, 0, 0, 0]]
    embedding_server.usual = gives(vector("a"), *bad, [1e300, 0, 0, 0])
    found = embedder.passages(["a", "b", "c", "d", "e", "f"])
    assert check(found, 6, DIMENSION).tolist() == [True, False, False, False, False, True]
    assert not found[1:5].any()
    assert found[5].tolist() == [1, 0, 0, 0]
