"""Which route scores labels: the exact ones first, then the likeliest tokens of a reply."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence

from tomeval.models.base import Message, Prompt, ScoreRequest, Unusable
from tomeval.models.served.http_reading import Refused
from tomeval.models.served.logprob_routes import Echo, LlamaCpp, Route, SglangTokenIds, VllmTokenIds
from tomeval.models.served.logprob_wire import (
    LEGACY_TOP,
    NO_THINKING,
    ROUNDING,
    Query,
    checked,
    dig,
    is_number,
    match,
    read_entries,
)
from tomeval.models.served.openai_fields import greedy_fields
from tomeval.models.served.openai_wire import chat_fields, plain_text

logger = logging.getLogger(__name__)


class TopK(Route):
    """The `count` likeliest first tokens of a chat reply, matched with whole labels by bytes."""

    name = "top_k"
    on_chat = True

    def __init__(self, count: int = 20) -> None:
        self.count = count

    async def score(self, query: Query) -> list[float]:
        """See `Route.score`; `Unlisted` if a label is not among the likeliest tokens."""
        texts = self.texts(query)
        entries = await self.entries(query)
        query.details["top_k"] = len(entries)
        likeliest = max(entries, key=lambda entry: entry[1])[0].decode(errors="replace")
        query.details["argmax_is_label"] = likeliest in texts
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
        message = dig(data, "choices", 0, "message")
        if dig(message, "reasoning_content") or dig(message, "reasoning"):
            raise Unusable("the model thinks before it answers, and that cannot be switched off")
        return read_entries(dig(data, "choices", 0, "logprobs", "content", 0, "top_logprobs"))


class TopKCompletions(TopK):
    """As `TopK`, on the completions API, in its own shape or that of the chat API."""

    name = "top_k_completions"
    on_chat = False

    def texts(self, query: Query) -> list[str]:
        """Return the labels' texts."""
        return query.texts(plain_text(query.request.prompt))

    async def entries(self, query: Query) -> list[tuple[bytes, float]]:
        """Return the likeliest first tokens."""
        body = query.body(prompt=plain_text(query.request.prompt), logprobs=self.count)
        data = await query.run("completions", body)
        table = dig(data, *LEGACY_TOP)
        if isinstance(table, dict):
            return [checked(token.encode(), value) for token, value in table.items()]
        return read_entries(dig(data, "choices", 0, "logprobs", "content", 0, "top_logprobs"))


class TopKOllama(TopK):
    """As `TopK`, on Ollama's own path."""

    name = "top_k_ollama"

    async def entries(self, query: Query) -> list[tuple[bytes, float]]:
        """Return the likeliest first tokens."""
        body = {
            "model": query.requests.model,
            "messages": chat_fields(query.request.prompt)["messages"],
            "stream": False,
            "think": False,
            "logprobs": True,
            "top_logprobs": self.count,
            "options": {"num_predict": 1, **greedy_fields(query.requests.kind)},
        }
        data = await query.run("/api/chat", body)
        return read_entries(dig(data, "logprobs", 0, "top_logprobs"))


TEST_REQUESTS = tuple(
    ScoreRequest(Prompt((Message("user", text),)), ("A", "B", "C"))
    for text in (
        "Answer with one letter, A or B or C. My favourite letter is A. What is it?",
        "Which letter comes next: C C B C C B C C? Answer with one letter, A or B or C.",
    )
)
"""Two prompts on which no model gives equal numbers."""

_HISTORY = "\n".join(f"Round {n}: {'ABC'[n * n % 3]} beats {'ABC'[n % 3]}." for n in range(1, 41))
LONG_REQUESTS = tuple(
    ScoreRequest(Prompt((Message("user", f"{_HISTORY}\n{text}"),)), ("A", "B", "C"))
    for text in ("Answer A, B or C: what beats A?", "Answer A, B or C: what was last?")
)
"""Two prompts with a long beginning in common."""


def all_routes(*, chat: bool, top_logprobs: int = 20) -> list[Route]:
    """Return the routes to try, the most exact first; fewer top tokens where many are refused."""
    exact: list[Route] = [VllmTokenIds(), SglangTokenIds(), Echo(), LlamaCpp()]
    counts = [top_logprobs, 5] if top_logprobs > 5 else [top_logprobs]
    kinds: tuple[type[TopK], ...] = (TopK, TopKOllama) if chat else (TopKCompletions,)
    return exact + [kind(count) for kind in kinds for count in counts]


async def choose(
    routes: Sequence[Route], query: Callable[[ScoreRequest], Query]
) -> tuple[Route | None, dict[str, str]]:
    """Return the first route that passes the test, and what was seen on those before it.

    Errors that say nothing of a route, such as a server that does not answer, are passed on.
    """
    seen: dict[str, str] = {}
    for route in routes:
        try:
            fault = await _fault(route, query)
            if fault is not None:  # a moment's, maybe: it must not cost the better route
                fault = await _fault(route, query)
        except Refused as error:
            seen[route.name] = str(error)
            logger.info("log-probs from route %s are refused: %s", route.name, error)
            continue
        if fault is None:
            await route.tune(query, LONG_REQUESTS)
            return route, seen
        seen[route.name] = fault
        logger.warning("log-probs from route %s are not used: %s", route.name, fault)
    return None, seen


async def _fault(route: Route, query: Callable[[ScoreRequest], Query]) -> str | None:
    """Say what is wrong with a route's numbers, or None."""
    try:
        first, second = [await route.sample(query(request)) for request in TEST_REQUESTS]
    except Unusable as error:
        return str(error)
    return complaint(first, second)


def complaint(first: Sequence[float], second: Sequence[float]) -> str | None:
    """Say what is wrong with the log-probabilities of two prompts, or None.

    Examples
    --------
    >>> complaint([-1.0, -2.0], [-2.0, -1.5]) is None
    True
    >>> complaint([-9.0, -9.0], [-9.0, -9.0])
    'all log-probs are equal (-9.0)'
    >>> complaint([-0.1, -0.2], [-2.0, -1.5])
    'the probabilities of different texts sum to 1.72'
    """
    for values in (first, second):
        if len(values) < 2 or not all(is_number(value) for value in values):
            return f"log-probs are missing: {list(values)}"
        if fault := nonsense(values):
            return fault
    # Half-precision numbers may tie by chance, but not on both prompts.
    if all(max(values) == min(values) for values in (first, second)):
        return f"all log-probs are equal ({first[0]})"
    if list(first) == list(second):
        return "the log-probs do not depend on the prompt"
    return None


def nonsense(values: Sequence[float]) -> str | None:
    """Say why these cannot be log-probabilities of different texts, or return None."""
    if max(values) > ROUNDING:
        return f"a log-prob is positive ({max(values)})"
    mass = math.fsum(math.exp(value) for value in values)
    if mass > 1 + ROUNDING:
        return f"the probabilities of different texts sum to {mass:.2f}"
    return None
