"""The tasks of a run's cells, in groups that fit a figure each."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from tomeval.plots.drawing import Options
from tomeval.plots.style import fold, lines_of, new_figure
from tomeval.runs.cell import RunCell

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_PANELS = 6
"""Panels on one page; further ones go on the next."""
MOST_ABREAST = 3
"""Panels beside each other."""

T = TypeVar("T")
Columns = tuple[tuple[str, str | int], ...]


class Task(NamedTuple):
    """What compared cells share: those of their columns that belong to the task."""

    columns: Columns
    words: str

    def __str__(self) -> str:
        """Return the task in words."""
        return self.words

    @property
    def stem(self) -> str:
        """The task inside the name of a file."""
        return "_".join(str(value) for _, value in self.columns)

    def part(self, names: Collection[str]) -> Columns:
        """Return some of the columns."""
        return tuple(column for column in self.columns if column[0] in names)

    def without(self, names: Collection[str]) -> Columns:
        """Return the other columns."""
        return tuple(column for column in self.columns if column[0] not in names)


@dataclass(frozen=True)
class Family:
    """Tasks that share a figure, one panel each, such as all games with the same partners."""

    title: str
    stem: str
    panels: tuple[tuple[str, tuple[RunCell, ...]], ...]

    @property
    def subjects(self) -> list[str]:
        """Titles of the subjects, in the run's order."""
        return list(dict.fromkeys(cell.title for _, cells in self.panels for cell in cells))


def task_of(cell: RunCell) -> Task:
    """Return a cell's task, apart from who is measured."""
    columns = tuple(cell.shown_task.items())
    return Task(columns, _words(cell, columns))


def tasks(cells: Iterable[RunCell]) -> dict[Task, list[RunCell]]:
    """Return the cells with complete episodes by task."""
    cells_of: dict[Task, list[RunCell]] = {}
    for cell in cells:
        if len(cell.episodes):
            cells_of.setdefault(task_of(cell), []).append(cell)
    return cells_of


def families(cells: Iterable[RunCell]) -> list[Family]:
    """Return the run's tasks in groups that fit a figure each.

    The first column of `Domain.panel` tells the panels of a figure apart; tasks that differ in
    other columns are groups of their own. The rest of `Domain.panel`, such as label sets, makes
    groups only if one panel has several values of it.
    """
    cells_of = tasks(cells)
    result = []
    for (apart, rest), members in _groups(cells_of).items():
        cell = cells_of[members[0]][0]
        first, more = _panel(cell)
        variants = {task.part(more) for task in members}
        alone = len(variants) == 1
        stem = "_".join(str(value) for _, value in (*apart, *rest) if value != "")
        for page, part in enumerate(pages(members, MOST_PANELS)):
            number = f", part {page + 1}" if len(members) > MOST_PANELS else ""
            names = dict.fromkeys(str(value) for task in part for _, value in task.part(first))
            head = [(name, listed([*names])) for name in first]
            title = _words(cell, (*head, *(members[0].part(more) if alone else ()), *rest))
            shown = first if alone else (*first, *more)
            panels = ((_words(cell, task.part(shown)), tuple(cells_of[task])) for task in part)
            result.append(Family(title + number, stem or cell.domain.name, tuple(panels)))
    return result


