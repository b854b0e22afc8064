"""The complete episodes of every cell, as comparisons see them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tomeval.core.errors import TomevalError, unknown
from tomeval.runs.cell import RunCell
from tomeval.runs.columns import PROMPTED
from tomeval.runs.domain import Domain
from tomeval.runs.results import Run
from tomeval.runs.selection import choose_measures
from tomeval.statistics.paired import FloatArray, IntArray
from tomeval.strategies.parts import KINDS

Runs = Run | str | Path | Sequence[Run | str | Path]

WORDING = "wording"
"""What levels differ in that are one player of one model, asked in other words."""


class Incomparable(TomevalError):
    """Cells that a comparison cannot tell apart, or of which none can be paired."""


@dataclass(frozen=True, eq=False)
class Side:
    """The complete episodes of one cell.

    Attributes
    ----------
    level : str
        What is compared: the cell's value of `by`, or its run.
    held : str
        What else the cell must share with the one it is paired with, such as the model; empty if it
        pairs with any. See `RunCell.fixed`.
    task : dict
        The columns of the domain's task, without the one that is compared.
    episodes, which : ndarray of int, shape (E,)
        Episode numbers and what each episode drew, such as its partner.
    clusters : ndarray, shape (E,)
        The sampling unit of each episode, see `tomeval.runs.cell.RunCell.clusters`.
    values : ndarray, shape (E, M)
        Measures.
    sizes : ndarray, shape (M,)
        How large the numbers are that each is computed from, which its rounding is relative to.
    run : str
        The run folder.
    persons : bool
        Whether sampling units are people, who may have played other tasks, too.
    """

    level: str
    held: str
    task: dict[str, Any]
    episodes: IntArray
    which: IntArray
    clusters: NDArray[Any]
    values: FloatArray
    sizes: FloatArray
    cell: RunCell
    run: str
    persons: bool = False

    @property
    def seed(self) -> int:
        """The seed of its cell."""
        return self.cell.seed

    @property
    def place(self) -> tuple[Any, ...]:
        """What tells it from all other cells of a comparison."""
        return (self.level, *self.task.values(), self.held, self.seed)

    @property
    def draws(self) -> tuple[Any, ...]:
        """What episodes of one seed and number must share to have met the same chance."""
        return self.cell.draws


@contextmanager
def opened(runs: Runs, where: Sequence[str] = ()) -> Iterator[list[Run]]:
    """Open the runs that are not open yet, and close those again; all are of one domain, each once.

    Those that are opened have the cells that meet `where` only, see `tomeval.runs.results.Run`.
    """
    listed = [runs] if isinstance(runs, Run | str | Path) else list(runs)
    if not listed:
        raise TomevalError("no run was given")
    with ExitStack() as mine:
        result = [r if isinstance(r, Run) else mine.enter_context(Run(r, where)) for r in listed]
        first, folders = result[0], [run.folder.resolve() for run in result]
        for number, run in enumerate(result):
            if run.domain.name != first.domain.name:
                raise TomevalError(
                    f"runs of different domains cannot be read together: {first.folder} is of "
                    f"{first.domain.name!r}, {run.folder} of {run.domain.name!r}"
                )
            if folders[number] in folders[:number]:
                raise TomevalError(f"{run.folder}: the same run folder was given twice")
        yield result


def metric_names(runs: Sequence[Run], metrics: Iterable[str] | None = None) -> tuple[str, ...]:
    """Return the metrics to compare: those asked for, or all that every run has.

    Any name by which `tomeval.runs.selection.choose_measures` knows them will do.
    """
    known = [name for name in runs[0].measures if all(name in r.measures for r in runs)]
    if metrics is None:
        return tuple(known)
    chosen = tuple(choose_measures({name: runs[0].measures[name] for name in known}, metrics))
    if not chosen:
        raise TomevalError("no metric was given")
    return chosen


def known_by(domain: Domain) -> tuple[str, ...]:
    """Return what levels can differ in."""
    return (*dict.fromkeys((*domain.by, *PROMPTED)), WORDING, "run")


def check_by(runs: Sequence[Run], by: str | None) -> str:
    """Return what levels differ in; default: the domain's first choice.

    Raises
    ------
    TomevalError
        An unknown name, or a column that is empty in every cell.
    """
    domain = runs[0].domain
    if by is None:
        return domain.by[0]
    if by not in known_by(domain):
        raise unknown("--by", by, known_by(domain))
    facts = [(cell, {**cell.prompted, **cell.columns}) for run in runs for cell in run.cells]
    # The default is always possible: a cell's `level` replaces an empty column. What is no column,
    # such as the team of two seats, has levels of its own.
    if by not in ("run", domain.by[0]) and not any(
        (known[by] if by in known else level(cell, by)) != "" for cell, known in facts
    ):
        others = ", ".join(name for name in known_by(domain) if name != by)
        raise TomevalError(f"no player has a {by} in these runs: compare by {others}")
    return by


def level(cell: RunCell, by: str) -> str:
    """Return a cell's level; empty: it takes no part, as one without a model does not."""
    if by in KINDS:
        return cell.prompted[by]
    if by == WORDING:
        return "" if cell.worded is None else cell.worded.words
    if by in ("model", "run"):  # the name of a run is not the cell's
        return str(cell.columns.get(by, by))
    return cell.level(by)


