"""Ways to get the exact log-probability of labels from a server, in token ids.

A number is either read from the reply or there is none: nothing is filled in for a label that the
server left out.
"""

from __future__ import annotations

import logging
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple

from tomeval.models.base import ContextExceeded, ScoreRequest, Unusable
from tomeval.models.local.tasks import LabelQuery, exclusive, split_labels
from tomeval.models.served.http_reading import Refused
from tomeval.models.served.logprob_wire import (
    NO_THINKING,
    Query,
    dig,
    is_number,
    split,
    together,
    total,
)
from tomeval.models.served.openai_fields import greedy_fields
from tomeval.models.served.openai_wire import messages_of, plain_text

_FEW, _WHOLE_VOCABULARY = 64, 1_000_000  # log-probabilities asked of llama.cpp, at first and then
_EQUAL = 1e-6  # nats: what a prompt cache may change

Ids = list[int]

logger = logging.getLogger(__name__)


class Route(ABC):
    """One way to score labels."""

    name: ClassVar[str]  # what `Scores.method` says
    # Whether the server's chat API renders the prompt, so that a prefill depends on it.
    on_chat: ClassVar[bool] = False

    @abstractmethod
    async def score(self, query: Query) -> list[float]:
        """Return log P(label | prompt) per label, in nats; `Unusable` if the reply lacks it."""

    async def sample(self, query: Query) -> list[float]:
        """Return log-probabilities that the self-test can judge, about different texts."""
        return await self.score(query)

    async def tune(  # noqa: B027 (most routes have nothing to try out)
        self, query: Callable[[ScoreRequest], Query], requests: Sequence[ScoreRequest]
    ) -> None:
        """Try out what makes the route faster; `requests` have a long beginning in common."""


class Next(NamedTuple):
    """The next token after one context."""

    logprobs: dict[int, Any]  # by token id, as far as the server told them
    argmax: Any = None  # the most probable id, where the server tells


class _ByToken(Route):
    """Routes that read the next token's log-probabilities: longer labels are walked along."""

    def __init__(self) -> None:
        self.lists = True  # whether several contexts go in one request; until one is refused

    @abstractmethod
    async def next_tokens(self, query: Query, contexts: list[Ids], wanted: list[Ids]) -> list[Next]:
        """Return what comes after each context, with the log-probabilities of the wanted ids."""

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
        told = await self._ask(query, contexts, [sorted(wanted) for wanted in nexts.values()])
        for wanted, after in zip(nexts.values(), told, strict=True):
            missing = [token for token in wanted if not is_number(after.logprobs.get(token))]
            if missing:
                raise Unusable(f"no log-probability for token ids {missing}")
        if told[0].argmax is not None and not labels.backoff:
            query.details["argmax_is_label"] = told[0].argmax in nexts[()]
        by_begun = {begun: after.logprobs for begun, after in zip(nexts, told, strict=True)}
        sums = [
            math.fsum(float(by_begun[ids[:at]][token]) for at, token in enumerate(ids))
            for ids in labels.sequences
        ]
        return exclusive(sums, labels.sequences)

    async def _ask(self, query: Query, contexts: list[Ids], wanted: list[Ids]) -> list[Next]:
        """Ask for all contexts in one request, or in one each where the server takes no lists."""
        if len(contexts) > 1 and self.lists:
            try:
                told = await self.next_tokens(query, contexts, wanted)
                if len(told) == len(contexts):
                    return told
                reason = f"{len(told)} replies to {len(contexts)} prompts"
            except (Refused, Unusable) as error:
                reason = str(error)
            self.lists = False
            logger.info("route %s: one prompt per request from now on: %s", self.name, reason)
        work = (
            self.next_tokens(query, [context], [ids])
            for context, ids in zip(contexts, wanted, strict=True)
        )
        return [after for told in await together(work) for after in told]


class VllmTokenIds(_ByToken):
    """vLLM's completions: the prompt in ids, and the ids whose log-probabilities are wanted."""

    name = "token_ids"

    async def next_tokens(self, query: Query, contexts: list[Ids], wanted: list[Ids]) -> list[Next]:
        """See `_ByToken.next_tokens`; the ids wanted after any context are asked for after all."""
        body = query.body(
            prompt=contexts if len(contexts) > 1 else contexts[0],
            logprobs=1,
            logprob_token_ids=sorted({token for ids in wanted for token in ids}),
            return_tokens_as_token_ids=True,
        )
        data = await query.run("completions", body, len(contexts))
        nexts = []
        for choice in _in_order(data.get("choices")):
            table = dig(choice, "logprobs", "top_logprobs", 0)
            if not isinstance(table, dict):
                raise Unusable("no log-probs in the reply")
            said = str(dig(choice, "logprobs", "tokens", 0)).removeprefix("token_id:")
            told = {name.removeprefix("token_id:"): value for name, value in table.items()}
            ids = {int(name): value for name, value in told.items() if name.isdecimal()}
            nexts.append(Next(ids, int(said) if said.isdecimal() else None))
        return nexts


