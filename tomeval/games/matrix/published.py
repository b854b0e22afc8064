"""The published tables of matrix games: a run in their form, and their numbers beside a run's."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from tomeval.core.errors import TomevalError, unknown
from tomeval.core.resources import (
    check_columns,
    read_csv,
    read_text,
    results_path,
    shipped,
    shown_path,
)
from tomeval.games.matrix.results import MatrixRunCell, matrix_cells
from tomeval.report.facts import counted
from tomeval.runs.columns import ANSWER
from tomeval.runs.results import Run
from tomeval.statistics import AUTO
from tomeval.strategies import parse_strategy

Rows = list[dict[str, Any]]

COLUMNS = ("table", "model", "prompting", "game", "partner", "metric", "mean", "ci95")
FUNCTIONAL, TOM, LITERAL = "delta_functional_per_step", "delta_tom_per_step", "tom_percent"

METRIC_OF = {
    FUNCTIONAL: FUNCTIONAL,
    TOM: "delta_tom_misprediction_per_step",  # the rule that every published row follows
    LITERAL: LITERAL,
}
TABULAR = ("Tabular RMax", "Tabular")
"""Model and prompting of the published tabular learner, tomeval's subject ``rmax``."""
REASONING = "reasoning"
"""The published prompting of a model that reasons by itself: it is simply asked, as by QA."""
BEST_OF = ("Reflexion", ("Reflexion 1", "Reflexion 2", "Reflexion 3"))
"""A published strategy that is the best of several, in tables 2, 3, 8 and 9."""
_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?\s*", re.IGNORECASE)
_TASK = ("game", "labels", "partners", "horizon", "seed")
_HORIZON = 100  # of all published results


def read_results(path: Path) -> list[dict[str, str]]:
    """Read and check a CSV with the columns `COLUMNS`; ``line`` is added to every row."""
    rows: list[dict[str, str]] = []
    lines: dict[tuple[str, ...], int] = {}  # with two ToM %, a cell's ΔToM could belong to either
    header, found = read_csv(path)
    check_columns(path, header, COLUMNS)
    for line, row in found:
        where = f"{shown_path(path)}, line {line}"
        for name in ("mean", "ci95"):
            if (name, row[name]) != ("ci95", "") and not _NUMBER.fullmatch(row[name]):
                raise TomevalError(f"{where}: {name} {row[name]!r} is not a number")
        first = lines.setdefault(tuple(row[name] for name in COLUMNS[:6]), line)
        if first != line:
            raise TomevalError(f"{where}: the same cell and metric as line {first}")
        rows.append({**row, "line": str(line)})
    return rows


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


def best_rows(table: Rows) -> dict[int, list[int]]:
    """Return which row has the lowest ΔFunctional/T of those of `BEST_OF`, with all of these.

    By place in the table, for every task in which all of them have a value; of a tie the first one.
    """
    groups: dict[tuple[Any, ...], list[int]] = {}
    for number, row in enumerate(table):
        if row["strategy"] in BEST_OF[1] and not math.isnan(row[FUNCTIONAL]):
            options = row["subject"].removeprefix(row["strategy"])
            task = [row.get(name) for name in (*_TASK, "model", "on_invalid", "run")]
            groups.setdefault((options, *task), []).append(number)
    return {
        min(members, key=lambda number: table[number][FUNCTIONAL]): members
        for members in groups.values()
        if {table[number]["strategy"] for number in members} == set(BEST_OF[1])
    }


_BEST_NOTE = (
    f"{BEST_OF[0]}: the lowest ΔFunctional/T of {', '.join(BEST_OF[1])} in each task, chosen on "
    "the episodes that it reports; its mean is too good and its interval too narrow"
)


