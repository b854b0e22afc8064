"""Retries, waits, mends and the number of requests at a time, against a server with faults."""

import asyncio
import contextlib
import logging
import socket
import threading
import time
from email.utils import formatdate

import pytest
from fake_server import FakeServer, FakeTime

from tomeval.core.errors import TomevalError
from tomeval.models.base import BackendError, ContextExceeded, Usage
from tomeval.models.served.http_client import HttpClient, check_url
from tomeval.models.served.http_patience import AdaptiveLimiter, Timing
from tomeval.models.served.http_reading import Refused, Unanswered, message_of, retry_after
from tomeval.models.served.limits import Budget, BudgetExceeded
from tomeval.models.waiting import Waiting

BODY = {"model": "toy", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 3}
PATH = "chat/completions"


def client_of(server, clock=None, **options):
    """Return a client whose sleeps only move `clock`, with the middle of all jitter."""
    clock = clock or FakeTime()
    timing = Timing(clock.monotonic, lambda: 5_000.0, clock.sleep, lambda: 0.5)
    return HttpClient(server.url, timing=timing, key_env="NO_SUCH_KEY", **options)


def post(server, body=BODY, *, clock=None, tokens=None, probing=False, **options):
    """Send one request and return its answer."""

    async def run():
        client = client_of(server, clock, **options)
        try:
            return await client.post(PATH, body, tokens=tokens, probing=probing)
        finally:
            await client.close()

    return asyncio.run(run())


def refusal(status, message, **error):
    return {"status": status, "body": {"error": {"message": message, **error}}}


def test_a_plain_request_takes_one_attempt():
    with FakeServer() as server:
        answer = post(server)
    assert (answer.attempts, answer.mended, len(server.requests)) == (1, {}, 1)
    assert answer.data["choices"][0]["message"]["content"].startswith("word")


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 529])
def test_passing_faults_are_retried_with_growing_jittered_waits(status):
    clock = FakeTime()
    with FakeServer() as server:
        server.faults.extend({"status": status} for _ in range(4))
        answer = post(server, clock=clock)
    assert answer.attempts == 5
    # 1, 2, 4, 8 seconds, of which half is jitter: three quarters at random() = 0.5
    assert clock.slept == [0.75, 1.5, 3.0, 6.0]


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({"Retry-After": "20"}, 21),  # never less than asked for, plus jitter
        ({"Retry-After": formatdate(5_030, usegmt=True)}, 31.5),  # the calendar stands at 5000
        ({"retry-after-ms": "20"}, 0.021),
        ({"Retry-After-Ms": "1500", "Retry-After": "30"}, 1.575),
        ({"retry-after-ms": "soon", "Retry-After": "2"}, 2.1),
        ({"Retry-After": "0.25"}, 0.2625),
        # What says to come back at once is as no header: never asked without a pause.
        *(({name: "0"}, 0.75) for name in ("retry-after-ms", "Retry-After")),
        *(({"Retry-After": after}, 0.75) for after in ("-5", "0.001")),
    ],
)
def test_a_wait_is_about_as_long_as_the_server_asks_for(headers, wait):
    clock = FakeTime()
    with FakeServer() as server:
        server.faults.append({"status": 429, "headers": headers})
        post(server, clock=clock)
    assert clock.slept == [pytest.approx(wait)]


def test_a_server_that_keeps_asking_for_milliseconds_is_given_longer():
    clock = FakeTime()
    with FakeServer() as server:
        server.faults.extend({"status": 429, "headers": {"retry-after-ms": "20"}} for _ in range(7))
        post(server, clock=clock)
    assert clock.slept == pytest.approx([0.021] * 5 + [0.042, 0.084])


@pytest.mark.parametrize(
    ("value", "wait"),
    [
        *((value, None) for value in ("soon", "nan", "", "Fri, 99 Foo 2020")),
        ("-3", 0.0),
        (formatdate(10, usegmt=True), 0.0),
    ],
)
def test_a_retry_after_that_is_unreadable_or_past_is_no_wait(value, wait):
    assert retry_after(value, now=20.0) == wait


