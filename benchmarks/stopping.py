"""What stopping by a condition costs and keeps: false alarms, calls, the best.

    python benchmarks/stopping.py KNOWN_PLAYERS POCKET_STRATEGIES [--runs 100]

Two run folders with many episodes are the populations: runs are drawn from their episodes, all
players of a task with the same numbers, and stopped by the rules of `tomeval run --until`
(`Goal.met`, `following`). Beside them are fixed designs: the same number of episodes for all
cells, the least with which as much is known, given what no one has beforehand, that number. One has
the same guarantee, whatever the values between their bounds: the same sequence, tuned to that
number and looked at once. The other trusts Student's t, which needs normal means.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
from scipy import stats

from tomeval.runs import tallies
from tomeval.runs.allocation import following
from tomeval.runs.cell import RunCell
from tomeval.runs.results import Run
from tomeval.runs.until import FAMILY, Goal
from tomeval.statistics.sequences import e_value, mean_sequence

FIRST, MOST = 20, 1000
REGRET, BEST = "delta_functional_per_step", "best known"
WITHIN = 0.05  # of the range of regret


@dataclass(frozen=True)
class Task:
    """The players of one task: values by player and episode (P, E), bounds, calls an episode."""

    name: str
    values: np.ndarray[Any, np.dtype[np.float64]]
    bounds: list[tuple[float, float]]
    calls: np.ndarray[Any, np.dtype[np.float64]]

    @property
    def wide(self) -> float:
        """The distance of the measure's bounds."""
        return max(high - low for low, high in self.bounds)

    @property
    def truth(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        """The population's means, (P,)."""
        return np.asarray(self.values.mean(axis=1))


def tasks_of(folder: str) -> list[Task]:
    """Return the tasks of a run whose players have the same complete episodes."""
    with Run(folder) as run:
        spent = {n: paid["calls"] for n, paid in tallies.paid(run.store).items()}
        groups: dict[str, list[RunCell]] = {}
        for cell in run.cells:
            groups.setdefault(str(cell.shown_task), []).append(cell)
        return [_task(name, cells, spent) for name, cells in groups.items()]


def _task(name: str, cells: Sequence[RunCell], spent: Mapping[int, float]) -> Task:
    wide = max(cells, key=lambda cell: len(cell.episodes))
    columns = []
    for cell in cells:
        values = cell.totals(REGRET).values
        if cell.each_once:  # what an episode of a draw was, is what every one of it would be
            of = dict(zip(cell.which.tolist(), values.tolist(), strict=True))
            columns.append([of[draw] for draw in wide.which.tolist()])
        else:
            columns.append(values.tolist())
    least = min(map(len, columns))
    calls = [max(1.0, spent.get(cell.number, 0) / max(1, len(cell.episodes))) for cell in cells]
    return Task(
        name,
        np.array([column[:least] for column in columns]),
        [cell.limits(REGRET) for cell in cells],
        np.array(calls),
    )


def cell_of(values: np.ndarray[Any, Any], bounds: tuple[float, float]) -> RunCell:
    """Return some episodes of a drawn run as conditions read a cell."""
    numbers = np.arange(len(values))
    return cast(
        "RunCell",
        SimpleNamespace(
            totals=lambda name: SimpleNamespace(values=values),
            estimate=lambda names, kind: SimpleNamespace(
                half=np.array([np.ptp(mean_sequence(values, bounds=bounds)) / 2])
            ),
            limits=lambda name: bounds,
            episodes=numbers,
            clusters=numbers,
            which=np.zeros_like(numbers),
            each_once=False,
        ),
    )


@dataclass
class Stopped:
    """How a drawn run ended: by player how many episodes and why; and its values."""

    episodes: list[int]
    why: dict[int, str]
    values: np.ndarray[Any, Any]
    looks: int = 0


def play(task: Task, goals: Sequence[Goal], rng: np.random.Generator) -> Stopped:
    """Draw a run and stop it as `tomeval run --until` would; no two goals share a player."""
    values = task.values[:, rng.integers(task.values.shape[1], size=MOST)]
    ended = Stopped([FIRST] * len(values), {}, values)
    for goal in goals:
        count, done = FIRST, dict[int, str]()
        while True:
            ended.looks += 1
            of = {p: cell_of(values[p, : ended.episodes[p]], task.bounds[p]) for p in goal.cells}
            done |= goal.met(of, done)
            playing = [player for player in goal.cells if player not in done]
            if not playing or count == MOST:
                break
            count = following(count, MOST, goal.soonest(of, done))
            for player in playing:
                ended.episodes[player] = count
        ended.why |= done
    return ended


MEASURE = cast("Any", SimpleNamespace(name=REGRET, words="regret", better=-1))


def best_goals(task: Task, confidence: float, margin: float) -> list[Goal]:
    """Return the goal of `best known` in a task, within a share of the measure's range."""
    players = tuple(range(len(task.values)))
    return [Goal("best", BEST, MEASURE, players, margin * task.wide, confidence)]


def width_goals(task: Task, width: float) -> list[Goal]:
    """Return the goals of a width in a task."""
    return [Goal("width", "width", MEASURE, (p,), width) for p in range(len(task.values))]


def fixed_best(
    task: Task, values: np.ndarray[Any, Any], confidence: float, margin: float, t: bool
) -> bool:
    """Tell whether a fixed number of episodes shows who is best: by t tests, or by sequences."""
    best, count = int(values.mean(axis=1).argmin()), values.shape[1]
    for other in range(len(values)):
        if other == best:
            continue
        gap = values[other] - values[best] + margin * task.wide
        if t:
            quantile = stats.t.ppf((1 + confidence) / 2, count - 1)
            shown = gap.mean() > quantile * gap.std(ddof=1) / np.sqrt(count)
        else:
            bounds = task.bounds[other][0] - task.bounds[best][1], task.bounds[other][1]
            null = -margin * task.wide
            told = e_value(gap + null, null, bounds=bounds, confidence=confidence, tune=count)
            shown = gap.mean() > 0 and told >= 1 / (1 - confidence)
        if not shown:
            return False
    return True


def fixed_width(task: Task, values: np.ndarray[Any, Any], goal: float, t: bool) -> bool:
    """Tell whether a fixed number of episodes gives every player an interval this narrow."""
    count = values.shape[1]
    if t:
        half = stats.t.ppf(0.975, count - 1) * values.std(axis=1, ddof=1) / np.sqrt(count)
        return bool((2 * half < goal).all())
    each = zip(values, task.bounds, strict=True)
    return all(np.ptp(mean_sequence(v, bounds=b, tune=count)) < goal for v, b in each)


def false_alarms(task: Task, runs: int, rng: np.random.Generator) -> list[str]:
    """Return how often equal players are told apart, at some look."""
    spread = task.values.std(axis=1)
    player = int(spread.argmax())
    values, (low, high) = task.values[player], task.bounds[player]
    bounds = (low - high, high - low)
    few = [FIRST]
    while len(few) < 12:
        few.append(following(few[-1], 10**6, 1.2))
    lines = []
    for looks in (few, list(range(10, 1010))):
        wrong = naive = 0
        for _ in range(runs):
            a, b = rng.choice(values, (2, looks[-1]))
            gaps = a - b
            wrong += any(e_value(gaps[:n], bounds=bounds) >= 20 for n in looks)
            counts = np.array(looks)
            sums, squares = np.cumsum(gaps)[counts - 1], np.cumsum(gaps**2)[counts - 1]
            error = np.sqrt((squares / counts - (sums / counts) ** 2) / (counts - 1))
            naive += bool((abs(sums / counts) > stats.t.ppf(0.975, counts - 1) * error).any())
        lines.append(
            f"  {len(looks):,} looks: {wrong / runs:.1%}; a t test at each look {naive / runs:.1%}"
        )
    return lines


def report(
    name: str,
    tasks: Sequence[Task],
    runs: int,
    rng: np.random.Generator,
    goals: Callable[[Task], list[Goal]],
    fixed: Callable[[Task, np.ndarray[Any, Any], bool], bool],
    margin: float = 1e-9,
) -> list[str]:
    """Return what a condition costs, how often it is met, and how often it names a wrong best."""
    cost, met, wrong = 0.0, 0.0, 0
    kept: list[tuple[Task, Stopped]] = []
    for _ in range(runs):
        right = True
        for task in tasks:
            ended = play(task, goals(task), rng)
            kept.append((task, ended))
            cost += float(task.calls @ ended.episodes)
            met += len(ended.why) == len(ended.episodes)
            best = [p for p, why in ended.why.items() if why == BEST]
            right &= all(task.truth[p] <= task.truth.min() + margin * task.wide for p in best)
        wrong += not right
    looks = np.mean([one.looks / len(goals(task)) for task, one in kept])
    lines = [
        f"  {name}: met in {met / len(kept):.0%} of tasks, {cost / runs:,.0f} calls a run, "
        f"{looks:.1f} looks"
    ]
    if name.startswith(BEST):
        lines[0] += f"; a wrong best in {wrong / runs:.1%} of runs"
    for words, t in (("the same guarantee", False), ("Student's t", True)):
        count = _least([(task, one.values) for task, one in kept], fixed, t, met / len(kept))
        calls = runs * sum(float(task.calls.sum()) for task in tasks) * count
        lines.append(
            f"    fixed, {words}: {count:,} episodes of every cell, {calls / runs:,.0f} calls: "
            f"{'at least ' * (count == MOST)}{calls / cost:.1f} times as many"
        )
    return lines


def _least(
    kept: Sequence[tuple[Task, np.ndarray[Any, Any]]],
    fixed: Callable[[Task, np.ndarray[Any, Any], bool], bool],
    t: bool,
    share: float,
) -> int:
    """Return the least number of episodes with which a fixed design knows as often, to `MOST`."""
    low, high = 4, MOST
    while high - low > 1:
        count = (low + high) // 2
        enough = np.mean([fixed(task, values[:, :count], t) for task, values in kept]) >= share
        low, high = (low, count) if enough else (count, high)
    return high


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folders", nargs=2, metavar="RUN")
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--nulls", type=int, default=400)
    given = parser.parse_args()
    rng = np.random.default_rng(0)
    populations = {folder: tasks_of(folder) for folder in given.folders}
    print(f"false alarms, {given.nulls} runs of two equal players")
    print("\n".join(false_alarms(populations[given.folders[0]][0], given.nulls, rng)))
    for folder, tasks in populations.items():
        print(f"{folder}: {len(tasks)} tasks of {len(tasks[0].values)} players")
        widest = max(float(np.ptp(task.bounds[0])) for task in tasks) / 10
        shown = f"width(regret) < {widest:.2f}"
        width = report(
            shown,
            tasks,
            given.runs,
            rng,
            lambda task: width_goals(task, widest),  # noqa: B023 (called here)
            lambda task, values, t: fixed_width(task, values, widest, t),  # noqa: B023
        )
        print("\n".join(width))
        told = [task for task in tasks if np.ptp(np.sort(task.truth)[:2]) > 1e-9]
        print(f"  without {len(tasks) - len(told)} tasks of equal bests in the next line")
        for margin, some in ((0.0, told), (WITHIN, tasks)):
            share = 1 - (1 - FAMILY) / sum(len(task.values) - 1 for task in some)
            best = report(
                f"{BEST}, within {margin:.0%} of the range" if margin else BEST,
                some,
                given.runs,
                rng,
                lambda task: best_goals(task, share, margin),  # noqa: B023
                lambda task, values, t: fixed_best(task, values, share, margin, t),  # noqa: B023
                margin + 1e-9,
            )
            print("\n".join(best))


if __name__ == "__main__":
    main()
