"""Do players keep their ranks when the wording changes? Agreement, and who is first."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tomeval.comparing.sides import Runs
from tomeval.core.errors import TomevalError
from tomeval.core.streams import Stream
from tomeval.extensions.wording.grids import Grid, grids_of
from tomeval.statistics.bootstrap import chunks, draw_counts
from tomeval.statistics.paired import FloatArray
from tomeval.statistics.ranks import ENOUGH, concordance, first_shares, mean_kendall

RESAMPLES = 1_000
_NOTHING = (math.nan,) * 5


class Agreed(NamedTuple):
    """A coefficient, its 95 % bootstrap interval, and what noise alone would leave of it.

    `alone` is its mean, `alone_low` and `alone_high` are its 2.5 and 97.5 % quantiles if wordings
    moved all players alike, so that only chance between episodes changed their ranks. NaN: no
    resamples, or too few of them have the coefficient.
    """

    value: float
    low: float
    high: float
    alone: float
    alone_low: float
    alone_high: float


@dataclass(frozen=True, eq=False)
class RankStability:
    """How players rank under each wording, by one measure, for one model in one task.

    `means`, shape (S, W), are of S players under W wordings; `better` is 1 or -1. `concordance` is
    Kendall's W over wordings, `kendall` the mean of tau-b over pairs of wordings, `kept` the share
    of wordings, 0 to 1, in which the player that is best over all of them is first. `first`, shape
    (S,), is the share of wordings in which each player is first, ties shared.
    """

    laid: Grid
    better: int
    means: FloatArray
    concordance: Agreed
    kendall: Agreed
    kept: Agreed
    first: FloatArray
    first_low: FloatArray
    first_high: FloatArray

    @property
    def best(self) -> str:
        """The player with the best mean over all wordings."""
        return self.laid.players[int((self.better * self.means.mean(axis=1)).argmax())]

    def ranks(self) -> FloatArray:
        """Return each player's rank under each wording, 1 for the best; equal ones share the mean.

        Shape (S, W).
        """
        return place(self.better * self.means)


def place(scores: FloatArray) -> FloatArray:
    """Return ranks within each column, 1 for the largest; equal ones share the mean of their ranks.

    Examples
    --------
    >>> place(np.array([[2.0], [5.0], [2.0]])).ravel().tolist()
    [2.5, 1.0, 2.5]
    """
    from scipy.stats import rankdata

    # Sums of the same numbers in another order are the same score.
    ranks: FloatArray = rankdata(-np.round(scores, 9), axis=0)
    return ranks


def rank_stability(
    runs: Runs, metrics: Sequence[str] | None = None, reference: str | None = None, seed: int = 0
) -> tuple[list[RankStability], list[str]]:
    """Compare the ranks of players under every wording, by measures that have a better side.

    Parameters as for `tomeval.extensions.wording.variance.sensitivity`; `seed` of the resamples.

    Raises
    ------
    TomevalError
        The wording varies nowhere, or nowhere with two players and a measure with a better side.

    Notes
    -----
    Intervals are percentiles of a bootstrap over episodes, which all cells share; deviations are
    widened by the root of n / (n - 1). A resample adds the noise that the means have already, so
    intervals lie low: hold the value against `Agreed.alone`. That takes the same resamples around
    an additive fit, player + wording.
    """
    domain, grids, notes = grids_of(runs, metrics, reference)
    ranked = [
        _of(laid, domain.measures[laid.metric].better, seed)
        for laid in grids
        if domain.measures[laid.metric].better and len(laid.players) > 1
    ]
    if not ranked:
        notes.append("ranks need two players, and a measure with a better side")
        raise TomevalError("; ".join(notes))
    return ranked, notes


def _of(laid: Grid, better: int, seed: int) -> RankStability:
    """Return the agreement of one grid."""
    values = better * laid.by_wording()
    means = np.nanmean(values, axis=2)
    drawn = means[None]
    if not laid.exact:
        purpose = ("ranks", laid.metric, laid.model, repr(laid.task))
        drawn = _resampled(values, np.random.default_rng(Stream.of(seed, *purpose).key))
    fit = means.mean(axis=1, keepdims=True) + means.mean(axis=0) - means.mean()
    alone = fit + (drawn - means)
    best = int(means.mean(axis=1).argmax())

    def agreed(of: Callable[[FloatArray], float]) -> Agreed:
        value = of(means.T)
        if laid.exact:
            return Agreed(value, *_NOTHING)
        around, by_chance = (np.array([of(one.T) for one in some]) for some in (drawn, alone))
        around, by_chance = (some[np.isfinite(some)] for some in (around, by_chance))
        if min(len(around), len(by_chance)) < ENOUGH * RESAMPLES:
            return Agreed(value, *_NOTHING)
        ends, reach = (np.quantile(some, (0.025, 0.975)).tolist() for some in (around, by_chance))
        return Agreed(value, ends[0], ends[1], float(by_chance.mean()), reach[0], reach[1])

    shares = np.array([first_shares(one.T) for one in drawn])
    ends = np.quantile(shares, (0.025, 0.975), axis=0)
    if laid.exact:
        ends = np.full_like(ends, np.nan)
    return RankStability(
        laid,
        better,
        better * means,
        agreed(concordance),
        agreed(mean_kendall),
        agreed(lambda scores: float(first_shares(scores)[best])),
        first_shares(means.T),
        *ends,
    )


def _resampled(values: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return means in resamples of units, shape (R, S, W); those that empty a cell are left out."""
    players, wordings, units = values.shape
    flat = values.reshape(-1, units)
    there = np.isfinite(flat)
    filled = np.where(there, flat, 0.0)
    means = filled.sum(axis=1) / there.sum(axis=1)
    found = np.empty((RESAMPLES, len(flat)))
    for chunk in chunks(RESAMPLES, units):
        counts = draw_counts(chunk.stop - chunk.start, units, rng)
        bottom = counts @ there.T
        sums = counts @ filled.T
        found[chunk] = np.divide(sums, bottom, out=np.full(sums.shape, np.nan), where=bottom > 0)
    size = there.sum(axis=1)
    widened = means + np.sqrt(size / np.maximum(size - 1, 1)) * (found - means)
    whole: FloatArray = widened[np.isfinite(widened).all(axis=1)]
    return whole.reshape(-1, players, wordings)