@pytest.mark.parametrize("fault", [{"cut": 40}, {"delay": 30}])
def test_a_cut_or_late_reply_is_asked_for_again(fault):
    with FakeServer() as server:
        server.faults.append(fault)
        assert post(server, timeout=0.3 if "delay" in fault else 60).attempts == 2


def test_retries_end_with_the_budget():
    clock = FakeTime()
    with FakeServer() as server:
        server.faults.extend(refusal(503, "too busy") for _ in range(99))
        with pytest.raises(BackendError, match=r"no reply after \d+ attempt.*503: too busy"):
            post(server, clock=clock, retry_budget=100)
    assert sum(clock.slept) <= 100
    assert len(server.requests) == len(clock.slept) + 1 < 12


def test_a_wait_longer_than_the_budget_is_not_begun():
    clock = FakeTime()
    with FakeServer() as server:
        server.faults.append({"status": 429, "headers": {"Retry-After": "3600"}})
        with pytest.raises(BackendError, match="next wait 3605 s"):
            post(server, clock=clock, retry_budget=600)
    assert clock.slept == []


@pytest.mark.parametrize("status", [401, 403])
def test_denied_access_fails_at_once_and_names_the_variable(status):
    with FakeServer() as server:
        server.faults.append(refusal(status, "no entry"))
        with pytest.raises(TomevalError, match=r"no entry.*NO_SUCH_KEY is not set"):
            post(server)
    assert len(server.requests) == 1


def test_an_empty_account_is_not_waited_for():
    with FakeServer() as server:
        server.faults.append(refusal(429, "pay first", code="insufficient_quota"))
        with pytest.raises(TomevalError, match="no quota left"):
            post(server)


def test_the_self_test_tries_an_internal_error_twice_only():
    with FakeServer() as server:
        server.faults.extend({"status": 500} for _ in range(9))
        with pytest.raises(Refused, match="500"):
            post(server, probing=True)
    assert len(server.requests) == 2


def test_max_tokens_is_renamed_once_and_for_all(caplog):
    async def run():
        client = client_of(server)
        first, second = await client.post(PATH, BODY), await client.post(PATH, BODY)
        await client.close()
        return first, second

    with FakeServer() as server, caplog.at_level(logging.WARNING):
        server.reject = {"max_tokens": "'max_tokens' is unsupported, use 'max_completion_tokens'"}
        answers = asyncio.run(run())
    for answer in answers:
        assert answer.mended == {"renamed": {"max_tokens": "max_completion_tokens"}}
        assert answer.sent["max_completion_tokens"] == 3
    assert len(server.requests) == 3
    assert caplog.text.count("renamed") == 1


MENDED = [
    (400, {"error": {"message": "Unsupported: 'temperature'", "param": "temperature"}}),
    (422, {"detail": "Unexpected fields in the request: {'temperature', 'top_k'}"}),
    (422, {"detail": [{"type": "extra_forbidden", "loc": ["body", "temperature"]}]}),
    (400, {"message": "temperature is not supported"}),
]


@pytest.mark.parametrize(
    ("field", "status", "body"),
    [
        *(("temperature", *case) for case in MENDED),
        ("top_p", 400, {"message": "`temperature` and `top_p` cannot both be specified"}),
        ("reasoning_effort", 400, {"message": "Unrecognized argument: reasoning_effort"}),
    ],
)
def test_a_refused_parameter_is_left_out(field, status, body):
    """Of two that exclude each other, it is the one that changes nothing."""
    sent = {**BODY, "temperature": 0.7, "seed": 5, "top_p": 1.0, "reasoning_effort": "low"}
    with FakeServer() as server:
        server.faults.append({"status": status, "body": body})
        answer = post(server, sent)
    assert answer.mended == {"dropped": [field]}
    assert answer.sent == {name: value for name, value in sent.items() if name != field}


@pytest.mark.parametrize(
    ("field", "status", "said"),
    [
        *(({}, status, "never") for status in (400, 404, 405, 501)),
        ({}, 400, "max_tokens must be at least 1"),  # and not about the context
        ({"temperature": 3}, 400, "temperature must be at most 2"),
        (
            {"reasoning_effort": "hgih"},
            400,
            "Unsupported value: 'reasoning_effort' does not support 'hgih'. Supported: 'low'",
        ),
        ({"logprobs": True}, 400, "logprobs are not supported"),  # the request needs them
    ],
)
def test_other_refusals_are_errors_and_leave_nothing_out(field, status, said):
    with FakeServer() as server:
        server.faults.append(refusal(status, said))
        with pytest.raises(Refused, match=f"HTTP {status}: {said}"):
            post(server, {**BODY, **field})
    assert len(server.requests) == 1


