"""What an experiment will play, ask and cost: cells, episodes, steps, calls, tokens, money."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tomeval.models import Ahead
from tomeval.runs.columns import heading
from tomeval.runs.domain import get_domain
from tomeval.runs.engine import spec_key
from tomeval.runs.experiment import Experiment
from tomeval.runs.needs import (
    NOTE,
    SERVER_CACHE,
    TYPICAL,
    Count,
    Needs,
    guessed,
    guessed_at_most,
    needs,
)
from tomeval.runs.runner import known_models
from tomeval.runs.until import most_episodes

Row = Mapping[str, Any]


def plan_rows(
    experiment: Experiment,
    count: Count | None = None,
    context: int | None = None,
) -> list[dict[str, Any]]:
    """Return one row per cell; nothing is asked of any model.

    Parameters
    ----------
    experiment : Experiment
    count : callable, optional
        Returns the tokens of a prompt. Default: a guess, see `tomeval.runs.needs`.
    context : int, optional
        Longest sequence, in tokens, of models that tell theirs only when they are asked.

    Returns
    -------
    list of dict
        ``episodes`` will be played, and ``steps`` is the most that they can have. With language
        models also ``calls``, ``prompt_tokens``, ``cached_percent`` (what of these caches save),
        ``completion_tokens``, and ``cost`` if any model has a price (NaN where a served one has
        none); the same with ``_most``, upper bounds, see `tomeval.runs.needs.Needs`; ``longest``,
        the tokens of the longest prompt and its reply, ``context``, the least that the cell's
        models can read (None: not known), and ``context_ends``, the first step with a prompt and
        reply of more tokens (None: all fit).

    Raises
    ------
    TomevalError
        A model that a run would refuse.
    """
    domain = get_domain(experiment.domain)
    counts = (guessed, guessed_at_most) if count is None else (count, count)
    known = known_models(experiment)
    priced = any(ahead.price for ahead in known.values())
    rows = []
    same: dict[str, Needs] = {}  # what cells need that differ in their models' names only
    most = most_episodes(experiment) if experiment.until else experiment.per_cell
    for cell in experiment.cells:
        episodes = cell.wanted(most)
        row: dict[str, Any] = dict(domain.read.columns(cell.definition))
        row |= {"episodes": episodes, "steps": cell.length * episodes}
        if known:
            seats = {seat: known[spec_key(spec)] for seat, spec in cell.models.items()}
            need = {}
            for seat, ahead in seats.items():
                key = json.dumps([_nameless(cell.definition), seat, ahead], default=str)
                if key not in same:
                    same[key] = needs(domain, cell, seat, ahead, *counts)
                need[seat] = same[key]
            each = [(a, need[seat]) for seat, a in seats.items()]
            row |= _tokens(each, episodes) | (_money(each, episodes) if priced else {})
            row |= _fit(each, context)
        rows.append(row)
    return rows


def _fit(each: Sequence[tuple[Ahead, Needs]], context: int | None) -> dict[str, int | None]:
    """Return the longest sequence of any seat, the least context, and where that is full first."""
    limits = [ahead.context or context for ahead, _ in each]
    over = [
        int(np.argmax(need.by_step > limit)) + 1
        for limit, (_, need) in zip(limits, each, strict=True)
        if limit is not None and need.by_step.max(initial=0) > limit
    ]
    return {
        "longest": max((int(need.by_step.max(initial=0)) for _, need in each), default=0),
        "context": min((limit for limit in limits if limit is not None), default=None),
        "context_ends": min(over, default=None),
    }


def for_reading(rows: Sequence[Row]) -> tuple[str, list[dict[str, Any]]]:
    """Return what all rows share, in words, and rows that fit a screen.

    Upper bounds and steps stand in `plan_totals`; a strategy that the player's name tells is left
    out. A column is shared if the rows that have a value agree: players without a model have none.
    """
    keys = list(rows[0])
    first, about = keys[0], keys[: keys.index("episodes")]
    hidden = {"longest", "context", "context_ends", "steps"}
    hidden |= {key for key in keys if key.endswith("_most")}
    pairs = {(row[first], row.get("strategy")) for row in rows}
    if len(pairs) == len({row[first] for row in rows}):
        hidden.add("strategy")
    shared = []
    for key in about[1:]:
        values = {row[key] for row in rows} - {""}
        if len(values) < 2 and len(rows) > 1 and key not in hidden:
            hidden.add(key)
            shared += [f"{heading(key)} {value}" for value in values]
    shown = [{key: row[key] for key in keys if key not in hidden} for row in rows]
    for row in shown:
        if "cost" in row:
            row["cost"] = round(row["cost"], 2)
    return "; ".join(shared), shown


def plan_totals(rows: Sequence[Row]) -> list[str]:
    """Say the totals in words, and what they assume; a line each."""

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
        f"at most {total('calls_most'):,} calls that read {total('prompt_tokens_most'):,} tokens "
        f"and write {total('completion_tokens_most'):,}, if every question takes all its attempts "
        "and every reply its full length",
    ]
    if "cost" in rows[0]:
        lines.append(_total_cost(rows))
    said = "QA {qa}, CoT {cot}".format_map(TYPICAL)
    return [
        *lines,
        f"Assumed reply lengths: {said}, notes {NOTE} tokens, plus thinking. Local models reuse "
        f"the shared start of prompts; servers charge it as cached from {SERVER_CACHE:,} tokens "
        "on.",
    ]


def own_numbers(experiment: Experiment, overrides: Sequence[str]) -> list[str]:
    """Say which cells a number of episodes that was set does not reach: they have their own."""
    if not any(text.partition("=")[0].strip() == "episodes" for text in overrides):
        return []
    cells = [experiment.cells[number] for number in sorted(experiment.apart)]
    own = sorted({wanted for cell in cells if (wanted := cell.wanted(experiment.per_cell))})
    if not own:
        return []
    each = f"{own[0]:,}" if len(own) == 1 else f"{own[0]:,} to {own[-1]:,}"
    return [
        f"--set episodes={experiment.per_cell} does not change {len(cells):,} of "
        f"{len(experiment.cells):,} cells, which have their own number of episodes: {each}"
    ]


def scoring_words(experiment: Experiment) -> str:
    """Say whether log-probabilities of labels are needed, and by how many cells."""
    asking = [cell for cell in experiment.cells if cell.models]
    scoring = [cell for cell in asking if cell.scores]
    if not scoring:
        return "no log-probabilities are needed"
    return (
        f"log-probabilities of labels are needed in {len(scoring):,} of {len(asking):,} cells with "
        "language models: a server without them is refused at the start"
    )


def too_long(rows: Sequence[Row], guess: str = "") -> list[str]:
    """Say of each cell that may not fit a model's context in which step it ends; a line each.

    `guess` says how tokens were counted, if not exactly.
    """
    ends = "may be full as early as" if guess else "is full at about"
    return [
        f"cell {number}: the context of {row['context']:,} tokens {ends} step "
        f"{row['context_ends']} of {row['steps'] // max(row['episodes'], 1)} (longest prompt and "
        f"reply: up to {row['longest']:,} tokens{guess})"
        for number, row in enumerate(rows)
        if row.get("context_ends")
    ]


def _nameless(definition: Any) -> Any:
    """Return a cell's definition without what its models are called: no prompt says it."""
    if isinstance(definition, Mapping):
        parts = definition.items()
        return {name: _nameless(part) for name, part in parts if name not in ("model", "spec")}
    return list(map(_nameless, definition)) if isinstance(definition, list) else definition


