"""Both language models through their real clients, against a local service that can be slow, fail and lie."""

from __future__ import annotations

import json
import logging
import re
import socket
from collections.abc import Callable, Iterator
from dataclasses import replace
from traceback import format_exception
from typing import Any

import pytest

from fixtures._http_service import (
    Server,
    Step,
    breaks_off,
    fails,
    hangs,
    hangs_up,
    says,
    shows_a_page,
)
from fixtures.model_service import ANTHROPIC, OPENAI, USUAL, Dialect
from foldlog.errors import (
    ExtractionRefused,
    ModelRefused,
    ModelUnavailable,
    SettingsError,
    SummaryRefused,
)
from foldlog.settings import Settings
from foldlog.workers.models import anthropic, bounded, endpoint, openai, registry
from foldlog.workers.models.abstractive import AbstractiveSummarizer
from foldlog.workers.models.endpoint import LONGEST_PAUSE, PAUSE, Endpoint
from foldlog.workers.models.extraction import SCHEMA, Extractor, Proposed
from foldlog.workers.models.model import Answer, Calls, Model, Prompt
from foldlog.workers.models.transcript import Spoken
from foldlog.workers.tokens.counter import ByteCounter

KEY = "sk-very-secret-key"

PROMPT = Prompt(instructions="Be brief.", material="<m>\nsecret plans\n</m>")

STRUCTURED = replace(PROMPT, schema=SCHEMA)

CONVERSATION = [
    Spoken(
        message_id="a", role="user", author="Alice", text="I moved to Bern on 3 May. " * 20, happened_at=0
    ),
    Spoken(message_id="b", role="assistant", text="Noted, and welcome to Bern.", happened_at=1000),
]


@pytest.fixture
def pauses() -> list[float]:
    """How long was slept, instead of sleeping."""
    return []


@pytest.fixture
def make(dialect: Dialect, model_server: Server, pauses: list[float]) -> Callable[..., Model]:
    """Make the model of the dialect, with an endpoint as given."""

    def maker(**given: Any) -> Model:
        kind: Any = anthropic if dialect is ANTHROPIC else openai
        options = {
            "library": dialect.library,
            "key": KEY,
            "timeout": 10,
            "retries": 2,
            "sleep": pauses.append,
        }
        door = Endpoint(**({"address": kind.base(model_server.url)} | options | given))
        model: Model = getattr(kind, "AnthropicModel" if dialect is ANTHROPIC else "OpenAIModel")(
            door, model="m", output_tokens=700
        )
        return model

    return maker


@pytest.fixture
def model(make: Callable[..., Model]) -> Model:
    return make()


@pytest.fixture
def calls() -> Calls:
    return Calls(20)


@pytest.fixture
def summarizer(model: Model, calls: Calls) -> AbstractiveSummarizer:
    return AbstractiveSummarizer(model, ByteCounter(), calls, input_tokens=4000)


only_openai = pytest.mark.parametrize("dialect", [OPENAI], indirect=True, ids=["openai"])
only_anthropic = pytest.mark.parametrize("dialect", [ANTHROPIC], indirect=True, ids=["anthropic"])


# What is asked


@only_openai
def test_a_request_is_that_of_openai(model_server: Server, model: Model, calls: Calls) -> None:
    """Path, key, model, instructions apart from the material, and the longest answer; nothing else."""
    assert model.ask(PROMPT, calls) == Answer(content=USUAL)
    [(path, headers, body)] = model_server.requests
    assert path == "/v1/chat/completions"
    assert headers["Authorization"] == f"Bearer {KEY}"
    assert body == {
        "model": "m",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "<m>\nsecret plans\n</m>"},
        ],
        "max_tokens": 700,
    }
    assert calls.made == 1


@only_anthropic
def test_a_request_is_that_of_anthropic(model_server: Server, model: Model, calls: Calls) -> None:
    """Path, key, model, instructions apart from the material, and the longest answer; nothing else."""
    assert model.ask(PROMPT, calls).text() == USUAL
    [(path, headers, body)] = model_server.requests
    assert path == "/v1/messages"
    assert KEY in f"{headers['X-Api-Key']}{headers['Authorization']}"
    assert body == {
        "model": "m",
        "max_tokens": 700,
        "system": "Be brief.",
        "messages": [{"role": "user", "content": "<m>\nsecret plans\n</m>"}],
    }


