"""Servers on loopback that speak as vLLM, SGLang, llama.cpp, Ollama and OpenAI do, with faults.

All of them serve one toy model whose log-probabilities `ToyModel.logprobs` also gives to the test.
"""

from __future__ import annotations

import asyncio
import json
import re
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request
import zlib
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np
import pytest
from listener import Asked, Reply, Server

CONTROLS = ("<s>", "</s>", "<system>", "<user>", "<assistant>")
WORDS = (" A", " B", " C", " J", " F", "Co", "op", "De", "fect", " Co", " De", "Answer:")


def with_started(model: Any, work: Callable[[Any], Awaitable[Any]]) -> Any:
    """Start a served model, await `work(model)` and close it; return what came of it."""

    async def run() -> Any:
        try:
            await model.start()
            return await work(model)
        finally:
            await model.close()

    return asyncio.run(run())


class ToyTokenizer:
    """Control tokens, a few words and single bytes, longest match first."""

    def __init__(self) -> None:
        pieces = [text.encode() for text in (*CONTROLS, *WORDS)]
        self.pieces = pieces + [bytes([byte]) for byte in range(256)]
        self.ids_of = {piece: index for index, piece in enumerate(self.pieces)}
        ordered = sorted(self.pieces, key=len, reverse=True)
        self._split = re.compile(b"|".join(map(re.escape, ordered)), re.DOTALL)

    def encode(self, text: str, add_special_tokens: bool = True) -> list[int]:
        ids = [self.ids_of[piece] for piece in self._split.findall(text.encode())]
        return [0, *ids] if add_special_tokens else ids

    def decode(self, ids: list[int]) -> str:
        return b"".join(self.pieces[index] for index in ids).decode(errors="replace")

    def apply_chat_template(self, messages: list[dict[str, str]]) -> str:
        turns = "".join(f"<{m['role']}>{m['content']}</s>" for m in messages)
        return f"<s>{turns}<assistant>"


class ToyModel:
    """Log-probabilities that depend on the whole context and on nothing else."""

    def __init__(self) -> None:
        self.tokenizer = ToyTokenizer()

    def logprobs(self, context: list[int]) -> np.ndarray:
        generator = np.random.default_rng(zlib.crc32(repr(list(context)).encode()))
        logits = generator.normal(size=len(self.tokenizer.pieces))
        for likely in ("A", "B", "C", "J", "F", " A", " B", " C", " J", " F", "Co", " Co"):
            logits[self.tokenizer.ids_of[likely.encode()]] += 6
        return logits - np.logaddexp.reduce(logits)

    def label(self, context: list[int], text: str) -> float:
        """Return the exact log-probability of a text's tokens after a context."""
        total, context = 0.0, list(context)
        for token in self.tokenizer.encode(text, add_special_tokens=False):
            total += float(self.logprobs(context)[token])
            context.append(token)
        return total


FLAVOURS: dict[str, set[str]] = {
    "vllm": {"chat", "completions", "token_ids", "chat_logprobs", "tokens"},
    "sglang": {"chat", "completions"},
    "llama.cpp": {"chat", "completions", "llama"},
    "ollama": {"chat"},
    "llama_python": {"chat", "chat_logprobs"},
    "openai": {"chat", "chat_logprobs", "strict"},
    "plain": {"chat", "completions"},
}
OWNERS = {
    "llama.cpp": "llamacpp",
    "ollama": "library",
    "openai": "system",
    "llama_python": "me",
}


