"""What a label query costs by the length of the history, and what a served score costs its client.

python benchmarks/client_work.py

CPU seconds of this process; a server that answers at once, as vLLM does, is another one. The raw
request is such a body, sent and read by the HTTP library alone, in turn; the least of four counts.
"""

from __future__ import annotations

import asyncio
import json
import math
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

import httpx2
from transformers import AutoTokenizer

from tomeval.models.base import Message, Prompt, ScoreRequest
from tomeval.models.local.load import pocket_folder
from tomeval.models.local.prompt import PromptCodec
from tomeval.models.served.openai_api import OpenAIModel
from tomeval.models.served.openai_fields import OpenAIOptions
from tomeval.report.tables import render

LABELS = ("J", "F")
EPISODES, ROUNDS = 16, 60
QUERIES = 40
REPEATS = 4


def prompt(history: str, number: int, asked: str = "do you choose") -> Prompt:
    """Return a question below a history."""
    text = f"{history}\n\nThis is round {number}. What {asked}?"
    return Prompt((Message("user", text),), prefill="I choose option")


def line(number: int) -> str:
    """Return a round of a made-up play."""
    return f"\nRound {number}: you chose J, the other player chose F ({number % 7} points)."


def label_queries(tokenizer: Any) -> list[dict[str, str]]:
    """Time label queries, as of a play that grows and as of prompts that have no past."""
    rows = []
    for start in (10, 100, 500, 2000):
        row = {"rounds before": f"{start:,}"}
        for name, group in (("each anew, ms", ""), ("of a play that grows, ms", "episode")):
            codec = PromptCodec(tokenizer)
            history = "Rules of a game." + "".join(map(line, range(1, start)))
            codec.label_query(ScoreRequest(prompt(history, start), LABELS, group))
            began = time.process_time()
            for number in range(start, start + QUERIES // 2):
                history += line(number)
                for asked in ("do you choose", "does the other player choose"):
                    request = ScoreRequest(prompt(history, number, asked), LABELS, group)
                    codec.label_query(request)
            row[name] = f"{(time.process_time() - began) / QUERIES * 1e3:.2f}"
        rows.append(row)
    return rows


async def served(tokenizer: Any, port: int) -> list[dict[str, str]]:
    """Time served scores of one episode and of several at the same time."""
    url = f"http://127.0.0.1:{port}/v1"
    model = OpenAIModel("toy", url, OpenAIOptions(concurrency=64), tokenizer=tokenizer)
    await model.start()
    raw = httpx2.AsyncClient(trust_env=False, verify=False)
    body = {"model": "toy", "max_tokens": 1, "logprobs": 1, "logprob_token_ids": [5, 6]}
    body["prompt"] = tokenizer.encode("".join(map(line, range(1, ROUNDS // 2))))

    async def send(number: int) -> None:
        json.loads((await raw.post(f"{url}/completions", json=body)).content)

    rows = []
    for episodes in (1, EPISODES):

        async def score(number: int, episodes: int = episodes) -> None:
            history = f"Game {number // ROUNDS}." + "".join(map(line, range(number % ROUNDS)))
            group = f"{episodes} {number // ROUNDS}"
            await model.score(ScoreRequest(prompt(history, number), LABELS, group))

        each = {"raw": math.inf, "ours": math.inf}
        for _ in range(REPEATS):  # in turn: what else runs slows both
            for name, one in (("raw", send), ("ours", score)):
                each[name] = min(each[name], await timed(one, episodes))
        rows.append(
            {
                "episodes at a time": str(episodes),
                "raw request, ms": f"{each['raw']:.2f}",
                "score, ms": f"{each['ours']:.2f}",
                "ratio": f"{each['ours'] / each['raw']:.2f}",
            }
        )
    await raw.aclose()
    await model.close()
    return rows


async def timed(one: Callable[[int], Awaitable[None]], episodes: int) -> float:
    """Return the milliseconds of CPU of one request, each episode asking one after another."""

    async def play(episode: int, rounds: int) -> None:
        for number in range(rounds):
            await one(episode * ROUNDS + number)

    await asyncio.gather(*(play(episode, 3) for episode in range(episodes)))
    began = time.process_time()
    await asyncio.gather(*(play(episode, ROUNDS) for episode in range(episodes)))
    return (time.process_time() - began) / episodes / ROUNDS * 1e3


def main() -> None:
    """Print both tables."""
    tokenizer = AutoTokenizer.from_pretrained(pocket_folder("pocket"))
    print(render(label_queries(tokenizer), "markdown"), "\n")
    server = subprocess.Popen([sys.executable, __file__, "serve"], stdout=subprocess.PIPE)
    try:
        assert server.stdout is not None
        rows = asyncio.run(served(tokenizer, int(server.stdout.readline())))
    finally:
        server.kill()
        server.wait()
    print(render(rows, "markdown"))


def answer(path: str, body: dict[str, Any]) -> dict[str, Any] | None:
    """Answer as vLLM does, with made-up numbers that depend on the prompt."""
    if path == "/v1/models":
        return {"object": "list", "data": [{"id": "toy", "owned_by": "vllm"}]}
    if path == "/version":
        return {"version": "0.33.0"}
    if path == "/v1/chat/completions":
        message = {"role": "assistant", "content": f"word {body.get('seed')}"}
        return {"choices": [{"index": 0, "finish_reason": "stop", "message": message}]}
    if path != "/v1/completions" or "logprob_token_ids" not in body:
        return None
    prompts = body["prompt"] if isinstance(body["prompt"][0], list) else [body["prompt"]]
    choices = []
    for index, ids in enumerate(prompts):
        values = {
            f"token_id:{token}": -1.5 - 0.3 * place - sum(ids) % 17 / 40
            for place, token in enumerate(body["logprob_token_ids"])
        }
        first = next(iter(values))
        logprobs = {"tokens": [first], "token_logprobs": [-0.1], "top_logprobs": [values]}
        choices.append({"index": index, "finish_reason": "length", "logprobs": logprobs})
    usage = {"prompt_tokens": sum(map(len, prompts)), "completion_tokens": len(prompts)}
    return {"model": "toy", "choices": choices, "usage": usage}


async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer the requests of one connection."""
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            sizes = [one for one in head.lower().split("\r\n") if one.startswith("content-length:")]
            size = int(sizes[0].partition(":")[2]) if sizes else 0
            body = json.loads(await reader.readexactly(size)) if size else {}
            found = answer(head.split(" ", 2)[1], body)
            status = "404 Not Found" if found is None else "200 OK"
            data = json.dumps(found or {"detail": "Not Found"}).encode()
            writer.write(
                f"HTTP/1.1 {status}\r\nContent-Length: {len(data)}\r\n\r\n".encode() + data
            )
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def serve() -> None:
    """Serve until this process is ended; the port is printed."""
    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve()) if sys.argv[1:] == ["serve"] else main()
