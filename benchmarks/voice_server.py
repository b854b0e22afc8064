"""A server that plays any voice over a known policy, through the OpenAI API.

It reads from the end of a prompt what is asked for: a marked line with a label or an object in
JSON, notes, a text, or the probabilities of labels. What it means by its answers is known:
`meant`. It honours ``max_tokens`` (a word is 4/3 of a token; thinking counts), seeds and
``enable_thinking``, and refuses what it cannot read, so that nothing is ever answered by chance.

    with VoiceServer("chatty") as server:
        model = server.model  # what an experiment names
"""

from __future__ import annotations

import hashlib
import json
import math
import random
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import permutations
from typing import Any

from voice_styles import VOICES, Asked, Voice

from tomeval.games.arena.scripts import answer as arena_answer

MARKER = "Final answer:"

_TOKENS_PER_WORD = 4 / 3
_MASS = 0.95  # of the labels together, where probabilities are asked for
_LABEL = r"(?:Option )?(?!Option\b)[^\W\d_][\w-]*"
_OPTIONS = re.compile(rf"((?:{_LABEL}, )*{_LABEL}(?:,? or {_LABEL})+)(?=[?.,;]|$)", re.MULTILINE)
_ROUND = re.compile(r"\b(?:round|turn) (\d+)", re.IGNORECASE)
_OBJECT = re.compile(r'\{"(\w+)": \[(.*)\]\}')
_CODES = tuple(permutations((1, 2, 3, 4), 3))
_SYLLABLES = ("ba", "do", "fi", "gu", "ka", "le", "mi", "no", "pu", "ra", "so", "te", "vi", "zu")


class Unreadable(Exception):
    """A prompt that asks for nothing that the server knows."""


def meant(options: tuple[str, ...], number: int) -> str:
    """Return the label that the policy means in a round: each in turn."""
    return options[number % len(options)]


def options_of(text: str) -> tuple[str, ...]:
    """Return the labels of the last list with "or" in a text; they begin with a capital.

    Examples
    --------
    >>> options_of("You can choose J or F. In round 3 of 10, which is best for you, J, F or B?")
    ('J', 'F', 'B')
    """
    for found in reversed(_OPTIONS.findall(text)):
        names = [name.removeprefix("Option ") for name in re.split(r", | or |, or ", found)]
        while names and not names[0][:1].isupper():  # words of the question before the list
            del names[0]
        if len(names) > 1 and all(name[:1].isupper() for name in names):
            return tuple(names)
    raise Unreadable(f"no list of labels in {text[-300:]!r}")


def asked_for(prompt: str) -> Asked:
    """Read what a prompt asks for from its end."""
    last = prompt.rstrip().rpartition("\n")[2]
    question = prompt.rstrip().rpartition("\n\n")[2]
    notes = '"Plans:"' in prompt
    if not last.startswith(MARKER):
        return Asked(notes=notes, question=question)
    form = last.removeprefix(MARKER).strip()
    reasoned = "step by step" in question
    found = _OBJECT.fullmatch(form)
    if found:
        own = found[1] in ("code", "hints", "keywords")
        items = _items(prompt, found[1], found[2].count(",") + 1) if own else []
        said = {found[1]: items} if own else arena_answer(prompt)
        answer = json.dumps(said, ensure_ascii=False)
        return Asked(MARKER, answer, (), notes, reasoned, question)
    word, dots, _ = form.partition("...")
    if not dots:
        raise Unreadable(f"no dots in place of the answer in {last!r}")
    options = options_of(question)
    label = meant(options, _number(question))
    return Asked(MARKER, f"{word}{label}", options, notes, reasoned, question)


def _number(question: str) -> int:
    """Return the round that a question is about: the last one that it names."""
    found = _ROUND.findall(question)
    if not found:
        raise Unreadable(f"no round in {question!r}")
    return int(found[-1])


def _items(prompt: str, key: str, count: int) -> list[Any]:
    """Return a legal code, or made-up words, drawn from the prompt."""
    rng = random.Random(hashlib.sha256(prompt.encode()).digest())
    if key == "code":
        return list(rng.choice(_CODES))
    return ["".join(rng.choice(_SYLLABLES) for _ in range(5)) for _ in range(count)]