def test_an_error_that_repeats_the_request_blames_nothing_by_that():
    text = '{"detail": [{"type": "missing", "loc": ["body", "x"], "input": {"temperature": 1}}]}'
    assert "temperature" not in message_of(text)


def test_a_system_message_moves_where_the_template_has_no_place_for_it():
    messages = [{"role": "system", "content": "S"}, {"role": "user", "content": "U"}]
    with FakeServer() as server:
        server.faults.append(refusal(400, "System role not supported"))
        answer = post(server, {**BODY, "messages": messages})
    assert answer.sent["messages"] == [{"role": "user", "content": "S\n\nU"}]
    assert "system" in answer.mended


def test_concurrency_stays_under_the_limit_and_is_used():
    async def run():
        client = client_of(server, concurrency=4)
        await asyncio.gather(*(client.post(PATH, BODY) for _ in range(20)))
        await client.close()

    with FakeServer() as server:
        server.faults.extend({"delay": 0.05} for _ in range(20))
        asyncio.run(run())
    assert 2 <= server.most_at_once <= 4


def test_a_burst_of_refusals_halves_the_limit_once_and_replies_restore_it(caplog):
    async def run():
        limiter = AdaptiveLimiter(8, "endpoint")
        rounds = [await limiter.acquire() for _ in range(8)]
        for round_ in rounds:
            limiter.overloaded(round_)
            limiter.release()
        halved = limiter.limit
        replies = 0
        while limiter.limit < 8:
            limiter.succeeded()
            replies += 1
        return halved, replies

    with caplog.at_level(logging.INFO):
        halved, replies = asyncio.run(run())
    assert halved == 4.0
    assert 22 <= replies <= 30  # about 4 + 5 + 6 + 7: one more per round of replies
    assert "endpoint: requests at a time: 8 -> 4" in caplog.text
    assert "7 -> 8" in caplog.text


def test_the_limit_never_falls_below_one():
    async def run():
        limiter = AdaptiveLimiter(1)
        for _ in range(5):
            limiter.overloaded(await limiter.acquire())
            limiter.release()
        return limiter.limit

    assert asyncio.run(run()) == 1.0


def test_cancelled_waiters_leave_no_place_taken():
    async def run():
        limiter = AdaptiveLimiter(1)
        await limiter.acquire()
        waiting = asyncio.create_task(limiter.acquire())
        handed = asyncio.create_task(limiter.acquire(first=True))
        await asyncio.sleep(0)
        waiting.cancel()
        limiter.release()  # hands the place to `handed`, which is cancelled before it runs
        handed.cancel()
        for task in (waiting, handed):
            with contextlib.suppress(asyncio.CancelledError):
                await task
        last = asyncio.create_task(limiter.acquire())
        done, _ = await asyncio.wait([last], timeout=1)
        return last in done

    assert asyncio.run(run()), "a place is still taken"


def test_a_retry_goes_before_requests_that_still_wait():
    async def run():
        limiter, order = AdaptiveLimiter(1), []

        async def wait(name, first=False):
            await limiter.acquire(first=first)
            order.append(name)
            limiter.release()

        await limiter.acquire()
        tasks = [asyncio.create_task(wait("new")), asyncio.create_task(wait("again", first=True))]
        await asyncio.sleep(0)
        limiter.release()
        await asyncio.gather(*tasks)
        return order

    assert asyncio.run(run()) == ["again", "new"]


def test_the_cap_on_calls_stops_before_the_call():
    budget = Budget(max_calls=2)
    with FakeServer() as server:
        for _ in range(2):
            post(server, tokens=10, budget=budget)
        with pytest.raises(BudgetExceeded, match="stopped before call 3"):
            post(server, tokens=10, budget=budget)
    assert len(server.requests) == 2