def test_only_what_the_settings_say_is_sent(
    model_server: Server, make: Callable[..., Model], calls: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The libraries would take keys, organisations and addresses from variables meant for other services."""
    for name in (
        "OPENAI_API_KEY OPENAI_ADMIN_KEY OPENAI_ORG_ID OPENAI_PROJECT_ID OPENAI_WEBHOOK_SECRET "
        "ANTHROPIC_API_KEY ANTHROPIC_AUTH_TOKEN ANTHROPIC_WEBHOOK_SIGNING_KEY"
    ).split():
        monkeypatch.setenv(name, "of-another-service")
    for name in ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL"):
        monkeypatch.setenv(name, "http://127.0.0.1:9/of-another-service")
    make().ask(PROMPT, calls)
    [(_, headers, body)] = model_server.requests
    assert "of-another-service" not in f"{headers}{body}"


@only_openai
def test_without_a_key_none_is_sent(
    model_server: Server, make: Callable[..., Model], calls: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A service of one's own wants none, and gets none of somebody else's."""
    monkeypatch.setenv("OPENAI_API_KEY", "of-another-service")
    make(key=None).ask(PROMPT, calls)
    assert "Authorization" not in model_server.requests[0][1]


def test_a_redirect_is_not_followed(model_server: Server, model: Model, calls: Calls) -> None:
    """The conversation would go along."""
    model_server.script = [fails(307, Location=f"{model_server.url}/elsewhere")]
    with pytest.raises(ModelRefused, match="leads elsewhere; set FOLDLOG_MODEL_URL"):
        model.ask(PROMPT, calls)
    assert len(model_server.requests) == 1


def test_nothing_is_logged_that_must_not_be(
    model_server: Server, model: Model, calls: Calls, caplog: pytest.LogCaptureFixture
) -> None:
    """Neither the key nor the conversation, however much the libraries are told to say."""
    caplog.set_level(logging.DEBUG)
    model_server.script = [fails(401, {"error": {"message": f"bad key {KEY}"}})]
    with pytest.raises(ModelRefused) as caught:
        model.ask(PROMPT, calls)
    model.ask(PROMPT, calls)
    traceback = "".join(format_exception(caught.value))
    shown = [caplog.text, traceback, repr(vars(model)), repr(Settings(model_key=KEY))]
    for text in shown:
        assert KEY not in text
        assert "secret plans" not in text


@only_anthropic
def test_nothing_is_traced(model: Model, calls: Calls, monkeypatch: pytest.MonkeyPatch) -> None:
    """Traces go to whom a variable names, with the conversation if another one says so."""
    monkeypatch.setenv("ANTHROPIC_OPEN_TELEMETRY_TRACES_CONTENT_MODE", "content")
    asked: list[object] = []
    monkeypatch.setattr("opentelemetry.trace.get_tracer", lambda *given, **_: asked.append(given))
    model.ask(PROMPT, calls)
    assert asked == []


# What passes by itself


def test_failures_pass(model_server: Server, model: Model, calls: Calls, pauses: list[float]) -> None:
    """Two failures and then an answer: the pauses double, and every attempt counts."""
    model_server.script = [fails(500), fails(503)]
    assert model.ask(PROMPT, calls).text() == USUAL
    assert pauses == [PAUSE, 2 * PAUSE]
    assert calls.made == 3


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504, 529])
def test_failures_that_stay_are_for_later(
    dialect: Dialect, model_server: Server, model: Model, calls: Calls, status: int
) -> None:
    """The attempts are bounded; the next run comes back."""
    model_server.usual = fails(status, dialect.error("overloaded"))
    with pytest.raises(ModelUnavailable, match=f"answers {status}: overloaded"):
        model.ask(PROMPT, calls)
    assert len(model_server.requests) == calls.made == 3


def test_a_limit_is_respected(model_server: Server, model: Model, calls: Calls, pauses: list[float]) -> None:
    """The service says when to come back."""
    model_server.script = [fails(429, Retry_After="7"), fails(429, Retry_After="0.25")]
    assert model.ask(PROMPT, calls).text() == USUAL
    assert pauses == [7, 0.25]


