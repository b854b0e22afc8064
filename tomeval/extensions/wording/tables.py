"""Sensitivity to wording in tables: the range of every measure over every option that is swept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tomeval.comparing.sides import Runs, Side, metric_names, opened, read_sides
from tomeval.core.errors import TomevalError
from tomeval.core.extensions import Compared
from tomeval.core.once import once_each
from tomeval.extensions.wording.grids import Cells, Grid, grid_of, range_of, swept
from tomeval.runs.capabilities import Worded
from tomeval.runs.columns import Table, fixed, interval_columns
from tomeval.runs.results import Run

NOTHING_SWEPT = (
    "no language model's player was asked in two wordings here: sweep labels, or options such as "
    "prompts, option_order or goal"
)
ABOVE = (
    "range: the largest less the smallest mean over the values of an option, of which least and "
    "most are the ends; any wording: over all combinations. 95 % intervals hold all pairs of "
    "values at once (Bonferroni)"
)

Rows = list[dict[str, Any]]


def sensitivity(
    runs: Runs, metrics: Sequence[str] | None = None, reference: str | None = None
) -> tuple[Rows, list[str]]:
    """Return a row per model, task, measure and source, and notes on what was left out.

    Sources are the player, every option of wording that is swept, and all wording together.
    Episodes are common to all cells of a task. `runs` and `reference` as for
    `tomeval.comparing.compare`; `metrics`: default the headline of the runs' domain.

    Raises
    ------
    TomevalError
        The wording varies nowhere.
    """
    rows: Rows = []
    notes: list[str] = []
    with opened(runs) as listed:
        domain = listed[0].domain
        names = metric_names(listed, metrics if metrics is not None else listed[0].headline)
        groups: dict[tuple[Any, ...], list[tuple[Worded, Side]]] = {}
        for side in read_sides(listed, None, names, reference):
            said = domain.compare.worded(side.cell)
            if said is not None:
                without = (domain.compare.by[0], *said.options)
                task = {k: v for k, v in side.task.items() if k not in without}
                groups.setdefault((said.model, *task.items()), []).append((said, side))
        several = {key: mine for key, mine in groups.items() if swept([said for said, _ in mine])}
        if not several:
            raise TomevalError(NOTHING_SWEPT)
        for (model, *task_items), mine in several.items():
            where = {"model": model, **dict(task_items)}
            named = ", ".join(filter(None, (model, domain.compare.words(dict(task_items)))))
            options, cells = _cells(mine)
            for column, metric in enumerate(names):
                heading = domain.measures[metric].heading
                try:
                    grid = grid_of(cells, options, column)
                except TomevalError as error:
                    notes.append(f"{named}, {heading}: {error}")
                    continue
                rows += [
                    {**where, "measure": heading, **row}
                    for row in _rows(grid, domain.compare.by[0])
                ]
    return rows, notes


def _cells(mine: Sequence[tuple[Worded, Side]]) -> tuple[dict[str, tuple[str, ...]], Cells]:
    """Return the options that are swept for one model in one task, and what was played."""
    options = swept([said for said, _ in mine])
    short = _short_names(list(dict.fromkeys(said.player for said, _ in mine)))
    cells: dict[tuple[str, tuple[str, ...]], list[Side]] = {}
    for said, side in mine:
        wording = tuple(said.options[name] for name in options)
        cells.setdefault((short[said.player], wording), []).append(side)
    return options, cells


def _rows(grid: Grid, player: str) -> Rows:
    """Return a row per source; the players are called `player`."""
    values = grid.values.reshape(-1, grid.values.shape[-1])
    rows = []
    for source, (levels, groups) in grid.sources.items():
        spread = range_of(values, groups, grid.exact)
        ends = (levels[spread.smallest], levels[spread.largest]) if spread.value else ("", "")
        rows.append(
            {
                "source": player if source == "player" else source,
                "levels": len(levels),
                **interval_columns("range", *spread[:3]),
                "least": ends[0],
                "most": ends[1],
            }
        )
    return rows


def _short_names(players: Sequence[str]) -> dict[str, str]:
    """Return names without options where they tell players apart all the same."""
    short = {player: player.partition("(")[0] for player in players}
    several = [name for name in short.values() if list(short.values()).count(name) > 1]
    return {player: player if name in several else name for player, name in short.items()}


def _compared(runs: Sequence[Run], options: dict[str, Any]) -> tuple[Rows, list[str], list[str]]:
    rows, notes = sensitivity(runs, options["metrics"] or None, options["reference"])
    return rows, [ABOVE], notes


@once_each
def _of_run(run: Run) -> tuple[Rows, list[str]]:
    try:
        return sensitivity(run)
    except TomevalError as error:
        return [], [str(error)]


SENSITIVITY = Compared(_compared, ("--metric",))
TABLES: Mapping[str, Table] = {
    "sensitivity": Table(
        "sensitivity to wording: range of the measures by option of wording and strategy",
        fixed(lambda run: _of_run(run)[0]),
        notes=lambda run: [ABOVE, *_of_run(run)[1]],
        needs='a sweep over options of wording: docs/measures/wording.md, "Sensitivity to wording"',
    )
}
