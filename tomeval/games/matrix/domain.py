"""Matrix games as a domain: a subject against finite-state partners."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tomeval.games.answer import verdict
from tomeval.games.matrix.batch import has_batch, simulate
from tomeval.games.matrix.bounds import blind_sentences
from tomeval.games.matrix.experiment import MatrixCell, MatrixExperiment
from tomeval.games.matrix.facts import notes, run_facts, table_notes, tom_notes
from tomeval.games.matrix.measures import MEASURES, measured
from tomeval.games.matrix.optima import REFERENCES
from tomeval.games.matrix.partners import PartnerSet
from tomeval.games.matrix.play import play_episode_async
from tomeval.games.matrix.results import MatrixRunCell, matrix_cell
from tomeval.games.matrix.rules import PARTNER, REACT, SEAT
from tomeval.games.matrix.shown import (
    LISTS,
    episode_lines,
    episodes,
    example_cell,
    experiment_bounds,
)
from tomeval.games.matrix.storing import SCHEMA, has_reactions, step_records
from tomeval.games.matrix.subject_specs import PartnerPlayer, worded
from tomeval.models.base import Model
from tomeval.runs.capabilities import later
from tomeval.runs.cell import RunCell
from tomeval.runs.columns import REACTION_INVALID
from tomeval.runs.domain import Domain
from tomeval.runs.record import Record
from tomeval.runs.results import Run

STEPS_PER_CHUNK = 100_000
"""How many steps a batch holds at most: what is lost when a run is killed, and its memory."""


async def _play(
    cell: MatrixCell, episode: int, models: Mapping[str, Model], on_step: Callable[[], None]
) -> Record:
    seats = models.get(SEAT), models.get(PARTNER)
    return await play_episode_async(cell.setup, episode, seats[0], on_step, other=seats[1])


def _together(cell: MatrixCell) -> int:
    """Return how many episodes fit a batch; subjects without a batch form play one by one."""
    if isinstance(cell.setup.partners, PartnerPlayer) or not has_batch(cell.setup.kind):
        return 0
    return max(1, STEPS_PER_CHUNK // cell.setup.horizon)


def _columns(definition: Mapping[str, Any]) -> dict[str, str | int]:
    said = ("condition",) if "condition" in definition else ()  # recorded games only
    return {
        "subject": definition["subject"],
        **{name: definition[name] for name in said},
        "model": definition.get("model", ""),
        "strategy": definition.get("strategy", ""),
        "game": definition["game"]["name"],
        "labels": definition["labels"]["name"],
        "partners": definition["partners"]["name"],
        "horizon": definition["horizon"],
    }


def _rates(run: Run) -> Mapping[str, Callable[[str, str], bool]]:
    """Return the rate of the conditional probe, if it was asked."""
    if has_reactions(run.store):
        return {REACTION_INVALID.name: lambda seat, question: question.startswith(f"{REACT} ")}
    return {}


def _words(task: Mapping[str, Any]) -> str:
    """Return a task in words, such as "IPD (canonical), tit_for_tat, T = 10"."""
    labels = f" ({task['labels']})" if "labels" in task else ""
    said = [f"{task['game']}{labels}"] if "game" in task else []
    said += [str(task["partners"])] if "partners" in task else []
    said += [f"T = {task['horizon']}"] if "horizon" in task else []
    return ", ".join(said)


def _level(cell: RunCell, by: str) -> str:
    """Return a cell's level: a tabular subject has neither model nor strategy, but its name."""
    return str(cell.columns.get(by) or cell.columns["subject"])


def _held(cell: RunCell, by: str) -> str:
    """Return the model, or the subject where models or label sets are compared."""
    subject, model = str(cell.columns["subject"]), str(cell.columns["model"])
    if matrix_cell(cell).recorded:
        return _held_of_recorded(cell, by)
    if by == "model":
        return subject if model else ""
    if by in ("labels", "run"):
        return ", ".join(filter(None, (subject, model)))
    return model


def _held_of_recorded(cell: RunCell, by: str) -> str:
    """Return all that says who played and how, but what is compared."""
    compared = by if by == "run" or cell.columns.get(by) else "subject"
    told = ["subject", "condition", "model", "strategy"]
    people = matrix_cell(cell).definition.get("participants")
    if people is not None and set(people) == {cell.columns["subject"]}:
        told.remove("subject")  # one of the people that are compared as groups
    words = [str(cell.columns.get(name, "")) for name in told if name != compared]
    return ", ".join(filter(None, words))


def _content(cell: RunCell) -> dict[tuple[str, ...], str]:
    """Return payoffs and partner tables by name."""
    game, partners = cell.definition["game"], cell.definition["partners"]
    tables = [table["sha256"] for table in partners["tables"]]
    said = [partners["weights"], tables]
    if "player" in partners:
        said.append(partners["player"])
    return {
        ("game", game["name"]): json.dumps(game["payoffs"]),
        ("partner set", game["name"], partners["name"]): json.dumps(said),
    }


def _cannot_tell(cells: Sequence[MatrixCell]) -> list[str]:
    """Describe what regret, predictions or their cost cannot show in the cells' tasks."""
    setups = [cell.setup for cell in cells if isinstance(cell.setup.partners, PartnerSet)]
    return blind_sentences((setup.game, setup.tables, setup.horizon) for setup in setups)


PUBLISHED = ("tom_percent", "delta_tom_best_response_per_step", "delta_functional_per_step")

MATRIX = Domain(
    name="matrix",
    title="repeated matrix games against finite-state partners",
    experiment=MatrixExperiment,
    measures=MEASURES,
    play=_play,
    together=_together,
    play_many=lambda cell, first, n: simulate(cell.setup, first, n),
    schema=SCHEMA,
    columns=_columns,
    run_cell=MatrixRunCell,
    step_records=step_records,
    measured=measured,
    references=REFERENCES,
    headline=(
        "delta_functional_per_step",
        "tom_percent",
        "delta_tom_best_response_per_step",
    ),
    lines=episode_lines,
    figures={
        "plane": "tomeval.games.plane:plane",
        "regret": "tomeval.games.matrix.curves:regret_curves",
        "tom": "tomeval.games.matrix.curves:tom_curves",
    },
    curves=("regret", "tom"),
    rates=_rates,
    facts=run_facts,
    notes=notes,
    table_notes=lambda run, names: tom_notes(run, names) + table_notes(run),
    verdict=verdict(PUBLISHED, (PUBLISHED[1], PUBLISHED[0], PUBLISHED[2])),
    beside=later("tomeval.games.matrix.published:beside"),
    published=later("tomeval.games.matrix.published:as_published"),
    by=("strategy", "subject", "model", "labels", "condition"),
    task=("game", "labels", "partners", "horizon", "reference", "on_invalid"),
    panel=("game", "labels"),
    shares_draws=("game", "partners"),
    named=("game", "partners"),
    task_words=_words,
    level=_level,
    held=_held,
    held_name=lambda by: "subject" if by in ("model", "labels", "condition", "run") else "model",
    worded=lambda cell: worded(cell.definition),
    content=_content,
    questions=episodes,
    example=example_cell,
    cannot_tell=_cannot_tell,
    lists=LISTS,
    bounds=experiment_bounds,
)
