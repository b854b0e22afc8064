"""What an experiment will play and ask: cells, episodes, steps, model calls, tokens."""

from __future__ import annotations

from typing import Any

from tomeval.models.base import Prompt
from tomeval.runs.domain import Cell, Domain, get_domain
from tomeval.runs.experiment import Experiment

CHARACTERS_PER_TOKEN = 4
"""Rule of thumb for English text; `tomeval prompt --tokenizer` counts exactly."""


def plan_rows(experiment: Experiment) -> list[dict[str, Any]]:
    """Return one row per cell.

    ``steps`` is the most that the episodes can have. ``calls`` of language models assumes that
    every answer is readable at once and that every episode goes to its end; ``prompt_tokens`` is
    about what they read: prompts of the first, middle and last step are rendered and counted at
    four characters a token. Answers that must be asked for again come on top.
    """
    domain = get_domain(experiment.domain)
    rows = []
    models = any(cell.models for cell in experiment.cells)
    for cell in experiment.cells:
        row: dict[str, Any] = dict(domain.columns(cell.definition))
        row["episodes"] = experiment.per_cell
        row["steps"] = cell.length * experiment.per_cell
        if models:
            calls, tokens = _per_episode(domain, cell)
            row["calls"] = calls * experiment.per_cell
            row["prompt_tokens"] = tokens * experiment.per_cell
        rows.append(row)
    return rows


def plan_totals(rows: list[dict[str, Any]]) -> str:
    """Say the totals in words."""
    episodes, steps = (sum(row[key] for row in rows) for key in ("episodes", "steps"))
    text = f"{len(rows)} cells, {episodes:,} episodes, {steps:,} steps"
    if "calls" in rows[0]:
        calls, tokens = (sum(row[key] for row in rows) for key in ("calls", "prompt_tokens"))
        text += f"; {calls:,} model calls that read about {tokens:,} tokens in all"
    return text


def _per_episode(domain: Domain, cell: Cell) -> tuple[int, int]:
    """Return calls and prompt tokens of one episode."""
    calls, length = 0, 0.0
    for seat in cell.models:
        seen: set[tuple[int, Prompt]] = set()  # a question that serves two forms is asked once
        for form, steps in domain.forms(cell, seat).items():
            if not steps:
                continue
            # Prompts grow by one line a step: Simpson's rule over three steps is exact for a line.
            three = (steps[0], steps[(len(steps) - 1) // 2], steps[-1])
            shown = [
                [p for _, p in domain.preview(cell, seat, form, step) if (step, p) not in seen]
                for step in three
            ]
            sizes = [sum(len(m.content) for prompt in s for m in prompt.messages) for s in shown]
            length += len(steps) * (sizes[0] + 4 * sizes[1] + sizes[2]) / 6
            # Only the first step can differ: it has no past to summarise or reflect on.
            calls += len(shown[0]) + (len(steps) - 1) * len(shown[2])
            seen |= {(step, prompt) for step, s in zip(three, shown, strict=True) for prompt in s}
    return calls, round(length / CHARACTERS_PER_TOKEN)
