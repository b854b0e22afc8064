"""Answers held to their form by comparing: the lines that can be read, behind what was written.

A model that writes whatever comes to it still has an opinion of which answer is likeliest. Where
its probabilities can be had, the marked lines of all answers are compared, behind its reasoning if
it is to reason first, and one of them is drawn. No reply is unreadable then. What is measured is
what the model would answer if it had to: how often it says the same freely is kept beside it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tomeval.core.text import common_prefix, without_thinking
from tomeval.strategies.readers import find_marked

COMPARED = "compared"
"""How an answer was held to its form, see `tomeval.core.outcomes.ENFORCED`."""


def begun(choices: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """Return what all lines begin with, up to a space, and the rest of each.

    Examples
    --------
    >>> begun(("Final answer: Pasta", "Final answer: Pasty"))
    ('Final answer:', ('Pasta', 'Pasty'))
    """
    first = choices[0]
    shared = min(common_prefix(first, choice) for choice in choices)
    start = first[:shared].rpartition(" ")[0]
    return start, tuple(choice[len(start) :].strip() for choice in choices)


def reasoning(text: str) -> str:
    """Return a reply without its thinking and without its own answer."""
    shown = without_thinking(text) or ""
    marked = find_marked(shown)
    return (shown if marked is None else marked.above).strip()


def draw(logprobs: Sequence[float], temperature: float, seed: int) -> int:
    """Draw an index at a temperature, from probabilities that need not sum to 1; 0: the likeliest.

    Examples
    --------
    >>> draw((-1.0, -0.5, -3.0), 0.0, 7)
    1
    """
    values = np.asarray(logprobs)
    if temperature == 0:
        return int(values.argmax())
    weights = np.exp((values - values.max()) / temperature)
    u = np.random.Generator(np.random.Philox(key=seed)).random()
    return int((u >= np.cumsum(weights / weights.sum())[:-1]).sum())
