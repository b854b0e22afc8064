"""The faults of servers that are tried, and what the user is to read of each."""

from __future__ import annotations

import copy
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from email.utils import formatdate
from functools import partial
from typing import Any

from attacks.fault_server import Fault, Handler

WRITTEN, SCORED = "written", "scored"
"""How a fault's run is answered: in words, or by log-probabilities of labels."""

_DOWN = 15.0  # seconds of a restart
_TALKATIVE = 2**20  # characters


@dataclass(frozen=True)
class Kind:
    """A kind of fault.

    `told` is what a line on standard error must hold, a regular expression. `rare` is False for a
    fault that cannot come and go: a server that refuses access, or is not there. `like` is what a
    run must be equal to: a fault-free one, or one whose replies are empty. `after` are the numbers
    of answered requests, of some 75, from which on every request meets the fault; a server that is
    `away` from the first on is never there at all.
    """

    case: str
    fault: Fault
    told: str
    answers: str = WRITTEN
    rare: bool = True
    like: str = ""
    after: tuple[int, ...] = (0, 40)
    away: bool = False


def status(status: int, handler: Handler, _: Any, **headers: str) -> None:
    """Answer with an error."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    handler.send(status, {"error": {"message": f"a fault with status {status}"}}, named)


def _dated(seconds: float, handler: Handler, _: Any) -> None:
    status(429, handler, _, Retry_After=formatdate(time.time() + seconds, usegmt=True))


def _dropped(handler: Handler, _: Any) -> None:
    handler.reset()


def _gone(handler: Handler, _: Any) -> None:
    handler.close_connection = True
    handler.server_of.shut()


def _restarts(handler: Handler, reply: Any) -> None:
    server = handler.server_of
    server.fault = None  # once
    _gone(handler, reply)
    handler.wait(_DOWN)
    server.open()


def _length(change: int, handler: Handler, reply: Any) -> None:
    data = json.dumps(reply).encode()
    handler.send(200, data, {"Content-Length": str(len(data) + change)})
    handler.close_connection = True


def _bytes(data: bytes, handler: Handler, _: Any) -> None:
    handler.send(200, data)


def _page(handler: Handler, _: Any) -> None:
    page = b"<!DOCTYPE html><html><title>Please sign in</title><body>Hotel</body></html>"
    handler.send(200, page, {"Content-Type": "text/html"})


def _silent(handler: Handler, _: Any) -> None:
    while handler.wait(1.0):
        pass
    handler.close_connection = True


def _redirect(to: str, handler: Handler, _: Any) -> None:
    handler.send(307, {}, {"Location": to or handler.path})


def _invalid_utf8(handler: Handler, reply: Any) -> None:
    handler.send(200, json.dumps(reply).encode().replace(b'"content": "', b'"content": "\xff\xfe'))


def changed(change: Callable[[dict[str, Any]], Any], handler: Handler, reply: Any) -> None:
    """Send a reply with something changed in it."""
    reply = copy.deepcopy(reply)
    if "choices" not in reply:  # a list of models
        handler.send(200, {"data": "none"})
        return
    changed = change(reply)
    handler.send(200, reply if changed is None else changed)


def _put(*path: Any) -> Callable[[dict[str, Any]], None]:
    """Return a change: the last of `path` is put where the others lead."""

    def change(reply: dict[str, Any]) -> None:
        place: Any = reply
        for step in path[:-2]:
            place = place[step]
        place[path[-2]] = path[-1]

    return change


def content(value: Any) -> Callable[[dict[str, Any]], None]:
    """Return a change: what the model says."""
    return _put("choices", 0, "message", "content", value)


def _long_text(reply: dict[str, Any]) -> None:
    message = reply["choices"][0]["message"]
    message["content"] = "Well. " * (_TALKATIVE // 6) + "\n" + (message["content"] or "")


def _logprobs(value: Callable[[list[dict[str, Any]]], Any]) -> Callable[[dict[str, Any]], None]:
    """Return a change of the likeliest tokens of a reply."""

    def change(reply: dict[str, Any]) -> None:
        logprobs = reply["choices"][0]["logprobs"]
        if logprobs:
            first = logprobs["content"][0]
            first["top_logprobs"] = value(first["top_logprobs"])

    return change


def _each(**fields: Any) -> Callable[[list[dict[str, Any]]], Any]:
    return lambda entries: [entry | fields for entry in entries]


def _wrong(case: str, told: str, change: Callable[[dict[str, Any]], Any], **more: Any) -> Kind:
    return Kind(case, partial(changed, change), told, **more)


_NOT_WHOLE = "not whole JSON"
_NO_NUMBER = "log-prob|bytes of a token|no token"

KINDS = (
    Kind("429, Retry-After of 2 s", partial(status, 429, Retry_After="2"), "HTTP 429"),
    Kind("429, Retry-After as a date", partial(_dated, 3), "HTTP 429"),
    Kind("429, Retry-After of ten days", partial(status, 429, Retry_After="864000"),
         "HTTP 429", rare=False),
    Kind("429, negative Retry-After", partial(status, 429, Retry_After="-5"), "HTTP 429"),
    Kind("HTTP 502", partial(status, 502), "HTTP 502"),
    Kind("HTTP 401", partial(status, 401), "HTTP 401", rare=False),
    Kind("HTTP 404", partial(status, 404), "HTTP 404", rare=False),
    Kind("connection refused", _gone, "ConnectError", rare=False, away=True),
    # At the start a server that is not there is reported within seconds.
    Kind("the server restarts, away for 15 s", _restarts, "", rare=False, after=(25, 40, 55)),
    Kind("reset before the reply", _dropped, "Error"),
    # Of a short reply not even the number is one.
    Kind("Content-Length too short", partial(_length, -30), f"{_NOT_WHOLE}|bad Content-Length"),
    Kind("a number of 10,000 digits", partial(_bytes, b'{"choices": %s}' % (b"9" * 10_000)),
         _NOT_WHOLE),
    Kind("invalid UTF-8", _invalid_utf8, _NOT_WHOLE),
    Kind("a web page with 200", _page, "a web page"),
    Kind("no answer", _silent, "no reply"),
    Kind("redirect to itself", partial(_redirect, ""), "HTTP 307", rare=False),
    _wrong("1 MB of text before the answer", "", _long_text),
    _wrong("usage of wrong types", "",
           _put("usage", {"prompt_tokens": "9", "completion_tokens": -1})),
    _wrong("choices empty", "no choices", _put("choices", [])),
    _wrong("choices of a wrong type", "no choices", _put("choices", "none")),
    _wrong("content with parts of wrong types", "content is no text", content([{"text": 5}])),
    _wrong("content null", "could be read|[1-9]\\d* void", content(None), like="empty"),
    *(
        _wrong(f"log-probs: {case}", _NO_NUMBER, _logprobs(change), answers=SCORED)
        for case, change in (
            ("NaN", _each(logprob=float("nan"))),
            ("null", _each(logprob=None)),
            ("numbers in place of tokens", lambda entries: [entry["logprob"] for entry in entries]),
        )
    ),
)  # fmt: skip
