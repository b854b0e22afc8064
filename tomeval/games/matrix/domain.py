"""Matrix games as a domain: a subject against finite-state partners."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tomeval.games.answer import verdict
from tomeval.games.matrix.experiment import MatrixExperiment
from tomeval.games.matrix.measures import HINDSIGHT, MEASURES
from tomeval.games.matrix.results import MatrixRunCell
from tomeval.games.matrix.shown import (
    LISTS,
    example_cell,
    run_facts,
    table_notes,
)
from tomeval.games.matrix.storing import SCHEMA, lasts
from tomeval.runs.domain import Domain


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
        "horizon": lasts(definition),
    }


def _words(task: Mapping[str, Any]) -> str:
    """Return a task in words, such as "IPD (canonical), tit_for_tat, T = 10"."""
    labels = f" ({task['labels']})" if "labels" in task else ""
    said = [f"{task['game']}{labels}"] if "game" in task else []
    said += [str(task["partners"])] if "partners" in task else []
    if "horizon" in task:
        lasting = str(task["horizon"])
        said.append(lasting.replace("c=", "c = ") if "c=" in lasting else f"T = {lasting}")
    return ", ".join(said)


PUBLISHED = ("tom_percent", "delta_tom_best_response_per_step", "delta_functional_per_step")

MATRIX = Domain(
    name="matrix",
    title="repeated matrix games against finite-state partners",
    experiment=MatrixExperiment,
    measures=MEASURES,
    schema=SCHEMA,
    columns=_columns,
    run_cell=MatrixRunCell,
    headline=(
        "delta_functional_per_step",
        "tom_percent",
        "delta_tom_best_response_per_step",
    ),
    figures={
        "plane": "tomeval.games.plane:plane",
        "regret": "tomeval.games.matrix.curves:regret_curves",
        "tom": "tomeval.games.matrix.curves:tom_curves",
    },
    facts=run_facts,
    table_notes=table_notes,
    verdict=verdict(
        (*PUBLISHED, HINDSIGHT), (PUBLISHED[1], PUBLISHED[0], PUBLISHED[2], "plays_percent")
    ),
    published="tomeval.games.matrix.published",
    by=("strategy", "subject", "model", "labels", "condition"),
    task=("game", "labels", "partners", "horizon", "reference", "on_invalid"),
    shares_draws=("game", "partners"),
    task_words=_words,
    example=example_cell,
    lists=LISTS,
)
