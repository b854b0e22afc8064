"""Ways to get the log-probability of labels from a server, the exact ones first.

A number is either read from the reply or there is none: nothing is filled in for a label that the
server left out.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any, ClassVar

from tomeval.models.local.labels import LabelQuery, exclusive, split_labels
from tomeval.models.served.logprob_wire import (
    GREEDY,
    LEGACY_TOP,
    Query,
    Unusable,
    dig,
    is_number,
    match,
    read_entries,
    together,
    total,
)
from tomeval.models.served.openai_text import chat_fields, messages_of, plain_text

Ids = list[int]

NO_THINKING = {"enable_thinking": False}
"""Template switch sent with every request that scores: a label is not the first thought."""

_FEW, _WHOLE_VOCABULARY = 64, 1_000_000  # log-probabilities asked of llama.cpp, at first and then


class Route(ABC):
    """One way to score labels."""

    name: ClassVar[str]  # what `Scores.method` says

    @abstractmethod
    async def score(self, query: Query) -> list[float]:
        """Return log P(label | prompt) per label, in nats; `Unusable` if the reply lacks it."""

    async def sample(self, query: Query) -> list[float]:
        """Return log-probabilities that the self-test can judge, about different texts."""
        return await self.score(query)


class _ByToken(Route):
    """Routes that read the next token's log-probabilities: longer labels are walked along."""

    @abstractmethod
    async def next_token(self, query: Query, context: Ids, wanted: Ids) -> dict[int, Any]:
        """Return the log-probability of each wanted id after the context."""

    async def split(self, query: Query) -> LabelQuery:
        """Return prompt and labels in ids."""
        return query.split()

    async def score(self, query: Query) -> list[float]:
        split = await self.split(query)
        nexts: dict[tuple[int, ...], set[int]] = {}
        for ids in split.sequences:
            for position, token in enumerate(ids):
                nexts.setdefault(ids[:position], set()).add(token)
        tables = await together(
            self._known(query, [*split.prefix, *begun], sorted(wanted))
            for begun, wanted in nexts.items()
        )
        by_begun = dict(zip(nexts, tables, strict=True))
        sums = [
            math.fsum(by_begun[ids[:position]][token] for position, token in enumerate(ids))
            for ids in split.sequences
        ]
        return exclusive(sums, split.sequences)

    async def _known(self, query: Query, context: Ids, wanted: Ids) -> dict[int, float]:
        found = await self.next_token(query, context, wanted)
        missing = [token for token in wanted if not is_number(found.get(token))]
        if missing:
            raise Unusable(f"no log-probability for token ids {missing}")
        return {token: float(found[token]) for token in wanted}


class VllmTokenIds(_ByToken):
    """vLLM's completions: the prompt in ids, and the ids whose log-probabilities are wanted."""

    name = "token_ids"

    async def next_token(self, query: Query, context: Ids, wanted: Ids) -> dict[int, Any]:
        """See `_ByToken.next_token`."""
        body = query.body(
            prompt=context, logprobs=1, logprob_token_ids=wanted, return_tokens_as_token_ids=True
        )
        table = dig(await query.run("completions", body), *LEGACY_TOP)
        if not isinstance(table, dict):
            raise Unusable("no log-probs in the reply")
        return {token: table.get(f"token_id:{token}") for token in wanted}


class SglangTokenIds(_ByToken):
    """SGLang's own path, with the ids whose log-probabilities are wanted."""

    name = "token_ids_sglang"

    async def next_token(self, query: Query, context: Ids, wanted: Ids) -> dict[int, Any]:
        """See `_ByToken.next_token`."""
        body = {
            "input_ids": context,
            "return_logprob": True,
            "token_ids_logprob": wanted,
            "logprob_start_len": -1,
            "sampling_params": {"max_new_tokens": 1, **GREEDY},
        }
        data = await query.run("/generate", body)
        entries = dig(data, "meta_info", "output_token_ids_logprobs", 0)
        if not isinstance(entries, list):
            raise Unusable("no output_token_ids_logprobs in the reply")
        return {entry[1]: entry[0] for entry in entries}


class LlamaCpp(_ByToken):
    """llama.cpp's own path; its server renders and tokenises, so no tokenizer is needed here."""

    name = "n_probs"

    async def split(self, query: Query) -> LabelQuery:
        """See `_ByToken.split`."""
        prompt = query.request.prompt
        text = rendered = plain_text(prompt)
        if query.chat:
            body = {"messages": messages_of(prompt), "chat_template_kwargs": NO_THINKING}
            template = (await query.ask("/apply-template", body)).get("prompt")
            if not isinstance(template, str):
                raise Unusable("/apply-template gave no prompt")
            text, rendered = template + prompt.prefill, ""
        ids = await together(
            self._ids(query, text + label) for label in ["", *query.texts(rendered)]
        )
        return query.noted(split_labels(ids[0], ids[1:], query.request.labels))

    async def _ids(self, query: Query, text: str) -> list[int]:
        body = {"content": text, "add_special": True, "parse_special": True}
        tokens = (await query.ask("/tokenize", body)).get("tokens")
        if not isinstance(tokens, list):
            raise Unusable("/tokenize gave no tokens")
        return tokens

    async def next_token(self, query: Query, context: Ids, wanted: Ids) -> dict[int, Any]:
        """See `_ByToken.next_token`."""
        found: dict[int, Any] = {}
        for count in (_FEW, _WHOLE_VOCABULARY):
            body = {"prompt": context, "n_predict": 1, "n_probs": count, "cache_prompt": False}
            data = await query.run("/completion", {**body, **GREEDY})
            entries = dig(data, "completion_probabilities", 0, "top_logprobs")
            if not isinstance(entries, list):
                raise Unusable("no completion_probabilities in the reply")
            found = {entry.get("id"): entry.get("logprob") for entry in entries}
            if all(token in found for token in wanted):
                break
        return found