def left_out(runs: Sequence[Run], by: str) -> list[str]:
    """Return a note on the players that have no level, and so take no part; none if all do."""
    cells = [cell for run in runs for cell in run.cells if not level(cell, by)]
    names = list(dict.fromkeys(cell.title for cell in cells))
    if not names:
        return []
    some = ", ".join(names[:3]) + (f" and {len(names) - 3} more" * (len(names) > 3))
    players = "player" if len(names) == 1 else "players"
    lacks = "strategy" if by in KINDS else by
    return [f"{len(names)} {players} without a {lacks} left out: {some}"]


def read_sides(
    runs: Sequence[Run], by: str | None, metrics: Sequence[str], reference: str | None = None
) -> list[Side]:
    """Return every cell that has a level, with its complete episodes, in the runs' order.

    Without `by` every cell stands alone: it has no level, and its columns are held.

    Raises
    ------
    TomevalError
        Two cells that the comparison cannot tell apart; one name for different content, such as a
        game with other payoffs.
    """
    folders = [str(run.folder) for run in runs]
    short = [run.folder.name for run in runs]
    named = dict(zip(folders, short if len(set(short)) == len(short) else folders, strict=True))
    sides = []
    for run in runs:
        run.check_reference(reference)
        for cell in run.cells:
            if by is None or level(cell, by):
                folder = str(run.folder)
                sides.append(_side(cell, by, metrics, reference, folder, named[folder]))
    _check_same_content(sides)
    sides = _recorded_together(sides, by)
    seen: dict[tuple[Any, ...], Side] = {}
    for side in sides:
        other = seen.setdefault(side.place, side)
        if other is not side:
            what = f"have {by} {side.level!r} in the same task" if by else "are the same"
            other_by = f"compare by another column ({', '.join(known_by(side.cell.domain))}) or "
            raise Incomparable(
                f"two cells {what} with seed {side.seed}: {other.cell.name} in {other.run} and "
                f"{side.cell.name} in {side.run}; {other_by if by else ''}give runs that do not "
                "overlap"
            )
    return sides


