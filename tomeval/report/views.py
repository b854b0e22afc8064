"""What ``tomeval table`` shows of a table: which columns, in which order, pivoted or not."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from tomeval.core.errors import TomevalError
from tomeval.report.pivot import (
    INTERVAL,
    SETTINGS,
    SIDES,
    Layout,
    Player,
    laid_out,
    mean_ranks,
    means_of,
    pivot_of,
)
from tomeval.report.rows import Row, Rows, grid_of, is_number
from tomeval.report.tables import Grid
from tomeval.runs.columns import is_attainable, is_interval
from tomeval.runs.measures import Measure
from tomeval.runs.results import Run
from tomeval.runs.selection import choose_columns, choose_measures, split

AS_IT_IS = "none"
"""Asks for no other order, and for a row per cell."""


BEST_OF = "best"
"""The column that names which of several players a row is of, see `tomeval.runs.best_of`."""


class Asked(NamedTuple):
    """What a reader asks for.

    Attributes
    ----------
    metrics : tuple of str
        Measures, with the columns that tell rows apart.
    columns : tuple of str
        These columns alone.
    sort : str
        A column; with ``-`` in front the other way round; ``none``: as the experiment has them.
    pivot : str
        Columns that go across, separated by commas; ``none``: a row per cell. Default: the columns
        of the task, if that reads well.
    whole : bool
        Everything.
    """

    metrics: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    sort: str = ""
    pivot: str = ""
    whole: bool = False


def chosen_rows(rows: Rows, measures: Mapping[str, Measure], asked: Asked) -> Rows:
    """Return rows with the columns asked for, in their order; all if nothing is asked for."""
    if not rows:
        return rows
    known = [name for name in rows[0] if not is_interval(name)]
    among = {name: measures[name] for name in known if name in measures}
    rows = sorted_rows(rows, asked.sort, among, ()) if asked.sort else rows
    if asked.columns:
        names = [*choose_columns(known, among, asked.columns)]
        names += [name for name in choose_measures(among, asked.metrics) if name not in names]
    elif asked.metrics:
        names = [name for name in known if name not in among and not is_attainable(name)]
        names += choose_measures(among, asked.metrics)
    else:
        return rows
    kept = [key for name in names for key in rows[0] if key == name or _interval_of(key, name)]
    return [{key: row[key] for key in kept} for row in rows]


def _interval_of(key: str, name: str) -> bool:
    """Tell whether a column belongs to the interval of another."""
    return is_interval(key) and key.startswith(name) and key[len(name) :].startswith("_ci95")


def sorted_rows(
    rows: Rows, sort: str, measures: Mapping[str, Measure], task: Sequence[str]
) -> list[Row]:
    """Return rows in another order.

    By a measure they are sorted within their task, the better side first and those without a value
    last; by any other column as a whole.

    Raises
    ------
    TomevalError
        No such column.
    """
    rows = list(rows)
    if sort == AS_IT_IS or not rows:
        return rows
    known = [name for name in rows[0] if not is_interval(name)]
    (name,) = choose_columns(known, measures, [sort.removeprefix("-")])
    turn = -1 if sort.startswith("-") else 1
    side = -(measures[name].better or -1) if name in measures else 1

    def key(row: Row) -> tuple[bool, Any]:
        value = row[name]
        if isinstance(value, int | float):
            return (not is_number(value), turn * side * value if is_number(value) else 0)
        return (value in ("", None), str(value))

    numbers = all(isinstance(row[name], int | float) for row in rows)
    found = sorted(rows, key=key, reverse=turn < 0 and not numbers)
    if name not in measures:
        return found
    tasks = list(dict.fromkeys(tuple(row.get(part) for part in task) for row in rows))
    places = {place: n for n, place in enumerate(tasks)}
    return sorted(found, key=lambda row: places[tuple(row.get(part) for part in task)])


class View(NamedTuple):
    """The tables to print below each other, their measures, and how many with values are left."""

    grids: list[Grid]
    shown: list[str]
    left_out: int = 0


def needed(run: Run, asked: Asked, *, data: bool) -> list[str] | None:
    """Return the measures that a table of cells is made of; None: all.

    Parameters
    ----------
    data : bool
        Whether the table is for programs, which get all measures unless some are asked for.

    Raises
    ------
    TomevalError
        An unknown measure is asked for.
    """
    if asked.whole or asked.columns or (data and not asked.metrics):
        return None
    names = choose_measures(run.measures, asked.metrics)
    bare = asked.sort.removeprefix("-")
    plain = [AS_IT_IS, *(name for cell in run.cells[:1] for name in cell.columns)]
    if bare and bare not in plain:
        try:
            names += choose_measures(run.measures, [bare])
        except TomevalError:  # another column, or none: all of them say which
            return None
    return names if data else [*names, *(run.headline or list(run.measures)[:1])]


def cells_view(run: Run, rows: Rows, asked: Asked, words: Callable[[str], str] = str) -> View:
    """Return what to show of a run's table of cells, see `Run.rows`, which has what is `needed`.

    One measure is a table of players and tasks, if that reads well: the domain's functional one
    unless others are asked for. Several of them, or the domain's headline where the functional one
    has no value or the pivot does not read well, are a row per cell.
    """
    domain = run.domain
    measures = {name: run.measures[name] for name in run.measures if name in rows[0]}
    valued = {name for name in measures if any(is_number(row[name]) for row in rows)}
    task = (*domain.compare.task, "seed")

    def by_row(ordered: Rows, asked: Asked) -> Grid:
        chosen = chosen_rows(ordered, measures, asked._replace(sort=""))
        return grid_of(chosen, measures, task, domain.show.aside, words=words)

    if asked.whole or asked.columns:
        grid = by_row(sorted_rows(rows, asked.sort or AS_IT_IS, measures, task), asked)
        return View([grid], list(measures))
    headline = [name for name in run.headline if name in measures] or list(measures)[:1]
    names = choose_measures(measures, asked.metrics)
    one = names if names else [name for name in domain.show.headline[:1] if name in headline]
    layout = _layout(run, rows, asked)
    wanted = asked.pivot not in ("", AS_IT_IS)
    if wanted and layout is None:
        raise TomevalError(f"--pivot {asked.pivot}: several cells would stand in one place")
    plain = asked.pivot == AS_IT_IS or BEST_OF in rows[0]
    if layout and (wanted or (not plain and len(one) == 1 and layout.reads_well)):
        shown = one or headline[:1]
        grids = [
            _pivoted(run, _with_kinds(run, rows, [name]), layout, name, asked, words)
            for name in shown
        ]
    else:
        shown = names or headline
        rows = _with_kinds(run, rows, shown)
        ordered = sorted_rows(rows, asked.sort or shown[0], measures, task)
        grids = [by_row(ordered, Asked(metrics=tuple(shown)))]
    return View(grids, shown, len(valued - set(shown)))


def further(run: Run, rows: Rows) -> int:
    """Return how many measures have values and no column; counting them may read all cells."""
    others = [name for name in run.measures if name not in rows[0]]
    return sum(
        any(is_number(float(cell.estimate([name]).mean[0])) for cell in run.cells)
        for name in others
    )


def _with_kinds(run: Run, rows: Rows, names: Sequence[str]) -> Rows:
    """Return rows that name Wilson's interval if all shown measures are shares, which have it."""
    if not all(cell.totals(name).share for cell in run.cells for name in names):
        return rows
    return [{**row, INTERVAL: row[INTERVAL] and "Wilson"} for row in rows]


