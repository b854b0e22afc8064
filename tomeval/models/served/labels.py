"""Ways to get the exact log-probability of labels from a server.

A number is either read from the reply or there is none: nothing is filled in for a label that the
server left out.
"""

from __future__ import annotations

import logging
import math
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from typing import Any

from tomeval.models.base import Unlisted, Unusable
from tomeval.models.local.tasks import LabelQuery, exclusive, split_labels
from tomeval.models.served.faults import Refused
from tomeval.models.served.fields import HOSTED, OLLAMA
from tomeval.models.served.label_query import NO_THINKING, Query, server_ids, split, together
from tomeval.models.served.prompts import chat_fields, messages_of, plain_text
from tomeval.models.served.replies import dig
from tomeval.models.served.requests import CHAT, COMPLETIONS
from tomeval.models.served.top_tokens import is_number, match, read_entries

logger = logging.getLogger(__name__)

_FEW, _WHOLE_VOCABULARY = 64, 1_000_000  # log-probabilities asked of llama.cpp, at first and then

Ids = list[int]


class Route(ABC):
    """One way to score labels."""

    name: str  # what `Scores.method` says
    # Whether the server's chat API renders the prompt, so that a prefill depends on it.
    on_chat: bool = False

    @abstractmethod
    async def score(self, query: Query) -> list[float]:
        """Return log P(label | prompt) per label, in nats; `Unusable` if the reply lacks it."""


class _ByToken(Route):
    """Routes that read the next token's log-probabilities: longer labels are walked along."""

    @abstractmethod
    async def next_tokens(
        self, query: Query, contexts: list[Ids], wanted: list[Ids]
    ) -> list[tuple[dict[int, float], Any]]:
        """Return the log-probabilities after each context, and the most probable id."""

    async def split(self, query: Query) -> LabelQuery:
        """Return prompt and labels in ids."""
        return await split(query)

    async def score(self, query: Query) -> list[float]:
        labels = await self.split(query)
        nexts: dict[tuple[int, ...], set[int]] = {}
        for ids in labels.sequences:
            for position, token in enumerate(ids):
                nexts.setdefault(ids[:position], set()).add(token)
        contexts = [[*labels.prefix, *begun] for begun in nexts]
        wanted = [sorted(tokens) for tokens in nexts.values()]
        replies = await self.next_tokens(query, contexts, wanted)
        if len(replies) != len(contexts):
            raise Unusable(f"{len(replies)} replies to {len(contexts)} prompts")
        for tokens, (logprobs, _) in zip(wanted, replies, strict=True):
            if missing := [token for token in tokens if not is_number(logprobs.get(token))]:
                raise Unusable(f"no log-probability for token ids {missing}")
        likeliest = replies[0][1]
        if likeliest is not None and not labels.backoff:
            query.details["argmax_is_label"] = likeliest in nexts[()]
        by_begun = {begun: logprobs for begun, (logprobs, _) in zip(nexts, replies, strict=True)}
        sums = [
            math.fsum(by_begun[ids[:at]][token] for at, token in enumerate(ids))
            for ids in labels.sequences
        ]
        return exclusive(sums, labels.sequences)


class VllmTokenIds(_ByToken):
    """vLLM's completions: the prompt in ids, and the ids whose log-probabilities are wanted."""

    name = "token_ids"

    async def next_tokens(
        self, query: Query, contexts: list[Ids], wanted: list[Ids]
    ) -> list[tuple[dict[int, float], Any]]:
        """See `_ByToken.next_tokens`; the ids wanted after any context are asked for after all."""
        body = query.requests.scoring(
            prompt=contexts if len(contexts) > 1 else contexts[0],
            logprobs=1,
            logprob_token_ids=sorted({token for ids in wanted for token in ids}),
            return_tokens_as_token_ids=True,
        )
        data = await query.run(COMPLETIONS, body, len(contexts))
        nexts = []
        for choice in _in_order(data.get("choices")):
            table = dig(choice, "logprobs", "top_logprobs", 0)
            if not isinstance(table, dict):
                raise Unusable("no log-probs in the reply")
            likeliest = str(dig(choice, "logprobs", "tokens", 0)).removeprefix("token_id:")
            values = {name.removeprefix("token_id:"): value for name, value in table.items()}
            by_id = {int(name): value for name, value in values.items() if name.isdecimal()}
            nexts.append((by_id, int(likeliest) if likeliest.isdecimal() else None))
        return nexts


