"""The tasks of a run's cells, on pages that are a figure each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from tomeval.runs.cell import RunCell

MOST_PANELS = 6
"""Panels on one page; further ones go on the next."""
MOST_ABREAST = 3
"""Panels beside each other."""
MOST_ROWS = 40
"""Rows of a panel; further ones go on the next page."""
MOST_TOGETHER = 26
"""Rows below each other on a page with several lines of panels."""

T = TypeVar("T")
Columns = tuple[tuple[str, str | int], ...]


def task_of(cell: RunCell) -> Columns:
    """Return what compared cells share: those of a cell's columns that belong to the task."""
    return tuple(cell.shown_task.items())


def tasks(cells: Iterable[RunCell]) -> dict[Columns, list[RunCell]]:
    """Return the cells with complete episodes by task."""
    cells_of: dict[Columns, list[RunCell]] = {}
    for cell in cells:
        if len(cell.episodes):
            cells_of.setdefault(task_of(cell), []).append(cell)
    return cells_of


class Panel(NamedTuple):
    """A panel of a page: its title, and cells with the names of their rows."""

    title: str
    cells: Sequence[tuple[str, RunCell]]


class Page(NamedTuple):
    """Some tasks of a run, a panel each, and some of its players, a row each."""

    panels: Sequence[Panel]
    names: Sequence[str]
    number: int
    of: int

    @property
    def cells(self) -> list[RunCell]:
        """The cells of all panels, those on other pages of the same tasks too."""
        return [cell for panel in self.panels for _, cell in panel.cells]

    @property
    def suffix(self) -> str:
        """What tells this page's file from the others."""
        return f"_{self.number}" if self.of > 1 else ""

    @property
    def title(self) -> str:
        """The tasks in words, and which page this is."""
        page = f", page {self.number} of {self.of}" if self.of > 1 else ""
        return all_words(self.cells) + page

    def rows(self, panel: Panel) -> list[tuple[int, RunCell]]:
        """Return the cells of a panel that are on this page, with their rows."""
        row_of = {name: row for row, name in enumerate(self.names)}
        return [(row_of[name], cell) for name, cell in panel.cells if name in row_of]


def task_pages(cells: Iterable[RunCell]) -> list[Page]:
    """Return a panel per task with a row per player, on as many pages as they need.

    Tasks that differ in their first column alone stand beside each other. Where
    every task has a single player, as where only its partners vary, the tasks are rows of one
    panel.
    """
    cells_of = tasks(cells)
    if not cells_of:
        return []
    first = next(iter(cells_of.values()))[0]
    apart = tuple(first.shown_task)[:1]
    shared = set.intersection(*map(set, cells_of))
    order: dict[Columns, list[tuple[Columns, list[RunCell]]]] = {}
    for task, members in cells_of.items():
        rest = tuple(column for column in task if column[0] not in apart)
        order.setdefault(rest, []).append((task, members))
    panels = []
    for task, members in (one for several in order.values() for one in several):
        own = tuple(c for c in task if c[0] in apart or c not in shared)
        panels.append(Panel(_words(first, own), [(cell.title, cell) for cell in members]))
    if len(panels) > 1 and all(len(panel.cells) == 1 for panel in panels):
        title = listed(list(dict.fromkeys(panel.cells[0][0] for panel in panels)))
        panels = [Panel(title, [(panel.title, panel.cells[0][1]) for panel in panels])]
    names = list(dict.fromkeys(name for panel in panels for name, _ in panel.cells))
    most = MOST_ABREAST * max(1, min(MOST_PANELS // MOST_ABREAST, MOST_TOGETHER // len(names)))
    parts = [(some, rows) for some in pages(panels, most) for rows in pages(names, MOST_ROWS)]
    return [Page(*part, number, len(parts)) for number, part in enumerate(parts, 1)]


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
        for name, value in task_of(cell):
            if value != "":
                values.setdefault(name, {})[str(value)] = None
    return _words(
        cells[0],
        tuple((name, listed([*values_of_column])) for name, values_of_column in values.items()),
    )


def _words(cell: RunCell, columns: Columns) -> str:
    """Return columns of a task in words; a domain whose cells all share one task is its name."""
    return cell.domain.task_words(dict(columns)) or cell.domain.name


def pages(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Return items in parts of at most `size`."""
    for first in range(0, len(items), size):
        yield items[first : first + size]