def _layout(run: Run, rows: Rows, asked: Asked) -> Layout | None:
    """Return how the cells stand as a pivot."""
    cell, domain = run.cells[0], run.domain
    keys = [name for name in rows[0] if name in cell.columns or name in SETTINGS]
    if asked.pivot in ("", AS_IT_IS):
        across = [
            name
            for name in domain.compare.task_of(cell, domain.compare.by[0])
            if name in cell.columns
        ]
    else:
        across = choose_columns(keys, {}, split(asked.pivot))
    return laid_out(rows, keys, across)


def _pivoted(
    run: Run,
    rows: Rows,
    layout: Layout,
    name: str,
    asked: Asked,
    words: Callable[[str], str],
) -> Grid:
    """Return one measure of a run as a table of players and tasks, sorted."""
    measure, custom = run.measures[name], asked.pivot != ""
    scales = {(cell.payoff_range, cell.payoff_size) for cell in run.cells}
    alike = measure.unit == "%" or (
        measure.in_payoffs and len(scales) == 1 and (None, None) not in scales
    )
    means = means_of(layout, measure) if alike and not custom else {}
    sort = asked.sort or (AS_IT_IS if custom else "")
    order, how = _order(run, layout, measure, means, sort)
    layout = layout._replace(players=order)
    grid = pivot_of(rows, layout, measure, run.domain.compare.task, means, words)
    about = [f"{measure.heading}, {SIDES[measure.better]}", *how]
    return replace(grid, above=[*about, *grid.above])


def _order(
    run: Run,
    layout: Layout,
    measure: Measure,
    means: Mapping[Player, float],
    sort: str,
) -> tuple[list[Player], list[str]]:
    """Return the players in the order asked for, and how they are sorted, in words."""
    bare, turn = sort.removeprefix("-"), -1 if sort.startswith("-") else 1
    if bare == AS_IT_IS or (not sort and measure.better == 0):
        return layout.players, []
    if bare:
        (name,) = choose_columns([*layout.down, *run.measures], run.measures, [bare])
        if name in layout.down:
            place = layout.down.index(name)
            found = sorted(layout.players, key=lambda p: p[place], reverse=turn < 0)
            return found, []
        by = run.measures[name]
    else:
        by = measure
    if by is measure and means:
        keys = {player: -(measure.better or -1) * value for player, value in means.items()}
        how = ["sorted by mean"]
    else:
        keys = mean_ranks(layout, by, run.domain.compare.task)
        how = ["sorted by mean rank" + ("" if by is measure else f" in {by.heading}")]
    return sorted(layout.players, key=lambda player: turn * keys[player]), how