class FakeServer(Server):
    """One server; a context manager.

    Attributes
    ----------
    faults : deque of dict
        Each is spent on one request that runs the model: ``status``, ``body``, ``headers`` or
        ``delay`` (seconds).
    reject : dict of str to str
        Parameter to the message of the 400 that it earns.
    lie : str
        What is done to log-probabilities: ``missing``, ``equal``, ``positive``.
    no_list : bool
        Whether the list of models is an error.
    context_length : int or None
        Stated in the list of models.
    forms : set of str
        Fields of chat requests to whose forms replies are held.
    reply : dict
        Overrides of a chat message; ``finish_reason`` goes to the choice.
    hangs_up : str
        Requests that hold this text get no reply: the connection is closed.
    requests : list of (str, dict)
        Path and body of every POST.
    """

    def __init__(self, flavour: str = "vllm", key: str = "") -> None:
        self.can = FLAVOURS[flavour]
        self.model = ToyModel()
        self.key = key
        self.faults: deque[dict[str, Any]] = deque()
        self.reject: dict[str, str] = {}
        self.lie = ""
        self.no_list = False
        self.context_length: int | None = None
        self.owner = OWNERS.get(flavour, flavour)
        self.forms: set[str] = set()
        self.reply: dict[str, Any] = {}
        self.hangs_up = ""
        self.requests: list[tuple[str, dict[str, Any]]] = []
        self.most_at_once = self._now = 0
        self._lock, self._over, self._draws = threading.Lock(), threading.Event(), 0
        if "strict" in self.can:
            self.reject = {
                name: f"Unrecognized request argument supplied: {name}"
                for name in ("top_k", "min_p", "chat_template_kwargs", "continue_final_message")
            }
            self.reject["max_tokens"] = (
                "Unsupported parameter: 'max_tokens' is not supported with this model. "
                "Use 'max_completion_tokens' instead."
            )

    def __enter__(self) -> Self:
        super().__enter__()
        self.url += "/v1"
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        super().__exit__()

    def respond(self, asked: Asked) -> Reply | None:
        if asked.method == "GET":
            return self._written(*self.get(asked.path))
        body = json.loads(asked.body)
        self.requests.append((asked.path, body))
        sent = {name.lower(): value for name, value in asked.headers.items()}.get("authorization")
        if self.key and sent != f"Bearer {self.key}":
            message = f"Incorrect API key provided: {sent}"
            return self._written(401, {"error": {"message": message}})
        if self.hangs_up and self.hangs_up in json.dumps(body):
            return None
        fault = self.faults.popleft() if self.faults else {}
        self._entered(1)
        if "delay" in fault:
            self._over.wait(fault["delay"])
        self._entered(-1)
        if "status" in fault or "body" in fault:
            answer = fault.get("body", {"error": {"message": "a fault"}})
            return self._written(fault.get("status", 200), answer, fault.get("headers"))
        return self._written(*self.post(asked.path, body))

    def _written(self, status: int, body: Any, headers: dict[str, str] | None = None) -> Reply:
        return status, {"Content-Type": "application/json", **(headers or {})}, json.dumps(body)

    def _entered(self, change: int) -> None:
        with self._lock:
            self._now += change
            self.most_at_once = max(self.most_at_once, self._now)

    def bodies(self, path: str) -> list[dict[str, Any]]:
        """Return the bodies that were posted to a path."""
        return [body for posted, body in self.requests if posted == path]

    def get(self, path: str) -> tuple[int, Any]:
        if path == "/v1/models" and self.no_list:
            return 500, "Internal Server Error"
        if path == "/v1/models":
            mine = {"id": "toy", "created": int(time.time()), "owned_by": self.owner}
            if self.context_length:
                mine["max_model_len"] = self.context_length
            return 200, {"object": "list", "data": [mine]}
        return 404, {"detail": "Not Found"}

    def post(self, path: str, body: dict[str, Any]) -> tuple[int, Any]:
        routes = {
            "/v1/chat/completions": ("chat", self._chat),
            "/v1/completions": ("completions", self._completions),
            "/apply-template": ("llama", self._template),
            "/detokenize": ("tokens", self._detokenize),
            "/tokenize": ("tokens", self._ids)
            if "tokens" in self.can
            else ("llama", self._tokenize),
            "/completion": ("llama", self._llama),
        }
        feature, answer = routes.get(path, ("", None))
        if answer is None or feature not in self.can:
            return 404, {"error": {"message": f"no route {path}"}}
        for name, message in self.reject.items():
            if name in body:
                return 400, {"error": {"message": message, "param": name}}
        return 200, answer(body)

    def context(self, body: dict[str, Any]) -> list[int]:
        """Return the ids that the model reads."""
        if "prompt" in body:
            prompt = body["prompt"]
            return prompt if isinstance(prompt, list) else self.model.tokenizer.encode(prompt)
        messages = list(body["messages"])
        begun = messages.pop()["content"] if messages[-1]["role"] == "assistant" else ""
        text = self.model.tokenizer.apply_chat_template(messages) + begun
        return self.model.tokenizer.encode(text, add_special_tokens=False)

    def told(self, context: list[int]) -> np.ndarray:
        """Return the log-probabilities that the server claims."""
        true = self.model.logprobs(context)
        if self.lie == "equal":
            return np.full_like(true, -3.0)
        if self.lie == "positive":
            return true + 9.0
        return true

    def text(self, body: dict[str, Any]) -> str:
        """Return a reply that depends on the prompt and the seed."""
        return f"word{zlib.crc32(repr((self.context(body), body.get('seed'))).encode())}"

    def _usage(self, context: list[int]) -> dict[str, Any]:
        return {
            "prompt_tokens": len(context),
            "completion_tokens": 3,
            "total_tokens": len(context) + 3,
            "prompt_tokens_details": {"cached_tokens": 2},
        }

    def _top(self, context: list[int], count: int, *, ids: bool = False) -> list[dict[str, Any]]:
        values = self.told(context)
        best = np.argsort(-values)[:count].tolist()
        entries = []
        for index in best:
            piece = self.model.tokenizer.pieces[index]
            entry = {
                "token": piece.decode(errors="replace"),
                "logprob": float(values[index]),
            }
            entries.append({**entry, "id": index} if ids else entry)
        return entries

    def _chat(self, body: dict[str, Any]) -> dict[str, Any]:
        context = self.context(body)
        choice: dict[str, Any] = {"index": 0, "finish_reason": "stop", "logprobs": None}
        if body.get("logprobs") and "chat_logprobs" in self.can and self.lie != "missing":
            top = self._top(context, body["top_logprobs"])
            choice["logprobs"] = {"content": [{**top[0], "top_logprobs": top}]}
        message = {"role": "assistant", "content": self.text(body), **self.reply}
        message["content"] = next(
            (said for form, said in held(body) if form in self.forms), message["content"]
        )
        if "finish_reason" in message:
            choice["finish_reason"] = message.pop("finish_reason")
        return {
            "id": "chatcmpl-1",
            "model": body["model"],
            "system_fingerprint": "fp_toy",
            "choices": [{**choice, "message": message}],
            "usage": self._usage(context),
        }

    def _completions(self, body: dict[str, Any]) -> dict[str, Any]:
        context = self.context(body)
        choice = {"index": 0, "finish_reason": "length", "text": self.text(body), "logprobs": None}
        if body.get("logprobs") and self.lie != "missing":
            choice["logprobs"] = self._legacy(context, body)
        return {"model": body["model"], "choices": [choice], "usage": self._usage(context)}

    def _legacy(self, context: list[int], body: dict[str, Any]) -> dict[str, Any] | None:
        pieces, as_ids = self.model.tokenizer.pieces, body.get("return_tokens_as_token_ids")

        def name(index: int) -> str:
            return f"token_id:{index}" if as_ids else pieces[index].decode(errors="replace")

        values = self.told(context)
        best = np.argsort(-values).tolist()
        if "logprob_token_ids" not in body or "token_ids" not in self.can:
            return None
        shown = [*body["logprob_token_ids"], best[0]]
        table = {name(index): float(values[index]) for index in shown}
        return {"tokens": [name(best[0])], "top_logprobs": [table]}

    def _template(self, body: dict[str, Any]) -> dict[str, Any]:
        # llama.cpp leaves the start token to /tokenize.
        text = self.model.tokenizer.apply_chat_template(body["messages"])
        return {"prompt": text.removeprefix("<s>")}

    def _tokenize(self, body: dict[str, Any]) -> dict[str, Any]:
        special = bool(body.get("add_special"))
        content = body.get("content")  # without it the real one gives no tokens
        tokens = [] if content is None else self.model.tokenizer.encode(content, special)
        return {"tokens": tokens}

    def _ids(self, body: dict[str, Any]) -> dict[str, Any]:
        if "prompt" not in body:
            return {"tokens": self.context(body)} if "messages" in body else {}
        special = body.get("add_special_tokens", True)
        return {"tokens": self.model.tokenizer.encode(body["prompt"], special), "count": 1}

    def _detokenize(self, body: dict[str, Any]) -> dict[str, Any]:
        return {"prompt": self.model.tokenizer.decode(body["tokens"])}

    def _llama(self, body: dict[str, Any]) -> dict[str, Any]:
        top = self._top(body["prompt"], body["n_probs"], ids=True)
        shown = [] if self.lie == "missing" else [{**top[0], "top_logprobs": top}]
        return {
            "content": "x",
            "completion_probabilities": shown,
            "tokens_evaluated": len(body["prompt"]),
            "tokens_predicted": 1,
        }


