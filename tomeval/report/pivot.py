"""One measure of a run as players down and tasks across, for reading."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tomeval.core.numbers import MISSING, fixed
from tomeval.report.rows import Row, Rows, clearly_best, digits_for, is_number, repeats, texts
from tomeval.report.tables import Grid
from tomeval.runs.columns import ANSWER, RATES, has_interval, heading
from tomeval.runs.results import Run
from tomeval.runs.selection import choose_columns, split

AS_IT_IS = "none"
"""Asks for no other order, and for a row per cell."""

MOST_TASKS = 8
"""The most tasks that stand beside each other by default."""

INTERVAL = "interval"
"""The column that says of which kind a row's intervals are."""

SIDES = {1: "more is better", -1: "less is better", 0: "neither side is better"}
SETTINGS = ("reference", "seed", "on_invalid", "attempts")
"""Settings in which rows must agree for one of them to be the best."""

Words = Callable[[str], str]
Key = tuple[Any, ...]


@dataclass(frozen=True)
class Pivot:
    """Which columns go down and which across, and the row at each (player, task)."""

    down: list[str]
    across: list[str]
    players: list[Key]
    tasks: list[Key]
    at: dict[tuple[Key, Key], Row]

    @property
    def reads_well(self) -> bool:
        """Whether there are players and tasks to compare, not too many tasks, and few gaps."""
        filled = 3 * len(self.at) >= len(self.players) * len(self.tasks)
        return len(self.players) > 1 and 1 < len(self.tasks) <= MOST_TASKS and filled

    def means(self, name: str) -> dict[Key, float]:
        """Return every player's mean over tasks; none if any player lacks a value in any task."""
        count, rows = len(self.tasks), self.at.values()
        whole = len(rows) == len(self.players) * count and all(is_number(r[name]) for r in rows)
        if not whole or count < 2:
            return {}
        return {p: sum(self.at[p, t][name] for t in self.tasks) / count for p in self.players}


def pivot_of(run: Run, rows: Rows, asked: str) -> Pivot | None:
    """Return how the cells stand as a pivot; None if two of them would stand in one place."""
    cell, compare, left_out = run.cells[0], run.domain.compare, repeats(rows)
    known = {*SETTINGS, *(name for one in run.cells for name in one.columns)}
    keys = [name for name in rows[0] if name in known]
    vary = [key for key in keys if len({row[key] for row in rows}) > 1 and key not in left_out]
    if asked in ("", AS_IT_IS):
        task = list(compare.task_of(cell, compare.by[0]))
    else:
        task = choose_columns(keys, {}, split(asked))
    across = [name for name in task if name in vary]
    down = [key for key in vary if key not in across] or keys[:1]
    at = {(_key(row, down), _key(row, across)): row for row in rows}
    if len(at) < len(rows):
        return None
    values = {name: list(dict.fromkeys(row[name] for row in rows)) for name in across}
    tasks = sorted(
        dict.fromkeys(task for _, task in at),
        key=lambda task: [values[n].index(v) for n, v in zip(across, task, strict=True)],
    )
    return Pivot(down, across, list(dict.fromkeys(player for player, _ in at)), tasks, at)


def _key(row: Row, names: Sequence[str]) -> Key:
    return tuple(row[name] for name in names)


def pivoted(
    run: Run, rows: Rows, pivot: Pivot, name: str, sort: str, custom: bool, words: Words
) -> Grid:
    """Return one measure of a run as a table of players and tasks.

    All cells have as many decimals, chosen by all intervals together. The last column is the mean
    over tasks, where it has a meaning: of shares, and of payoffs on one scale; it has no interval.
    Players are sorted by it, or by the column asked for. Where the reader chose what goes across
    (`custom`), there is no mean.
    """
    measure, digits = run.measures[name], digits_for(rows, name)
    scales = {(cell.payoff_range, cell.payoff_size) for cell in run.cells}
    one_scale = len(scales) == 1 and (None, None) not in scales
    alike = measure.unit == "%" or (measure.in_payoffs and one_scale)
    means = pivot.means(name) if alike and not custom else {}
    players, how = _order(run, pivot, name, means, sort)
    heads = [words(heading(key)) for key in pivot.down]
    columns = [[words(str(player[i])) for player in players] for i in range(len(pivot.down))]
    groups: dict[Key, dict[tuple[Key, Key], Row]] = {}
    for place, row in pivot.at.items():
        task = [row.get(key) for key in (*run.domain.compare.task, *SETTINGS)]
        groups.setdefault(tuple(task), {})[place] = row
    best = {at for group in groups.values() for at in clearly_best(group, name, measure.better)}
    marked = set()
    for across in pivot.tasks:
        named = zip(pivot.across, across, strict=True)
        head = [words(str(value)) or f"no {heading(key)}" for key, value in named]
        marked |= {(n, len(heads)) for n, p in enumerate(players) if (p, across) in best}
        heads.append("\n".join(head) or measure.heading)
        played = [pivot.at.get((player, across)) for player in players]
        said = iter(texts([row for row in played if row is not None], name, digits))
        columns.append([MISSING if row is None else next(said) for row in played])
    if means:
        heads.append("mean")
        columns.append([fixed(means[player], digits) for player in players])
    told = [*pivot.down, *pivot.across]
    if pivot.across:
        how.append(f"across: {', '.join(map(heading, pivot.across))}")
    above = [f"{measure.heading}, {SIDES[measure.better]}", *how]
    return Grid(
        above=[*above, *shared_words(rows, told, words)],
        heads=heads,
        body=[list(row) for row in zip(*columns, strict=True)],
        lead=list(range(len(pivot.down))),
        best=marked,
    )


