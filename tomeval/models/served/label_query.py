"""One score request on its way: what it sends, what that used, and its labels in token ids."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from tomeval.models.base import ScoreRequest, Unusable, Usage
from tomeval.models.local.tasks import LabelQuery, split_labels
from tomeval.models.served.client import Client
from tomeval.models.served.limits import read_usage, total_usage
from tomeval.models.served.prompts import chat_fields, label_texts, plain_text
from tomeval.models.served.requests import Requests

NO_THINKING = {"enable_thinking": False}
"""Template switch sent with every request that scores: a label is not the first thought."""

_T = TypeVar("_T")


@dataclass
class Query:
    """One score request: sends requests and adds up what they used."""

    client: Client
    requests: Requests  # how the model is asked
    request: ScoreRequest
    tokens: int = 0  # the most tokens that one request can use, for the caps
    # What came together, as `Scores` keeps it; latency is the sum over requests.
    usage: Usage = field(default_factory=Usage)
    latency: float = 0.0
    details: dict[str, Any] = field(default_factory=dict)

    async def run(self, path: str, body: dict[str, Any], prompts: int = 1) -> dict[str, Any]:
        """Send a request that runs the model for one token per prompt, and return the reply."""
        answer = await self.client.post(path, body, tokens=self.tokens * prompts)
        self.usage = total_usage([self.usage, read_usage(answer.data) or Usage()])
        self.latency += answer.latency
        self.details["requests"] = self.details.get("requests", 0) + 1
        self.details.update(answer.mended)
        if answer.data.get("system_fingerprint"):
            self.details["fingerprint"] = answer.data["system_fingerprint"]
        return answer.data

    async def ask(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Send a request that runs no model, and return the reply."""
        return (await self.client.post(path, body)).data

    def noted(self, labels: LabelQuery) -> LabelQuery:
        """Keep how the labels were tokenised."""
        self.details["label_ids"] = [list(ids) for ids in labels.sequences]
        if labels.backoff:
            self.details["backoff"] = labels.backoff
        return labels

    def texts(self, rendered: str | None) -> list[str]:
        """Return the labels as texts that continue the prompt, see `label_texts`."""
        prompt, labels = self.request.prompt, self.request.labels
        texts = label_texts(prompt, labels, rendered, self.requests.options.label_space)
        self.details["label_texts"] = texts
        return texts


async def split(query: Query) -> LabelQuery:
    """Return prompt and labels in ids.

    Without a tokenizer the server's own is asked (``/tokenize`` and ``/detokenize`` of vLLM and
    SGLang): it renders the conversation, its text is taken back, and every label is tokenised
    together with that text. `Unusable` if the text does not give the same tokens again.
    """
    if query.requests.codec is not None:
        return query.noted(query.requests.codec.label_query(query.request))
    prompt, model = query.request.prompt, {"model": query.requests.model}
    if query.requests.chat:
        fields = {**chat_fields(prompt), "chat_template_kwargs": NO_THINKING}
    else:
        fields = {"prompt": plain_text(prompt)}
    ids = await server_ids(query, **model, **fields)
    body = {**model, "tokens": ids, "skip_special_tokens": False}
    reply = await query.ask("/detokenize", body)
    text = reply.get("prompt", reply.get("text"))
    if not isinstance(text, str):
        raise Unusable("needs a tokenizer (option tokenizer): /detokenize gave no text")
    ends = ["", *query.texts(None if query.requests.chat else text)]
    again, *joint = await together(
        server_ids(query, **model, prompt=text + end, add_special_tokens=False) for end in ends
    )
    if again != ids:
        raise Unusable(
            "needs a tokenizer (option tokenizer): the server's own does not give the same tokens "
            "for the text of its tokens"
        )
    query.details["tokenizer"] = "server"
    return query.noted(split_labels(ids, joint, query.request.labels))


async def server_ids(query: Query, **fields: Any) -> list[int]:
    """Return a text's tokens as the server tells them."""
    ids = (await query.ask("/tokenize", fields)).get("tokens")
    if not isinstance(ids, list) or not all(type(token) is int for token in ids):
        raise Unusable("needs a tokenizer (option tokenizer): /tokenize gave no tokens")
    return ids


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
