"""What label scoring sends to a server and reads from its replies."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Coroutine, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from tomeval.models.base import ScoreRequest, Unlisted, Unusable, Usage
from tomeval.models.local.tasks import LabelQuery, split_labels
from tomeval.models.served.http_client import HttpClient
from tomeval.models.served.limits import read_usage, total_usage
from tomeval.models.served.openai_fields import greedy_fields
from tomeval.models.served.openai_wire import Requests, chat_fields, label_texts, plain_text

NO_THINKING = {"enable_thinking": False}
"""Template switch sent with every request that scores: a label is not the first thought."""

LEGACY_TOP = ("choices", 0, "logprobs", "top_logprobs", 0)
"""Where the completions API puts the first token's likeliest alternatives."""

ROUNDING = 0.01
"""Above what it can be: of a sum of probabilities in half precision, or a log-probability."""

_SHOWN = 5  # of the likeliest tokens, in messages

_T = TypeVar("_T")


@dataclass
class Query:
    """One score request on its way: sends requests and adds up what they used."""

    client: HttpClient
    requests: Requests  # how the model is asked
    request: ScoreRequest
    tokens: int = 0  # the most tokens that one request can use, for the caps
    probing: bool = False  # whether this is the self-test
    # What came together, as `Scores` keeps it; latency is the sum over requests.
    usage: Usage = field(default_factory=Usage)
    latency: float = 0.0
    details: dict[str, Any] = field(default_factory=dict)

    async def run(self, path: str, body: dict[str, Any], prompts: int = 1) -> dict[str, Any]:
        """Send a request that runs the model for one token per prompt, and return the reply."""
        tokens = self.tokens * prompts
        answer = await self.client.post(path, body, tokens=tokens, probing=self.probing)
        self.usage = total_usage([self.usage, read_usage(answer.data) or Usage()])
        self.latency += answer.latency
        self.details["requests"] = self.details.get("requests", 0) + 1
        self.details.update(answer.mended)
        if answer.data.get("system_fingerprint"):
            self.details["fingerprint"] = answer.data["system_fingerprint"]
        return answer.data

    async def ask(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Send a request that runs no model, and return the reply."""
        return (await self.client.post(path, body, probing=self.probing)).data

    def noted(self, split: LabelQuery) -> LabelQuery:
        """Keep how the labels were tokenised."""
        self.details["label_ids"] = [list(ids) for ids in split.sequences]
        if split.backoff:
            self.details["backoff"] = split.backoff
        return split

    def texts(self, rendered: str | None) -> list[str]:
        """Return the labels as texts that continue the prompt, see `label_texts`."""
        prompt, labels = self.request.prompt, self.request.labels
        texts = label_texts(prompt, labels, rendered, self.requests.options.label_space)
        self.details["label_texts"] = texts
        return texts

    def body(self, **fields: Any) -> dict[str, Any]:
        """Return a request for one greedy token on an OpenAI-compatible path."""
        how = self.requests
        greedy = greedy_fields(how.kind)
        extra = how.options.extra_body
        return {**extra, "model": how.model, "max_tokens": 1, **greedy, **fields}


def match(text: str, label: str, entries: list[tuple[bytes, float]]) -> float:
    """Return the log-probability of the token that is exactly this text."""
    wanted = text.encode()
    exact = [value for token, value in entries if token == wanted]
    if len(exact) == 1:
        return exact[0]
    if len(exact) > 1:
        raise Unusable(f"{len(exact)} of the likeliest tokens are {text!r}: set a tokenizer")
    near = [
        token.decode(errors="replace")
        for token, _ in entries
        if token.strip() and label.encode().startswith(token.strip())
    ]
    hint = f"; near it are {near} (a label must be one token on this route)" if near else ""
    likeliest = sorted(entries, key=lambda entry: -entry[1])[:_SHOWN]
    shown = ", ".join(
        f"{said.decode(errors='replace')!r} {math.exp(v):.2g}" for said, v in likeliest
    )
    raise Unlisted(
        f"label {label!r} is not among the {len(entries)} likeliest tokens as {text!r}{hint}, so "
        f"its probability is unknown; the likeliest: {shown}"
    )


def read_entries(found: Any) -> list[tuple[bytes, float]]:
    """Read a list of ``{token, logprob, bytes}``; the bytes count where they are given."""
    if not isinstance(found, list) or not found:
        raise Unusable("no log-probs in the reply")
    return [checked(*_token(entry)) for entry in found]


def _token(entry: Any) -> tuple[bytes, Any]:
    """Return a token's bytes and what stands where its log-probability should."""
    if not isinstance(entry, dict):
        raise Unusable(f"no token with its log-prob: {entry!r:.80}")
    token, raw = entry.get("token"), entry.get("bytes")
    if raw:
        try:
            return bytes(raw), entry.get("logprob")
        except (TypeError, ValueError):
            raise Unusable(f"not the bytes of a token: {raw!r:.80}") from None
    if not isinstance(token, str):
        raise Unusable(f"no token with its log-prob: {entry!r:.80}")
    return token.encode(), entry.get("logprob")


def checked(token: bytes, value: Any) -> tuple[bytes, float]:
    """Return a token and its log-probability; `Unusable` if that is not a log-probability."""
    name = token.decode(errors="replace")
    if not is_number(value):
        raise Unusable(f"{value!r:.80} is not a log-prob (of {name!r})")
    if value > ROUNDING:
        raise Unusable(f"a log-prob is positive ({value}, of {name!r})")
    return token, value


def dig(data: Any, *path: str | int) -> Any:
    """Return what lies at a path of keys and indices, or None."""
    for step in path:
        try:
            data = data[step]
        except (KeyError, IndexError, TypeError):
            return None
    return data


def is_number(value: Any) -> bool:
    """Tell whether a log-probability is there at all."""
    return type(value) in (int, float) and not math.isnan(value)


def total(values: list[Any]) -> float:
    """Return the sum of a label's log-probabilities; `Unusable` if one is missing."""
    if not values or not all(is_number(value) for value in values):
        raise Unusable(f"log-probs of a label are missing: {values}")
    return math.fsum(values)


async def together(work: Iterable[Coroutine[Any, Any, _T]]) -> list[_T]:
    """Run coroutines at the same time; of several errors one is raised, as itself."""
    first, *others = work = list(work)
    if not others:  # no task for it
        return [await first]
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(coroutine) for coroutine in work]
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None
    return [task.result() for task in tasks]