class SglangTokenIds(_ByToken):
    """SGLang's own path, with the ids whose log-probabilities are wanted."""

    name = "token_ids_sglang"

    async def next_tokens(self, query: Query, contexts: list[Ids], wanted: list[Ids]) -> list[Next]:
        """See `_ByToken.next_tokens`."""
        several = len(contexts) > 1
        body = {
            "input_ids": contexts if several else contexts[0],
            "return_logprob": True,
            "token_ids_logprob": wanted if several else wanted[0],
            "logprob_start_len": -1,
            "sampling_params": {"max_new_tokens": 1, **greedy_fields(query.requests.kind)},
        }
        data = await query.run("/generate", body, len(contexts))
        nexts = []
        for reply in data.get("replies", [data]):
            entries = dig(reply, "meta_info", "output_token_ids_logprobs", 0)
            if not isinstance(entries, list):
                raise Unusable("no output_token_ids_logprobs in the reply")
            said = dig(reply, "meta_info", "output_token_logprobs", 0, 1)
            pairs = [(dig(entry, 1), dig(entry, 0)) for entry in entries]
            told = {token: value for token, value in pairs if type(token) is int}
            nexts.append(Next(told, said))
        return nexts


class LlamaCpp(_ByToken):
    """llama.cpp's own path; its server renders and tokenises, so no tokenizer is needed here."""

    name = "n_probs"

    def __init__(self) -> None:
        super().__init__()
        self.cached = False  # whether prompts may come from the server's cache, see `tune`

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

    async def next_tokens(self, query: Query, contexts: list[Ids], wanted: list[Ids]) -> list[Next]:
        """See `_ByToken.next_tokens`."""
        nexts: list[Next] = []
        for count in (_FEW, _WHOLE_VOCABULARY):
            body = {
                "prompt": contexts if len(contexts) > 1 else contexts[0],
                "n_predict": 1,
                "n_probs": count,
                "cache_prompt": self.cached,
                **greedy_fields(query.requests.kind),
            }
            data = await query.run("/completion", body, len(contexts))
            nexts = [_likeliest(reply) for reply in _in_order(data.get("replies", [data]))]
            if all(
                token in after.logprobs
                for after, ids in zip(nexts, wanted, strict=False)
                for token in ids
            ):
                break
        return nexts

    async def tune(
        self, query: Callable[[ScoreRequest], Query], requests: Sequence[ScoreRequest]
    ) -> None:
        """Use the prompt cache if and only if numbers with it are equal to those without.

        It is asked twice, so that the second time every prompt's beginning is in the cache.
        """
        worst = 0.0
        try:
            plain = [await self.score(query(request)) for request in requests]
            self.cached = True
            for request, values in [*zip(requests, plain, strict=True)] * 2:
                again = await self.score(query(request))
                worst = max(worst, *(abs(a - b) for a, b in zip(again, values, strict=True)))
        except (Refused, Unusable, ContextExceeded):
            worst = math.inf
        self.cached = worst <= _EQUAL
        if not self.cached:
            logger.info("the prompt cache changes log-probs by %.2g, so it is not used", worst)


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
        data = await query.run("completions", query.body(prompt=ids, echo=True, logprobs=1))
        values = dig(data, "choices", 0, "logprobs", "token_logprobs")
        if not isinstance(values, list):
            raise Unusable("no log-probs in the reply")
        if len(values) not in (len(ids), len(ids) + 1):  # one more: the generated token
            raise Unusable(f"{len(values)} log-probs for a prompt of {len(ids)} tokens: not echoed")
        return total(values[len(prefix) : len(ids)])


def _likeliest(reply: dict[str, Any]) -> Next:
    """Return what llama.cpp says of the next token."""
    entries = dig(reply, "completion_probabilities", 0, "top_logprobs")
    if not isinstance(entries, list) or not entries:
        raise Unusable("no completion_probabilities in the reply")
    pairs = [(dig(entry, "id"), dig(entry, "logprob")) for entry in entries]
    logprobs = {token: value for token, value in pairs if type(token) is int}
    told = [token for token in logprobs if is_number(logprobs[token])]
    return Next(logprobs, max(told, key=logprobs.__getitem__, default=None))


def _in_order(replies: Any) -> list[dict[str, Any]]:
    """Return the replies to a list of prompts in the order of the prompts."""
    if not isinstance(replies, list) or not all(isinstance(reply, dict) for reply in replies):
        raise Unusable("no replies to the prompts")
    places = [reply.get("index", 0) for reply in replies]
    # One prompt has one reply, whatever it calls it; several are told apart by their numbers.
    if len(replies) > 1 and sorted(places, key=repr) != sorted(range(len(replies)), key=repr):
        raise Unusable(f"the replies to the prompts are numbered {places!r:.80}")
    return (
        sorted(replies, key=lambda reply: int(reply.get("index", 0)))
        if len(replies) > 1
        else replies
    )
