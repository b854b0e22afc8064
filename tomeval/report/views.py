"""What ``tomeval table`` shows of a run: players down and tasks across, or a row per cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from tomeval.core.errors import TomevalError
from tomeval.report.pivot import Words, answered, pivot_of, pivoted
from tomeval.report.rows import INTERVAL, Rows, grid_of, repeats, shared_words, sorted_rows
from tomeval.report.tables import Grid
from tomeval.runs import notes as said
from tomeval.runs import tallies
from tomeval.runs.analyses import lacking
from tomeval.runs.columns import ANSWER, OF_CELLS, filled, is_attainable, is_interval
from tomeval.runs.measures import SCORES, Measure
from tomeval.runs.results import STOPPED, Run, joined, joined_rows
from tomeval.runs.selection import choose_measures
from tomeval.statistics import AUTO

MOST_ROWS = 48
"""Cells of a run whose first screen has a row for each."""


class Asked(NamedTuple):
    """What a reader asks for.

    Attributes
    ----------
    metrics : tuple of str
        Measures, with the columns that tell rows apart.
    whole : bool
        Everything.
    interval, reference
        As for `Run.rows`.
    published : bool
        The measures, names and order of published tables, see `Domain.published`.
    against : path, optional
        Published results or facts to show beside the run's: a CSV, or a shipped one by name.
    as_model : str, optional
        With `against`: the published model that stands beside every model of the run.
    verdict : bool
        Whether the first screen may be `Domain.verdict`; tables for papers have one measure.
    """

    metrics: tuple[str, ...] = ()
    whole: bool = False
    interval: str = AUTO
    reference: str | None = None
    published: bool = False
    against: str | Path | None = None
    as_model: str | None = None
    verdict: bool = True

    @property
    def is_plain(self) -> bool:
        """Whether nothing is asked for that the first screen does not show."""
        chosen = self.metrics or self.whole or self.published
        return not chosen and self.against is None


class View(NamedTuple):
    """The tables to print below each other, their measures, and notes on them."""

    grids: list[Grid]
    shown: list[str]
    notes: list[str]


def rows_of(runs: Sequence[Run], asked: Asked, *, data: bool) -> tuple[Rows, Asked, list[str]]:
    """Return the rows of the table of cells of one or several runs, and notes on them.

    What is `asked` for is returned with what it leaves open: of published tables the measures and
    the intervals, mean ± 1.96 sd/√n. `data`: for programs, which get all measures.

    Raises
    ------
    TomevalError
        What is asked for cannot be had together, or not of these runs.
    """
    run = joined(runs)
    _check(runs, asked)
    tables: Any = import_module(run.domain.published) if run.domain.published else None
    if asked.against is not None:
        if not hasattr(tables, "beside"):
            raise TomevalError(f"--against: there are no published numbers of {run.domain.name}")
        how = asked.against, asked.as_model, asked.interval, asked.reference
        rows, notes = tables.beside(run, *how)
        return rows, asked, notes
    if asked.published:
        if not hasattr(tables, "as_published"):
            raise TomevalError(f"--published: {run.domain.name} has no published tables")
        interval = "normal" if asked.interval == AUTO else asked.interval
        rows = joined_rows(runs, None, interval, asked.reference)
        rows, measures, notes = tables.as_published(run, rows)
        metrics = asked.metrics or tuple(measures)
        return rows, asked._replace(metrics=metrics, interval=interval), notes
    names = _needed(run, asked, data=data)
    return joined_rows(runs, names, asked.interval, asked.reference), asked, []


def _check(runs: Sequence[Run], asked: Asked) -> None:
    """Raise if what is asked for cannot be had together."""
    beside = asked.against is not None
    if asked.whole and asked.metrics:
        raise TomevalError("--all shows everything: leave out --metric")
    if asked.published and (asked.whole or beside):
        raise TomevalError("--published has columns of its own: leave out --all and --against")
    if beside and len(runs) > 1:
        raise TomevalError("--against has a row per cell of one run")
    if asked.as_model is not None and not beside:
        raise TomevalError("--as-model needs --against")


def _needed(run: Run, asked: Asked, *, data: bool) -> list[str] | None:
    """Return the measures that a table of cells is made of; None: all.

    Programs get all unless some are asked for; an unknown one is a `TomevalError`.
    """
    if asked.whole or (data and not asked.metrics):
        return None
    names = choose_measures(run.measures, asked.metrics)
    return names if data else [*names, *(run.headline or list(run.measures)[:1])]


def chosen_rows(rows: Rows, measures: Mapping[str, Measure], asked: Asked) -> Rows:
    """Return rows with the measures asked for, in their order; all if nothing is asked for."""
    if not rows:
        return rows
    known = [name for name in rows[0] if not is_interval(name)]
    among = {name: measures[name] for name in known if name in measures}
    if not asked.metrics:
        return rows
    if lacks := [n for n in choose_measures(measures, asked.metrics) if n not in among]:
        raise TomevalError(
            f"--metric: this table has no column of {measures[lacks[0]].heading}; "
            f"its columns: {', '.join(known)}"
        )
    names = [name for name in known if name not in among and not is_attainable(name)]
    names = list(dict.fromkeys([*names, *choose_measures(among, asked.metrics)]))
    ends = {n: [k for k in rows[0] if is_interval(k) and k.startswith(f"{n}_ci95")] for n in names}
    return [{key: row[key] for name in names for key in (name, *ends[name])} for row in rows]


def cells_notes(
    run: Run, shown: Sequence[str], interval: str = AUTO, *, data: bool = False
) -> list[str]:
    """Return what must be known before the numbers of a table of cells.

    `shown` are the measures of the table for reading, empty if it is another one, or `data` for
    programs.
    """
    of_run = (said.random_notes, said.void_notes, said.stop_notes, said.copies_notes)
    more = (said.enforced_notes, said.unanswered_notes)
    notes = [note for make in (*of_run, *more) for note in make(run)]
    notes += said.looked_notes(run, interval)
    mine = [name for name in shown or run.measures if name in run.measures and not data]
    if not data:
        notes += said.interval_notes(run, mine if shown else None, interval)
    return [*notes, *run.domain.table_notes(run, mine), *lacking(run.domain, run.store)]


def table_grid(
    run: Run, rows: Rows, asked: Asked, words: Words = str, brief: Sequence[str] = ()
) -> Grid | None:
    """Return a table other than that of cells; `brief` as in `tomeval.runs.columns.Table`."""
    if not rows:
        return None
    if brief and not asked.whole and not asked.metrics:
        names = list(rows[0])
        shown = {*names[: names.index(brief[0])], *brief}
        rows = [
            {name: row[name] for name in names if name.partition("_ci95")[0] in shown}
            for row in rows
        ]
    return grid_of(chosen_rows(rows, run.measures, asked), run.measures, words=words)


def cells_view(runs: Sequence[Run], asked: Asked, words: Words = str) -> View:
    """Return what to show of the cells of one or several runs, for reading.

    If nothing is asked for, the domain's verdict (`Domain.verdict`), if the runs tell it: a row per
    cell, of more than `MOST_ROWS` cells a row per player. Else one measure is a table of players
    and tasks, if that reads well; several are a row per cell. Above stands the condition that a run
    stopped by.
    """
    _check(runs, asked)
    run = joined(runs)
    view, own = _verdict(runs, run, asked, words), list[str]()
    if view is None:
        rows, asked, own = rows_of(runs, asked, data=False)
        if asked.against is not None:
            grid = table_grid(run, rows, asked, words)
            view = View([grid] if grid else [], [], [])
        else:
            view = measures_view(run, rows, asked, words)
    until = [words(said.stopped_when(run))] if run.until else []
    grids = [replace(grid, above=[*grid.above, *until]) for grid in view.grids]
    notes = [note for one in runs for note in cells_notes(one, view.shown, asked.interval)]
    return View(grids, view.shown, list(dict.fromkeys([*own, *view.notes, *notes])))


def measures_view(run: Run, rows: Rows, asked: Asked, words: Words) -> View:
    """Return the tables of the measures asked for, or of the domain's headline."""
    if not rows:
        return View([], [], [])
    if run.until and not asked.whole:
        rows = [{name: row[name] for name in row if name != STOPPED} for row in rows]
    measures = {name: run.measures[name] for name in run.measures if name in rows[0]}
    task = (*run.domain.task, "seed")

    if asked.whole:
        grid = grid_of(rows, measures, [*OF_CELLS.values()], words)
        return View([grid], list(measures), [])
    headline = [name for name in run.headline if name in measures] or list(measures)[:1]
    names = choose_measures(measures, asked.metrics)
    one = names or [name for name in run.domain.headline[:1] if name in headline]
    pivot = pivot_of(run, rows)
    if pivot and len(one) == 1 and pivot.reads_well:
        rows = _with_kinds(run, rows, one)
        grid = pivoted(run, rows, pivot, one[0], words, as_is=asked.published)
        return View([grid], one, [])
    shown = names or headline
    rows = _with_kinds(run, rows, shown)
    if not asked.published:
        rows = sorted_rows(rows, measures[shown[0]], task)
    chosen = chosen_rows(rows, measures, Asked(metrics=tuple(shown)))
    return View([grid_of(chosen, measures, words=words)], shown, [])


