"""Ways to get the exact log-probability of labels from a server.

A number is either read from the reply or there is none: nothing is filled in for a label that the
server left out.
"""

from __future__ import annotations

import math
from asyncio import gather
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from tomeval.models.base import ScoreRequest, Unusable, Usage
from tomeval.models.local.tasks import LabelQuery, exclusive, split_labels
from tomeval.models.served.replies import dig, is_number, match, read_entries, read_usage
from tomeval.models.served.requests import (
    CHAT,
    COMPLETIONS,
    NO_THINKING,
    Requests,
    Server,
    chat_fields,
    plain_text,
)

if TYPE_CHECKING:
    from tomeval.models.served.client import Client

_FEW, _WHOLE_VOCABULARY = 64, 1_000_000  # log-probabilities asked of llama.cpp, at first and then

Ids = list[int]
Next = tuple[dict[int, float], int | None]  # log-probabilities by token; the likeliest token


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
        answer = await self.client.ask(path, body, self.tokens * prompts)
        self.usage += read_usage(answer.data) or Usage()
        self.latency += answer.latency
        self.details.update(answer.mended)
        return answer.data

    async def ask(self, path: str, **body: Any) -> dict[str, Any]:
        """Send a request that runs no model, and return the reply."""
        return (await self.client.ask(path, body)).data

    async def tokens_of(self, **fields: Any) -> Ids:
        """Return a text's tokens as the server tells them."""
        ids = (await self.ask("/tokenize", **fields)).get("tokens")
        if not isinstance(ids, list) or not all(type(token) is int for token in ids):
            raise Unusable("needs a tokenizer (option tokenizer): /tokenize gave no tokens")
        return ids

    def texts(self, rendered: str | None) -> list[str]:
        """Return the labels as they continue the prompt: with a space where it needs one.

        `rendered` is the prompt's text, None if only the server knows it: then a prompt without
        prefill is taken to end in a control token or a line break, as chat templates do.
        """
        end = self.request.prompt.prefill or rendered or "\n"
        space = "" if end[-1].isspace() else " "
        return [space + label for label in self.request.labels]


class Route(NamedTuple):
    """One way to score labels."""

    name: str  # what `Scores.method` says
    # Returns log P(label | prompt) per label, in nats; `Unusable` if the reply lacks it.
    score: Callable[[Query], Awaitable[list[float]]]
    # Whether the server's chat API renders the prompt, so that a prefill depends on it.
    on_chat: bool = False


def routes(server: Server, *, chat: bool, top_logprobs: int) -> list[Route]:
    """Return the routes to try on a kind of server, the most exact first."""
    exact = [Route("token_ids", token_ids), Route("echo", echo), Route("n_probs", n_probs)]
    name = "top_k" if chat else "top_k_completions"
    top = Route(name, partial(top_k, chat=chat, count=top_logprobs), chat)
    return [*exact, top] if server.exact else [top]


async def token_ids(query: Query) -> list[float]:
    """Score by vLLM's completions: prompts in ids, and the ids whose log-probabilities to tell."""

    async def nexts(contexts: list[Ids], wanted: list[Ids]) -> list[Next]:
        body = query.requests.scoring(
            prompt=contexts if len(contexts) > 1 else contexts[0],
            logprobs=1,
            logprob_token_ids=sorted({token for ids in wanted for token in ids}),
            return_tokens_as_token_ids=True,
        )
        data = await query.run(COMPLETIONS, body, len(contexts))
        return [_by_id(choice) for choice in in_order(data.get("choices"))]

    return await _walk(query, await _split(query), nexts)


