"""The table of reasoning consistency: each measure beside what chance alone would give."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tomeval.domains.matrix.played import BoolArray, FloatArray, IntArray, Played, data_of
from tomeval.domains.matrix.responses import best_responses
from tomeval.domains.matrix.results import matrix_cells
from tomeval.domains.matrix.steps import NONE
from tomeval.extensions.reasoning.measures import (
    AGREES,
    FOLLOWED,
    NAME,
    READ,
    RIGHT,
    Reasoning,
    counted,
)
from tomeval.runs.columns import Table, fixed, flat
from tomeval.runs.results import Run
from tomeval.statistics import AUTO, Estimate, estimate
from tomeval.statistics.bounded import cut


def reasoning_rows(run: Run) -> list[dict[str, Any]]:
    """Return a row per cell with written reasoning.

    Beside agreement and following stands what two players with the cell's shares of expectations,
    predictions and actions would give if they drew them independently; and Cohen's kappa of
    expectation and prediction, from 1 (always equal) over 0 (as by chance) to below, with the
    interval of the jackknife over episodes. NaN where all mass is on one label: chance then agrees
    always, and nothing can be told.
    """
    rows: list[dict[str, Any]] = []
    for cell in matrix_cells(run):
        said: Reasoning | None = data_of(cell.played, NAME)
        if said is None or not said.written.any():
            continue
        game, played = cell.game, cell.played
        named = said.expected != NONE
        predicted = played.predicted if played.predicted is not None else said.expected
        agreed = _crossed(played, said.expected, predicted, counted(AGREES, played, said)[1])
        followed = _crossed(played, said.expected, played.own, named).sum(axis=0)
        row: dict[str, Any] = dict(cell.columns)
        row |= {"episodes": len(cell.episodes), "steps": int(said.written.sum())}
        row |= flat((READ, AGREES), cell.estimate((READ, AGREES)))
        row["agreement_by_chance_percent"] = _by_chance(agreed.sum(axis=0), np.eye(game.m))
        row |= flat(("agreement_kappa",), _kappa(agreed, cell.each_once))
        row |= flat((FOLLOWED,), cell.estimate((FOLLOWED,)))
        row["following_by_chance_percent"] = _by_chance(followed, best_responses(game).T)
        rows.append(row | flat((RIGHT,), cell.estimate((RIGHT,))))
    return rows


def _crossed(played: Played, said: IntArray, other: IntArray, among: BoolArray) -> FloatArray:
    """Return how often each pair of two answers is given on some steps, by episode, (E, m, k)."""
    counts = np.zeros((played.episodes, played.game.m, max(played.game.n, played.game.m)))
    episode = np.repeat(np.arange(played.episodes), played.lengths)
    np.add.at(counts, (episode[among], said[among], other[among]), 1)
    return counts


def _by_chance(crossed: FloatArray, hit: FloatArray | BoolArray) -> float:
    """Return how often independent draws with the same shares would hit, in percent."""
    count = crossed.sum()
    said, other = crossed.sum(axis=1), crossed.sum(axis=0)[: hit.shape[1]]
    return 100.0 * float(said @ hit @ other / count**2) if count else math.nan


def _kappa(crossed: FloatArray, each_once: bool) -> Estimate:
    """Return Cohen's kappa from the steps of each episode, (E, m, m)."""
    crossed = crossed[crossed.sum(axis=(1, 2)) > 0]
    whole, count = crossed.sum(axis=0), len(crossed)
    mean = kappa_of(whole)
    without = np.array([kappa_of(whole - one) for one in crossed])
    if each_once or count < 2 or not np.isfinite(without).all():
        return Estimate.of(mean)
    half = estimate(count * mean - (count - 1) * without, AUTO).half
    return Estimate.of(mean, *cut(mean - half, mean + half, mean, -1.0, 1.0))


def kappa_of(crossed: FloatArray) -> float:
    """Return Cohen's kappa from counts of pairs of answers, shape (m, k).

    Cohen 1960, equation 1. NaN where chance agrees always.

    Examples
    --------
    Of 50 steps, 35 agree; one side says J on 25, the other on 30: chance gives a half.

    >>> round(kappa_of(np.array([[20.0, 5.0], [10.0, 15.0]])), 9)
    0.4
    """
    chance = _by_chance(crossed, np.eye(*crossed.shape)) / 100
    if not chance < 1:
        return math.nan
    return float((np.trace(crossed) / crossed.sum() - chance) / (1 - chance))


def reasoning_notes(run: Run) -> list[str]:
    """Say how expectations are read, and what kappa is."""
    return [
        "expectations are read from stated forms in English; docs/measures/reasoning.md has the "
        "rates at which the reader errs. Kappa: agreement beyond chance, with the interval of the "
        "jackknife over episodes"
    ]


TABLES = {
    "reasoning": Table(
        "reasoning consistency: the text's last expectation beside probe and action",
        fixed(reasoning_rows),
        notes=reasoning_notes,
        needs="answers that reason in writing, such as CoT: docs/measures/reasoning.md, "
        '"Reasoning consistency"',
    ),
}