class LlamaCpp(_ByToken):
    """llama.cpp's own path; its server renders and tokenises, so no tokenizer is needed here."""

    name = "n_probs"

    async def split(self, query: Query) -> LabelQuery:
        """See `_ByToken.split`."""
        prompt = query.request.prompt
        text = rendered = plain_text(prompt)
        if query.requests.chat:
            body = {"messages": messages_of(prompt), "chat_template_kwargs": NO_THINKING}
            template = (await query.ask("/apply-template", body)).get("prompt")
            if not isinstance(template, str):
                raise Unusable("/apply-template gave no prompt")
            text, rendered = template + prompt.prefill, ""
        how = {"add_special": True, "parse_special": True}
        texts = [text + label for label in ["", *query.texts(rendered)]]
        ids = await together(server_ids(query, content=each, **how) for each in texts)
        return query.noted(split_labels(ids[0], ids[1:], query.request.labels))

    async def next_tokens(
        self, query: Query, contexts: list[Ids], wanted: list[Ids]
    ) -> list[tuple[dict[int, float], Any]]:
        """See `_ByToken.next_tokens`; no cache, which may change numbers."""
        nexts: list[tuple[dict[int, float], Any]] = []
        for count in (_FEW, _WHOLE_VOCABULARY):
            body = {
                "prompt": contexts if len(contexts) > 1 else contexts[0],
                **{"n_predict": 1, "n_probs": count, "cache_prompt": False},
                **query.requests.greedy(),
            }
            data = await query.run("/completion", body, len(contexts))
            nexts = [_likeliest(reply) for reply in _in_order(data.get("replies", [data]))]
            pairs = zip(nexts, wanted, strict=False)
            if all(token in logprobs for (logprobs, _), ids in pairs for token in ids):
                break
        return nexts


class Echo(Route):
    """Log-probabilities of the prompt itself, with the label at its end; one request a label."""

    name = "echo"

    async def score(self, query: Query) -> list[float]:
        """See `Route.score`."""
        labels = await split(query)
        sums = await together(self._sum(query, labels.prefix, ids) for ids in labels.sequences)
        return exclusive(sums, labels.sequences)

    async def _sum(self, query: Query, prefix: tuple[int, ...], label: tuple[int, ...]) -> float:
        ids = [*prefix, *label]
        body = query.requests.scoring(prompt=ids, echo=True, logprobs=1)
        data = await query.run(COMPLETIONS, body)
        values = dig(data, "choices", 0, "logprobs", "token_logprobs")
        if not isinstance(values, list):
            raise Unusable("no log-probs in the reply")
        if len(values) not in (len(ids), len(ids) + 1):  # one more: the generated token
            raise Unusable(f"{len(values)} log-probs for a prompt of {len(ids)} tokens: not echoed")
        own = values[len(prefix) : len(ids)]
        if not own or not all(map(is_number, own)):
            raise Unusable(f"log-probs of a label are missing: {own}")
        return math.fsum(own)