async def n_probs(query: Query) -> list[float]:
    """Score by llama.cpp's own path; its server renders and tokenises. No cache: it may differ."""

    async def nexts(contexts: list[Ids], wanted: list[Ids]) -> list[Next]:
        told: list[Next] = []
        for count in (_FEW, _WHOLE_VOCABULARY):
            body = {
                "prompt": contexts if len(contexts) > 1 else contexts[0],
                **{"n_predict": 1, "n_probs": count, "cache_prompt": False},
                **query.requests.greedy(),
            }
            data = await query.run("/completion", body, len(contexts))
            told = [_likeliest(reply) for reply in in_order(data.get("replies", [data]))]
            pairs = zip(told, wanted, strict=False)
            if all(token in logprobs for (logprobs, _), ids in pairs for token in ids):
                break
        return told

    prompt = query.request.prompt
    text = rendered = plain_text(prompt)
    if query.requests.chat:
        messages = [message._asdict() for message in prompt.messages]
        how = {"messages": messages, "chat_template_kwargs": NO_THINKING}
        template = (await query.ask("/apply-template", **how)).get("prompt")
        if not isinstance(template, str):
            raise Unusable("/apply-template gave no prompt")
        text, rendered = template + prompt.prefill, ""
    texts = [text + label for label in ["", *query.texts(rendered)]]
    special = {"add_special": True, "parse_special": True}
    begun, *joint = await gather(*(query.tokens_of(content=each, **special) for each in texts))
    return await _walk(query, split_labels(begun, joint, query.request.labels), nexts)


async def echo(query: Query) -> list[float]:
    """Score by the log-probabilities of prompts that end in the labels; one request a label."""
    labels = await _split(query)

    async def log_probability(label: tuple[int, ...]) -> float:
        ids = [*labels.prefix, *label]
        body = query.requests.scoring(prompt=ids, echo=True, logprobs=1)
        data = await query.run(COMPLETIONS, body)
        values = dig(data, "choices", 0, "logprobs", "token_logprobs")
        if not isinstance(values, list):
            raise Unusable("no log-probs in the reply")
        if len(values) not in (len(ids), len(ids) + 1):  # one more: the generated token
            raise Unusable(f"{len(values)} log-probs for a prompt of {len(ids)} tokens: not echoed")
        own = values[len(labels.prefix) : len(ids)]
        if not own or not all(map(is_number, own)):
            raise Unusable(f"log-probs of a label are missing: {own}")
        return math.fsum(own)

    sums = await gather(*map(log_probability, labels.sequences))
    return exclusive(sums, labels.sequences)


async def top_k(query: Query, *, chat: bool, count: int) -> list[float]:
    """Score by the likeliest first tokens of a reply, matched with whole labels by bytes.

    `Unlisted` if a label is not among them.
    """
    prompt = query.request.prompt
    texts = query.texts(None if chat else plain_text(prompt))
    fields: dict[str, Any] = {"prompt": plain_text(prompt), "logprobs": count}
    if chat:
        fields = {**chat_fields(prompt), "logprobs": True, "top_logprobs": count}
        fields["chat_template_kwargs"] = NO_THINKING
    data = await query.run(CHAT if chat else COMPLETIONS, query.requests.scoring(**fields))
    message = dig(data, "choices", 0, "message")
    if dig(message, "reasoning_content") or dig(message, "reasoning"):
        raise Unusable("the model thinks before it answers, and that cannot be switched off")
    table = dig(data, "choices", 0, "logprobs", "top_logprobs", 0)
    listed = dig(data, "choices", 0, "logprobs", "content", 0, "top_logprobs")
    if isinstance(table, dict):  # of the completions API
        listed = [{"token": token, "logprob": value} for token, value in table.items()]
    entries = read_entries(listed)
    query.details["top_k"] = len(entries)
    likeliest = max(entries, key=lambda entry: entry[1])[0].decode(errors="replace")
    query.details["argmax_is_label"] = likeliest in texts
    return [match(text, entries) for text in texts]


