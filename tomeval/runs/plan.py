"""What an experiment will play and ask: cells, episodes, steps, model calls, tokens."""

from __future__ import annotations

from typing import Any

from tomeval.domains.matrix.experiment import Cell, Experiment
from tomeval.domains.matrix.preview import prompts_of_round
from tomeval.domains.matrix.subject_specs import LLM
from tomeval.strategies import parse_strategy

CHARACTERS_PER_TOKEN = 4
"""Rule of thumb for English text; `tomeval prompt --tokenizer` counts exactly."""


def plan_rows(experiment: Experiment) -> list[dict[str, Any]]:
    """Return one row per cell.

    For language models ``calls`` is the number of calls if every answer is readable at once, and
    ``prompt_tokens`` about what they read: prompts of the first, middle and last round are rendered
    and counted at four characters a token. Answers that must be asked for again come on top.
    """
    rows = []
    cells = experiment.cells()
    models = any(cell.setup.kind == LLM for cell in cells)
    for cell in cells:
        setup = cell.setup
        row: dict[str, Any] = {
            "subject": cell.subject,
            "game": setup.game.name,
            "labels": setup.labels.name,
            "partners": setup.partners.name,
            "horizon": setup.horizon,
            "episodes": experiment.episodes,
            "steps": setup.horizon * experiment.episodes,
        }
        if models:
            row["model"] = cell.spec.model
            calls, tokens = _per_episode(cell) if setup.kind == LLM else (0, 0)
            row["calls"] = calls * experiment.episodes
            row["prompt_tokens"] = tokens * experiment.episodes
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


def _per_episode(cell: Cell) -> tuple[int, int]:
    """Return calls and prompt tokens of one episode."""
    setup = cell.setup
    strategy = parse_strategy(setup.options.get("strategy", "QA"))
    horizon, conditional = setup.horizon, bool(setup.options.get("conditional", False))
    options = {
        key: value
        for key, value in setup.options.items()
        if key not in ("strategy", "model", "conditional")
    }
    forms = ["act"] + ["predict"] * strategy.probes_per_step + ["react"] * conditional
    length = 0.0
    for form in forms:
        # Prompts grow by one line a round: Simpson's rule over three rounds is exact for a line.
        sizes = []
        rounds = horizon - (form == "react")  # nothing follows the last round
        for number in (1, (rounds + 1) // 2, rounds) if rounds else ():
            shown = prompts_of_round(setup, strategy.name, form, number, options)
            sizes.append(sum(len(m.content) for _, prompt in shown for m in prompt.messages))
        length += rounds * (sizes[0] + 4 * sizes[1] + sizes[2]) / 6 if rounds else 0
    calls = horizon * (strategy.calls_per_step + strategy.probes_per_step)
    calls += conditional * (horizon - 1) * setup.game.n
    if strategy.advice.startswith("reflexion"):
        calls -= 1  # nothing is learned from the last round
    return calls, round(length / CHARACTERS_PER_TOKEN)