def as_published(run: Run, table: Rows) -> tuple[Rows, list[str], list[str]]:
    """Return a run's table in the form of the published ones.

    Parameters
    ----------
    table : list of dict
        Rows of `tomeval.Run.rows`.

    Returns
    -------
    rows : list of dict
        A language model goes by its prompting (``QA``, not ``QA(literal=false)``) and its published
        name, `rmax` by ``Tabular RMax``; subjects whose names would be equal so keep their own. In
        each task stand players without a model, then model by model; the best of `BEST_OF` stands
        for all of them.
    measures : list of str
        ΔFunctional/T, ΔToM/T by the rule that published rows follow, and ToM %; the first alone
        unless all were asked to predict.
    notes : list of str
        That a row is the best of several.
    """
    bests = best_rows(table)
    best_at = {members[0]: winner for winner, members in bests.items()}
    gone = {member for members in bests.values() for member in members[1:]}
    names = row_names(run, table)
    rows: Rows = []
    for number in paper_order(table):
        if number in gone:
            continue
        row = table[best_at.get(number, number)]
        name = BEST_OF[0] if number in best_at else names[number]
        model = published_name(row["model"], hub_names()) or row["model"]
        named = {"subject": name, "strategy": row["strategy"] and name, "model": model}
        rows.append({key: named.get(key, row[key]) for key in row if key != ANSWER})
    played = [row for row in rows if row["episodes"]]
    measures = [m for m in METRIC_OF.values() if not any(math.isnan(row[m]) for row in played)]
    return rows, measures or [FUNCTIONAL], [_BEST_NOTE] * bool(bests)


