"""One measure of a run as players down and tasks across, for reading."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tomeval.core.numbers import MISSING, fixed
from tomeval.report.rows import (
    Row,
    Rows,
    digits_for,
    is_number,
    repeats,
    shared_words,
    texts,
)
from tomeval.report.tables import Grid
from tomeval.runs.columns import ANSWER, heading
from tomeval.runs.results import Run

MOST_TASKS = 8
"""The most tasks that stand beside each other by default."""

SIDES = {1: "more is better", -1: "less is better", 0: "neither side is better"}
SETTINGS = ("reference", "seed", "on_invalid", "attempts")
"""Settings that tell players apart where rows differ in them."""

Words = Callable[[str], str]
Key = tuple[Any, ...]


@dataclass(frozen=True)
class Pivot:
    """Which columns go down and which across, and the number of the row at each (player, task)."""

    down: list[str]
    across: list[str]
    players: list[Key]
    tasks: list[Key]
    at: dict[tuple[Key, Key], int]

    @property
    def reads_well(self) -> bool:
        """Whether there are players and tasks to compare, not too many tasks, and few gaps."""
        filled = 3 * len(self.at) >= len(self.players) * len(self.tasks)
        return len(self.players) > 1 and 1 < len(self.tasks) <= MOST_TASKS and filled

    def means(self, rows: Rows, name: str) -> dict[Key, float]:
        """Return every player's mean over tasks; none if any player lacks a value in any task."""
        count, values = len(self.tasks), [row[name] for row in rows]
        if count < 2 or len(rows) < len(self.players) * count or not all(map(is_number, values)):
            return {}
        return {p: sum(values[self.at[p, t]] for t in self.tasks) / count for p in self.players}

    def grid(
        self, words: Words, above: list[str], heads: Sequence[str], cells: Sequence[Sequence[str]]
    ) -> Grid:
        """Return a row per player, its names and then its cells."""
        named = [[words(str(part)) for part in player] for player in self.players]
        return Grid(
            above=above,
            heads=[*(words(heading(key)) for key in self.down), *heads],
            body=[[*names, *row] for names, row in zip(named, cells, strict=True)],
            lead=list(range(len(self.down))),
        )


def pivot_of(run: Run, rows: Rows) -> Pivot | None:
    """Return players down and tasks across; None if two cells would stand in one place."""
    cell, domain, left_out = run.cells[0], run.domain, repeats(rows)
    known = {*SETTINGS, *(name for one in run.cells for name in one.columns)}
    keys = [name for name in rows[0] if name in known]
    vary = [key for key in keys if len({row[key] for row in rows}) > 1 and key not in left_out]
    across = [name for name in cell.task_without(domain.by[0]) if name in vary]
    down = [key for key in vary if key not in across] or keys[:1]

    def key(row: Row, names: Sequence[str]) -> Key:
        return tuple(row[name] for name in names)

    at = {(key(row, down), key(row, across)): number for number, row in enumerate(rows)}
    if len(at) < len(rows):
        return None
    values = {name: list(dict.fromkeys(row[name] for row in rows)) for name in across}
    tasks = sorted(
        dict.fromkeys(task for _, task in at),
        key=lambda task: [values[n].index(v) for n, v in zip(across, task, strict=True)],
    )
    return Pivot(down, across, list(dict.fromkeys(player for player, _ in at)), tasks, at)


def pivoted(
    run: Run, rows: Rows, pivot: Pivot, name: str, words: Words, *, as_is: bool = False
) -> Grid:
    """Return one measure of a run as a table of players and tasks.

    All cells have as many decimals, chosen by all intervals together. The last column is the mean
    over tasks, where it has a meaning: of shares, and of payoffs on one scale; it has no interval.
    Players are sorted by it, unless they are to stand `as_is`.
    """
    measure = run.measures[name]
    scales = {cell.payoffs for cell in run.cells}
    one_scale = len(scales) == 1 and None not in scales
    alike = measure.unit == "%" or (measure.in_payoffs and one_scale)
    means = pivot.means(rows, name) if alike else {}
    how = []
    if means and not as_is:
        less = (measure.better or -1) < 0
        players = sorted(pivot.players, key=means.__getitem__, reverse=not less)
        pivot, how = replace(pivot, players=players), ["sorted by mean"]
    said, heads = texts(rows, name), []
    for across in pivot.tasks:
        named = zip(pivot.across, across, strict=True)
        head = [words(str(value)) or f"no {heading(key)}" for key, value in named]
        heads.append("\n".join(head) or measure.heading)
    cells, digits = [], digits_for(rows, name)
    for player in pivot.players:
        places = [pivot.at.get((player, task)) for task in pivot.tasks]
        line = [MISSING if place is None else said[place] for place in places]
        cells.append([*line, fixed(means[player], digits)] if means else line)
    if pivot.across:
        how.append(f"across: {', '.join(map(heading, pivot.across))}")
    above = [f"{measure.heading}, {SIDES[measure.better]}", *how]
    above += map(words, shared_words(rows, [*pivot.down, *pivot.across]))
    return pivot.grid(words, above, [*heads, "mean"] if means else heads, cells)


def answered(told: Rows, pivot: Pivot, short: Mapping[str, str], words: Words) -> Grid:
    """Return a row per player: a word for each task, or how many tasks have each answer.

    `told` are the rows of a domain's verdict (`tomeval.runs.domain.Verdict`), and of `pivot`.
    """
    answers = [answer for answer in short if any(row[ANSWER] == answer for row in told)]
    above = [f"{short[answer]}: {answer}" for answer in answers]
    each = len(pivot.tasks) <= MOST_TASKS
    heads = ["\n".join(words(str(part)) for part in task) for task in pivot.tasks]
    if not each:
        heads = [short[answer] for answer in answers]
        above = [f"tasks by answer, of {len(pivot.tasks)}", *above]
    cells = []
    for player in pivot.players:
        places = [pivot.at.get((player, task)) for task in pivot.tasks]
        said = [None if place is None else told[place][ANSWER] for place in places]
        counts = Counter(said)
        if each:
            cells.append([MISSING if answer is None else short[answer] for answer in said])
        else:
            cells.append([str(counts[answer]) for answer in answers])
    above += map(words, shared_words(told, [*pivot.down, *pivot.across, ANSWER]))
    return pivot.grid(words, above, heads, cells)