class Echo(Route):
    """Log-probabilities of the prompt itself, with the label at its end; one request a label.

    With a tokenizer the boundary is known in ids; without one, on the completions API, it is where
    the tokens at the end spell the label.
    """

    name = "echo"

    async def score(self, query: Query) -> list[float]:
        """See `Route.score`."""
        if query.codec is not None:
            split = query.split()
            sums = await together(self._ids(query, split.prefix, ids) for ids in split.sequences)
            return exclusive(sums, split.sequences)
        if query.chat:
            raise Unusable("needs a tokenizer (option tokenizer) or api='completions'")
        text = plain_text(query.request.prompt)
        return await together(self._text(query, text, label) for label in query.texts(text))

    async def _ids(self, query: Query, prefix: tuple[int, ...], label: tuple[int, ...]) -> float:
        ids = [*prefix, *label]
        values, _ = await self._echo(query, ids)
        if len(values) not in (len(ids), len(ids) + 1):  # one more: the generated token
            raise Unusable(f"{len(values)} log-probs for a prompt of {len(ids)} tokens: no echo")
        return total(values[len(prefix) : len(ids)])

    async def _text(self, query: Query, prompt: str, label: str) -> float:
        values, tokens = await self._echo(query, prompt + label)
        end = len(tokens) - 1  # the last one was generated
        for start in range(end - 1, -1, -1):
            spelt = "".join(tokens[start:end])
            if spelt == label:
                return total(values[start:end])
            if not label.endswith(spelt):
                break
        raise Unusable(f"the echoed prompt has no token boundary before label {label!r}")

    async def _echo(self, query: Query, prompt: Any) -> tuple[list[Any], list[str]]:
        data = await query.run("completions", query.body(prompt=prompt, echo=True, logprobs=1))
        logprobs = dig(data, "choices", 0, "logprobs")
        values = dig(logprobs, "token_logprobs")
        tokens = dig(logprobs, "tokens")
        if not isinstance(values, list) or not isinstance(tokens, list):
            raise Unusable("no log-probs of the prompt in the reply")
        if len(values) != len(tokens):
            raise Unusable(f"{len(values)} log-probs for {len(tokens)} tokens")
        return values, tokens


class TopK(Route):
    """The `count` likeliest first tokens of a chat reply, matched with whole labels by bytes."""

    name = "top_k"

    def __init__(self, count: int = 20) -> None:
        self.count = count

    async def score(self, query: Query) -> list[float]:
        """See `Route.score`."""
        texts = self.texts(query)
        entries = await self.entries(query)
        query.details["top_k"] = len(entries)
        return [
            match(text, label, entries)
            for text, label in zip(texts, query.request.labels, strict=True)
        ]

    async def sample(self, query: Query) -> list[float]:
        """See `Route.sample`; a model that names no test label among its likeliest may still do."""
        return [value for _, value in await self.entries(query)]

    def texts(self, query: Query) -> list[str]:
        """Return the labels' texts."""
        return query.texts(None)

    async def entries(self, query: Query) -> list[tuple[bytes, float]]:
        """Return the likeliest first tokens."""
        fields = chat_fields(query.request.prompt)
        fields.update(logprobs=True, top_logprobs=self.count, chat_template_kwargs=NO_THINKING)
        data = await query.run("chat/completions", query.body(**fields))
        message = dig(data, "choices", 0, "message") or {}
        if message.get("reasoning_content") or message.get("reasoning"):
            raise Unusable("the model thinks before it answers, and that cannot be switched off")
        return read_entries(dig(data, "choices", 0, "logprobs", "content", 0, "top_logprobs"))


class TopKCompletions(TopK):
    """As `TopK`, on the completions API, in its own shape or that of the chat API."""

    name = "top_k_completions"

    def texts(self, query: Query) -> list[str]:
        """Return the labels' texts."""
        return query.texts(plain_text(query.request.prompt))

    async def entries(self, query: Query) -> list[tuple[bytes, float]]:
        """Return the likeliest first tokens."""
        body = query.body(prompt=plain_text(query.request.prompt), logprobs=self.count)
        data = await query.run("completions", body)
        table = dig(data, *LEGACY_TOP)
        if isinstance(table, dict):
            return [(token.encode(), value) for token, value in table.items()]
        return read_entries(dig(data, "choices", 0, "logprobs", "content", 0, "top_logprobs"))


class TopKOllama(TopK):
    """As `TopK`, on Ollama's own path."""

    name = "top_k_ollama"

    async def entries(self, query: Query) -> list[tuple[bytes, float]]:
        """Return the likeliest first tokens."""
        body = {
            "model": query.model,
            "messages": chat_fields(query.request.prompt)["messages"],
            "stream": False,
            "think": False,
            "logprobs": True,
            "top_logprobs": self.count,
            "options": {"num_predict": 1, **GREEDY},
        }
        data = await query.run("/api/chat", body)
        return read_entries(dig(data, "logprobs", 0, "top_logprobs"))


def all_routes(*, chat: bool, top_logprobs: int = 20) -> list[Route]:
    """Return the routes to try, the most exact first; fewer top tokens where many are refused."""
    exact: list[Route] = [VllmTokenIds(), SglangTokenIds(), Echo(), LlamaCpp()]
    counts = [top_logprobs, 5] if top_logprobs > 5 else [top_logprobs]
    kinds: tuple[type[TopK], ...] = (TopK, TopKOllama) if chat else (TopKCompletions,)
    return exact + [kind(count) for kind in kinds for count in counts]
