"""Servers that are ill: each fault is one error, soon, and one that passes costs nothing."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import logging
import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from fake_server import with_started
from listener import Listener, chat

from tomeval.core.errors import TomevalError
from tomeval.models.base import (
    BackendError,
    ContextExceeded,
    GenerateRequest,
    Message,
    Prompt,
    Sampling,
    Stopped,
)
from tomeval.models.served import OpenAIOptions, client
from tomeval.models.served.faults import ServerGone, message_of
from tomeval.models.served.model import OpenAIModel

PROMPT = Prompt((Message("user", "Play."),))
FINE = chat("Final answer: J")


class Fault(NamedTuple):
    """What a server does, and what is said of it."""

    name: str
    answer: Any  # (status, headers, text), or a function that returns it
    error: str
    passes: bool = True  # whether it may come and go
    stops: bool = False  # whether the run is to stop


def status(code: int, text: str = "", **headers: str) -> Any:
    said = json.dumps({"error": {"message": text or f"a fault with {code}"}})
    return code, {name.replace("_", "-"): value for name, value in headers.items()}, said


def body(text: str, **headers: str) -> Any:
    return 200, {name.replace("_", "-"): value for name, value in headers.items()}, text


def changed(**choice: Any) -> Any:
    data = json.loads(FINE[2])
    data["choices"][0].update(choice)
    return body(json.dumps(data))


FAULTS = [
    Fault("401", status(401), r"access denied \(HTTP 401\).*no key was sent", False, True),
    Fault("no quota", status(429, "insufficient_quota"), "no quota left", False, True),
    Fault("400", status(400), "HTTP 400: a fault with 400", False),
    Fault("501", status(501), "HTTP 501", False),
    Fault(
        "redirect", status(307, Location="http://127.0.0.2:9/"), "redirects to .*not followed", 0
    ),
    Fault("429", status(429, retry_after_ms="20"), "HTTP 429: a fault"),
    Fault("429, days", status(429, Retry_After="864000"), "HTTP 429", False),
    Fault("500", status(500), "HTTP 500"),
    Fault("502 page", (502, {}, "<html><title>Bad Gateway</title>"), "502: a web page 'Bad Gat"),
    Fault("page", body("<!DOCTYPE html><html><title>Sign in"), "a web page 'Sign in' instead"),
    Fault("cut JSON", body(FINE[2][:40]), "not whole JSON"),
    Fault("nested deep", body("[" * 100_000), "not whole JSON"),
    Fault("a number", body("7"), "not an object"),
    Fault("truncated", body(FINE[2], Content_Length="999"), "ProtocolError"),
    Fault("not UTF-8", body('{"id": "\ud83d"}'), "not whole JSON"),
    Fault("half a character", body('{"id": "\\ud83d"}'), "not whole JSON"),
    Fault("empty choices", body('{"choices": []}'), "no choices"),
    Fault("an error with 200", body('{"error": {"message": "upstream"}}'), "no choices"),
    Fault("message of a wrong type", changed(message="J"), "no message"),
    Fault("content of a wrong type", changed(message={"content": 5}), "content is no text"),
    Fault("broken off", changed(finish_reason="error"), "broke the reply off"),
]
ids = [fault.name for fault in FAULTS]


@contextlib.contextmanager
def serving(answer: Callable[[], Any]) -> Any:
    """Serve a list of models, and what `answer` returns in place of replies."""
    models = body('{"data": [{"id": "toy"}]}')
    with Listener(lambda asked: models if asked.method == "GET" else answer()) as server:
        yield server


def with_model(server, work, **options):
    options = OpenAIOptions(**{"scoring": "off", **options})
    return with_started(OpenAIModel("toy", f"{server.url}/v1", options), work)


def ask(model):
    return model.generate(GenerateRequest(PROMPT, Sampling(), 7))


@pytest.mark.parametrize("fault", FAULTS, ids=ids)
def test_a_fault_at_the_start_is_one_error_within_a_minute(fault, clock):
    with (
        serving(lambda: fault.answer) as server,
        pytest.raises(TomevalError, match=fault.error) as raised,
    ):
        with_model(server, ask, retry_budget=50)
    assert clock.at - 1_000 <= 60
    assert "\n" not in str(raised.value)
    assert server.url in str(raised.value) or "openai:toy" in str(raised.value)


@pytest.mark.parametrize("fault", FAULTS, ids=ids)
def test_a_fault_later_on_is_an_error_of_its_request(fault, clock):
    answers = itertools.chain([FINE], itertools.repeat(fault.answer))
    with (
        serving(lambda: next(answers)) as server,
        pytest.raises(Stopped if fault.stops else BackendError, match=fault.error),
    ):
        with_model(server, ask)
    assert clock.at - 1_000 <= 600


@pytest.mark.parametrize("fault", [fault for fault in FAULTS if fault.passes], ids=lambda f: f.name)
def test_a_fault_that_passes_changes_nothing_and_is_recorded(fault, clock):
    answers = iter([FINE, fault.answer, FINE])
    with serving(lambda: next(answers)) as server:
        reply = with_model(server, ask)
    assert reply.text == "Final answer: J"
    assert reply.details["attempts"] == 2
    assert len(clock.slept) == 1


def test_a_wait_is_as_long_as_the_server_asks_for(clock):
    answers = iter([FINE, (429, {"Retry-After": "20"}, "slow down"), FINE])
    with serving(lambda: next(answers)) as server:
        with_model(server, ask)
    assert clock.slept == [pytest.approx(20)]


@pytest.mark.parametrize("headers", [{"Retry-After": "864000"}, {"x-should-retry": "false"}])
def test_what_is_not_to_be_asked_again_soon_is_not(headers, clock):
    answers = iter([FINE, (429, headers, "slow down")])
    with serving(lambda: next(answers)) as server, pytest.raises(BackendError, match="slow down"):
        with_model(server, ask)
    assert clock.slept == []


def test_waits_grow_and_end_with_the_retry_budget(clock):
    answers = itertools.chain([FINE], itertools.repeat(status(503)))
    with (
        serving(lambda: next(answers)) as server,
        pytest.raises(BackendError, match="HTTP 503"),
    ):
        with_model(server, ask, retry_budget=100)
    assert 2 * clock.slept[0] < clock.slept[3] <= 8
    assert 80 < sum(clock.slept) <= 100
    assert len(server.asked) == 2 + 1 + len(clock.slept)


@pytest.mark.parametrize("at_start", [True, False])
def test_a_server_that_is_not_there_is_told_in_seconds_at_the_start(at_start, clock):
    with serving(lambda: FINE) as server:
        pass
    model = OpenAIModel("toy", f"{server.url}/v1", OpenAIOptions(scoring="off"))
    with pytest.raises((TomevalError, BackendError), match=r"ConnectError: .*is the server run"):
        with_started(model, ask) if at_start else asyncio.run(ask(model))
    assert (sum(clock.slept) <= 10) is at_start


def test_a_server_that_hangs_is_given_up_after_the_timeout(clock):
    over = threading.Event()
    with serving(lambda: over.wait(20) and FINE) as server:
        with pytest.raises(TomevalError, match=r"no reply within 0\.2 s"):
            with_model(server, ask, timeout=0.2, retry_budget=0)
        over.set()


@pytest.mark.parametrize(("wait", "told"), [(0.3, 1), (0.0, 0)])
def test_a_server_that_does_not_answer_yet_is_told_once(wait, told, monkeypatch, caplog):
    monkeypatch.setattr(client, "_SILENT", 0.1)
    with serving(lambda: time.sleep(wait) or FINE) as server:
        assert with_model(server, ask).text == "Final answer: J"
    said = [text for text in caplog.messages if "has not answered yet, after 0.1 s" in text]
    assert len(said) == told
    assert all("up to 300 s" in text for text in said)


TOO_LONG = [
    # As SGLang, vLLM (two versions), llama.cpp (three), OpenAI and Anthropic word it.
    (400, {"message": "The input (61 tokens) is longer than the model's context length (40)."}),
    (400, {"message": "This model's maximum context length is 16 tokens. However, you ask 9"}),
    (400, {"error": {"message": "The prompt (total length 99) is too long: maximum context size"}}),
    (400, {"error": {"message": "request (439 tokens) exceeds the available context size (40)"}}),
    (500, {"error": {"code": 500, "message": "Context size has been exceeded."}}),
    (200, {"error": {"type": "exceed_context_size_error", "message": "the request exceeds the "}}),
    (400, {"error": {"message": "Too much.", "code": "context_length_exceeded"}}),
    (400, {"error": {"message": "prompt is too long: 210000 tokens > 200000 maximum"}}),
]


@pytest.mark.parametrize(("code", "said"), TOO_LONG)
def test_a_prompt_beyond_the_context_is_an_error_of_its_own(code, said, clock):
    answers = iter([FINE, (code, {}, json.dumps(said))])
    with (
        serving(lambda: next(answers)) as server,
        pytest.raises(ContextExceeded, match="too long for the model"),
    ):
        with_model(server, ask)
    assert clock.slept == []


def outcomes(answers):
    """Ask with one answer after another; return the kinds of errors."""
    answers = iter([FINE, *answers])

    async def all_of(model):
        kinds = []
        for _ in range(6):
            try:
                await ask(model)
                kinds.append(None)
            except (BackendError, TomevalError) as error:
                kinds.append(type(error))
        return kinds

    with serving(lambda: next(answers, FINE)) as server:
        return with_model(server, all_of, retry_budget=0)


@pytest.mark.parametrize("down", [status(503), status(404)])
def test_three_unanswered_in_a_row_end_it_and_then_nothing_is_asked(down, clock):
    kinds = outcomes([down, down, FINE, down, down, down])
    assert kinds[2:3] == [None]
    assert kinds[-1] is ServerGone
    assert ServerGone not in kinds[:-1]


@pytest.mark.parametrize("odd", [body('{"choices": []}'), body("7"), status(400, "filtered")])
def test_replies_that_cannot_be_used_come_from_a_server_that_is_there(odd, clock):
    down = status(503)
    assert ServerGone not in outcomes([down, down, odd, down, down, odd])


def test_notes_of_a_server_name_its_model_and_no_address(caplog):
    caplog.set_level(logging.INFO)
    answers = iter([FINE, status(503, retry_after_ms="20"), FINE])
    with serving(lambda: next(answers)) as server:
        with_model(server, ask)
    noted = [r.getMessage() for r in caplog.records if r.name.startswith("tomeval")]
    assert "openai:toy: HTTP 503: a fault with 503; asked again in 0.0 s" in noted
    assert "127.0.0.1" not in "".join(noted)


def test_an_error_that_repeats_the_request_blames_nothing_by_that():
    text = '{"detail": [{"type": "missing", "loc": ["body", "x"], "input": {"temperature": 1}}]}'
    assert "temperature" not in message_of(text)
