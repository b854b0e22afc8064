"""Ways to get the exact log-probability of labels from a server.

A number is either read from the reply or there is none: nothing is filled in for a label that the
server left out. A text that the model is to read is one request.
"""

from __future__ import annotations

import math
from asyncio import gather
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tomeval.models.base import (
    Message,
    Prompt,
    ScoreRequest,
    Unlisted,
    Unusable,
    Usage,
)
from tomeval.models.local.tasks import LabelQuery, exclusive, split_labels
from tomeval.models.served.faults import Refused, Unanswered
from tomeval.models.served.replies import (
    choice_of,
    dig,
    is_number,
    match,
    read_entries,
    read_usage,
)
from tomeval.models.served.requests import (
    CHAT,
    COMPLETIONS,
    NO_THINKING,
    chat_fields,
    omission,
)

if TYPE_CHECKING:
    from tomeval.models.served.model import OpenAIModel

_FEW, _WHOLE_VOCABULARY = 64, 1_000_000  # log-probabilities asked of llama.cpp, at first and then
_LETTERS = "Which letter comes next: C C B C C B C C? Answer with one letter, A or B or C."
_TRIAL = ScoreRequest(Prompt((Message("user", _LETTERS),)), ("A", "B", "C"))

Ids = list[int]
Next = tuple[dict[int, float], int | None]  # log-probabilities by token; the likeliest token


@dataclass
class Query:
    """One score request: sends requests and adds up what they used."""

    model: OpenAIModel
    request: ScoreRequest
    tokens: int = 0  # the most tokens that one request can use, for the caps
    # What came together, as `Scores` keeps it; latency is the sum over requests.
    usage: Usage = field(default_factory=Usage)
    latency: float = 0.0
    details: dict[str, Any] = field(default_factory=dict)

    async def run(
        self, path: str, body: dict[str, Any], read: Callable[[Any], Any] = choice_of
    ) -> Any:
        """Send a request that runs the model for one token, and return what is read of it."""
        answer, said = await self.model.client.ask(
            path, body, self.tokens, lambda one: (one, read(one))
        )
        self.usage += read_usage(answer.data) or Usage()
        self.latency += answer.latency
        self.details.update(answer.mended)
        return said

    async def score(self, path: str, **fields: Any) -> Any:
        """Ask for one greedy token on an OpenAI-compatible path; return the choice."""
        how = {**self.model.options.extra_body, "model": self.model.model, "max_tokens": 1}
        return await self.run(path, {**how, **self.model.server.greedy(), **fields})

    async def ask(self, path: str, **body: Any) -> Any:
        """Send a request that runs no model; return the text or the tokens in its reply."""
        data = (await self.model.client.ask(path, body)).data
        told = data.get("tokens", data.get("prompt", data.get("text")))
        ids = isinstance(told, list) and all(type(token) is int for token in told)
        if not ids and not isinstance(told, str):
            raise Unusable(f"needs the server's tokenizer: {path} gave nothing to use")
        return told

    def texts(self, prefill: str) -> list[str]:
        """Return the labels as they continue a prompt: with a space where it needs one.

        A chat template ends in a control token or a line break.
        """
        space = "" if not prefill or prefill[-1].isspace() else " "
        return [space + label for label in self.request.labels]


async def token_ids(query: Query) -> list[float]:
    """Score by vLLM's completions: prompts in ids, and the ids whose log-probabilities to tell."""

    async def following(context: Ids, wanted: Ids) -> Next:
        how = {"logprobs": 1, "logprob_token_ids": wanted, "return_tokens_as_token_ids": True}
        choice = await query.score(COMPLETIONS, prompt=context, **how)
        table = dig(choice, "logprobs", "top_logprobs", 0)
        if not isinstance(table, dict):
            raise Unusable("no log-probs in the reply")
        likeliest = str(dig(choice, "logprobs", "tokens", 0))
        values = {name.removeprefix("token_id:"): value for name, value in table.items()}
        by_id = {int(name): value for name, value in values.items() if name.isdecimal()}
        argmax = likeliest.removeprefix("token_id:")
        return by_id, int(argmax) if argmax.isdecimal() else None

    return await _walk(query, await _split(query), following)


