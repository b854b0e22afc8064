"""What an experiment will play, ask and cost: cells, episodes, steps, calls, tokens, money.

What a seat of a cell needs is known by playing an episode of it with a model that is made up.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np

from tomeval.core.text import common_prefix
from tomeval.models import Ahead
from tomeval.models.base import Prompt, Usage
from tomeval.models.served import estimate_tokens
from tomeval.play.engine import spec_key
from tomeval.play.runner import known_models
from tomeval.play.until import check, most_episodes
from tomeval.runs.columns import SETTINGS
from tomeval.runs.domain import Cell, get_domain
from tomeval.runs.experiment import Experiment
from tomeval.strategies.asking import flatten
from tomeval.strategies.recording import Overheard

CHARACTERS_PER_TOKEN = 4
"""Rule of thumb for English text."""

TYPICAL = {"qa": 20, "cot": 250}
NOTE = 150
"""Tokens of a typical reply by kind of call, `NOTE` for summaries, lessons and plans: assumptions.
A model that explains itself writes ten times as much under ``qa``, and thinking comes on top."""

SERVER_CACHE = 1024
"""Hosted servers keep no prefixes shorter than this many tokens."""

_WORDS = "x" * (NOTE * CHARACTERS_PER_TOKEN // 2 - 10)
_NOTE = f"Plans: {{step}} {_WORDS}\nInsights: {{step}} {_WORDS}"


def guessed(prompt: Prompt) -> float:
    """Return a guess at a prompt's tokens, without the chat template."""
    return sum(len(message.content) for message in prompt.messages) / CHARACTERS_PER_TOKEN


def guessed_at_most(prompt: Prompt) -> float:
    """Return a cautious guess at a prompt's tokens."""
    return sum(estimate_tokens(message.content) for message in prompt.messages)


class Needs(NamedTuple):
    """What one seat needs for one episode that goes to its end.

    Attributes
    ----------
    usual : mapping of str to int
        ``calls``, and tokens of ``prompt``, ``cached`` and ``completion``, if every answer is
        readable at once and replies are typical; cached is what stands at the beginning of an
        earlier prompt of the episode, too, as far as caches keep it; where made-up episodes differ
        in what they ask, their mean.
    by_step : sequence of int
        Tokens of the longest prompt of each step with the longest reply to it, on the cautious
        side.
    """

    usual: Mapping[str, int]
    by_step: Sequence[int]


def needs(cell: Cell, seat: str, ahead: Ahead) -> Needs:
    """Return what a seat needs for one episode, of which every prompt is rendered.

    Summaries, lessons and plans in them are `NOTE` tokens long; for the longest prompts, as long as
    they may be.
    """
    episodes = longer = cell.questions(seat, _NOTE)
    noted = [one for episode in episodes for one in episode if one.is_text or one.notes]
    if noted:
        most = max(one.longest for one in noted)
        # A token at least each, by any count.
        note = "Plans: {step} " + "xyz " * most + "\nInsights: {step}"
        longer = cell.questions(seat, note)
        if most < NOTE:  # a note is no longer than the model may write
            episodes = longer
    each = [_usual(episode, ahead) for episode in episodes]
    usual = {name: round(float(np.mean([one[name] for one in each]))) for name in each[0]}
    everything = [one for episode in longer for one in episode]
    by_step = [0] * max((one.step for one in everything), default=1)
    for one in everything:
        room = 0 if one.labels else one.longest + ahead.thinking
        whole = round(guessed_at_most(one.prompt) + room)
        by_step[one.step - 1] = max(by_step[one.step - 1], whole)
    return Needs(usual, by_step)


def _usual(episode: list[Overheard], ahead: Ahead) -> dict[str, float]:
    """Return an episode's calls, and its tokens that are read, read from caches, and written."""
    total = dict.fromkeys(("prompt", "cached", "completion"), 0.0)
    before: list[tuple[int, str]] = []
    for question in episode:
        text, size = flatten(question.prompt), guessed(question.prompt)
        before = [(step, other) for step, other in before if step >= question.step - 1]
        same = max((common_prefix(other, text) for _, other in before), default=0)
        shared = size * same / len(text)
        total["prompt"] += size
        total["cached"] += shared if not ahead.served or shared >= SERVER_CACHE else 0
        if not question.labels:
            usual = TYPICAL.get(question.kind, NOTE) + NOTE * question.notes
            total["completion"] += min(usual, question.longest)
        before.append((question.step, text))
    return {"calls": len(episode), **total}


Row = Mapping[str, Any]