def _order(
    run: Run, pivot: Pivot, name: str, means: Mapping[Key, float], sort: str
) -> tuple[list[Key], list[str]]:
    """Return the players in the order asked for, and how they are sorted, in words."""
    bare, turned = sort.removeprefix("-"), sort.startswith("-")
    if bare == AS_IT_IS:
        return pivot.players, []
    by = choose_columns([*pivot.down, *run.measures], run.measures, [bare or name])[0]
    if by in pivot.down:
        index = pivot.down.index(by)
        return sorted(pivot.players, key=lambda player: player[index], reverse=turned), []
    keys = means if by == name else pivot.means(by)
    if not keys:
        return pivot.players, []
    of = "" if by == name else f" {run.measures[by].heading}"
    up = ((run.measures[by].better or -1) < 0) != turned
    return sorted(pivot.players, key=keys.__getitem__, reverse=not up), [f"sorted by mean{of}"]


def answered(told: Rows, pivot: Pivot, short: Mapping[str, str], words: Words) -> Grid:
    """Return a row per player: a word for each task, or how many tasks have each answer.

    `told` are the rows of a domain's verdict (`tomeval.runs.capabilities.Verdict`), and of `pivot`.
    """
    answers = [answer for answer in short if any(row[ANSWER] == answer for row in told)]
    above = [f"{short[answer]}: {answer}" for answer in answers]
    each = len(pivot.tasks) <= MOST_TASKS
    body = [[words(str(part)) for part in player] for player in pivot.players]
    if each:
        heads = ["\n".join(words(str(part)) for part in task) for task in pivot.tasks]
    else:
        heads = [short[answer] for answer in answers]
        above = [f"tasks by answer, of {len(pivot.tasks)}", *above]
    for player, line in zip(pivot.players, body, strict=True):
        rows = [pivot.at.get((player, task)) for task in pivot.tasks]
        counts = Counter(row[ANSWER] for row in rows if row)
        said = [short[row[ANSWER]] if row else MISSING for row in rows]
        line += said if each else [str(counts[answer]) for answer in answers]
    above += shared_words(told, [*pivot.down, *pivot.across, ANSWER], words)
    heads = [*(words(heading(key)) for key in pivot.down), *heads]
    return Grid(above=above, heads=heads, body=body, lead=list(range(len(pivot.down))))


def shared_words(rows: Rows, told: Sequence[str], words: Words) -> list[str]:
    """Return what rows share besides the columns `told`, and the range of what they do not.

    That is episodes and the rates of answers; of a rate that differs the row with most is named.
    """
    said = []
    silent = repeats(rows) & RATES.keys()
    for name, value in rows[0].items():
        values = [row[name] for row in rows]
        known = [v for v in values if is_number(v)]
        if name in silent:
            continue
        if name == "episodes" and len(set(values)) > 1:
            said.append(f"episodes {min(values)} to {max(values)}")
        elif name in RATES and known:
            least, most = min(known), max(known)
            ends = fixed(100 * least, 1)
            if most > least:
                row = next(row for row in rows if row[name] == most)
                where = ", ".join(words(str(row[key])) for key in told if row[key] != "")
                ends += f" to {fixed(100 * most, 1)} (most: {where})"
            said.append(f"{heading(name)} {ends}")
        elif name == INTERVAL and len(set(values)) > 1:
            kinds = sorted({value or "none" for value in values})
            said.append(f"{heading(name)} {' or '.join(kinds)}")
        elif name in told or has_interval(rows[0], name) or len(set(values)) > 1:
            continue
        elif isinstance(value, str | int) and value != "":
            said.append(f"{heading(name)} {words(str(value))}")
    return said