def held(body: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the fields that hold a reply to a form, each with the first reply that fits."""
    if "structured_outputs" in body:
        yield "structured_outputs", body["structured_outputs"]["choice"][0]
    if "response_format" in body:
        fields = body["response_format"]["json_schema"]["schema"]["properties"]
        yield "response_format", json.dumps({name: fitting(kind) for name, kind in fields.items()})


def fitting(kind: dict[str, Any]) -> Any:
    """Return the first value that fits a schema; items of a list are different."""
    if "enum" in kind:
        return kind["enum"][0]
    names = [f"w{'abcdefgh'[i]}" for i in range(8)]
    items = range(1, 9) if kind["items"]["type"] == "integer" else names
    return list(items)[: kind.get("minItems", 1)]


@dataclass
class FakeTime:
    """A clock that only sleeping moves; `slept` lists how long."""

    at: float = 1_000.0
    slept: list[float] = field(default_factory=list)

    def monotonic(self) -> float:
        return self.at

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.at += seconds


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@contextmanager
def running(
    command: list[str],
    environment: Mapping[str, str],
    log_path: Path,
    seconds: float,
    healthy: str = "/health",
) -> Iterator[str]:
    """Run a command that takes ``--host`` and ``--port``; yield the base URL once it answers.

    `healthy` is the path that it answers then.
    """
    port = free_port()
    place = ["--host", "127.0.0.1", "--port", str(port)]
    with log_path.open("w") as log:
        process = subprocess.Popen([*command, *place], stdout=log, stderr=log, env=environment)
        try:
            limit = time.monotonic() + seconds
            while not _answers(f"http://127.0.0.1:{port}{healthy}"):
                if process.poll() is not None or time.monotonic() > limit:
                    pytest.fail(f"the server did not start:\n{log_path.read_text()[-3000:]}")
                time.sleep(0.2)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            process.terminate()
            process.wait(60)


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as reply:
            return bool(reply.status == 200)
    except (urllib.error.URLError, ConnectionError, TimeoutError):
        return False