def test_a_long_limit_is_left_to_the_caller(
    model_server: Server, model: Model, calls: Calls, pauses: list[float]
) -> None:
    """Nobody sleeps for minutes with a lease in hand."""
    model_server.script = [fails(429, Retry_After=str(LONGEST_PAUSE + 1))]
    with pytest.raises(ModelUnavailable) as caught:
        model.ask(PROMPT, calls)
    assert caught.value.retry_after == LONGEST_PAUSE + 1
    assert (pauses, calls.made) == ([], 1)


@pytest.mark.parametrize("value", ["Wed, 21 Oct 2026 07:28:00 GMT", "soon", "nan", "inf", ""])
def test_a_limit_in_other_words_is_no_limit(
    model_server: Server, model: Model, calls: Calls, pauses: list[float], value: str
) -> None:
    """The usual pause is made instead."""
    model_server.script = [fails(429, Retry_After=value)]
    model.ask(PROMPT, calls)
    assert pauses == [PAUSE]


def test_without_retries_there_is_one_attempt(
    model_server: Server, make: Callable[..., Model], calls: Calls, pauses: list[float]
) -> None:
    """The libraries have retries of their own, which are off."""
    model_server.usual = fails(503)
    with pytest.raises(ModelUnavailable):
        make(retries=0).ask(PROMPT, calls)
    assert (len(model_server.requests), pauses) == (1, [])


def test_a_run_makes_no_more_requests_than_it_may(
    model_server: Server, model: Model, pauses: list[float]
) -> None:
    """Attempts that fail are paid for as well."""
    model_server.usual = fails(503)
    with pytest.raises(ModelUnavailable, match="2 requests to the model, the most that FOLDLOG_MODEL_CALLS"):
        model.ask(PROMPT, Calls(2))
    assert len(model_server.requests) == 2


def test_a_slow_service_is_not_waited_for(
    model_server: Server, make: Callable[..., Model], calls: Calls
) -> None:
    """The deadline is the setting's."""
    model_server.usual = hangs
    with pytest.raises(ModelUnavailable, match="does not answer: timed out"):
        make(timeout=0.05, retries=1).ask(PROMPT, calls)
    assert calls.made == 2


def test_an_answer_may_not_drip(make: Callable[..., Model], calls: Calls) -> None:
    """Each byte comes in time, the whole does not."""
    ticks: Iterator[float] = iter([0.0, 11.0])
    with pytest.raises(ModelUnavailable, match="the answer did not end in time"):
        make(retries=0, clock=lambda: next(ticks)).ask(PROMPT, calls)