def sheets(cells: Iterable[RunCell], most_rows: float = math.inf) -> list[Family]:
    """Return all tasks as one group if they fit a figure, else `families`.

    They fit if there are at most `MOST_PANELS`, with at most `most_rows` rows below each other, a
    row for every subject in every line of panels. A group that is alone has an empty stem.
    """
    groups = families(cells)
    cells_of = tasks(cell for group in groups for _, members in group.panels for cell in members)
    subjects = {cell.title for members in cells_of.values() for cell in members}
    rows = -(-len(cells_of) // MOST_ABREAST) * len(subjects)
    if not groups:
        return []
    if len(groups) == 1:
        return [replace(groups[0], stem="")]
    if len(cells_of) > MOST_PANELS or rows > most_rows:
        return groups
    cell = next(iter(cells_of.values()))[0]
    order = [members for group in groups for _, members in group.panels]
    columns = {name for task in cells_of for name, _ in task.columns}
    common = {c for c in columns if len({dict(task.columns).get(c) for task in cells_of}) == 1}
    told = cell.domain.panel[:1] or tuple(task_of(cell).columns[0][:1])
    panels = []
    for members in order:
        own = task_of(members[0])
        panels.append((_words(cell, own.without(common - {*told})), members))
    return [Family(all_words([cells[0] for cells in order]), "", tuple(panels))]


def listed(words: Sequence[str]) -> str:
    """Return words as a list in a sentence, of more than four the first two.

    Examples
    --------
    >>> listed(["RPS", "IBS", "IPD"]), listed(["RPS"]), listed(["a", "b", "c", "d", "e"])
    ('RPS, IBS and IPD', 'RPS', 'a, b and 3 more')
    """
    words = words if len(words) <= 4 else [*words[:2], f"{len(words) - 2} more"]
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def all_words(cells: Sequence[RunCell]) -> str:
    """Return the tasks of some cells in words, every value of a column once."""
    values: dict[str, dict[str, None]] = {}
    for cell in cells:
        for name, value in task_of(cell).columns:
            if value != "":
                values.setdefault(name, {})[str(value)] = None
    return _words(
        cells[0],
        tuple((name, listed([*values_of_column])) for name, values_of_column in values.items()),
    )


def _groups(found: dict[Task, list[RunCell]]) -> dict[tuple[Columns, Columns], list[Task]]:
    """Return tasks by what sets groups apart: parts of `Domain.panel`, and all other columns."""
    variants: dict[Columns, set[Columns]] = {}
    for task, cells in found.items():
        _, more = _panel(cells[0])
        variants.setdefault(task.without(more), set()).add(task.part(more))
    split = any(len(values) > 1 for values in variants.values())
    groups: dict[tuple[Columns, Columns], list[Task]] = {}
    for task, cells in found.items():
        first, more = _panel(cells[0])
        key = (task.part(more) if split else (), task.without((*first, *more)))
        groups.setdefault(key, []).append(task)
    return groups


def _panel(cell: RunCell) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the column that names panels, and those that are added to it where needed."""
    names = cell.domain.panel or tuple(name for name, _ in task_of(cell).columns[:1])
    return names[:1], names[1:]


def _words(cell: RunCell, columns: Columns) -> str:
    """Return columns of a task in words; a domain whose cells all share one task is its name."""
    return cell.domain.task_words(dict(columns)) or cell.domain.name


def pages(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Return items in parts of at most `size`."""
    for first in range(0, len(items), size):
        yield items[first : first + size]


MOST_ROWS = 40
"""Rows on one page; further ones go on the next."""
MOST_TOGETHER = 26
"""Rows below each other in a picture of tasks that could also have a picture each."""


class Page(NamedTuple):
    """One page of a family: some of its subjects, in all panels."""

    family: Family
    subjects: Sequence[str]
    number: int
    of: int

    @property
    def suffix(self) -> str:
        """What tells this page's file from the others."""
        return f"_{self.number}" if self.of > 1 else ""

    @property
    def words(self) -> str:
        """What tells this page's title from the others."""
        return f", page {self.number} of {self.of}" if self.of > 1 else ""

    def rows(self, cells: Sequence[RunCell]) -> list[tuple[int, RunCell]]:
        """Return the cells of a panel that are on this page, with their rows."""
        row_of = {name: row for row, name in enumerate(self.subjects)}
        return [(row_of[cell.title], cell) for cell in cells if cell.title in row_of]


def family_pages(family: Family) -> list[Page]:
    """Return a family's pages."""
    parts = list(pages(family.subjects, MOST_ROWS))
    return [Page(family, part, index + 1, len(parts)) for index, part in enumerate(parts)]


def row_panels(
    titles: Sequence[str],
    subjects: Sequence[str],
    axis: str,
    options: Options,
    columns: int = MOST_ABREAST,
    row_height: float = 0.145,
    **more: Any,
) -> tuple[Figure, list[Axes]]:
    """Return a figure with a panel per title; the rows of each are the subjects, top to bottom.

    Rows are at 0, 1, ... from the top; every other one has a grey background, which guides the eye.
    `axis` names the horizontal axis of all panels, in lines; `more` goes to `new_figure`.
    """
    from matplotlib.ticker import MaxNLocator

    columns = min(len(titles), columns)
    down = -(-len(titles) // columns)
    names = [fold(name, options.fits(20, 28)) for name in subjects]
    shown = [fold(title, options.fits(42, 90) // columns) for title in titles]
    height = len(names) * (row_height + 0.115 * (lines_of(names) - 1)) + 0.27
    height += 0.12 * lines_of(shown)
    axis = "\n".join(fold(line, options.fits(54, 110)) for line in axis.split("\n"))
    below = 0.08 + 0.12 * lines_of([axis])
    figure, panels = new_figure(
        options.width, down * height + below, down, columns, len(titles), sharey=True, **more
    )
    figure.supxlabel(axis)
    for axes, title in zip(panels, shown, strict=True):
        axes.set_title(title)
        axes.tick_params(axis="x", labelbottom=True)  # also where panels share one scale
        axes.xaxis.set_major_locator(MaxNLocator(options.fits(3, 5), steps=[1, 2, 5, 10]))
        for row in range(0, len(names), 2):
            axes.axhspan(row - 0.5, row + 0.5, color="0.955", lw=0, zorder=0)
        axes.spines["left"].set_visible(False)
        axes.tick_params(axis="y", length=0)
    panels[0].set_yticks(range(len(names)), names)
    panels[0].set_ylim(len(names) - 0.5, -0.5)
    return figure, panels
