"""What every figure starts from: options, a run's tasks, estimates, words for numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from tomeval.core.errors import unknown
from tomeval.domains.matrix.measures import METRICS, FloatArray
from tomeval.plots.style import WIDTHS
from tomeval.runs.results import RunCell
from tomeval.statistics.estimates import INTERVALS, Estimate, estimate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TABULAR = "rmax"
"""The kind of subject that is drawn as the tabular baseline."""

T = TypeVar("T")


@dataclass(frozen=True)
class Options:
    """How figures are drawn.

    Attributes
    ----------
    column : {"double", "single"}
        Width: a whole page, or one column of a two-column page.
    interval : {"normal", "t", "bca"}
        See `tomeval.statistics.estimate`; all are 95 % intervals over episodes.
    reference : {"horizon", "stationary"}, optional
        What ΔFunctional is measured from. Default: as the run says.
    """

    column: str = "double"
    interval: str = "normal"
    reference: str | None = None

    def __post_init__(self) -> None:
        if self.column not in WIDTHS:
            raise unknown("column", self.column, WIDTHS)
        if self.interval not in INTERVALS:
            raise unknown("interval", self.interval, INTERVALS)

    @property
    def width(self) -> float:
        """Width of a figure in inches."""
        return WIDTHS[self.column]

    def fits(self, single: int, double: int) -> int:
        """Return one of two numbers by width."""
        return single if self.column == "single" else double


DEFAULT = Options()


class Drawing(NamedTuple):
    """A figure with what is said of it.

    Attributes
    ----------
    name : str
        Key of `tomeval.plots.FIGURES`.
    stem : str
        File name without suffix, unique within a run.
    figure : matplotlib.figure.Figure
    title, caption : str
        What is shown, and how to read it.
    description : str
        The text alternative: what the picture says, in numbers.
    """

    name: str
    stem: str
    figure: Figure
    title: str
    caption: str
    description: str


class Task(NamedTuple):
    """What subjects share when they are compared."""

    game: str
    labels: str
    partners: str
    horizon: int

    def __str__(self) -> str:
        """Return the task in words."""
        return f"{self.game} ({self.labels}), {self.partners}, T = {self.horizon}"


@dataclass(frozen=True)
class Family:
    """Tasks that share a figure, one panel each: all games with the same partners and horizon."""

    title: str
    stem: str
    panels: tuple[tuple[str, tuple[RunCell, ...]], ...]

    @property
    def subjects(self) -> list[str]:
        """Titles of the subjects, in the run's order."""
        return list(dict.fromkeys(cell.title for _, cells in self.panels for cell in cells))


def task_of(cell: RunCell) -> Task:
    """Return a cell's task."""
    row = cell.labels_of_row()
    return Task(row["game"], row["labels"], row["partners"], row["horizon"])


def tasks(cells: Iterable[RunCell]) -> dict[Task, list[RunCell]]:
    """Return the cells with complete episodes by task."""
    found: dict[Task, list[RunCell]] = {}
    for cell in cells:
        if cell.played.episodes:
            found.setdefault(task_of(cell), []).append(cell)
    return found


def families(cells: Iterable[RunCell]) -> list[Family]:
    """Return the run's tasks in groups that fit a figure each.

    The games of a group share partners and horizon. Where a game comes with several label sets,
    each label set is a group of its own.
    """
    found = tasks(cells)
    label_sets: dict[tuple[str, str, int], set[str]] = {}
    for task in found:
        key = (task.game, task.partners, task.horizon)
        label_sets.setdefault(key, set()).add(task.labels)
    split = any(len(names) > 1 for names in label_sets.values())
    groups: dict[tuple[str, str, int], list[Task]] = {}
    for task in found:
        labels = task.labels if split else ""
        groups.setdefault((labels, task.partners, task.horizon), []).append(task)
    result = []
    for (labels, partners, horizon), members in groups.items():
        names = list(dict.fromkeys(task.labels for task in members))
        shown = {task: task.game for task in members}
        if len(names) > 1:
            shown = {task: f"{task.game} ({task.labels})" for task in members}
        said = f" ({names[0]})" if len(names) == 1 else ""
        for page, part in enumerate(pages(members, 6)):
            more = f", part {page + 1}" if len(members) > 6 else ""
            games = ", ".join(dict.fromkeys(task.game for task in part))
            result.append(
                Family(
                    f"{games}{said}, {partners}, T = {horizon}{more}",
                    "_".join(filter(None, (labels, partners, str(horizon)))),
                    tuple((shown[task], tuple(found[task])) for task in part),
                )
            )
    return result


def pages(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Return items in parts of at most `size`."""
    for first in range(0, len(items), size):
        yield items[first : first + size]


def estimates(values: FloatArray, cell: RunCell, options: Options) -> Estimate:
    """Return means over a cell's episodes with intervals, as its row of the table has them.

    Parameters
    ----------
    values : ndarray, shape (E,) or (E, M)
    """
    return estimate(
        values,
        options.interval,
        strata=cell.which,
        shares=dict(enumerate(cell.definition["partners"]["weights"])),
        rng=np.random.default_rng(cell.bootstrap_seed()),
    )


_KNOWN: WeakKeyDictionary[RunCell, dict[Options, Estimate]] = WeakKeyDictionary()


def metric_estimates(cell: RunCell, names: Sequence[str], options: Options) -> Estimate:
    """Return the estimates of a cell's metrics, in the order of `names`.

    All metrics are estimated together, as for the table, and once: a bootstrap of some of them
    could differ from the table's by rounding.
    """
    known = _KNOWN.setdefault(cell, {})
    if options not in known:
        metrics = cell.metrics(options.reference)
        known[options] = estimates(np.stack([metrics[n] for n in METRICS], axis=1), cell, options)
    places = [METRICS.index(name) for name in names]
    return Estimate(*(values[places] for values in known[options]))


def baseline(cells: Iterable[RunCell]) -> RunCell | None:
    """Return the tabular baseline among the cells of a task, or None."""
    return next((cell for cell in cells if cell.definition["kind"] == TABULAR), None)


def number(value: float, digits: int = 2) -> str:
    """Return a number for reading, without a minus before zero."""
    if math.isnan(value):
        return "no value"
    text = f"{value:.{digits}f}"
    return text.replace("-", "−") if float(text) else text.lstrip("-")


def with_interval(found: Estimate, index: int = 0, digits: int = 2) -> str:
    """Return a mean and its interval for reading."""
    mean = number(float(found.mean[index]), digits)
    low, high = float(found.low[index]), float(found.high[index])
    if math.isnan(low):
        return mean
    return f"{mean} ({number(low, digits)} to {number(high, digits)})"


INTERVAL_WORDS = {
    "normal": "95 % intervals over episodes (1.96 standard errors)",
    "t": "95 % intervals over episodes (Student's t)",
    "bca": "95 % intervals over episodes (BCa bootstrap)",
}