def _tokens(found: Sequence[tuple[Ahead, Needs]], episodes: int) -> dict[str, Any]:
    """Return calls and tokens of all seats over all episodes."""
    each = [need for _, need in found]
    prompt, cached = sum(n.expected.prompt for n in each), sum(n.expected.cached for n in each)
    return {
        "calls": episodes * sum(need.calls for need in each),
        "prompt_tokens": episodes * prompt,
        "cached_percent": round(100 * cached / prompt) if prompt else 0,
        "completion_tokens": episodes * sum(need.expected.completion for need in each),
        "calls_most": episodes * sum(need.calls_most for need in each),
        "prompt_tokens_most": episodes * sum(need.most.prompt for need in each),
        "completion_tokens_most": episodes * sum(need.most.completion for need in each),
    }


def _money(found: Sequence[tuple[Ahead, Needs]], episodes: int) -> dict[str, float]:
    """Return what all seats cost over all episodes; models of this machine cost nothing."""
    sums = dict.fromkeys(("cost", "cost_most"), 0.0)
    for ahead, need in found:
        for name, usage in zip(sums, (need.expected, need.most), strict=True):
            unknown = math.nan if ahead.served else 0.0
            sums[name] += episodes * ahead.price.cost(usage) if ahead.price else unknown
    return sums


def _total_cost(rows: Sequence[Row]) -> str:
    known = [row for row in rows if not math.isnan(row["cost"])]
    cost, most = (sum(row[key] for row in known) for key in ("cost", "cost_most"))
    text = f"cost, in the currency of the price file: about {cost:,.2f}, at most {most:,.2f}"
    if missing := len(rows) - len(known):
        text += f", not counting cells without a price: {missing}"
    return text