async def split(query: Query) -> LabelQuery:
    """Return prompt and labels in ids.

    Without a tokenizer the server's own is asked (``/tokenize`` and ``/detokenize`` of vLLM and
    SGLang): it renders the conversation, its text is taken back, and every label is tokenised
    together with that text. `Unusable` if the text does not give the same tokens again.
    """
    if query.requests.codec is not None:
        return query.noted(query.requests.codec.label_query(query.request))
    prompt = query.request.prompt
    if query.requests.chat:
        ids = await _ids(query, **chat_fields(prompt), chat_template_kwargs=NO_THINKING)
    else:
        ids = await _ids(query, prompt=plain_text(prompt))
    body = {"model": query.requests.model, "tokens": ids, "skip_special_tokens": False}
    reply = await query.ask("/detokenize", body)
    text = reply.get("prompt", reply.get("text"))
    if not isinstance(text, str):
        raise Unusable("needs a tokenizer (option tokenizer): /detokenize gave no text")
    ends = ["", *query.texts(None if query.requests.chat else text)]
    again, *joint = await together(
        _ids(query, prompt=text + end, add_special_tokens=False) for end in ends
    )
    if again != ids:
        raise Unusable(
            "needs a tokenizer (option tokenizer): the server's own does not give the same tokens "
            "for the text of its tokens"
        )
    query.details["tokenizer"] = "server"
    return query.noted(split_labels(ids, joint, query.request.labels))


async def _ids(query: Query, **fields: Any) -> list[int]:
    data = await query.ask("/tokenize", {"model": query.requests.model, **fields})
    ids = dig(data, "tokens")
    if not isinstance(ids, list) or not all(type(token) is int for token in ids):
        raise Unusable("needs a tokenizer (option tokenizer): /tokenize gave no tokens")
    return ids
