"""The steps of runs as a regression sees them: columns, sampling units, and the design matrix."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tomeval.comparing.sides import read_sides
from tomeval.core.errors import TomevalError, unknown
from tomeval.core.outcomes import COMPLETE
from tomeval.extensions.regression.formula import EPISODE, Factor, Formula
from tomeval.report.exporting import kinds_of
from tomeval.runs.results import Run, iterate_export
from tomeval.statistics.paired import FloatArray, IntArray

RUN = "run"
"""The column with the name of the run folder, for several runs."""
MOST = 100
"""Coefficients, beyond which a text is a name and no category."""
_FEW = 10  # values of a whole-number column that may be meant as categories


@dataclass(frozen=True, eq=False)
class Steps:
    """What a formula reads of the complete episodes' steps, those with a missing value left out.

    `columns` are numbers, float64, or texts, object, each of shape (N,); `episodes` number the
    played episodes and `clusters` what the group names, both from 0, shape (N,). `whole` are the
    columns of whole numbers.
    """

    columns: dict[str, NDArray[Any]]
    episodes: IntArray
    clusters: IntArray
    whole: frozenset[str]
    notes: tuple[str, ...]


def read_steps(runs: Sequence[Run], formula: Formula) -> Steps:
    """Read the columns of a formula.

    The group `EPISODE` is the sampling unit of comparisons: episodes of one seed and number that
    met the same chance are one, whoever played; of recorded games a person's, or those of one
    chance, or else each by itself. Any other group is a column.

    Raises
    ------
    TomevalError
        An unknown column; no step left.
    """
    read_sides(runs, None, [])  # refuses what cannot stand in one table
    tables = [iterate_export(run, "steps") for run in runs]
    shared = [name for name in tables[0][0] if all(name in names for names, _ in tables)]
    wanted = [*formula.columns, *([] if formula.group == EPISODE else [formula.group])]
    wanted = list(dict.fromkeys(wanted))
    for name in wanted:
        if name not in (*shared, RUN):
            raise unknown("column", name, [*shared, RUN], "--formula")
    units = _units(runs) if formula.group == EPISODE else {}
    kinds = dict(zip(shared, kinds_of(runs[0], "steps", shared), strict=True)) | {RUN: "TEXT"}
    left: Counter[str] = Counter()
    rows, episodes, clusters = [], [], []
    numbers: dict[Any, int] = {}
    for key, status, values in _rows(runs, tables, wanted):
        if status != COMPLETE:
            left[f"of {status} episodes"] += 1
            continue
        missing = [n for n, v in zip(wanted, values, strict=True) if v is None or v != v]
        if missing:
            left[f"without a value of {missing[0]}"] += 1
            continue
        rows.append(values)
        episodes.append(numbers.setdefault(("episode", key), len(numbers)))
        group = units[key] if units else values[wanted.index(formula.group)]
        clusters.append(numbers.setdefault(("cluster", group), len(numbers)))
    if not rows:
        why = f": {'; '.join(f'{n:,} {what}' for what, n in left.items())}" if left else ""
        raise TomevalError(f"no step has a value of {', '.join(wanted)}{why}")
    columns = {
        name: np.array(values, dtype=object if kinds[name] == "TEXT" else np.float64)
        for name, values in zip(wanted, zip(*rows, strict=True), strict=True)
    }
    whole = frozenset(name for name in wanted if kinds[name] == "INTEGER")
    notes = tuple(f"left out: {count:,} steps {what}" for what, count in left.items())
    codes = [np.unique(each, return_inverse=True)[1] for each in (episodes, clusters)]
    return Steps(columns, codes[0], codes[1], whole, notes)


Key = tuple[int, int, int]
"""An episode: the place of its run, its cell and its number."""


def _rows(
    runs: Sequence[Run],
    tables: Sequence[tuple[list[str], Iterator[tuple[Any, ...]]]],
    wanted: Sequence[str],
) -> Iterator[tuple[Key, str, list[Any]]]:
    """Yield of every step its episode, its status and the wanted values."""
    for number, (run, (names, rows)) in enumerate(zip(runs, tables, strict=True)):
        known = itemgetter(*map(names.index, ("cell", "episode", "status")))
        at = [names.index(name) if name != RUN else -1 for name in wanted]
        for row in rows:
            cell, episode, status = known(row)
            values = [row[i] if i >= 0 else run.folder.name for i in at]
            yield (number, cell, episode), status, values


def _units(runs: Sequence[Run]) -> dict[Key, tuple[Any, ...]]:
    """Return the sampling unit of every complete episode."""
    cells = [(number, cell) for number, run in enumerate(runs) for cell in run.cells]
    people = {name for _, cell in cells if cell.people is not None for name in cell.people.tolist()}
    result: dict[Key, tuple[Any, ...]] = {}
    for number, cell in cells:
        draws = tuple(cell.facts[name] for name in cell.domain.compare.shares_draws)
        labels: Sequence[Any] | None = None
        if cell.people is not None and len(people) > 1:
            labels = [("person", name) for name in cell.people.tolist()]
        elif cell.by_number and not cell.each_once:
            labels = [(*draws, cell.seed, name) for name in cell.clusters.tolist()]
        elif cell.chances is not None:
            labels = [(*draws, "chance", name) for name in cell.chances.tolist()]
        for index, episode in enumerate(cell.episodes.tolist()):
            alone = (number, cell.number, episode)
            result[alone] = labels[index] if labels is not None else alone
    return result


@dataclass(frozen=True, eq=False)
class Design:
    """The matrix of a regression, shape (N, P), and what its columns are, the intercept first."""

    matrix: FloatArray
    names: list[str]
    baselines: dict[str, str]
    notes: tuple[str, ...]


def design(steps: Steps, formula: Formula, baseline: str | None) -> Design:
    """Return the design matrix: a category has a column for every level but its first.

    Levels are in the order of the runs, numbers as categories in their own; `baseline` comes first
    where a category has it.

    Raises
    ------
    TomevalError
        A logarithm of what is not above 0, or of a text; a category with one level or too many; a
        baseline that no category has; a column that follows from those before it.
    """
    levels: dict[Factor, list[str]] = {}
    coded: dict[Factor, list[tuple[str, FloatArray]]] = {}
    notes = []
    for factor in dict.fromkeys(factor for term in formula.terms for factor in term):
        values = steps.columns[factor.column]
        if factor.function == "factor" or values.dtype == object:
            if factor.function == "log":
                raise TomevalError(f"--formula: {factor}: {factor.column} is a text")
            levels[factor], coded[factor] = _category(factor, values, baseline)
            continue
        if factor.function == "log" and (values <= 0).any():
            raise TomevalError(
                f"--formula: {factor}: {int((values <= 0).sum()):,} steps have a value that is not "
                f"above 0, the least {values.min():g}"
            )
        coded[factor] = [(str(factor), np.log(values) if factor.function else values)]
        if factor.column in steps.whole - {"step"} and 2 < len(np.unique(values)) <= _FEW:
            notes.append(
                f"{factor.column} is taken as a number; factor({factor.column}) takes its values "
                "as categories"
            )
    known = [level for each in levels.values() for level in each]
    if baseline is not None and baseline not in known:
        raise unknown("level", baseline, known, "--baseline")
    names, columns = ["(intercept)"], [np.ones(len(steps.episodes))]
    for term in formula.terms:
        for parts in product(*(coded[factor] for factor in term)):
            names.append(":".join(name for name, _ in parts))
            columns.append(np.prod([values for _, values in parts], axis=0))
    if len(names) > MOST:
        raise TomevalError(f"--formula: {len(names)} coefficients, at most {MOST}: use fewer terms")
    matrix = np.stack(columns, axis=1)
    _check_apart(matrix, names)
    baselines = {str(factor): each[0] for factor, each in levels.items()}
    return Design(matrix, names, baselines, tuple(notes))


def _category(
    factor: Factor, values: NDArray[Any], baseline: str | None
) -> tuple[list[str], list[tuple[str, FloatArray]]]:
    """Return the levels of a category, the baseline first, and a 0/1 column for each other one."""
    if values.dtype == object:
        texts = [str(value) or "none" for value in values.tolist()]
        levels = list(dict.fromkeys(texts))
    else:
        texts = [f"{value:g}" for value in values.tolist()]
        levels = [f"{value:g}" for value in np.unique(values).tolist()]
    if len(levels) < 2:
        raise TomevalError(
            f"--formula: {factor.column} is {levels[0]!r} in every step: leave it out"
        )
    if len(levels) > MOST:
        raise TomevalError(
            f"--formula: {factor} has {len(levels):,} values: too many for a category, at most "
            f"{MOST}"
        )
    levels.sort(key=lambda level: level != baseline)
    own = np.array(texts, dtype=object)
    return levels, [(f"{factor.column}[{level}]", 1.0 * (own == level)) for level in levels[1:]]


def _check_apart(matrix: FloatArray, names: Sequence[str]) -> None:
    """Raise for the first column that is a combination of those before it."""
    sizes = np.linalg.norm(matrix, axis=0)
    left = np.zeros(len(names))
    if len(matrix) >= len(names) and sizes.all():
        left = np.abs(np.diag(np.linalg.qr(matrix / sizes, mode="r")))
    elif not sizes.all():
        left = sizes
    else:
        raise TomevalError(f"--formula: {len(matrix)} steps cannot tell {len(names)} terms apart")
    for name, rest in zip(names, left.tolist(), strict=True):
        if rest < 1e-9:
            raise TomevalError(
                f"--formula: {name} is collinear with the terms before it; leave a term out, or "
                "write + in place of *"
            )
