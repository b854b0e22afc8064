"""One measure of a run as players down and tasks across, for reading."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from tomeval.core.numbers import MISSING, fixed
from tomeval.report.rows import Row, Rows, best_of_values, digits_for, is_number, repeats, texts
from tomeval.report.tables import Grid
from tomeval.runs.columns import RATES, has_interval, heading
from tomeval.runs.measures import Measure

MOST_TASKS = 8
"""The most tasks that stand beside each other by default."""

INTERVAL = "interval"
"""The column that says of which kind a row's intervals are."""

SIDES = {1: "more is better", -1: "less is better", 0: "neither side is better"}
SETTINGS = ("reference", "seed", "on_invalid", "attempts")
"""Settings in which rows must agree for one of them to be the best."""


Player = tuple[Any, ...]
"""The values of the columns that go down."""

Place = tuple[Player, tuple[Any, ...]]
"""A player and the values of the columns that go across."""


class Layout(NamedTuple):
    """Which columns of a table of cells go down and which across, and where each row stands.

    `at` has the row at (players, tasks), which are the values of the columns down and across.
    """

    down: list[str]
    across: list[str]
    players: list[tuple[Any, ...]]
    tasks: list[tuple[Any, ...]]
    at: dict[Place, Row]

    @property
    def reads_well(self) -> bool:
        """Whether there are players and tasks to compare, not too many tasks, and few gaps."""
        filled = 3 * len(self.at) >= len(self.players) * len(self.tasks)
        return len(self.players) > 1 and 1 < len(self.tasks) <= MOST_TASKS and filled


def laid_out(rows: Rows, keys: Sequence[str], across: Sequence[str]) -> Layout | None:
    """Return how rows stand as a pivot; None if two of them would stand in one place.

    Parameters
    ----------
    keys : sequence of str
        The columns that say what a row is of.
    across : sequence of str
        Those of them that say its task, coarsest first. All others go down, as far as rows differ.
    """
    left_out = repeats(rows)
    vary = [key for key in keys if len({row[key] for row in rows}) > 1 and key not in left_out]
    across = [key for key in across if key in vary]
    down = [key for key in vary if key not in across] or list(keys[:1])
    at: dict[Place, Row] = {}
    for row in rows:
        at[tuple(row[key] for key in down), tuple(row[key] for key in across)] = row
    if len(at) < len(rows):
        return None
    players = list(dict.fromkeys(player for player, _ in at))
    order = [list(dict.fromkeys(row[key] for row in rows)) for key in across]
    tasks = sorted(
        dict.fromkeys(task for _, task in at),
        key=lambda task: [values.index(v) for values, v in zip(order, task, strict=True)],
    )
    return Layout(down, across, players, tasks, at)


def means_of(layout: Layout, measure: Measure) -> dict[Player, float]:
    """Return every player's mean over tasks; none if any player lacks a value in any task."""
    values = {place: row[measure.name] for place, row in layout.at.items()}
    values = {place: float(value) for place, value in values.items() if is_number(value)}
    count = len(layout.tasks)
    if len(values) < len(layout.players) * count or count < 2:
        return {}
    return {
        player: sum(values[player, task] for task in layout.tasks) / count
        for player in layout.players
    }


def mean_ranks(layout: Layout, measure: Measure, task: Sequence[str]) -> dict[Player, float]:
    """Return every player's mean rank in the tasks in which it has a value; the best has 1.

    Players of equal values share the mean of their ranks. Those without any value come last. Of
    measures of which neither side is better, the least has 1. `task` are the columns in which rows
    must agree to be of one task.
    """
    ranks: dict[Player, list[float]] = {player: [] for player in layout.players}
    turn = -(measure.better or -1)
    for places in _by_task(layout, task).values():
        values = {
            place: turn * float(layout.at[place][measure.name])
            for place in places
            if is_number(layout.at[place][measure.name])
        }
        ordered = sorted(values.values())
        for (player, _), value in values.items():
            first, last = bisect_left(ordered, value), bisect_right(ordered, value)
            ranks[player].append((first + 1 + last) / 2)
    return {p: sum(found) / len(found) if found else math.inf for p, found in ranks.items()}


def _by_task(layout: Layout, task: Sequence[str]) -> dict[tuple[Any, ...], list[Place]]:
    """Return the places of each task's rows."""
    found: dict[tuple[Any, ...], list[Place]] = {}
    for place, row in layout.at.items():
        found.setdefault(tuple(row.get(name) for name in (*task, *SETTINGS)), []).append(place)
    return found