def _verdict(runs: Sequence[Run], run: Run, asked: Asked, words: Words) -> View | None:
    """Return the first screen of runs that tell whether their players use what they know."""
    verdict = run.domain.verdict
    if not (asked.is_plain and asked.verdict):
        return None
    names = [one.folder.name for one in runs for _ in one.cells] if len(runs) > 1 else []
    if len(run.cells) > MOST_ROWS and run.scores:  # only answers are shown
        answers = (verdict.answer(cell, asked.interval).partition(":")[0] for cell in run.cells)
        rows = [
            {**cell.columns, ANSWER: answer}
            for cell, answer in zip(run.cells, answers, strict=True)
        ]
        told = _of_runs(rows, names)
        pivot = pivot_of(run, told)
        if pivot is None or len(pivot.tasks) < 2:
            return None
        grid = answered(told, pivot, verdict.short, words)
        grid = replace(grid, above=[*grid.above, *map(words, _rates(run))])
        return View([grid], [*SCORES], [verdict.rule])
    told = _of_runs(verdict.rows(run, asked.interval, asked.reference), names)
    if not told:
        return None
    shown = [name for name in told[0] if name in run.measures]
    ordered = sorted_rows(told, run.measures[shown[0]], (*run.domain.task, "seed"))
    grid = grid_of(ordered, run.measures, words=words, spare=verdict.spare)
    grid = replace(grid, above=[*grid.above, *map(words, _rates(run))], more="--all")
    return View([grid], shown, [verdict.rule])


def _rates(run: Run) -> list[str]:
    """Return the rates of answers that are not 0 in all cells, in words."""
    rates = [tallies.rates_of(cell.store, [cell.number]) for cell in run.cells]
    told = [name for name in rates[0] if any(row[name] > 0 for row in rates)]
    columns = [cell.columns for cell in run.cells]
    names = [name for name in columns[0] if len({row.get(name) for row in columns}) > 1]
    names = [name for name in names if name not in repeats(columns)]
    rows = [
        {name: cell.columns.get(name, "") for name in names} | {name: row[name] for name in told}
        for cell, row in zip(run.cells, rates, strict=True)
    ]
    return shared_words(rows, names)


def _of_runs(rows: Rows, names: Sequence[str]) -> Rows:
    """Return rows that begin with the name of their run, if there are several."""
    if not names:
        return rows
    return filled([{"run": name, **row} for name, row in zip(names, rows, strict=True)])


def _with_kinds(run: Run, rows: Rows, names: Sequence[str]) -> Rows:
    """Return rows that name Wilson's interval if all shown measures are shares, which have it."""
    if not all(cell.totals(name).share for cell in run.cells for name in names):
        return rows
    return [{**row, INTERVAL: row[INTERVAL] and "Wilson"} for row in rows]
