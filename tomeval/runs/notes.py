"""What readers must know of a run's numbers: episodes played once, intervals that are missing."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tomeval.core.outcomes import FAILED, VOID
from tomeval.models.base import LOW_MASS
from tomeval.runs.columns import INVALID
from tomeval.runs.tallies import enforced_cells, episodes, low_mass, rates_of, unanswered
from tomeval.statistics.bounded import FEWEST
from tomeval.statistics.estimates import AUTO, SEQUENCE

if TYPE_CHECKING:
    from tomeval.runs.cell import RunCell
    from tomeval.runs.results import Run

MOST_NAMES = 3
NOT_MET = "and not met"


def first_names(found: Iterable[str]) -> str:
    """Return the first names of a list, and how many more there are."""
    names = list(dict.fromkeys(found))
    more = len(names) - MOST_NAMES
    return "; ".join(names[:MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


def _of_cells(cells: Iterable[RunCell], before: str, after: str) -> list[str]:
    """Return a sentence that names cells, if there are any."""
    names = [cell.name for cell in cells]
    return [f"{before} {first_names(names)}{after}"] if names else []


def copies_notes(run: Run) -> list[str]:
    """Return in which cells nothing is drawn, and what that does to their numbers."""
    once = [cell for cell in run.cells if cell.each_once]
    told = ": each distinct episode is played once, and means have no interval"
    return _of_cells(once, "nothing is drawn in", told)


def few_notes(run: Run) -> list[str]:
    """Return in which cells there are too few episodes for an interval."""
    few = [cell for cell in run.cells if 0 < cell.units < FEWEST and not cell.each_once]
    needed = f": at least {FEWEST} {run.domain.unit}s are needed"
    return _of_cells(few, "no intervals in", needed)


def enforced_notes(run: Run) -> list[str]:
    """Return in which cells answers were held to their form (``structured = "auto"``)."""
    held = enforced_cells(run.store)
    mine = [cell for cell in run.cells if cell.number in held]
    free = sum(held[cell.number].free for cell in mine)
    agree = sum(held[cell.number].agree for cell in mine)
    said = f"; of {free:,} answers that were also given freely {agree:,} say the same"
    return _of_cells(
        mine,
        'answers were held to their form (structured = "auto") in',
        ": their distribution is not that of asking again until an answer can be read"
        + said * (free > 0),
    )


def random_notes(run: Run) -> list[str]:
    """Return in how many cells random actions took the place of invalid answers, of any seat."""
    random = (cell for cell in run.cells if cell.definition["on_invalid"] == "random")
    of_all = (rates_of(run.store, [cell.number], lambda seat, question: True) for cell in random)
    rates = [rate for one in of_all if (rate := one[INVALID.name]) > 0]
    if not rates:
        return []
    return [
        f"in {len(rates):,} of {len(run.cells):,} cells invalid answers were replaced by random "
        f"legal actions, which count as played: up to {100 * max(rates):.1f} % of the answers"
    ]


def void_notes(run: Run) -> list[str]:
    """Return how many episodes count in no measure."""
    played, counts = episodes(run.store), Counter[str]()
    for cell in run.cells:
        counts.update(played.get(cell.number, {}))
    lost = counts[VOID] + counts[FAILED]
    if not lost:
        return []
    return [
        f"{lost:,} of {counts.total():,} episodes are void or failed and count in no measure: the "
        "others are not a random sample"
    ]


def looked_notes(run: Run, interval: str = "") -> list[str]:
    """Return that a run's number of episodes could depend on what they showed, and what follows.

    An empty `interval` is that of a table whose numbers have no sequence.
    """
    if not run.sequential:
        return []
    looked = "the run was stopped by a condition"
    if run.raised:
        grew = " to ".join(f"{number:,}" for number in run.raised)
        looked = f"extended from {grew} episodes per cell after results could be seen"
    if run.method(interval) != SEQUENCE:
        lost = "intervals and p are not valid after looking, and there is no sequence for them"
        if interval:
            lost = f"the interval {interval} is not valid after looking (use --interval sequence)"
        return [f"{looked}: {lost}"]
    valid = "intervals are confidence sequences, valid at every look (--interval t if the numbers "
    return [f"{looked}: {valid}were fixed in advance)"] if run.raised else []


def stopped_when(run: Run) -> str:
    """Return the condition that a run stops by, and how many cells stopped before it held."""
    unmet = sum(NOT_MET in run.stopped(cell) for cell in run.cells)
    cells = f"; not met in {unmet:,} of {len(run.cells):,} cells" * bool(unmet)
    return f"stopped when {run.until['condition']}{cells}"


def stop_notes(run: Run) -> list[str]:
    """Return by what condition a run stopped, and what that does to its numbers."""
    if not run.until:
        return []
    waiting = sum(not run.stopped(cell) for cell in run.cells)
    still = f"; not known yet in {waiting:,} of {len(run.cells):,} cells" * bool(waiting)
    counts = [run.wanted(cell) or 0 for cell in run.cells]
    after = " to ".join(f"{count:,}" for count in sorted({min(counts), max(counts)}))
    return [
        f"{stopped_when(run)}{still}; after {after} episodes. Sequences are valid at every look; "
        "the mean at a stop is biased towards the condition, by less than the width of its sequence"
    ]


def unanswered_notes(run: Run) -> list[str]:
    """Return how many questions that no move needs got no reply, whose answers are missing."""
    counts = unanswered(run.store)
    said = ", ".join(f"{count:,} of {form!r}" for form, count in counts.most_common())
    return [
        f"no reply to {counts.total():,} questions besides the moves ({said}), as the backend "
        "failed: measures of these answers are over the others"
    ] * bool(counts)


def mass_notes(run: Run) -> list[str]:
    """Return how many scored answers gave all labels together little probability."""
    low, scored = low_mass(run.store, {cell.number for cell in run.cells})
    return [
        f"in {low:,} of {scored:,} scored answers all labels together have less than {LOW_MASS:g} "
        "of the probability: the model would hardly ever write one of them"
    ] * bool(low)


def interval_notes(run: Run, names: Sequence[str] | None = None, interval: str = AUTO) -> list[str]:
    """Return which means have no interval, or one of width 0, and why.

    The one: fewer episodes than a spread can be told from. The other: all episodes have the same
    value of a measure that has no bounds. `names` are the measures that are shown; default: the
    run's headline.

    Notes
    -----
    If a share p of episodes had another value, n episodes would all be alike with probability
    (1 - p)^n: the p for which that is 5 % is the bound that the note gives.
    """
    shown = run.headline if names is None else names
    cells = [cell for cell in run.cells if cell.units >= FEWEST and not cell.each_once]
    if run.method(interval) == SEQUENCE:
        waits = (cell for cell in cells if _unbounded(cell, shown))
        lacks = ": it has no known bounds, or values beyond them"
        return few_notes(run) + _of_cells(waits, "no confidence sequence for a measure in", lacks)
    alike = [cell for cell in cells if _alike(cell, shown, interval)]
    fewest = min((cell.units for cell in alike), default=FEWEST)
    bound = 100 * (1 - 0.05 ** (1 / fewest))
    follows = f"after {fewest} equal episodes up to {bound:.2g} % of all "
    return few_notes(run) + _of_cells(
        alike,
        "all episodes have the same value of a measure in",
        f", hence ± 0; {follows}episodes may differ (95 %)",
    )


def _unbounded(cell: RunCell, names: Sequence[str]) -> bool:
    """Return whether a shown mean of a cell has no sequence, as nothing bounds it."""
    estimate = cell.estimate([name for name in names if name in cell.measures], SEQUENCE)
    return bool((np.isnan(estimate.low) & np.isfinite(estimate.mean)).any())


def _alike(cell: RunCell, names: Sequence[str], interval: str) -> bool:
    """Return whether a shown mean of a cell has an interval of width 0, but for rounding."""
    found = cell.estimate([name for name in names if name in cell.measures], interval)
    return bool((found.half <= 1e-12 * np.maximum(1.0, np.abs(found.mean))).any())


def lacks_interval(rows: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether a value of a table lacks the interval that its column has."""
    return any(
        isinstance(value, float) and math.isfinite(value) and math.isnan(row[f"{name}_ci95"])
        for row in rows
        for name, value in row.items()
        if f"{name}_ci95" in row
    )
