"""What a report says of the run itself: who was best, sizes, settings, meanings, sessions."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from tomeval.comparing.scales import SCALES, pooled_scale, width
from tomeval.core.numbers import number
from tomeval.core.outcomes import COMPLETE, FAILED, VOID
from tomeval.report import exchange
from tomeval.runs import tallies
from tomeval.runs.cell import RunCell
from tomeval.runs.columns import INVALID, LENIENT, RATES, REASK, heading
from tomeval.runs.measures import Measure
from tomeval.runs.results import Run


def counted(count: int, one: str, many: str = "") -> str:
    """Return a number with its noun.

    Examples
    --------
    >>> counted(1, "cell"), counted(1200, "cell")
    ('1 cell', '1,200 cells')
    """
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def sizes(run: Run, total: int, steps: int) -> list[tuple[str, str]]:
    """Return the figures at the top of the page, as (number, of what), given those of episodes."""
    players = len({cell.title for cell in run.cells})  # one asked of two models is two
    rows = [
        (players, "player"),
        (
            len(
                {
                    str(run.domain.compare.task_of(cell, run.domain.compare.by[0]))
                    for cell in run.cells
                }
            ),
            "task",
        ),
        (len(run.cells), "cell"),
        (total, "episode"),
        (steps, "step"),
    ]
    numbers = {cell.number for cell in run.cells}
    calls = sum(
        row["calls"] for number, row in tallies.usage(run.store).items() if number in numbers
    )
    if calls:
        rows.append((int(calls), "model call"))
    return [(f"{count:,}", what if count == 1 else f"{what}s") for count, what in rows]


def task_text(cell: RunCell) -> str:
    """Return a cell's task in a few words."""
    return cell.domain.compare.words(cell.shown_task)


def settings(run: Run) -> list[tuple[str, str]]:
    """Return what was run, as (what, values)."""
    names = [name for name in run.cells[0].facts if name not in ("reference", "on_invalid")]
    rows = [(heading(name), [cell.facts[name] for cell in run.cells]) for name in names]
    if len(run.domain.read.references) > 1:
        rows.append(("regret is measured from", [cell.reference for cell in run.cells]))
    policies = [_POLICIES.get(cell.definition["on_invalid"], "") for cell in run.cells]
    rows.append(("an invalid answer", policies))
    known = revisions(run).items()
    rows.append(("revision of a model", [f"{name}: {said}" for name, said in known if said]))
    said = {what: "; ".join(dict.fromkeys(str(v) for v in vs if v != "")) for what, vs in rows}
    return [
        ("experiment", run.name),
        *((what, values) for what, values in said.items() if values),
        ("identity (SHA-256)", str(run.store.meta().get("sha256", ""))),
    ]


def revisions(run: Run) -> dict[str, str]:
    """Return the revisions of the run's models; with `Run.where`, of those that its cells name."""
    if not run.where:
        return run.revisions
    playing = {name for cell in run.cells for name in cell.models.values()}
    return {name: said for name, said in run.revisions.items() if name in playing}


_POLICIES = {
    "void": "ends its episode, which counts in no measure (void)",
    "random": "is replaced by a random legal action (random)",
    "stop": "stops the run (stop)",
}


def meanings(run: Run, measures: Iterable[Measure]) -> list[tuple[str, str]]:
    """Return (heading, meaning) of a run's rates and of measures."""
    names = (INVALID.name, REASK.name, LENIENT.name, *run.domain.show.rates(run))
    rates = [RATES[name] for name in names]
    said = [(measure.heading, measure.meaning) for measure in measures]
    return [(rate.heading, rate.meaning) for rate in rates] + said


def sessions(run: Run) -> list[dict[str, str]]:
    """Return when, with what and from which commit the run was started and resumed."""
    return [
        {
            "started": str(entry.get("started", "")),
            "python": str(entry.get("python", "")),
            "versions": ", ".join(f"{name} {v}" for name, v in entry.get("versions", {}).items()),
            "commit": str(entry.get("tomeval_commit") or ""),
        }
        for entry in exchange.sessions(run)
    ]


SPOKEN = 2
"""How many measures are spoken of: in most runs the functional and the literal one."""

_NAMED = 2
"""How many players are named that share the best value, or the worst one."""


class Standing(NamedTuple):
    """Players by their mean over the same tasks, in the unit of `words`.

    `left_out` counts those who lack a value in some of these tasks.
    """

    means: dict[str, float]
    tasks: list[str]
    words: str
    digits: int
    left_out: int


SAID = 12
"""Players of whom is said whether they use what they know."""
MOST_CELLS = 100
"""Cells of a run of whose players that is said: every one is read for it."""