def test_an_answer_may_not_be_endless(
    make: Callable[..., Model], calls: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would fill the memory."""
    monkeypatch.setattr(bounded, "MAX_ANSWER", 100)
    with pytest.raises(ModelUnavailable, match="more than 100 bytes"):
        make(retries=0).ask(PROMPT, calls)


@pytest.mark.parametrize("step", [breaks_off, hangs_up, shows_a_page])
def test_half_an_answer_is_tried_again(
    model_server: Server, model: Model, calls: Calls, pauses: list[float], step: Step
) -> None:
    """A connection cut in the middle of an answer or before it, and a proxy's page instead of one."""
    model_server.script = [step]
    assert model.ask(PROMPT, calls).text() == USUAL
    assert pauses == [PAUSE]


@pytest.mark.parametrize("content", [b"{", b"nonsense", b""])
def test_what_is_not_json_may_pass(model_server: Server, model: Model, calls: Calls, content: bytes) -> None:
    """If it stays, the address is wrong."""
    model_server.usual = lambda handler, _: handler.raw(content)
    with pytest.raises(ModelUnavailable, match=r"not JSON.*FOLDLOG_MODEL_URL"):
        model.ask(PROMPT, calls)


def test_nobody_listens(make: Callable[..., Model], calls: Calls) -> None:
    """The address is named."""
    with socket.socket() as taken:
        # Bound but not listening: no other program gets the port.
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(ModelUnavailable, match=f"{url} does not answer.*refused"):
            make(address=url).ask(PROMPT, calls)


@only_openai
def test_a_failure_with_status_200(
    dialect: Dialect, model_server: Server, model: Model, calls: Calls
) -> None:
    """Some services that ask others send what went wrong there as an answer."""
    model_server.script = [says({"error": {"message": "upstream is down", "code": 502}})]
    assert model.ask(PROMPT, calls).text() == USUAL
    model_server.usual = says({"error": {"message": f"upstream is down, {KEY}", "code": 502}})
    with pytest.raises(ModelUnavailable, match=r"answers: upstream is down, \*\*\*"):
        model.ask(PROMPT, calls)


# What a person must act on


@pytest.mark.parametrize("status", [401, 403])
def test_a_wrong_key_is_refused_and_not_repeated(
    dialect: Dialect, model_server: Server, model: Model, calls: Calls, status: int
) -> None:
    """At once, and not in the message, although services repeat it."""
    model_server.usual = fails(status, dialect.error(f"Incorrect API key provided: {KEY}."))
    with pytest.raises(ModelRefused, match=r"Incorrect API key.*check FOLDLOG_MODEL_KEY") as caught:
        model.ask(PROMPT, calls)
    assert KEY not in str(caught.value)
    assert len(model_server.requests) == 1


@pytest.mark.parametrize(
    ("status", "hint"),
    [
        (400, "if it was too long, lower FOLDLOG_MODEL_INPUT_TOKENS"),
        (402, "the account of FOLDLOG_MODEL_KEY must be topped up"),
        (404, "check FOLDLOG_MODEL_URL and FOLDLOG_MODEL$"),
        (413, "lower FOLDLOG_MODEL_INPUT_TOKENS"),
    ],
)
def test_what_does_not_pass_is_not_tried_again(
    dialect: Dialect, model_server: Server, model: Model, calls: Calls, status: int, hint: str
) -> None:
    """The message says what the service said, and what to look at."""
    model_server.usual = fails(status, dialect.error("no such thing"))
    with pytest.raises(ModelRefused, match=f"{status}: no such thing; {hint}"):
        model.ask(PROMPT, calls)
    assert len(model_server.requests) == 1


def test_a_used_up_quota_is_no_limit_of_speed(
    dialect: Dialect, model_server: Server, model: Model, calls: Calls
) -> None:
    """The status is that of too many requests, and no waiting helps."""
    model_server.usual = fails(429, dialect.error("You exceeded your current quota", "insufficient_quota"))
    with pytest.raises(ModelRefused, match="topped up"):
        model.ask(PROMPT, calls)


@pytest.mark.parametrize(
    "content", [{}, {"object": "list", "data": []}, {"choices": []}, {"choices": None}, []]
)
def test_another_service_is_refused(
    dialect: Dialect, model_server: Server, model: Model, calls: Calls, content: object
) -> None:
    """The address is that of something else."""
    model_server.usual = says(content)
    with pytest.raises(ModelRefused, match=rf"does not answer as .*{dialect.path} does"):
        model.ask(PROMPT, calls)


# What is answered


@only_openai
@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("  a summary\n", "a summary"),
        ({"text": "a summary"}, "a summary"),
        ({"output": "a summary"}, "a summary"),
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "summary"}], "a\nsummary"),
        ({"summary": ["a", 1]}, '{"summary": ["a", 1]}'),
        (7, "7"),
        ("<think>They want a summary.</think>\n\na summary", "a summary"),
        ("\ud800 half", "? half"),
        ("", ""),
        (None, ""),
        ([], ""),
    ],
)
@pytest.mark.conformance(121)
def test_answers_of_all_shapes_become_text(
    dialect: Dialect, model_server: Server, model: Model, calls: Calls, content: object, text: str
) -> None:
    """A string, the `text` or `output` of an object, parts; anything else as JSON."""
    model_server.script = [says(dialect.answer(content))]
    assert model.ask(PROMPT, calls).text() == text