def test_the_cap_on_tokens_counts_what_calls_under_way_may_use():
    budget = Budget(max_tokens=100)
    budget.reserve(60)
    with pytest.raises(BudgetExceeded, match="up to 50 tokens"):
        budget.reserve(50)
    budget.settle(60, Usage(prompt=20, completion=5))
    budget.reserve(50)
    assert (budget.calls, budget.tokens) == (2, 25)


def test_usage_of_the_reply_is_settled_and_a_failed_call_gives_its_room_back():
    budget = Budget()
    with FakeServer() as server:
        usage = post(server, tokens=50, budget=budget).data["usage"]
        assert budget.tokens == usage["prompt_tokens"] + usage["completion_tokens"]
        before = (budget.calls, budget.tokens)
        server.faults.append(refusal(404, "gone"))
        with pytest.raises(Refused):
            post(server, tokens=50, budget=budget)
    assert (budget.calls, budget.tokens) == before


@pytest.mark.parametrize("url", ["127.0.0.1:8000", "ftp://x/v1", "http://", "model"])
def test_what_is_no_base_url_is_refused(url):
    with pytest.raises(TomevalError, match="is not a base URL"):
        check_url(url)


def test_a_base_url_with_a_secret_is_refused_without_repeating_it():
    with pytest.raises(TomevalError, match="environment variable") as raised:
        check_url("https://me:s3cret@host/v1")
    assert "s3cret" not in str(raised.value)
    with pytest.raises(TomevalError, match="environment variable") as raised:
        check_url("https://host/v1#s3cret")
    assert "s3cret" not in str(raised.value)


@pytest.mark.parametrize("what", ["speaks http", "hangs up"])
def test_https_to_a_port_without_encryption_is_told_as_that(what):
    """The error of the connection itself is empty where the server just hangs up."""
    with FakeServer() as server, socket.create_server(("127.0.0.1", 0)) as other:

        def hang_up():
            while True:
                try:
                    came, _ = other.accept()
                    came.recv(1 << 16)
                    came.close()
                except OSError:
                    return

        threading.Thread(target=hang_up, daemon=True).start()
        plain = server.url if what == "speaks http" else f"http://127.0.0.1:{port_of(other)}/v1"
        client = HttpClient(plain.replace("http:", "https:"), retry_budget=0)
        with pytest.raises(
            Unanswered, match=r"ConnectError: \[SSL: .* rather than https://"
        ) as told:
            asyncio.run(client.get("models", retry_budget=0))
        assert "\n" not in str(told.value)
        other.shutdown(socket.SHUT_RDWR)


def port_of(listening):
    return listening.getsockname()[1]


def test_a_key_with_a_line_break_inside_is_refused_without_repeating_it(monkeypatch):
    monkeypatch.setenv("BAD_KEY", "sk-one\nsk-two")
    with pytest.raises(TomevalError, match="BAD_KEY") as raised:
        HttpClient("http://127.0.0.1:1/v1", key_env="BAD_KEY")
    assert "sk-" not in str(raised.value)


TOO_LONG = [
    # As SGLang, vLLM (two versions), llama.cpp (three), OpenAI and Anthropic word it.
    (
        400,
        {"message": "The input (61709 tokens) is longer than the model's context length (4096)."},
    ),
    (
        400,
        {"message": "This model's maximum context length is 16 tokens. However, you requested 9"},
    ),
    (400, {"error": {"message": "The prompt (total length 99) is too long: maximum context size"}}),
    (400, {"error": {"message": "request (439 tokens) exceeds the available context size (40)"}}),
    (500, {"error": {"code": 500, "message": "Context size has been exceeded."}}),
    (200, {"error": {"type": "exceed_context_size_error", "message": "the request exceeds the "}}),
    (400, {"error": {"message": "Too much.", "code": "context_length_exceeded"}}),
    (400, {"error": {"message": "prompt is too long: 210000 tokens > 200000 maximum"}}),
]


@pytest.mark.parametrize(("status", "body"), TOO_LONG)
def test_a_prompt_beyond_the_context_is_an_error_of_its_own(status, body):
    with FakeServer() as server:
        server.faults.append({"status": status, "body": body})
        with pytest.raises(ContextExceeded, match="too long for the model"):
            post(server)
    assert len(server.requests) == 1


