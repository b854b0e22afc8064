"""The complete episodes of every cell, as comparisons see them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tomeval.core.errors import TomevalError, unknown
from tomeval.core.outcomes import COMPLETE
from tomeval.runs.results import Run, RunCell

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Runs = Run | str | Path | Sequence[Run | str | Path]

BY = ("strategy", "subject", "model", "labels", "run")
"""What levels can differ in."""
TASK_COLUMNS = ("game", "labels", "partners", "horizon", "reference", "on_invalid")


@dataclass(frozen=True, eq=False)
class Side:
    """The complete episodes of one cell.

    Attributes
    ----------
    level : str
        What is compared: the cell's strategy, subject, model, label set or run.
    player : str
        What else the cell must share with the one it is paired with, such as the model; empty
        where it is paired with any (a tabular subject has no model).
    task : tuple
        Values of `TASK_COLUMNS`.
    seed : int
    episodes, which : ndarray of int, shape (E,)
        Episode numbers and the partner each one drew.
    values : ndarray, shape (E, M)
        Metrics.
    cell : RunCell
    run : str
        The run folder.
    """

    level: str
    player: str
    task: tuple[Any, ...]
    seed: int
    episodes: IntArray
    which: IntArray
    values: FloatArray
    cell: RunCell
    run: str


@contextmanager
def opened(runs: Runs) -> Iterator[list[Run]]:
    """Open what is not open yet, and close it again."""
    listed = [runs] if isinstance(runs, Run | str | Path) else list(runs)
    if not listed:
        raise TomevalError("no run was given")
    mine: list[Run] = []
    try:
        result = []
        for item in listed:
            if not isinstance(item, Run):
                item = Run(item)
                mine.append(item)
            result.append(item)
        yield result
    finally:
        for run in mine:
            run.close()


def metric_names(runs: Sequence[Run], metrics: Iterable[str] | None = None) -> tuple[str, ...]:
    """Return the metrics to compare: those asked for, or all that every run has."""
    known = [name for name in runs[0].metric_names if all(name in r.metric_names for r in runs)]
    if metrics is None:
        return tuple(known)
    chosen = tuple(dict.fromkeys(metrics))
    for name in chosen:
        if name not in known:
            raise unknown("metric", name, known)
    if not chosen:
        raise TomevalError("no metric was given")
    return chosen


def read_sides(
    runs: Sequence[Run], by: str, metrics: Sequence[str], reference: str | None = None
) -> list[Side]:
    """Return every cell of the runs with its complete episodes, in the runs' order.

    Raises
    ------
    TomevalError
        An unknown `by`; two cells that the comparison could not tell apart; a game or partner set
        that is not the same under one name.
    """
    if by not in BY:
        raise unknown("--by", by, BY)
    folders = [str(run.folder) for run in runs]
    if len(set(folders)) < len(folders):
        raise TomevalError(f"{folders[0]}: the same run folder was given twice")
    if by == "model" and not any(cell.definition["model"] for run in runs for cell in run.cells):
        raise TomevalError("no language model was played: compare by subject")
    short = [run.folder.name for run in runs]
    named = dict(zip(folders, short if len(set(short)) == len(short) else folders, strict=True))
    sides = [
        _side(run, cell, by, metrics, reference, named[str(run.folder)])
        for run in runs
        for cell in run.cells
    ]
    _check_same_rules(sides)
    seen: dict[tuple[Any, ...], Side] = {}
    for side in sides:
        other = seen.setdefault((side.level, side.player, side.task, side.seed), side)
        if other is not side:
            raise TomevalError(
                f"two cells have {by} {side.level!r} in the same task with seed {side.seed}: "
                f"{other.cell.name} in {other.run} and {side.cell.name} in {side.run}; compare by "
                f"another column ({', '.join(BY)}) or give runs that do not overlap"
            )
    return sides


def _side(
    run: Run,
    cell: RunCell,
    by: str,
    metrics: Sequence[str],
    reference: str | None,
    name: str,
) -> Side:
    """Read one cell of a run that goes by `name`."""
    row = cell.labels_of_row()
    numbers = run.store.query(
        "SELECT episode FROM episodes WHERE cell = ? AND status = ? ORDER BY episode",
        (cell.number, COMPLETE),
    )
    values = cell.metrics(reference)
    data = {**row, "reference": reference or cell.reference}
    data["on_invalid"] = cell.definition["on_invalid"]
    level = str(name if by == "run" else row[by] or row["subject"])
    player = str(row["model"])
    if by == "model":
        player = str(row["subject"]) if row["model"] else ""
    elif by in ("labels", "run"):
        player = ", ".join(filter(None, (str(row["subject"]), str(row["model"]))))
    return Side(
        level,
        player,
        tuple(data[name] for name in TASK_COLUMNS if name != by),
        cell.definition["seed"],
        np.array([number for (number,) in numbers], dtype=np.int64),
        np.asarray(cell.which, dtype=np.int64),
        np.stack([values[name] for name in metrics], axis=1),
        cell,
        str(run.folder),
    )


def _check_same_rules(sides: Sequence[Side]) -> None:
    """Raise where one name stands for several games or partner sets."""
    known: dict[tuple[str, ...], tuple[str, Side]] = {}
    for side in sides:
        game, partners = side.cell.definition["game"], side.cell.definition["partners"]
        what = {
            ("game", game["name"]): json.dumps(game["payoffs"]),
            ("partner set", game["name"], partners["name"]): json.dumps(
                [partners["weights"], [table["sha256"] for table in partners["tables"]]]
            ),
        }
        for key, text in what.items():
            other = known.setdefault(key, (text, side))
            if other[0] != text:
                raise TomevalError(
                    f"{key[0]} {key[-1]!r} is not the same in {other[1].run} and {side.run}: its "
                    "tables differ, so nothing played with it can be compared"
                )


def level_names(sides: Sequence[Side]) -> tuple[str, ...]:
    """Return the levels in order of appearance."""
    return tuple(dict.fromkeys(side.level for side in sides))


def task_names(tasks: Sequence[dict[str, Any]]) -> tuple[str, ...]:
    """Name tasks by game, partners and whatever else differs between them."""
    result = []
    for task in tasks:
        words = []
        for key, value in task.items():
            varies = len({str(other[key]) for other in tasks}) > 1
            if value not in ("", None) and (varies or key in ("game", "partners")):
                words.append(f"T = {value}" if key == "horizon" else str(value))
        result.append(", ".join(words))
    return tuple(result)