async def _walk(
    query: Query,
    labels: LabelQuery,
    nexts: Callable[[list[Ids], list[Ids]], Awaitable[list[Next]]],
) -> list[float]:
    """Sum the log-probabilities of each label's tokens, as `nexts` tells them after a context."""
    wanted: dict[tuple[int, ...], set[int]] = {}
    for ids in labels.sequences:
        for position, token in enumerate(ids):
            wanted.setdefault(ids[:position], set()).add(token)
    contexts = [[*labels.prefix, *begun] for begun in wanted]
    replies = await nexts(contexts, [sorted(tokens) for tokens in wanted.values()])
    if len(replies) != len(contexts):
        raise Unusable(f"{len(replies)} replies to {len(contexts)} prompts")
    told = dict(zip(wanted, replies, strict=True))
    for begun, tokens in wanted.items():
        if missing := [t for t in sorted(tokens) if not is_number(told[begun][0].get(t))]:
            raise Unusable(f"no log-probability for token ids {missing}")
    likeliest = replies[0][1]
    if likeliest is not None and not labels.backoff:
        query.details["argmax_is_label"] = likeliest in wanted[()]
    sums = [
        math.fsum(told[ids[:at]][0][token] for at, token in enumerate(ids))
        for ids in labels.sequences
    ]
    return exclusive(sums, labels.sequences)


async def _split(query: Query) -> LabelQuery:
    """Return prompt and labels in ids.

    Without a tokenizer the server's own is asked (``/tokenize`` and ``/detokenize`` of vLLM and
    SGLang): it renders the conversation, its text is taken back, and every label is tokenised
    together with that text. `Unusable` if the text does not give the same tokens again.
    """
    ask = query.requests
    if ask.codec is not None:
        return ask.codec.label_query(query.request)
    prompt, model = query.request.prompt, {"model": ask.model}
    fields: dict[str, Any] = {"prompt": plain_text(prompt)}
    if ask.chat:
        fields = {**chat_fields(prompt), "chat_template_kwargs": NO_THINKING}
    ids = await query.tokens_of(**model, **fields)
    reply = await query.ask("/detokenize", **model, tokens=ids, skip_special_tokens=False)
    text = reply.get("prompt", reply.get("text"))
    if not isinstance(text, str):
        raise Unusable("needs a tokenizer (option tokenizer): /detokenize gave no text")
    ends = ["", *query.texts(None if ask.chat else text)]
    plain = {**model, "add_special_tokens": False}
    again, *joint = await gather(*(query.tokens_of(**plain, prompt=text + end) for end in ends))
    if again != ids:
        raise Unusable(
            "needs a tokenizer (option tokenizer): the server's own does not give the same tokens "
            "for the text of its tokens"
        )
    query.details["tokenizer"] = "server"
    return split_labels(ids, joint, query.request.labels)


def _by_id(choice: dict[str, Any]) -> Next:
    """Return what vLLM says of the next token."""
    table = dig(choice, "logprobs", "top_logprobs", 0)
    if not isinstance(table, dict):
        raise Unusable("no log-probs in the reply")
    likeliest = str(dig(choice, "logprobs", "tokens", 0)).removeprefix("token_id:")
    values = {name.removeprefix("token_id:"): value for name, value in table.items()}
    by_id = {int(name): value for name, value in values.items() if name.isdecimal()}
    return by_id, int(likeliest) if likeliest.isdecimal() else None


def _likeliest(reply: dict[str, Any]) -> Next:
    """Return what llama.cpp says of the next token."""
    entries = dig(reply, "completion_probabilities", 0, "top_logprobs")
    if not isinstance(entries, list) or not entries:
        raise Unusable("no completion_probabilities in the reply")
    pairs = [(dig(entry, "id"), dig(entry, "logprob")) for entry in entries]
    logprobs = {token: v for token, v in pairs if type(token) is int and is_number(v)}
    return logprobs, max(logprobs, key=logprobs.__getitem__, default=None)


def in_order(replies: Any) -> list[dict[str, Any]]:
    """Return the replies to a list of prompts in the order of the prompts."""
    if not isinstance(replies, list) or not replies:
        raise Unusable("no replies to the prompts")
    if len(replies) == 1:  # one prompt has one reply, whatever it calls it
        return replies
    by_place = {repr(dig(reply, "index")): reply for reply in replies}
    places = [repr(place) for place in range(len(replies))]
    if set(by_place) != set(places):
        raise Unusable(f"the replies to the prompts are numbered {list(by_place)!r:.80}")
    return [by_place[place] for place in places]