class VoiceServer:
    """One server; a context manager.

    Attributes
    ----------
    voice : Voice
        Who speaks; may be changed while the server runs.
    served, model : str
        The model's name here, and as experiments name it; `model` once the server runs.
    replies : list of (Asked, str)
        What was asked for and what was said, before it was cut.
    """

    def __init__(self, voice: str) -> None:
        self.voice: Voice = VOICES[voice]
        self.served = re.sub(r"\W+", "-", voice)
        self.replies: list[tuple[Asked, str]] = []

    def __enter__(self) -> VoiceServer:
        handler = type("Handler", (_Handler,), {"server_of": self})
        self._http = _Http(("127.0.0.1", 0), handler)
        self._http.daemon_threads = False  # joined on close, so that no socket is left open
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,))
        self._thread.start()
        url = f"http://127.0.0.1:{self._http.server_address[1]}/v1"
        self.model = f"openai:{self.served}@{url}"
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    def chat(self, body: dict[str, Any]) -> dict[str, Any]:
        """Answer a request of the chat API."""
        messages = body["messages"]
        prompt = next(m["content"] for m in reversed(messages) if m["role"] == "user")
        used = sum(_tokens(message["content"]) for message in messages)
        if body.get("logprobs"):
            begun = messages[-1]["role"] == "assistant"
            return _answer(body, "", "x", "length", used, _top(prompt, begun))
        asked = asked_for(prompt)
        rng = random.Random(body.get("seed"))
        may_think = body.get("chat_template_kwargs", {}).get("enable_thinking") is not False
        thinking, text = self.voice.speak(asked, rng, may_think)
        self.replies.append((asked, text))
        most = int(body.get("max_tokens", body.get("max_completion_tokens", 1 << 20)))
        return _answer(body, *_cut(thinking, text, most), used, None)


def _tokens(text: str) -> int:
    return math.ceil(len(text.split()) * _TOKENS_PER_WORD)


def _cut(thinking: str, text: str, most: int) -> tuple[str, str, str]:
    """Return thinking, text and finish of a reply of at most so many tokens."""
    room = int(most / _TOKENS_PER_WORD)
    thoughts, words = (re.findall(r"\s*\S+", part) for part in (thinking, text))
    if len(thoughts) + len(words) <= room:
        return thinking, text, "stop"
    kept = "".join(words[: max(0, room - len(thoughts))])
    return "".join(thoughts[:room]), kept, "length"


def _top(prompt: str, begun: bool) -> dict[str, Any]:
    """Return the likeliest first tokens: the labels, most of all the one that is meant."""
    options = options_of(prompt)
    found = _ROUND.findall(prompt)
    number = int(found[-1]) if found else len(prompt)
    chosen = meant(options, number)
    low = 0.1 * _MASS / (len(options) - 1)
    table = {option: 0.9 * _MASS if option == chosen else low for option in options}
    table |= {"The": 0.03, "I": 0.01 + 0.001 * (len(prompt) % 7)}
    entries = [
        {"token": token, "logprob": math.log(p), "bytes": list(token.encode())}
        for token, p in sorted(
            ((f" {name}" if begun else name, p) for name, p in table.items()), key=lambda e: -e[1]
        )
    ]
    return {"content": [{**entries[0], "top_logprobs": entries}]}


def _answer(
    body: dict[str, Any],
    thinking: str,
    text: str,
    finish: str,
    read: int,
    logprobs: dict[str, Any] | None,
) -> dict[str, Any]:
    message = {"role": "assistant", "content": text}
    if thinking:
        message["reasoning_content"] = thinking
    return {
        "id": "chatcmpl-voice",
        "model": body["model"],
        "choices": [
            {"index": 0, "message": message, "finish_reason": finish, "logprobs": logprobs}
        ],
        "usage": {"prompt_tokens": read, "completion_tokens": _tokens(f"{thinking} {text}")},
    }


class _Http(ThreadingHTTPServer):
    request_queue_size = 128  # 5 are too few for many requests at a time on a busy machine


class _Handler(BaseHTTPRequestHandler):
    server_of: VoiceServer
    protocol_version = "HTTP/1.0"  # a connection per request: none is left open

    def do_GET(self) -> None:
        known = self.path == "/v1/models"
        self._send(200 if known else 404, {"data": [{"id": self.server_of.served}]})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path != "/v1/chat/completions":
            self._send(404, {"error": {"message": f"no route {self.path}"}})
            return
        try:
            answer = self.server_of.chat(body)
        except Unreadable as error:
            self._send(400, {"error": {"message": f"cannot read the prompt: {error}"}})
            return
        self._send(200, answer)

    def _send(self, status: int, body: Any) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        pass
