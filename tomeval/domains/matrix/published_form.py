"""A run's table in the form of the published ones: their measures, names and order."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from tomeval.core.resources import read_text, shipped
from tomeval.domains.matrix.published_rows import FUNCTIONAL, LITERAL, TOM
from tomeval.runs.columns import ANSWER
from tomeval.runs.results import Run

METRIC_OF = {
    FUNCTIONAL: "delta_functional_per_step",
    TOM: "delta_tom_misprediction_per_step",  # the rule that every reported row follows
    LITERAL: "tom_percent",
}
TABULAR = ("Tabular RMax", "Tabular")
"""Model and prompting of the reported tabular learner, tomeval's subject ``rmax``."""
REASONING = "reasoning"
"""The reported prompting of a model that reasons by itself: it is simply asked, as by QA."""
_TASK = ("game", "labels", "partners", "horizon", "seed")


def as_published(
    run: Run, table: Sequence[Mapping[str, Any]]
) -> tuple[list[dict[str, Any]], list[str], list[str]]:
    """Return a run's table in the form of the published ones.

    Parameters
    ----------
    table : sequence of dict
        Rows of `tomeval.Run.rows`, or of `tomeval.runs.best_of.best_of`.

    Returns
    -------
    rows : list of dict
        A language model goes by its prompting (``QA``, not ``QA(literal=false)``) and its published
        name, `rmax` by ``Tabular RMax``; subjects whose names would be equal so keep their own.
        Tasks and prompting strategies stand as the experiment has them: in each task players
        without a model, then model by model.
    measures : list of str
        ΔFunctional/T, ΔToM/T by the rule that published rows follow, and ToM %; the first alone
        unless all were asked to predict.
    notes : list of str
        Which player is the best of several, by task.
    """
    names, models = row_names(run, table), {row["model"]: "" for row in table}
    for model in models:
        models[model] = published_name(model, hub_names()) or model
    if len(set(models.values())) < len(models):  # one model in two revisions, say
        models = {model: model for model in models}
    rows, best = [], []
    for number in paper_order(table):
        row, name = dict(table[number]), names[number]
        row.pop(ANSWER, None)  # published tables have no words
        if chosen := row.pop("best", ""):
            best.append(f"{chosen} ({row['game']}, {row['partners']})")
        named = {"subject": name, "strategy": row["strategy"] and name}
        rows.append(row | named | {"model": models[row["model"]]})
    measures = [name for name in METRIC_OF.values() if not _lacks(rows, name)]
    notes = [f"the best of several: {'; '.join(best)}"] if best else []
    return rows, measures or [METRIC_OF[FUNCTIONAL]], notes


def row_names(run: Run, table: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return what published tables call each row's subject, unless two would be called the same."""
    kinds = {str(cell.columns["subject"]): cell.definition["kind"] for cell in run.cells}
    names = [_printed(row, kinds) for row in table]
    owners: dict[tuple[str, str], set[str]] = {}
    for row, name in zip(table, names, strict=True):
        owners.setdefault((name, row["model"]), set()).add(row["subject"])
    return [
        row["subject"] if len(owners[name, row["model"]]) > 1 else name
        for row, name in zip(table, names, strict=True)
    ]


def _lacks(rows: Sequence[Mapping[str, Any]], measure: str) -> bool:
    """Tell whether a row that was played has no value of a measure."""
    return any(math.isnan(row[measure]) for row in rows if row["episodes"])


def _printed(row: Mapping[str, Any], kinds: Mapping[str, str]) -> str:
    """Return what published tables call a row's subject; its own name where they have none."""
    subject, strategy = str(row["subject"]), str(row["strategy"])
    if kinds.get(subject) == "rmax":
        return TABULAR[0]
    if subject not in kinds:  # the best of several
        return subject.partition(" (best of ")[0]
    return strategy if strategy and subject != REASONING else subject


def paper_order(table: Sequence[Mapping[str, Any]]) -> list[int]:
    """Return the places of a table's rows: task by task, players without a model, then models."""
    tasks = [tuple(row[name] for name in _TASK) for row in table]
    models = ["", *(row["model"] for row in table)]
    keys = [
        (tasks.index(task), models.index(row["model"]))
        for task, row in zip(tasks, table, strict=True)
    ]
    return sorted(range(len(table)), key=lambda number: keys[number])


def published_name(model: str, names: Iterable[str]) -> str:
    """Return which of the published models a model is, by its name on the Hub; empty: none."""
    own = _short(model)
    return next((n for n in names if own in (n.lower(), *hub_names().get(n, ()))), "")


@cache
def hub_names() -> dict[str, tuple[str, ...]]:
    """Return how published models are called on the Hub, without their owner."""
    lines = read_text(shipped("experiments") / "reported_models.csv").splitlines()
    names: dict[str, tuple[str, ...]] = {}
    for row in csv.DictReader(lines):
        names[row["reported"]] = (*names.get(row["reported"], ()), _short(row["model"]))
    return names


def _short(model: str) -> str:
    """Return a model's name without backend, owner, revision and address."""
    name = model.partition(":")[2] or model
    return name.partition("@")[0].rstrip("/").rpartition("/")[2].lower()
