"""What an experiment will play, ask and cost: cells, episodes, steps, calls, tokens, money."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

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


def plan_rows(experiment: Experiment, count: Count | None = None) -> list[dict[str, Any]]:
    """Return one row per cell; nothing is asked of any model.

    Parameters
    ----------
    experiment : Experiment
    count : callable, optional
        Returns the tokens of a prompt. Default: a guess, see `tomeval.runs.needs`.

    Returns
    -------
    list of dict
        ``episodes`` will be played, and ``steps`` is the most that they can have. With language
        models also ``calls``, ``prompt_tokens``, ``cached_percent`` (what of these caches save),
        ``completion_tokens``, and ``cost`` if any model has a price (NaN where a served one has
        none); the same with ``_most``, upper bounds, see `tomeval.runs.needs.Needs`; ``longest``,
        the tokens of the longest prompt and its reply, and ``context``, the least that the cell's
        models can read (None: they tell it only when they are asked).

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
            each = []
            for seat, spec in cell.models.items():
                ahead = known[spec_key(spec)]
                key = json.dumps([_nameless(cell.definition), seat, ahead], default=str)
                if key not in same:
                    same[key] = needs(domain, cell, seat, ahead, *counts)
                each.append((ahead, same[key]))
            row |= _tokens(each, episodes) | (_money(each, episodes) if priced else {})
            contexts = (ahead.context for ahead, _ in each if ahead.context)
            row |= {"longest": max((need.longest for _, need in each), default=0)}
            row |= {"context": min(contexts, default=None)}
        rows.append(row)
    return rows


def for_reading(rows: Sequence[Row]) -> tuple[str, list[dict[str, Any]]]:
    """Return what all rows share, in words, and rows that fit a screen.

    Upper bounds and steps stand in `plan_totals`; a strategy that the player's name tells is left
    out. A column is shared if the rows that have a value agree: players without a model have none.
    """
    keys = list(rows[0])
    first, about = keys[0], keys[: keys.index("episodes")]
    hidden = {"longest", "context", "steps"}
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


def too_long(rows: Sequence[Row]) -> list[str]:
    """Return which cells may not fit a model's context, by a cautious estimate; a line each."""
    return [
        f"cell {number}: prompts and replies of up to {row['longest']:,} tokens may not fit the "
        f"model's context of {row['context']:,}"
        for number, row in enumerate(rows)
        if row.get("context") and row["longest"] > row["context"]
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
