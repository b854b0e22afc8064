"""The self-test that decides how, and whether, a server's log-probabilities are used."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence

from tomeval.models.base import Message, Prompt, ScoreRequest, Unusable
from tomeval.models.served.http_mends import Refused
from tomeval.models.served.logprob_routes import (
    Echo,
    LlamaCpp,
    Route,
    SglangTokenIds,
    VllmTokenIds,
)
from tomeval.models.served.logprob_top import TopK, TopKCompletions, TopKOllama
from tomeval.models.served.logprob_wire import ROUNDING, Query, is_number

logger = logging.getLogger(__name__)

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
            continue
        if fault is None:
            await route.tune(query, LONG_REQUESTS)
            return route, seen
        seen[route.name] = fault
        logger.warning("log-probs by route %s are not used: %s", route.name, fault)
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