def test_a_page_of_a_proxy_is_not_waited_for_at_the_start_and_is_later():
    clock = FakeTime()
    with FakeServer() as server:
        server.page = "<html><title>502 Bad Gateway</title></html>"
        server.faults.extend([{"status": 502}] * 2)
        with pytest.raises(TomevalError, match=r"HTTP 502: a web page '502 Bad Gateway'; is the"):
            post(server, clock=clock, probing=True)
        assert sum(clock.slept) < 2
        server.faults.extend([{"status": 502}] * 5)
        with pytest.raises(BackendError, match="no reply after"):
            post(server, clock=clock)  # a server that restarts behind its proxy is waited for
        assert sum(clock.slept) > 500
        # One that says when to come back is there.
        clock.slept.clear()
        server.faults.extend([{"status": 503, "headers": {"Retry-After": "9"}}] * 2)
        with pytest.raises(TomevalError, match="answered twice with a web page"):
            post(server, clock=clock, probing=True)
        assert [round(seconds) for seconds in clock.slept] == [9, 9]


def test_no_server_at_the_start_is_said_in_seconds():
    clock = FakeTime()
    with FakeServer() as server:
        url = server.url
    client = HttpClient(url, timing=Timing(clock.monotonic, lambda: 0.0, clock.sleep, lambda: 0.5))
    with pytest.raises(BackendError, match=r"no server answers there .* is it running"):
        asyncio.run(client.post("chat/completions", {}, probing=True))
    assert sum(clock.slept) < 5
    assert client.patience.told.retries > 0
    clock.slept.clear()
    with pytest.raises(BackendError, match="retry budget 600"):
        asyncio.run(client.post("chat/completions", {}))
    assert sum(clock.slept) > 500  # one that was reached before is waited for


def test_a_wait_is_kept_up_to_date_for_those_who_show_it(caplog):
    told, clock, seen = Waiting(shown="field"), FakeTime(), []

    async def sleep(seconds):
        seen.append((told.trouble, told.under_way, told.until - time.monotonic()))
        await clock.sleep(seconds)

    with FakeServer() as server:
        server.faults.extend([{"status": 429, "headers": {"Retry-After": "40"}}] * 2)

        async def ask():
            timing = Timing(clock.monotonic, lambda: 0.0, sleep, lambda: 0.5)
            client = HttpClient(server.url, timing=timing, waiting=told, key_env="NO_SUCH_KEY")
            await client.post(PATH, BODY)
            await client.close()

        asyncio.run(ask())
    assert [(what, many) for what, many, _ in seen] == [("HTTP 429: a fault", 1)] * 2
    assert all(40 < wait < 44 for *_, wait in seen)
    assert (told.retries, told.under_way, told.trouble) == (2, 0, "")
    assert caplog.messages == []  # no stream of lines beside the field


def test_a_web_page_is_not_waited_for_at_the_start_and_may_pass_later():
    with FakeServer() as server:
        server.page = "<!DOCTYPE html><html><title>Sign in</title></html>"
        with pytest.raises(
            TomevalError, match=r"not an OpenAI-compatible server.* 'Sign in'"
        ) as told:
            post(server, probing=True)
        assert server.url in str(told.value)
        assert len(server.requests) == 2
        with pytest.raises(BackendError, match="a web page 'Sign in'"):
            post(server, retry_budget=5)
        assert len(server.requests) > 2


def test_the_start_up_test_does_not_wait_for_minutes_and_says_that_it_waits(caplog):
    clock = FakeTime()
    with FakeServer() as server, caplog.at_level(logging.WARNING):
        server.faults.extend({"status": 502} for _ in range(99))
        with pytest.raises(BackendError, match="502"):
            post(server, clock=clock, probing=True)
    assert sum(clock.slept) <= 60
    assert "HTTP 502" in caplog.text


def test_a_list_of_replies_is_kept_and_its_usage_added_up():
    reply = {"tokens_evaluated": 5, "tokens_predicted": 1}
    budget = Budget()
    with FakeServer() as server:
        server.faults.append({"body": [reply, reply]})
        assert post(server, tokens=20, budget=budget).data == {"replies": [reply, reply]}
    assert budget.tokens == 12
