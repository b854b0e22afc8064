"""What one seat of a cell needs for an episode: model calls and tokens, by playing it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tomeval.core.prefixes import common_prefix
from tomeval.models import Ahead
from tomeval.models.base import Prompt, Usage
from tomeval.models.served.limits import estimate_tokens
from tomeval.runs.domain import Cell, Domain
from tomeval.strategies.asking import flatten
from tomeval.strategies.recording import Overheard

CHARACTERS_PER_TOKEN = 4
"""Rule of thumb for English text; a tokenizer counts exactly."""

TYPICAL = {"qa": 20, "cot": 250}
NOTE = 150
"""Tokens of a typical reply by kind of call, `NOTE` for summaries, lessons and plans: assumptions.
A model that explains itself writes ten times as much under ``qa``, and thinking comes on top."""

SERVER_CACHE = 1024
"""Hosted servers keep no prefixes shorter than this many tokens."""

_WORDS = "x" * (NOTE * CHARACTERS_PER_TOKEN // 2 - 10)
_NOTE = f"Plans: {{step}} {_WORDS}\nInsights: {{step}} {_WORDS}"

Count = Callable[[Prompt], float]


def guessed(prompt: Prompt) -> float:
    """Return a guess at a prompt's tokens, without the chat template."""
    return sum(len(message.content) for message in prompt.messages) / CHARACTERS_PER_TOKEN


def guessed_at_most(prompt: Prompt) -> float:
    """Return a cautious guess at a prompt's tokens."""
    return sum(estimate_tokens(message.content) for message in prompt.messages)


@dataclass(frozen=True)
class Needs:
    """What one seat needs for one episode that goes to its end.

    Attributes
    ----------
    calls, expected
        Every answer is readable at once, and replies are typical. ``cached`` are prompt tokens that
        stand at the beginning of an earlier prompt of the episode, too, as far as caches keep them.
        Where made-up episodes differ in what they ask, their mean.
    calls_most, most
        Upper bounds: every question takes all its attempts and every reply its whole allowance;
        nothing is cached.
    longest : int
        Tokens of the longest prompt with the longest reply to it, on the cautious side.
    """

    calls: int
    expected: Usage
    calls_most: int
    most: Usage
    longest: int


def needs(
    domain: Domain, cell: Cell, seat: str, ahead: Ahead, count: Count, count_at_most: Count
) -> Needs:
    """Return what a seat needs for one episode, of which every prompt is rendered.

    Summaries, lessons and plans in them are `NOTE` tokens long; for upper bounds, as long as they
    may be.
    """
    episodes = longer = domain.describe.episodes(cell, seat, _NOTE)
    noted = [one for episode in episodes for one in episode if one.is_text or one.notes]
    if noted:
        most = max(one.longest for one in noted)
        # A token at least each, by any count.
        note = "Plans: {step} " + "xyz " * most + "\nInsights: {step}"
        longer = domain.describe.episodes(cell, seat, note)
    usual = [_expected(episode, ahead, count) for episode in episodes]
    calls, prompt, written, cached = np.rint(np.mean(usual, axis=0)).astype(int).tolist()
    bounds: Counter[str] = Counter()
    everything = [one for episode in longer for one in episode]
    for form in {one.form for one in everything}:
        of_form = [[one for one in episode if one.form == form] for episode in longer]
        each = [_most(questions, ahead, count) for questions in of_form]
        bounds.update({name: max(one[name] for one in each) for name in each[0]})
    longest = [
        round(count_at_most(one.prompt) + (0 if one.labels else one.longest + ahead.thinking))
        for one in everything
    ]
    expected, most = Usage(prompt, written, cached), Usage(bounds["prompt"], bounds["written"])
    return Needs(calls, expected, bounds["calls"], most, max(longest, default=0))


def _expected(
    episode: list[Overheard], ahead: Ahead, count: Count
) -> tuple[float, float, float, float]:
    """Return an episode's calls, and its tokens that are read, written, and read from caches."""
    prompts = written = cached = 0.0
    before: list[tuple[int, str]] = []
    for question in episode:
        text, size = flatten(question.prompt), count(question.prompt)
        before = [(step, other) for step, other in before if step >= question.step - 1]
        same = max((common_prefix(other, text) for _, other in before), default=0)
        shared = size * same / len(text)
        prompts += size
        cached += shared if not ahead.served or shared >= SERVER_CACHE else 0
        if not question.labels:
            usual = TYPICAL.get(question.kind, NOTE) + NOTE * question.notes
            written += min(usual, question.longest)
        before.append((question.step, text))
    return len(episode), prompts, written, cached


def _most(questions: list[Overheard], ahead: Ahead, count: Count) -> Counter[str]:
    """Return the most calls and tokens that questions can take."""
    most: Counter[str] = Counter()
    for question in questions:
        attempts = question.attempts
        most["calls"] += attempts
        most["prompt"] += attempts * round(count(question.prompt))
        if not question.labels:
            most["written"] += attempts * (question.longest + ahead.thinking)
    return most