def headline(run: Run, rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> list[str]:
    """Return what a run amounts to: episodes, whether each player uses what it knows, measures.

    Parameters
    ----------
    run : Run
    rows : sequence
        Those of `Run.rows`, from which the means are taken.
    names : sequence of str
        Measures; the first `SPOKEN` of them are spoken of.
    """
    spoken = [run.measures[name] for name in names[:SPOKEN]]
    return [
        _played(run),
        *verdicts(run),
        *(text for m in spoken if (text := _best_and_worst(run, rows, m))),
    ]


def verdicts(run: Run) -> list[str]:
    """Say of each player whether it uses what it knows, where the run tells; of a few players."""
    verdict = run.domain.show.verdict
    said = verdict.lines(run) if verdict and len(run.cells) <= MOST_CELLS else []
    more = [f"{len(said) - SAID} more players"] if len(said) > SAID else []
    return [*said[:SAID], *more]


def _played(run: Run) -> str:
    """Say how many episodes there are, and what became of them."""
    counts = episode_counts(run)
    players = len({cell.title for cell in run.cells})
    tasks = len({task_text(cell) for cell in run.cells})
    wanted = wanted_episodes(run)
    of = f" of {wanted:,}" if wanted else ""
    return (
        f"{counted(players, 'player')} in {counted(tasks, 'task')}: {counts[COMPLETE]:,}{of} "
        f"{'episode is' if (wanted or counts[COMPLETE]) == 1 else 'episodes are'} complete, "
        f"{counts[VOID]:,} void, {counts[FAILED]:,} failed."
    )


def episode_counts(run: Run) -> Counter[str]:
    """Return the episodes of a run's cells by status."""
    by_status: Counter[str] = Counter()
    counts = tallies.episodes(run.store)
    for cell in run.cells:
        by_status.update(counts.get(cell.number, {}))
    return by_status


def wanted_episodes(run: Run) -> int | None:
    """Return how many episodes a run is to have; None if its folder does not say."""
    each = [run.wanted(cell) for cell in run.cells]
    return None if None in each else sum(filter(None, each))


def _best_and_worst(run: Run, rows: Sequence[Mapping[str, Any]], measure: Measure) -> str:
    """Say who has the best and who the worst mean of a measure; empty if nobody has a value."""
    of = standing(run, rows, measure)
    if not of.means:
        return ""
    low, high = min(of.means.values()), max(of.means.values())
    where = f"mean over {counted(len(of.tasks), 'task')}" if len(of.tasks) > 1 else of.tasks[0]
    where = f" ({where})" if where else ""
    left = ""
    if of.left_out:
        left = f" Left out: {counted(of.left_out, 'player')} without a value in some task."
    if len(of.means) == 1:
        [(name, value)] = of.means.items()
        return f"{measure.heading}{of.words}{where} of {name} is {_said(value, of)}.{left}"
    if number(low, of.digits) == number(high, of.digits):
        all_ = counted(len(of.means), "player")
        return f"{measure.heading}{of.words}{where} is {_said(low, of)} for {all_}.{left}"
    ends = {"lowest": low, "highest": high}
    if measure.better == 1:
        ends = dict(reversed(ends.items()))
    best, worst = (
        f"{word}{_quality(measure, place)} for {_who(of, value)} ({_said(value, of)})"
        for place, (word, value) in enumerate(ends.items())
    )
    return f"{measure.heading}{of.words}{where} is {best} and {worst}.{left}"


def standing(run: Run, rows: Sequence[Mapping[str, Any]], measure: Measure) -> Standing:
    """Return every player's mean over the tasks in which the most players have a value.

    Every task counts the same. Where games are pooled, measures in payoff units are divided as
    `tomeval.comparing.scales.pooled_scale` says: a mean over games has no meaning otherwise.
    """
    scale = pooled_scale(run.cells) if measure.in_payoffs else "payoff"
    values: dict[str, dict[str, list[tuple[float, float | None]]]] = {}
    for cell, row in zip(run.cells, rows, strict=True):
        value = float(row[measure.name])
        if math.isfinite(value):
            at = values.setdefault(task_text(cell), {}).setdefault(cell.title, [])
            at.append((value, width(cell, scale)))
    if not values:
        return Standing({}, [], "", measure.digits, 0)
    players = list(dict.fromkeys(cell.title for cell in run.cells))
    ranges = {cell.payoff_range for cell in run.cells}
    unknown = scale == "payoff" and measure.in_payoffs and len(ranges) > 1
    everywhere = [p for p in players if all(p in task for task in values.values())]
    # Where too few played everything, or the scales differ by nobody knows what, the fullest task.
    if len(everywhere) < min(2, len(players)) or unknown:
        fullest = max(values, key=lambda task: len(values[task]))
        values, scale = {fullest: values[fullest]}, "payoff"
        everywhere = [p for p in players if p in values[fullest]]

    def mean_of(task: Mapping[str, list[tuple[float, float | None]]], player: str) -> float:
        return _mean([v / (by if scale != "payoff" and by else 1.0) for v, by in task[player]])

    means = {p: _mean([mean_of(task, p) for task in values.values()]) for p in everywhere}
    words = f" / {SCALES[scale]}" if scale != "payoff" else ""
    return Standing(means, list(values), words, measure.digits, len(players) - len(everywhere))


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _said(value: float, found: Standing) -> str:
    return number(value, found.digits)


def _quality(measure: Measure, place: int) -> str:
    """Return the judgement behind "lowest" or "highest", if the measure has a better side."""
    if measure.better == 0:
        return ""
    return " (worst)" if place else " (best)"


def _who(found: Standing, value: float) -> str:
    """Return the players whose mean reads like a value."""
    said = _said(value, found)
    names = [name for name, mean in found.means.items() if _said(mean, found) == said]
    if len(names) > _NAMED:
        return f"{', '.join(names[:_NAMED])} and {len(names) - _NAMED:,} more"
    return " and ".join(names)
