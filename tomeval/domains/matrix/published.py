"""Published results beside a run's own."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from tomeval.core.errors import TomevalError, unknown
from tomeval.core.resources import read_text, results_path, shipped
from tomeval.domains.matrix.published_rows import FUNCTIONAL, LITERAL, TOM, read_results
from tomeval.domains.matrix.results import MatrixRunCell, matrix_cells
from tomeval.runs.best_of import Choice, bias_note, choose, matches, measure_of
from tomeval.runs.results import Run
from tomeval.strategies import parse_strategy

METRIC_OF = {
    FUNCTIONAL: "delta_functional_per_step",
    TOM: "delta_tom_misprediction_per_step",  # the rule that every reported row follows
    LITERAL: "tom_percent",
}
TABULAR = ("Tabular RMax", "Tabular")
"""Model and prompting of the reported tabular learner, tomeval's subject ``rmax``."""
_HORIZON = 100  # of all published results


def beside(
    run: Run,
    path: str | Path,
    *,
    model: str | None = None,
    interval: str = "normal",
    reference: str | None = None,
) -> tuple[list[dict[str, Any]], list[str]]:
    """Return published numbers beside a run's, where both exist.

    Parameters
    ----------
    path : path
        A CSV as `published_rows` reads it, such as ``experiments/reported_results.csv``.
    model : str, optional
        The file's model to show beside every language model of the run, whatever its name.
        Default: the model that the run's model is by its name on the Hub.
    interval, reference
        As for `tomeval.Run.rows`.

    Returns
    -------
    rows : list of dict
        One per cell, metric and published number: the cell's labels, ``metric``, ``ours``,
        ``reported``, ``difference`` (ours - reported), each with its ``_ci95`` half-width, the
        ``reported_model`` and the ``tables`` it stands in. The difference's half-width is the root
        of the sum of squares: the two samples are independent. A published strategy that stands for
        the best of several, such as ``Reflexion``, has the best of the run's beside it, which the
        column ``best`` names; see `tomeval.runs.best_of`.
    notes : list of str
        Cells without a published number and why, and where the two are not of one kind.

    Raises
    ------
    TomevalError
        A file that cannot be read, or a model that is not in it.
    """
    published = read_results(results_path(path))
    names = sorted({row["model"] for row in published} - {TABULAR[0]})
    if model is not None and model not in names:
        raise unknown("model of the published results", model, names)
    index: dict[tuple[str, ...], list[dict[str, str]]] = {}
    for row in published:
        key = (row["model"], _strategy(row["prompting"]), row["game"], row["partner"])
        index.setdefault(key, []).append(row)
    rows: list[dict[str, Any]] = []
    unmatched: dict[str, int] = {}
    notes: list[str] = []
    table = run.rows(interval, reference)
    bests = _bests(run, table, {row["prompting"] for row in published})
    for number, (cell, ours) in enumerate(zip(matrix_cells(run), table, strict=True)):
        who, why = _reported_subject(cell, model, names)
        task = (ours["game"], ours["partners"])
        theirs = index.get((*who, *task), []) if who else []
        new = _rows(cell, ours, theirs)
        for group, choice in bests:
            reported = (
                index.get((who[0], group, *task), []) if who and number in choice.members else []
            )
            if not reported:
                continue
            why = f"not the best of their group, which stands beside {group}"
            if number == choice.winner:
                new += _rows(cell, ours, reported, choice)
                told = [bias_note(measure_of(run)), *choice.notes]
                notes += [note for note in told if note not in notes]
        if not new:
            if who and not why:
                why = f"no published number of {', '.join(who)} in this task"
            unmatched[why] = unmatched.get(why, 0) + 1
        rows += new
        if new:
            notes += [note for note in _differ(cell, ours) if note not in notes]
    notes += [f"{count} cells: {why}" for why, count in unmatched.items()]
    return rows, notes


def _bests(
    run: Run, table: Sequence[dict[str, Any]], promptings: Iterable[str]
) -> list[tuple[str, Choice]]:
    """Return the best of those of the run's players that a published strategy may stand for.

    These are published names that are no strategy themselves but begin the names of several, such
    as ``Reflexion``.
    """
    bests = []
    for name in sorted(promptings):
        own = {cell.columns["strategy"] for cell in run.cells}
        if _strategy(name) not in own and sum(matches(name, str(other)) for other in own) > 1:
            bests += [(name, choice) for choice in choose(run, table, name).values()]
    return bests


def _strategy(prompting: str) -> str:
    """Return one spelling of a published strategy; other text stays as it is."""
    try:
        return parse_strategy(prompting).name
    except TomevalError:
        return prompting


def _reported_subject(
    cell: MatrixRunCell, model: str | None, names: Sequence[str]
) -> tuple[tuple[str, str] | None, str]:
    """Return the published model and strategy to compare a cell with, or why there is none."""
    data = cell.definition
    if data["kind"] == "rmax":
        return TABULAR, ""
    if not data["model"]:
        return None, f"no published results of {data['subject']}"
    if model is None:
        own = _short(data["model"])
        model = next((n for n in names if own in (n.lower(), *_hub_names().get(n, ()))), None)
    if model is None:
        return None, (
            f"{data['model']} is not one of the published models; give one with --as-model "
            f"({', '.join(names)})"
        )
    return (model, data["strategy"]), ""


@cache
def _hub_names() -> dict[str, tuple[str, ...]]:
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


def _rows(
    cell: MatrixRunCell,
    ours: Mapping[str, Any],
    found: Sequence[Mapping[str, str]],
    choice: Choice | None = None,
) -> list[dict[str, Any]]:
    """Return a row for every published number of a cell; equal ones of several tables are one.

    `choice` says of which players the cell is the best, if the number is that of a best one.
    """
    result: dict[tuple[str, ...], dict[str, Any]] = {}
    for row in found:
        metric = METRIC_OF.get(row["metric"], row["metric"])
        if metric not in ours:
            continue
        key = (metric, row["mean"], row["ci95"])
        if key in result:
            result[key]["tables"] += f", {row['table']}"
            continue
        mean, half = float(row["mean"]), float(row["ci95"] or "nan")
        columns = cell.columns
        result[key] = {
            "subject": choice.name if choice else columns["subject"],
            "best": choice.best if choice else "",
            **{k: columns[k] for k in ("model", "game", "labels", "partners", "horizon")},
            "seed": ours["seed"],
            "reference": ours["reference"],
            "metric": metric,
            "ours": ours[metric],
            "ours_ci95": ours[f"{metric}_ci95"],
            "reported": mean,
            "reported_ci95": half,
            "difference": ours[metric] - mean,
            "difference_ci95": math.hypot(ours[f"{metric}_ci95"], half),
            "reported_model": row["model"],
            "tables": row["table"],
        }
    return list(result.values())


def _differ(cell: MatrixRunCell, ours: Mapping[str, Any]) -> list[str]:
    """Return how a cell differs in kind from the published ones."""
    notes = []
    if ours["horizon"] != _HORIZON:
        notes.append(f"published episodes have {_HORIZON} steps, these {ours['horizon']}")
    reacts = any(len(partner.emissions) > 1 for partner in cell.partners)
    if reacts:
        notes.append(
            f"{ours['partners']}: published ΔToM against partners that react is the share of wrong "
            "predictions times their mean cost (mean_misprediction in docs/reproducing.md); "
            "here every wrong prediction counts by its own cost"
        )
    if reacts and ours["reference"] == "horizon":
        notes.append(
            f"{ours['partners']}: published ΔFunctional against partners that react is measured "
            "from the stationary optimum; --reference stationary does the same here"
        )
    return notes
