"""What readers must know of a run's numbers: episodes played once, intervals that are missing."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tomeval.runs.tallies import enforced_cells, unanswered
from tomeval.statistics.bounded import FEWEST
from tomeval.statistics.estimates import AUTO, SEQUENCE

if TYPE_CHECKING:
    from tomeval.runs.cell import RunCell
    from tomeval.runs.results import Run

MOST_NAMES = 3
NOT_MET = "and not met"


def copies_notes(run: Run) -> list[str]:
    """Say in which cells nothing is drawn, and what that does to their numbers."""
    once = [cell for cell in run.cells if cell.each_once]
    if not once:
        return []
    return [
        f"nothing is drawn in {first_names(cell.name for cell in once)}: one episode for each "
        f"{run.domain.compare.drawn}, and means have no interval"
    ]


def looked_notes(run: Run, interval: str = "") -> list[str]:
    """Say that a run's number of episodes could depend on what they showed, and what follows.

    An empty `interval` is that of a table whose numbers have no sequence.
    """
    if not run.sequential:
        return []
    notes = []
    if run.raised:
        grew = " to ".join(f"{number:,}" for number in run.raised)
        notes.append(f"extended from {grew} episodes per cell after results could be seen")
    if run.method(interval) == SEQUENCE:
        says = "intervals are confidence sequences, valid at every look (--interval t if "
        return [f"{note}: {says}the numbers were fixed in advance)" for note in notes]
    lost = "intervals and p are not valid after looking, and there is no sequence for them"
    if interval:
        lost = f"the interval {interval} is not valid after looking: with each look at which one "
        lost += "could stop, it misses in more than 5 % of runs (use --interval sequence)"
    return [f"{note}: {lost}" for note in notes] or [f"the run was stopped by a condition: {lost}"]


def stopped_when(run: Run) -> str:
    """Name the condition that a run stops by, and how many cells stopped before it held."""
    unmet = sum(NOT_MET in run.stopped(cell) for cell in run.cells)
    cells = f"; not met in {unmet:,} of {len(run.cells):,} cells" * bool(unmet)
    return f"stopped when {run.until['condition']}{cells}"


def stop_notes(run: Run) -> list[str]:
    """Say by what condition a run stopped, where it holds, and what that does to its numbers."""
    if not run.until:
        return []
    stops: dict[str, list[int]] = {}
    for cell in run.cells:
        why = run.stopped(cell)
        state = why.partition(", and not met: ")[0] if NOT_MET in why else "it holds" * bool(why)
        stops.setdefault(state or "not known yet", []).append(run.wanted(cell) or 0)
    said = []
    for state, counts in stops.items():
        fewest, most = min(counts), max(counts)
        after = f"{fewest:,}" if fewest == most else f"{fewest:,} to {most:,}"
        said.append(f"{state} in {len(counts):,} of {len(run.cells):,} cells, after {after}")
    return [
        f"stopped when {run.until['condition']}: {'; '.join(said)} episodes. Sequences "
        "are valid at every look; the mean at a stop is biased towards the condition, by less than "
        "the width of its sequence"
    ]


def enforced_notes(run: Run) -> list[str]:
    """Say in which cells a server held answers to their form (``structured = "auto"``)."""
    held = enforced_cells(run.store)
    names = [cell.name for cell in run.cells if cell.number in held]
    if not names:
        return []
    return [
        f'the server constrained answers (structured = "auto") in {first_names(names)}: their '
        "distribution is not that of asking again until an answer can be read"
    ]


def unanswered_notes(run: Run) -> list[str]:
    """Say how many questions that no move needs got no reply, so that their answers are missing."""
    counts = unanswered(run.store)
    if not counts:
        return []
    said = ", ".join(f"{count:,} of {form!r}" for form, count in counts.most_common())
    return [
        f"no reply to {counts.total():,} questions besides the moves ({said}), as the backend "
        "failed: measures of these answers are over the others"
    ]


def sampled_notes(runs: Sequence[Run]) -> list[str]:
    """Say where statistics that treat episodes as a sample are given distinct ones."""
    once = [cell.name for run in runs for cell in run.cells if cell.each_once]
    if not once:
        return []
    return [
        f"{first_names(once)}: each distinct episode was played once; intervals and numbers of "
        "episodes here treat them as a sample"
    ]


def first_names(found: Iterable[str]) -> str:
    """Return the first names of a list, and how many more there are."""
    names = list(dict.fromkeys(found))
    more = len(names) - MOST_NAMES
    return "; ".join(names[:MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


def interval_notes(run: Run, names: Sequence[str] | None = None, interval: str = AUTO) -> list[str]:
    """Say which means have no interval, or one of width 0, and why.

    The one: fewer episodes than a spread can be told from. The other: all episodes have the same
    value of a measure that has no bounds. `names` are the measures that are shown; default: the
    run's headline.

    Notes
    -----
    If a share p of episodes had another value, n episodes would all be alike with probability
    (1 - p)^n: the p for which that is 5 % is the bound that the note gives.
    """
    shown = run.headline if names is None else names
    notes = few_notes(run)
    if run.method(interval) == SEQUENCE:
        return [*notes, *_unbounded_notes(run, shown)]
    alike = {cell.name: cell for cell in run.cells if _alike(cell, shown)}
    if not alike:
        return notes
    fewest = min(cell.units for cell in alike.values())
    bound = 100 * (1 - 0.05 ** (1 / fewest))
    return [
        *notes,
        f"all episodes have the same value of a measure in {first_names(alike)}, hence ± 0; from "
        f"{fewest} equal episodes follows only that at most {bound:.2g} % of all episodes differ "
        "(95 %)",
    ]


def _unbounded_notes(run: Run, names: Sequence[str]) -> list[str]:
    """Say which means have no sequence, because nothing bounds what was not seen yet."""
    waits = []
    for cell in run.cells:
        known = [name for name in names if name in cell.names]
        if cell.units >= FEWEST and not cell.each_once:
            estimate = cell.estimate(known, SEQUENCE)
            waits += [cell.name] * bool((np.isnan(estimate.low) & np.isfinite(estimate.mean)).any())
    if not waits:
        return []
    return [
        f"no confidence sequence for a measure in {first_names(waits)}: it has no known bounds, or "
        "values beyond them"
    ]


def few_notes(run: Run) -> list[str]:
    """Say in which cells there are too few episodes for an interval."""
    few = {cell.name: cell for cell in run.cells if 0 < cell.units < FEWEST and not cell.each_once}
    if not few:
        return []
    return [
        f"no intervals in {first_names(few)}: at least {FEWEST} {run.domain.compare.unit}s are "
        "needed"
    ]


def lacks_interval(rows: Sequence[Mapping[str, Any]]) -> bool:
    """Tell whether a value of a table lacks the interval that its column has."""
    return any(
        isinstance(row[name], float)
        and math.isfinite(row[name])
        and math.isnan(row[f"{name}_ci95"])
        for row in rows
        for name in row
        if f"{name}_ci95" in row
    )


def _alike(cell: RunCell, names: Sequence[str]) -> bool:
    """Tell whether a shown mean of a cell has an interval of width 0."""
    means = [name for name in names if name in cell.names and not cell.totals(name).share]
    if not means or cell.each_once or cell.units < FEWEST:
        return False
    for name in means:
        if np.isfinite(cell.limits(name)).all():
            continue  # what may be unseen has bounds, and so has the interval
        values = cell.totals(name).values
        some = values[np.isfinite(values)]
        if len(some) > 1 and np.ptp(some) <= 1e-12 * max(1.0, float(np.abs(some).max())):
            return True
    return False