def _side(
    cell: RunCell, by: str | None, metrics: Sequence[str], reference: str | None, run: str, own: str
) -> Side:
    """Read one cell of the folder `run`, whose name as a level is `own`."""
    whole = "strategy" if by in KINDS else by  # of which a part differs
    task = dict(cell.task) if whole is None else cell.task_without(whole)
    if reference and "reference" in task:
        task["reference"] = reference
    if by is None:
        # the title tells players of one name in runs that are joined apart
        at, held = "", ", ".join(map(str, (*cell.columns.values(), cell.title)))
    elif by == WORDING and (asked := cell.worded) is not None:
        at, held = asked.words, f"{asked.player}, {asked.model}"
        task = {k: v for k, v in task.items() if k not in (cell.domain.by[0], *asked.options)}
    else:
        at = own if by == "run" else level(cell, by)
        parts = [cell.prompted[name] for name in KINDS if by in KINDS and name != by]
        held = ", ".join(filter(None, [cell.fixed(str(whole)), *parts]))
    values = [cell.totals(metric, reference).parts for metric in metrics]
    return Side(
        level=at,
        held=held,
        task=task,
        episodes=cell.episodes,
        which=np.asarray(cell.which, dtype=np.int64),
        clusters=np.asarray(cell.clusters),
        values=np.stack(values, axis=1) if values else np.empty((len(cell.episodes), 0)),
        sizes=np.array([_size(cell, metric) for metric in metrics]),
        cell=cell,
        run=run,
    )


def _recorded_together(sides: Sequence[Side], by: str | None) -> list[Side]:
    """Join the cells of one level and task that are of one person each: a level is a group."""
    groups: dict[tuple[Any, ...], list[Side]] = {}
    for number, side in enumerate(sides):
        own = () if by and side.cell.people is not None else (number,)
        groups.setdefault((*side.place, *own), []).append(side)
    return [_elsewhere(mine) if mine[0].cell.recorded else mine[0] for mine in groups.values()]


def _elsewhere(sides: Sequence[Side]) -> Side:
    """Return cells that were recorded elsewhere as one, its episodes in an order of their values.

    The sampling unit is the person, if there are several; else the episode. Whatever the order in
    the record, numbers come out the same to the last digit.
    """
    first = sides[0]
    values = np.concatenate([side.values for side in sides])
    which = np.concatenate([side.which for side in sides])
    people = np.concatenate(
        [np.full(len(s.episodes), "") if s.cell.people is None else s.cell.people for s in sides]
    )
    order = np.lexsort((*np.nan_to_num(values, nan=np.inf).T[::-1], which, people))
    values, which, people = (part[order] for part in (values, which, people))
    persons, whole = len(set(people.tolist())) > 1, f"{first.run} {first.cell.name}"
    clusters = [
        f"person {name}" if persons else f"alone {whole} {number:09d}"
        for number, name in enumerate(people.tolist())
    ]
    return replace(
        first,
        episodes=np.arange(len(order)),
        which=which,
        clusters=np.array(clusters, dtype=np.str_),
        values=values,
        persons=persons,
    )


def _size(cell: RunCell, metric: str) -> float:
    """Return how large the numbers are that a measure of a cell is computed from."""
    measure = cell.measures[metric]
    if measure.in_payoffs and cell.payoffs and any(cell.payoffs):
        return max(map(abs, cell.payoffs))
    return 100.0 if measure.unit == "%" else 1.0


def _check_same_content(sides: Sequence[Side]) -> None:
    """Raise if one name stands for several games, partner sets or the like."""
    known: dict[tuple[str, ...], tuple[str, Side]] = {}
    for side in sides:
        for key, text in side.cell.content.items():
            other = known.setdefault(key, (text, side))
            if other[0] != text:
                raise TomevalError(
                    f"{key[0]} {key[-1]!r} differs between {other[1].run} and {side.run}, so "
                    "results with it cannot be compared"
                )


def task_names(domain: Domain, tasks: Sequence[dict[str, Any]]) -> tuple[str, ...]:
    """Name tasks by what decides their chance and by what else differs between them."""
    columns = tasks[0] if tasks else {}
    always = {domain.task[0], *domain.shares_draws}
    always = {key for key in always & columns.keys() if domain.task_words({key: columns[key]})}
    varies = {key for key in columns if len({str(task[key]) for task in tasks}) > 1}
    result = []
    for task in tasks:
        words = []
        for key, value in task.items():
            if value not in ("", None) and (key in varies or key in always):
                words.append(domain.task_words({key: value}) or str(value))
        result.append(", ".join(words) or "the task")
    return tuple(result)