@only_anthropic
@pytest.mark.parametrize(
    ("blocks", "text"),
    [
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "summary"}], "a\nsummary"),
        ([{"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "text", "text": "a"}], "a"),
        ([], ""),
    ],
)
def test_blocks_become_text(
    dialect: Dialect, model_server: Server, model: Model, calls: Calls, blocks: object, text: str
) -> None:
    """What the model thought is not part of what it said."""
    model_server.script = [says(dialect.answer(blocks))]
    assert model.ask(PROMPT, calls).text() == text


@pytest.mark.conformance(125)
@pytest.mark.parametrize("content", ["", "  \n ", None])
def test_an_empty_summary_is_refused(
    dialect: Dialect, model_server: Server, summarizer: AbstractiveSummarizer, content: str | None
) -> None:
    """It would stand for messages that are hidden then."""
    given = [] if content is None and dialect is ANTHROPIC else content
    model_server.usual = says(dialect.answer(given))
    with pytest.raises(SummaryRefused, match="m answered with an empty summary"):
        summarizer.summarize(CONVERSATION, budget=400)


def test_an_unfinished_summary_is_refused(
    dialect: Dialect, model_server: Server, summarizer: AbstractiveSummarizer
) -> None:
    """What would have come is missing from it."""
    model_server.usual = says(dialect.answer("Alice moved to", stop=dialect.cut))
    with pytest.raises(SummaryRefused, match=r"did not finish its summary in 700 tokens.*OUTPUT_TOKENS"):
        summarizer.summarize(CONVERSATION, budget=400)


def test_a_model_may_decline(
    dialect: Dialect, model_server: Server, summarizer: AbstractiveSummarizer
) -> None:
    """Its polite answer is no summary."""
    model_server.usual = says(dialect.answer("I cannot help with that.", stop=dialect.declined))
    with pytest.raises(SummaryRefused, match="m declined"):
        summarizer.summarize(CONVERSATION, budget=400)


@only_openai
def test_a_filter_may_decline_before_the_model_reads_anything(
    dialect: Dialect, model_server: Server, summarizer: AbstractiveSummarizer
) -> None:
    """These messages are the reason, not a setting: the next thread may be asked about."""
    model_server.usual = fails(400, dialect.error("The prompt was filtered.", "content_filter"))
    with pytest.raises(SummaryRefused, match="m declined"):
        summarizer.summarize(CONVERSATION, budget=400)
    assert len(model_server.requests) == 1


@only_openai
def test_a_refusal_has_its_own_field(
    dialect: Dialect, model_server: Server, summarizer: AbstractiveSummarizer
) -> None:
    """Beside an empty content."""
    model_server.usual = says(dialect.message({"role": "assistant", "content": None, "refusal": "No."}))
    with pytest.raises(SummaryRefused, match="m declined"):
        summarizer.summarize(CONVERSATION, budget=400)


def test_a_summary_that_is_too_long_is_shortened_once(
    dialect: Dialect, model_server: Server, summarizer: AbstractiveSummarizer
) -> None:
    """Models count badly; the second attempt is asked with what came of the first."""
    model_server.script = [says(dialect.answer("very long " * 50))]
    found = summarizer.summarize(CONVERSATION, budget=200)
    assert (found.text, found.calls) == (USUAL, 2)
    assert "very long very long" in json.dumps(model_server.bodies[1])
    model_server.usual = says(dialect.answer("very long " * 50))
    with pytest.raises(SummaryRefused, match="the summary has 499 tokens, more than its budget of 200"):
        summarizer.summarize(CONVERSATION, budget=200)


def test_a_summary_says_who_made_it_of_what(dialect: Dialect, summarizer: AbstractiveSummarizer) -> None:
    """The event holds it."""
    found = summarizer.summarize(CONVERSATION, budget=400)
    assert (found.text, found.sources) == (USUAL, ("a", "b"))
    assert (found.summarizer, found.version, found.model) == (dialect.library, 1, "m")
    assert (found.calls, found.extractive) == (1, False)


# What OpenAI's imitators do not know


@only_openai
def test_reasoning_models_have_another_name_for_the_limit(
    dialect: Dialect, model_server: Server, model: Model, calls: Calls
) -> None:
    """They are asked again by that, and from then on."""
    model_server.script = [
        fails(400, dialect.error("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."))
    ]
    model.ask(PROMPT, calls)
    model.ask(PROMPT, calls)
    limits = [{name for name in body if name.startswith("max_")} for body in model_server.bodies]
    assert limits == [{"max_tokens"}, {"max_completion_tokens"}, {"max_completion_tokens"}]


@only_openai
def test_a_service_that_takes_no_schema_is_asked_without(
    dialect: Dialect, model_server: Server, model: Model, calls: Calls
) -> None:
    """The prompt says the same in words."""
    model_server.script = [fails(422, {"detail": [{"loc": ["body", "response_format"], "msg": "extra"}]})]
    model.ask(STRUCTURED, calls)
    model.ask(STRUCTURED, calls)
    assert ["response_format" in body for body in model_server.bodies] == [True, False, False]


@only_openai
def test_a_service_that_takes_nothing_is_asked_three_times_at_most(
    dialect: Dialect, model_server: Server, model: Model, calls: Calls
) -> None:
    """And the next time in full again: something else was wrong."""
    model_server.usual = fails(400, dialect.error("Use max_completion_tokens."))
    for _ in range(2):
        with pytest.raises(ModelRefused, match=r"400: Use max_completion_tokens\."):
            model.ask(STRUCTURED, calls)
    assert ["response_format" in body for body in model_server.bodies] == [True, True, False] * 2


# Notes


@pytest.fixture
def extractor(model: Model, calls: Calls) -> Extractor:
    return Extractor(model, ByteCounter(), calls, input_tokens=4000)


def test_notes_are_proposed_with_their_sources(
    dialect: Dialect, model_server: Server, extractor: Extractor
) -> None:
    """The model names messages by marks; what comes out are their ids."""
    note = {"body": " Alice lives in Bern. ", "kind": "fact", "sources": ["m2", "m1"]}
    model_server.usual = says(dialect.structured({"notes": [note]}))
    assert extractor.extract(CONVERSATION) == [
        Proposed(body="Alice lives in Bern.", kind="fact", sources=("a", "b"))
    ]
    [body] = model_server.bodies
    if dialect is ANTHROPIC:
        assert body["tools"][0]["input_schema"] == SCHEMA
        assert body["tool_choice"] == {"type": "tool", "name": "answer"}
    else:
        assert body["response_format"]["json_schema"]["schema"] == SCHEMA


@only_openai
def test_notes_may_come_as_a_call_of_a_tool(
    dialect: Dialect, model_server: Server, extractor: Extractor
) -> None:
    """Some services make a tool of the schema."""
    arguments = json.dumps({"notes": [{"body": "x", "kind": "task", "sources": ["m1"]}]})
    call = {"id": "1", "type": "function", "function": {"name": "answer", "arguments": arguments}}
    model_server.usual = says(dialect.message({"role": "assistant", "content": None, "tool_calls": [call]}))
    assert extractor.extract(CONVERSATION) == [Proposed(body="x", kind="task", sources=("a",))]


def test_an_answer_in_words_is_no_note(dialect: Dialect, model_server: Server, extractor: Extractor) -> None:
    """What it says is not repeated: it may be anything."""
    model_server.usual = says(dialect.answer("Here are your notes: " + "x" * 100))
    with pytest.raises(ExtractionRefused, match=r"the model did not answer with JSON$"):
        extractor.extract(CONVERSATION)


@pytest.mark.parametrize(("stop", "says_"), [("cut", "did not finish its notes"), ("declined", "declined")])
def test_notes_without_their_end_are_refused(
    dialect: Dialect, model_server: Server, extractor: Extractor, stop: str, says_: str
) -> None:
    """As summaries are."""
    model_server.usual = says(dialect.answer('{"notes": []}', stop=getattr(dialect, stop)))
    with pytest.raises(ExtractionRefused, match=says_):
        extractor.extract(CONVERSATION)


# Settings


def test_the_settings_make_the_same(dialect: Dialect, model_server: Server) -> None:
    """Nothing but settings is needed."""
    settings = Settings(
        summarizer=dialect.library,
        model="m",
        model_url=f"{model_server.url}/v1",
        model_key=KEY,
        tokenizer="bytes",
    )
    assert registry.create(settings).summarize(CONVERSATION, budget=400).text == USUAL
    path, _, body = model_server.requests[0]
    assert path == dialect.path
    assert body["model"] == "m"
    assert body["max_tokens"] == settings.model_output_tokens


def test_an_extra_that_is_missing_is_named(dialect: Dialect, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the command that installs it, before anything is asked."""
    monkeypatch.setattr(endpoint, "find_spec", lambda name: None)
    settings = Settings(summarizer=dialect.library, model="m", model_key=KEY)
    command = re.escape(f"pip install 'foldlog[{dialect.library}]'")
    for create in (registry.create, registry.create_extractor):
        with pytest.raises(SettingsError, match=command):
            create(settings)
