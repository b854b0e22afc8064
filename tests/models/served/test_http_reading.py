"""Bodies of replies that are none: too long, packed, cut, of another encoding, of wrong types."""

import asyncio
import contextlib
import gzip
import http.server
import threading
import tracemalloc
import zlib

import pytest
from fake_server import FakeServer, FakeTime

from tomeval.models.base import Unusable, Usage
from tomeval.models.served import http_reading
from tomeval.models.served.http_client import HttpClient
from tomeval.models.served.http_patience import Timing
from tomeval.models.served.http_reading import Trouble, as_json, as_text
from tomeval.models.served.limits import read_usage
from tomeval.models.served.logprob_routes import _in_order, _likeliest
from tomeval.models.served.logprob_wire import match, read_entries
from tomeval.models.served.openai_start import describe

BODY = {"model": "toy", "messages": [], "max_tokens": 3}


def fetch(bodies):
    """Serve one body after another, (bytes, headers); return what a client makes of them."""
    left = list(bodies)

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            data, headers = left.pop(0)
            self.send_response(200)
            for name, value in ({"Content-Length": str(len(data))} | headers).items():
                self.send_header(name, value)
            self.end_headers()
            with contextlib.suppress(ConnectionError):  # it had enough
                self.wfile.write(data)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    clock = FakeTime()
    timing = Timing(clock.monotonic, lambda: 0.0, clock.sleep, lambda: 0.5)
    url = f"http://127.0.0.1:{server.server_address[1]}"

    async def run():
        client = HttpClient(url, timing=timing, key_env="NO_SUCH_KEY")
        try:
            return await client.post("chat/completions", BODY)
        finally:
            await client.close()

    try:
        return asyncio.run(run())
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


FINE = (b'{"id": "fine"}', {})
PACKED = gzip.compress(FINE[0])
GZIP = {"Content-Encoding": "gzip"}


def test_packed_replies_are_read():
    assert fetch([(PACKED, GZIP)]).data == {"id": "fine"}


@pytest.mark.parametrize(
    "body",
    [
        (b"7", {}),
        (b'"text"', {}),
        (b"null", {}),
        (b"", {}),
        (b'{"id": 1}{"id": 1}', {}),
        (b'{"id": "\xff\xfe"}', {}),
        (b'{"id": "\\ud83d"}', {}),
        (b"[" * 100_000, {}),
        (b'{"id": %s}' % (b"9" * 10_000), {}),
        (b"<html><title>Sign in</title></html>", {}),
        (FINE[0], {"Content-Length": "999"}),
        (FINE[0], GZIP),
        (PACKED[:-12], GZIP),
        (gzip.compress(PACKED), {"Content-Encoding": "gzip, gzip"}),
        (FINE[0], {"Content-Encoding": "br"}),
    ],
)
def test_what_is_no_reply_is_asked_for_again(body):
    answer = fetch([body, FINE])
    assert (answer.data, answer.attempts) == ({"id": "fine"}, 2)


def test_a_bomb_is_left_unpacked(monkeypatch):
    monkeypatch.setattr(http_reading, "LARGEST", 2**20)
    bomb = gzip.compress(bytes(200 * 2**20), 1)
    tracemalloc.start()
    try:
        answer = fetch([(bomb, GZIP), FINE])
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert answer.attempts == 2
    assert peak < 16 * 2**20  # one piece of 64 KiB would unpack to as many MiB


@pytest.mark.parametrize(
    "body",
    [
        (PACKED[:-3], GZIP),
        (PACKED[:9], GZIP),
        (b"not packed at all", GZIP),
        (PACKED, {"Content-Encoding": "br"}),
        (b"", GZIP),
    ],
)
def test_what_cannot_be_unpacked_is_damaged_and_asked_for_again(body):
    assert fetch([body, FINE]).attempts == 2


def test_deflate_is_unpacked_too():
    assert fetch([(zlib.compress(FINE[0]), {"Content-Encoding": "deflate"})]).attempts == 1


def test_halves_of_characters_are_told_from_whole_ones():
    assert as_json('{"id": "\\ud83d\\ude00"}') == {"id": "\U0001f600"}
    with pytest.raises(Trouble, match="a lone surrogate"):
        as_json('{"id": "\\uDE00"}')
    with pytest.raises(Trouble, match=r"not UTF-8.*xff"):
        as_text(b"abc\xff")


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": "9", "completion_tokens": 2},
        {"prompt_tokens": 9, "completion_tokens": -2},
        {"prompt_tokens": 9.5, "completion_tokens": 2},
        {"prompt_tokens": float("nan")},
        {"prompt_tokens": [9]},
        {"prompt_tokens": True},
    ],
)
def test_usage_that_is_no_count_is_not_known(usage):
    assert read_usage({"usage": usage}) is None
    assert read_usage({"usage": {"prompt_tokens": 9, "completion_tokens": 2}}) == Usage(9, 2)


@pytest.mark.parametrize(
    "found",
    [
        None,
        [],
        "J",
        ["J"],
        [{"logprob": -1.0}],
        [{"token": 5, "logprob": -1.0}],
        [{"token": "J"}],
        [{"token": "J", "logprob": None}],
        [{"token": "J", "logprob": "-1"}],
        [{"token": "J", "logprob": True}],
        [{"token": "J", "logprob": float("nan")}],
        [{"token": "J", "logprob": 0.5}],
        [{"token": "J", "logprob": -1.0, "bytes": [999]}],
        [{"token": "J", "logprob": -1.0, "bytes": "J"}],
        [{"token": "K", "logprob": -1.0}, {"token": "J", "logprob": float("nan")}],
    ],
)
def test_log_probs_that_are_none_are_no_answer_of_the_model(found):
    with pytest.raises(Unusable):  # and not `Unlisted`, which is one
        match("J", "J", read_entries(found))


def test_log_probs_may_be_minus_infinity():
    assert match("J", "J", read_entries([{"token": "J", "logprob": float("-inf")}])) == -float(
        "inf"
    )


@pytest.mark.parametrize("numbers", [(0, 0), (1, 2), (0, None), ("a", "b"), (0, 1.5)])
def test_replies_to_several_prompts_are_told_apart_by_their_numbers(numbers):
    assert _in_order([{"index": 1}, {"index": 0}]) == [{"index": 0}, {"index": 1}]
    with pytest.raises(Unusable, match="numbered"):
        _in_order([{"index": number} for number in numbers])


def test_odd_entries_of_llama_cpp_are_passed_over():
    entries = ["x", {"id": [1], "logprob": -1}, {"id": 7, "logprob": -0.5}]
    found = _likeliest({"completion_probabilities": [{"top_logprobs": entries}]})
    assert (found.logprobs, found.argmax) == ({7: -0.5}, 7)


@pytest.mark.parametrize("data", [5, "toy", {"id": "toy"}, None, [5]])
def test_a_list_of_models_that_is_none_says_nothing(data):
    async def run():
        client = HttpClient(server.url, key_env="NO_SUCH_KEY")
        try:
            return await describe(client, "toy")
        finally:
            await client.close()

    with FakeServer("plain") as server:
        server.get = lambda path: (200, {"data": data}) if "models" in path else (404, {})
        assert asyncio.run(run()).said == {}