async def n_probs(query: Query) -> list[float]:
    """Score by llama.cpp's own path; its server renders and tokenises. No cache: it may differ."""

    async def following(context: Ids, wanted: Ids) -> Next:
        logprobs: dict[int, float] = {}
        for count in (_FEW, _WHOLE_VOCABULARY):
            how = {"n_predict": 1, "n_probs": count, "cache_prompt": False}
            body = {"prompt": context, **how, **query.model.server.greedy()}
            data = await query.run("/completion", body, lambda answer: answer.data)
            entries = dig(data, "completion_probabilities", 0, "top_logprobs")
            if not isinstance(entries, list) or not entries:
                raise Unusable("no completion_probabilities in the reply")
            pairs = [(dig(entry, "id"), dig(entry, "logprob")) for entry in entries]
            logprobs = {token: v for token, v in pairs if type(token) is int and is_number(v)}
            if all(token in logprobs for token in wanted):
                break
        return logprobs, max(logprobs, key=logprobs.__getitem__, default=None)

    prompt = query.request.prompt
    how = {**chat_fields(Prompt(prompt.messages)), "chat_template_kwargs": NO_THINKING}
    text = await query.ask("/apply-template", **how) + prompt.prefill
    special = {"add_special": True, "parse_special": True}
    ends = [text + label for label in ["", *query.texts(prompt.prefill)]]
    begun, *joint = await gather(*(query.ask("/tokenize", content=end, **special) for end in ends))
    return await _walk(query, split_labels(begun, joint, query.request.labels), following)


async def top_k(query: Query) -> list[float]:
    """Score by the likeliest first tokens of a chat's reply, each a whole label.

    `Unlisted` if a label is not among them.
    """
    prompt = query.model.server.shown(query.request.prompt, query.model.name)
    query.details.update(omission(query.request.prompt, prompt))
    fields = {**chat_fields(prompt), "chat_template_kwargs": NO_THINKING}
    fields |= {"logprobs": True, "top_logprobs": query.model.options.top_logprobs}
    choice = await query.score(CHAT, **fields)
    if any(dig(choice, "message", name) for name in ("reasoning_content", "reasoning")):
        raise Unusable("the model thinks before it answers, and that cannot be switched off")
    entries = read_entries(dig(choice, "logprobs", "content", 0, "top_logprobs"))
    likeliest = max(entries, key=lambda entry: entry[1])[0]
    texts = query.texts(prompt.prefill)
    query.details |= {"top_k": len(entries), "argmax_is_label": likeliest in texts}
    return [match(text, entries) for text in texts]


Route = Callable[[Query], Awaitable[list[float]]]
"""Returns log P(label | prompt) per label, in nats; `Unusable` if the reply lacks it."""

ROUTES: dict[str, Route] = {
    "token_ids": token_ids,
    "n_probs": n_probs,
    "top_k": top_k,
}
"""The routes to try by what `Scores.method` says of them, the most exact first."""


async def find_route(
    score: Callable[[ScoreRequest, str], Awaitable[object]],
) -> tuple[str, str]:
    """Return the first route by which labels can be scored, and why those before it cannot.

    Errors that say nothing of a route, such as a server that does not answer, are passed on.
    """
    faults: list[str] = []
    for name in ROUTES:
        try:
            await score(_TRIAL, name)
        except Unlisted:  # a model may name none of the trial's letters, and later others
            pass
        except (Refused, Unusable, Unanswered) as error:
            if isinstance(error, Unanswered) and error.status != 500:  # no crash of the server
                raise
            faults.append(f"{name}: {error}")
            continue
        return name, "\n".join(faults)
    return "", "\n".join(faults)


async def _walk(
    query: Query, labels: LabelQuery, following: Callable[[Ids, Ids], Awaitable[Next]]
) -> list[float]:
    """Sum the log-probabilities of labels' tokens, as `following` tells them after a context."""
    wanted: dict[tuple[int, ...], set[int]] = {}
    for ids in labels.sequences:
        for position, token in enumerate(ids):
            wanted.setdefault(ids[:position], set()).add(token)
    asked = ([[*labels.prefix, *begun], sorted(tokens)] for begun, tokens in wanted.items())
    replies = await gather(*(following(*one) for one in asked))
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
    """Return prompt and labels in ids of the server's tokenizer.

    ``/tokenize`` of vLLM and SGLang renders the conversation, ``/detokenize`` gives its text back,
    and every label is tokenised together with that text. `Unusable` if the text does not give the
    same tokens again.
    """
    prompt, model = query.request.prompt, {"model": query.model.model}
    fields = {**chat_fields(prompt), "chat_template_kwargs": NO_THINKING}
    ids = await query.ask("/tokenize", **model, **fields)
    text = await query.ask("/detokenize", **model, tokens=ids, skip_special_tokens=False)
    ends = ["", *query.texts(prompt.prefill)]
    plain = {**model, "add_special_tokens": False}
    again, *joint = await gather(
        *(query.ask("/tokenize", **plain, prompt=text + end) for end in ends)
    )
    if again != ids:
        raise Unusable(
            "the server's tokenizer does not give the same tokens for the text of its tokens"
        )
    return split_labels(ids, joint, query.request.labels)