class TopK(Route):
    """The `count` likeliest first tokens of a reply, matched with whole labels by bytes."""

    def __init__(self, chat: bool, count: int = 20) -> None:
        self.on_chat, self.count = chat, count
        self.name = "top_k" if chat else "top_k_completions"

    async def score(self, query: Query) -> list[float]:
        """See `Route.score`; `Unlisted` if a label is not among the likeliest tokens."""
        texts = query.texts(None if self.on_chat else plain_text(query.request.prompt))
        entries = await self._entries(query)
        query.details["top_k"] = len(entries)
        likeliest = max(entries, key=lambda entry: entry[1])[0].decode(errors="replace")
        query.details["argmax_is_label"] = likeliest in texts
        pairs = zip(texts, query.request.labels, strict=True)
        return [match(text, label, entries) for text, label in pairs]

    async def _entries(self, query: Query) -> list[tuple[bytes, float]]:
        """Return the likeliest first tokens; the completions API has two shapes for them."""
        prompt = query.request.prompt
        fields: dict[str, Any] = {"prompt": plain_text(prompt), "logprobs": self.count}
        if self.on_chat:
            fields = {**chat_fields(prompt), "logprobs": True, "top_logprobs": self.count}
            fields["chat_template_kwargs"] = NO_THINKING
        path = CHAT if self.on_chat else COMPLETIONS
        data = await query.run(path, query.requests.scoring(**fields))
        message = dig(data, "choices", 0, "message")
        if dig(message, "reasoning_content") or dig(message, "reasoning"):
            raise Unusable("the model thinks before it answers, and that cannot be switched off")
        table = dig(data, "choices", 0, "logprobs", "top_logprobs", 0)
        if isinstance(table, dict):
            return read_entries([{"token": key, "logprob": v} for key, v in table.items()])
        return read_entries(dig(data, "choices", 0, "logprobs", "content", 0, "top_logprobs"))


def all_routes(kind: str = "", *, chat: bool, top_logprobs: int = 20) -> list[Route]:
    """Return the routes to try on a kind of server, the most exact first.

    Fewer top tokens are asked for where many are refused.
    """
    exact: list[Route] = [VllmTokenIds(), Echo(), LlamaCpp()]
    counts = [top_logprobs, 5] if top_logprobs > 5 else [top_logprobs]
    top = [TopK(chat, count) for count in counts]
    return [*top] if kind in (HOSTED, OLLAMA) else [*exact, *top]


async def first_route(
    routes: list[Route], score: Callable[[Route], Awaitable[object]]
) -> tuple[Route | None, str]:
    """Return the first route by which a test can be scored, and why those before it are not used.

    Errors that say nothing of a route, such as a server that does not answer, are passed on.
    """
    faults = ""
    for route in routes:
        try:
            await score(route)
        except Unlisted:  # a model may name none of the test's letters, and later others
            pass
        except (Refused, Unusable) as error:
            faults += f"{route.name}: {error}\n"
            logger.info("no log-probs by route %s: %s", route.name, error)
            continue
        return route, faults
    return None, faults.rstrip()


def _likeliest(reply: dict[str, Any]) -> tuple[dict[int, float], Any]:
    """Return what llama.cpp says of the next token."""
    entries = dig(reply, "completion_probabilities", 0, "top_logprobs")
    if not isinstance(entries, list) or not entries:
        raise Unusable("no completion_probabilities in the reply")
    pairs = [(dig(entry, "id"), dig(entry, "logprob")) for entry in entries]
    logprobs = {token: v for token, v in pairs if type(token) is int and is_number(v)}
    return logprobs, max(logprobs, key=logprobs.__getitem__, default=None)


def _in_order(replies: Any) -> list[dict[str, Any]]:
    """Return the replies to a list of prompts in the order of the prompts."""
    if not isinstance(replies, list) or not all(isinstance(reply, dict) for reply in replies):
        raise Unusable("no replies to the prompts")
    if len(replies) == 1:  # one prompt has one reply, whatever it calls it
        return replies
    by_place = {repr(reply.get("index")): reply for reply in replies}
    places = [repr(place) for place in range(len(replies))]
    if set(by_place) != set(places):
        raise Unusable(f"the replies to the prompts are numbered {list(by_place)!r:.80}")
    return [by_place[place] for place in places]