def _best(layout: Layout, measure: Measure, task: Sequence[str]) -> set[Place]:
    """Return the places of the best of each task."""
    found: set[Place] = set()
    for places in _by_task(layout, task).values():
        values = {
            n: float(layout.at[place][measure.name])
            for n, place in enumerate(places)
            if is_number(layout.at[place][measure.name])
        }
        found |= {places[n] for n in best_of_values(values, measure.better)}
    return found


def pivot_of(
    rows: Rows,
    layout: Layout,
    measure: Measure,
    task: Sequence[str],
    means: Mapping[Player, float],
    words: Callable[[str], str] = str,
) -> Grid:
    """Return a measure as a table of the layout's players and tasks, in their order.

    All cells have as many decimals, chosen by all intervals together.

    `task` are the columns in which rows must agree for one of them to be the best. `means` is the
    last column, which has no interval; none: there is no such column.
    """
    columns = [
        [layout.at.get((player, task)) for player in layout.players] for task in layout.tasks
    ]
    digits = digits_for(rows, measure.name)
    cells = [_texts(column, measure.name, digits) for column in columns]
    heads = [
        tuple(
            words(str(value)) or f"no {heading(name)}"
            for name, value in zip(layout.across, across, strict=True)
        )
        or (measure.heading,)
        for across in layout.tasks
    ]
    marked = _best(layout, measure, task)
    best = {
        (n, place)
        for place, across in enumerate(layout.tasks)
        for n, player in enumerate(layout.players)
        if (player, across) in marked
    }
    levels = len(heads[0])
    if means:
        cells.append([fixed(means[player], digits) for player in layout.players])
        heads.append((*[""] * (levels - 1), "mean"))
        values = dict(enumerate(means[player] for player in layout.players))
        if len(_by_task(layout, task)) == len(layout.tasks):
            best |= {(n, len(columns)) for n in best_of_values(values, measure.better)}
    shift = len(layout.down)
    lead = [(*[""] * (levels - 1), words(heading(name))) for name in layout.down]
    return Grid(
        above=[*_across(rows, layout), *shared_words(rows, [*layout.down, *layout.across], words)],
        heads=[*lead, *heads],
        body=[
            [*_words(player, words), *(column[n] for column in cells)]
            for n, player in enumerate(layout.players)
        ],
        lead=list(range(shift)),
        best={(n, place + shift) for n, place in best},
    )


def _across(rows: Rows, layout: Layout) -> list[str]:
    """Return what goes across, if values do not say it: if two columns have one in common."""
    values = [{row[name] for row in rows} for name in (*layout.down, *layout.across)]
    if not layout.across or sum(map(len, values)) == len(set().union(*values)):
        return []
    return [f"across: {', '.join(map(heading, layout.across))}"]


def shared_words(rows: Rows, told: Sequence[str], words: Callable[[str], str]) -> list[str]:
    """Return what rows share besides the columns `told`, and the range of what they do not.

    That is episodes and the rates of answers; of a rate that differs the row with most is named.
    """
    said = []
    silent = repeats(rows) & RATES.keys()
    for name, value in rows[0].items():
        if name in silent:
            continue
        values = [row[name] for row in rows]
        known = [v for v in values if is_number(v)]
        if name == "episodes" and len(set(values)) > 1:
            said.append(f"episodes {min(values)} to {max(values)}")
        elif name in RATES and known and len(set(known)) > 1:
            most = max(known)
            row = next(row for row in rows if row[name] == most)
            where = ", ".join(_words([row[key] for key in told if row[key] != ""], words))
            ends = f"{fixed(100 * min(known), 1)} to {fixed(100 * most, 1)}"
            said.append(f"{heading(name)} {ends} (most: {where})")
        elif name in RATES and known:
            said.append(f"{heading(name)} {fixed(100 * known[0], 1)}")
        elif name == INTERVAL and len(set(values)) > 1:
            kinds = sorted({value or "none" for value in values})
            said.append(f"{heading(name)} {' or '.join(kinds)}")
        elif name in told or has_interval(rows[0], name):
            continue
        elif len(set(values)) == 1 and isinstance(value, str | int):
            said += [f"{heading(name)} {words(str(value))}"] if value != "" else []
    return said


def _words(values: Sequence[Any], words: Callable[[str], str]) -> list[str]:
    return [words(str(value)) for value in values]


def _texts(column: Sequence[Row | None], name: str, digits: int) -> list[str]:
    """Return the cells of one task; a dash where a player did not play it."""
    played = iter(texts([row for row in column if row is not None], name, digits))
    return [MISSING if row is None else next(played) for row in column]
