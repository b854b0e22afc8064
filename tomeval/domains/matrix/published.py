"""Published results beside a run's own."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tomeval.core.errors import TomevalError, unknown
from tomeval.core.resources import results_path
from tomeval.domains.matrix.published_form import (
    METRIC_OF,
    REASONING,
    TABULAR,
    paper_order,
    published_name,
    row_names,
)
from tomeval.domains.matrix.published_rows import LITERAL, read_results
from tomeval.domains.matrix.results import MatrixRunCell, matrix_cells
from tomeval.report.facts import counted
from tomeval.runs.best_of import Choice, bias_note, choose, matches, measure_of
from tomeval.runs.results import Run
from tomeval.strategies import parse_strategy

_HORIZON = 100  # of all published results
_SHIPPED = "reported_results.csv"
_LABELS = {"1": "letters", "2": "letters", "3": "neutral", "4": "canonical", "10": "neutral"}
"""The label sets of the shipped tables that state them; letters are those of RPS alone."""
_ACTIONS = {"letters": "R, P, S", "neutral": "J, F, B", "canonical": "the games' own names"}


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
        A CSV as `published_rows` reads it, or the name of one that ships: ``reported_results``.
    model : str, optional
        The file's model to show beside every language model of the run, whatever its name.
        Default: the model that the run's model is by its name on the Hub.
    interval, reference
        As for `tomeval.Run.rows`.

    Returns
    -------
    rows : list of dict
        One per cell, metric and published number, in the order of `as_published`; a language model
        goes by its prompting. The cell's labels, ``metric``, ``ours``,
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
    for name, prompting, *cell_of in [*index]:
        if prompting == REASONING:
            index.setdefault((name, "QA", *cell_of), index[name, prompting, *cell_of])
    rows: list[dict[str, Any]] = []
    unmatched: dict[str, int] = {}
    notes: list[str] = []
    table, cells = run.rows(interval, reference), matrix_cells(run)
    printed = row_names(run, table)
    bests = _bests(run, table, {row["prompting"] for row in published})
    compared: list[tuple[MatrixRunCell, Mapping[str, str]]] = []
    for number in paper_order(table):
        cell, ours = cells[number], {**table[number], "subject": printed[number]}
        who, why = _reported_subject(cell, model, names)
        task = (ours["game"], ours["partners"])
        theirs = index.get((*who, *task), []) if who else []
        new = _rows(cell, ours, theirs)
        compared += [(cell, row) for row in theirs]
        for group, choice in bests:
            reported = (
                index.get((who[0], group, *task), []) if who and number in choice.members else []
            )
            if not reported:
                continue
            why = f"only the best of their group is compared with {group}"
            if number == choice.winner:
                new += _rows(cell, ours, reported, choice)
                compared += [(cell, row) for row in reported]
                told = [bias_note(measure_of(run)), *choice.notes]
                notes += [note for note in told if note not in notes]
        if not new:
            if who and not why:
                why = f"no published value of {', '.join(who)} in this task"
            unmatched[why] = unmatched.get(why, 0) + 1
        rows += new
        if new:
            notes += [note for note in _differ(cell, ours) if note not in notes]
    if results_path(path).name == _SHIPPED:
        notes += _other_labels(compared)
    notes += [f"{counted(count, 'cell')}: {why}" for why, count in unmatched.items()]
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
        return None, f"no published results for {data['subject']}"
    model = model or published_name(data["model"], names)
    if not model:
        return None, (
            f"{data['model']} is not a published model; choose one with --as-model "
            f"({', '.join(names)})"
        )
    return (model, data["strategy"]), ""


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
        if metric not in ours or (ours["episodes"] and math.isnan(ours[metric])):
            continue
        key = (metric, row["mean"], row["ci95"])
        if key in result:
            result[key]["tables"] += f", {row['table']}"
            continue
        mean, half = float(row["mean"]), float(row["ci95"] or "nan")
        columns = cell.columns
        result[key] = {
            "subject": choice.name if choice else ours["subject"],
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


def _other_labels(compared: Sequence[tuple[MatrixRunCell, Mapping[str, str]]]) -> list[str]:
    """Tell which published numbers are of other labels than the run's, or of unknown ones."""
    tables: dict[tuple[str, str], dict[str, None]] = {}
    for cell, row in compared:
        own, theirs = str(cell.columns["labels"]), _labels_of(row)
        if cell.definition["model"] and own != theirs:
            tables.setdefault((own, theirs), {})[row["table"]] = None
    return [
        f"{'tables' if len(those) > 1 else 'table'} {', '.join(those)}: published "
        + (f"with the labels {_ACTIONS[theirs]}" if theirs else "without saying with which labels")
        + f"; this run's labels are {own}"
        for (own, theirs), those in tables.items()
    ]


def _labels_of(row: Mapping[str, str]) -> str:
    """Return the label set of a shipped number; empty: not stated.

    The rows that table 8 shares with others tell its labels in RPS: those of table 3 for LLAMA-3,
    and of table 1 for LLAMA-2.
    """
    table = row["table"]
    if table == "8":
        table = "3" if row["model"].startswith("LLAMA-3") else "1"
    labels = _LABELS.get(table, "")
    return "" if labels == "letters" and row["game"] != "RPS" else labels


def _differ(cell: MatrixRunCell, ours: Mapping[str, Any]) -> list[str]:
    """Return how a cell differs in kind from the published ones."""
    notes = []
    if ours["horizon"] != _HORIZON:
        notes.append(f"published episodes have {_HORIZON} steps, these {ours['horizon']}")
    if ours["episodes"] and math.isnan(ours[METRIC_OF[LITERAL]]):
        notes.append("published ToM % and ΔToM/T are left out where this run asked no predictions")
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