def row_names(run: Run, table: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return what published tables call each row's subject, unless two would be called the same."""
    rmax = {cell.columns["subject"] for cell in run.cells if cell.definition["kind"] == "rmax"}
    names = []
    owners: dict[tuple[str, str], set[str]] = {}
    for row in table:
        asked = row["strategy"] and row["subject"] != REASONING
        name = row["strategy"] if asked else row["subject"]
        names.append(TABULAR[0] if row["subject"] in rmax else name)
        owners.setdefault((names[-1], row["model"]), set()).add(row["subject"])
    return [
        row["subject"] if len(owners[name, row["model"]]) > 1 else name
        for row, name in zip(table, names, strict=True)
    ]


def paper_order(table: Sequence[Mapping[str, Any]]) -> list[int]:
    """Return the places of a table's rows: task by task, players without a model, then models."""
    tasks = [tuple(row[name] for name in _TASK) for row in table]
    models = ["", *(row["model"] for row in table)]
    keys = [(tasks.index(t), models.index(r["model"])) for t, r in zip(tasks, table, strict=True)]
    return sorted(range(len(table)), key=lambda number: keys[number])


def beside(
    run: Run,
    path: str | Path,
    model: str | None = None,
    interval: str = "normal",
    reference: str | None = None,
) -> tuple[Rows, list[str]]:
    """Return published numbers beside a run's, where both exist.

    Parameters
    ----------
    path : path
        A CSV as `read_results` reads it, or the name of one that ships: ``reported_results``.
    model : str, optional
        The file's model to show beside every language model of the run, whatever its name.
        Default: the model that the run's model is by its name on the Hub.
    interval, reference
        As for `tomeval.Run.rows`; ``auto`` is ``normal``, in which the others are published.

    Returns
    -------
    rows : list of dict
        One per cell, metric and published number: the cell's labels, ``metric``, ``ours``,
        ``reported``, ``difference`` (ours - reported), each with its ``_ci95`` half-width, the
        ``reported_model`` and the ``tables`` it stands in. The difference's half-width is the root
        of the sum of squares: the two samples are independent. `BEST_OF` has the best of the run's
        beside it.
    notes : list of str
        Cells without a published number and why, and where the two are not of one kind.

    Raises
    ------
    TomevalError
        A file that cannot be read, or a model that is not in it.
    """
    interval = "normal" if interval == AUTO else interval
    published = read_results(results_path(path))
    names = sorted({row["model"] for row in published} - {TABULAR[0]})
    if model is not None and model not in names:
        raise unknown("model of the published results", model, names)
    index: dict[tuple[str, ...], dict[tuple[str, str, str], list[str]]] = {}
    for row in published:
        key = (row["model"], _strategy(row["prompting"]), row["game"], row["partner"])
        metric = METRIC_OF.get(row["metric"], row["metric"])
        numbers = index.setdefault(key, {})
        numbers.setdefault((metric, row["mean"], row["ci95"]), []).append(row["table"])
    table, cells = run.rows(interval, reference), matrix_cells(run)
    printed, bests = row_names(run, table), best_rows(table)
    rows: Rows = []
    told: dict[str, int] = {}
    for number in paper_order(table):
        cell, ours, before = cells[number], table[number], len(rows)
        theirs, why = _published_player(cell, model, names)
        players = [(printed[number], cell.definition["strategy"] or TABULAR[1])]
        players += [(BEST_OF[0], BEST_OF[0])] * (number in bests)
        for subject, strategy in players:
            numbers = index.get((theirs, strategy, ours["game"], ours["partners"]), {})
            of = ours | {"subject": subject}
            rows += [
                row for key, tables in numbers.items() for row in _row(of, theirs, key, tables)
            ]
        if len(rows) == before:
            why = why or f"no published value of {theirs}, {players[0][-1]} in this task"
            told[why] = told.get(why, 0) + 1
    notes = _differ(run, rows)
    notes += [_BEST_NOTE] * any(row["subject"] == BEST_OF[0] for row in rows)
    return rows, notes + [f"{counted(count, 'cell')}: {why}" for why, count in told.items()]


def _strategy(prompting: str) -> str:
    """Return one spelling of a published strategy; other text stays as it is."""
    try:
        return parse_strategy("QA" if prompting == REASONING else prompting).name
    except TomevalError:
        return prompting


def _published_player(
    cell: MatrixRunCell, model: str | None, names: Sequence[str]
) -> tuple[str, str]:
    """Return the published model to compare a cell with, or why no model fits."""
    data = cell.definition
    if data["kind"] == "rmax":
        return TABULAR[0], ""
    if not data["model"]:
        return "", f"no published results for {data['subject']}"
    if known := model or published_name(data["model"], names):
        return known, ""
    known = ", ".join(names)
    return "", f"{data['model']} is not a published model; choose one with --as-model ({known})"


def _row(
    ours: dict[str, Any], theirs: str, reported: tuple[str, str, str], tables: Sequence[str]
) -> Rows:
    """Return a row beside a published number; none where the run has no such measure."""
    metric, mean, half = reported[0], float(reported[1]), float(reported[2] or "nan")
    if metric not in ours or (ours["episodes"] and math.isnan(ours[metric])):
        return []
    labels = ("subject", "model", "game", "labels", "partners", "horizon", "seed")
    own, own_half = ours[metric], ours[f"{metric}_ci95"]
    return [
        {name: ours[name] for name in (*labels, "reference")}
        | {"metric": metric, "ours": own, "ours_ci95": own_half}
        | {"reported": mean, "reported_ci95": half}
        | {"difference": own - mean, "difference_ci95": math.hypot(own_half, half)}
        | {"reported_model": theirs, "tables": ", ".join(tables)}
    ]


def _differ(run: Run, rows: Rows) -> list[str]:
    """Return how the run differs in kind from what is published."""
    horizons = {row["horizon"] for row in rows} - {_HORIZON}
    notes = [f"published episodes have {_HORIZON} steps, these {n}" for n in sorted(horizons)]
    cells = matrix_cells(run)
    reacting = {
        c.columns["partners"] for c in cells if any(len(p.emissions) > 1 for p in c.partners)
    }
    if names := sorted({row["partners"] for row in rows} & reacting):
        notes.append(
            f"{', '.join(names)}: published ΔToM against partners that react is the share of wrong "
            "predictions times their mean cost (mean_misprediction in docs/reproducing.md), and "
            "ΔFunctional is measured from the stationary optimum"
        )
    return notes