def plan_rows(experiment: Experiment, context: int | None = None) -> list[dict[str, Any]]:
    """Return one row per cell; nothing is asked of any model.

    Parameters
    ----------
    experiment : Experiment
    context : int, optional
        Tokens that the models can read.

    Returns
    -------
    list of dict
        ``episodes`` will be played, and ``steps`` is the most that they can have. With language
        models also ``calls``, ``prompt_tokens``, ``cached_percent`` (what of these caches save),
        ``completion_tokens``, and ``cost`` if any model has a price (NaN where a served one has
        none); ``longest``, the tokens of the longest prompt and its reply, ``context``, and
        ``context_ends``, the first step with a prompt that may not fit (None: all fit).

    Raises
    ------
    TomevalError
        A model or a condition that a run would refuse.
    """
    check(experiment)
    domain = get_domain(experiment.domain)
    known = known_models(experiment)
    priced = any(ahead.price for ahead in known.values())
    rows = []
    same: dict[str, Needs] = {}  # what cells need that differ in their models' names only
    most = most_episodes(experiment) if experiment.until else experiment.per_cell
    for cell in experiment.cells:
        episodes = cell.wanted(most)
        row: dict[str, Any] = dict(domain.columns(cell.definition))
        row |= {name: cell.definition[name] for name in SETTINGS}
        row |= {"episodes": episodes, "steps": cell.length * episodes}
        if known:
            each = []
            for seat, spec in cell.models.items():
                ahead = known[spec_key(spec)]
                key = json.dumps([_nameless(cell.definition), seat, ahead], default=str)
                if key not in same:
                    same[key] = needs(cell, seat, ahead)
                each.append((ahead, same[key]))
            row |= _tokens(each, episodes)
            row |= {"cost": _money(each, episodes)} if priced else {}
            row |= _fit(context, [need.by_step for _, need in each])
        rows.append(row)
    return rows


def for_reading(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return rows that fit a screen; steps stand in `plan_totals`."""
    alike = (name for name in SETTINGS if len({row[name] for row in rows}) == 1)
    hidden = ("longest", "context", "context_ends", "steps", *alike)
    shown = ({k: v for k, v in row.items() if k not in hidden} for row in rows)
    return [row | ({"cost": round(row["cost"], 2)} if "cost" in row else {}) for row in shown]


def plan_totals(rows: Sequence[Row]) -> list[str]:
    """Return the totals in words, and what they assume, a line each."""

    def total(key: str) -> int:
        return sum(row[key] for row in rows)

    text = f"{len(rows)} cells, {total('episodes'):,} episodes, {total('steps'):,} steps"
    if "calls" not in rows[0]:
        return [text]
    prompt = total("prompt_tokens")
    cached = sum(row["prompt_tokens"] * row["cached_percent"] for row in rows) / (prompt or 1)
    lines = [
        f"{text}; {total('calls'):,} model calls that read about {prompt:,} tokens ({cached:.0f} "
        f"% from caches) and write about {total('completion_tokens'):,}",
    ]
    if "cost" in rows[0]:
        lines.append(_total_cost(rows))
    said = "QA {qa}, CoT {cot}".format_map(TYPICAL)
    return [
        *lines,
        f"Assumed: answers read at once; replies of {said}, notes {NOTE} tokens, plus thinking. "
        "Local models reuse the shared start of prompts; servers charge it as cached from "
        f"{SERVER_CACHE:,} tokens on.",
    ]


def too_long(rows: Sequence[Row]) -> list[str]:
    """Return how many cells may not fit a model's context, by a cautious estimate, in a line."""
    full = [(number, row) for number, row in enumerate(rows) if row.get("context_ends")]
    if not full:
        return []
    number, row = min(full, key=lambda one: one[1]["context_ends"])
    return [
        f"in {len(full)} of {len(rows)} cells the context of {row['context']:,} tokens may be "
        f"full, in cell {number} at step {row['context_ends']} of "
        f"{row['steps'] // max(row['episodes'], 1)} (the longest prompt and its reply: up to "
        f"{max(row['longest'] for _, row in full):,})"
    ]


def _nameless(definition: Any) -> Any:
    """Return a cell's definition without what its models are called: no prompt says it."""
    if isinstance(definition, Mapping):
        parts = definition.items()
        return {name: _nameless(part) for name, part in parts if name not in ("model", "spec")}
    return list(map(_nameless, definition)) if isinstance(definition, list) else definition


def _tokens(found: Sequence[tuple[Ahead, Needs]], episodes: int) -> dict[str, Any]:
    """Return calls and tokens of all seats over all episodes."""
    one = {name: sum(need.usual[name] for _, need in found) for name in _COUNTED}
    return {
        "calls": episodes * one["calls"],
        "prompt_tokens": episodes * one["prompt"],
        "cached_percent": round(100 * one["cached"] / one["prompt"]) if one["prompt"] else 0,
        "completion_tokens": episodes * one["completion"],
    }


def _fit(context: int | None, seats: Sequence[Sequence[int]]) -> Row:
    """Return the longest prompt of any seat, the context, and the step at which it is full."""
    sizes = [max(of_step) for of_step in zip_longest(*seats, fillvalue=0)]
    full = (step for step, size in enumerate(sizes, 1) if context and size > context)
    longest = max(sizes, default=0)
    return {"longest": longest, "context": context, "context_ends": next(full, None)}


_COUNTED = ("calls", "prompt", "cached", "completion")


def _money(found: Sequence[tuple[Ahead, Needs]], episodes: int) -> float:
    """Return what all seats cost over all episodes; models of this machine cost nothing."""
    cost = 0.0
    for ahead, need in found:
        usage = Usage(need.usual["prompt"], need.usual["completion"], need.usual["cached"])
        unknown = math.nan if ahead.served else 0.0
        cost += episodes * ahead.price.cost(usage) if ahead.price else unknown
    return cost


def _total_cost(rows: Sequence[Row]) -> str:
    known = [row["cost"] for row in rows if not math.isnan(row["cost"])]
    text = f"cost, in the currency of the prices: about {sum(known):,.2f}"
    if missing := len(rows) - len(known):
        text += f", not counting cells without a price: {missing}"
    return text
