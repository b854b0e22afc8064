"""How much of the gap between literal and functional measure is due to the wording."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from tomeval.comparing.sides import Runs, opened
from tomeval.core.errors import TomevalError
from tomeval.extensions.wording.grids import Grid, grids_of
from tomeval.runs.domain import Domain
from tomeval.statistics.paired import FloatArray
from tomeval.statistics.ratios import fieller

EVERY = "all together"


@dataclass(frozen=True, eq=False)
class WordingGap:
    """The gap of one player, or of all with one wording for all, under all wordings and the best.

    `best` is the wording of the least gap, in words.
    """

    laid: Grid
    player: str
    chosen: Chosen
    best: str


def literal_functional_names(domain: Domain) -> tuple[str, str]:
    """Return the measures whose difference is the gap: functional, and belief.

    Raises
    ------
    TomevalError
        The domain's functional measure has no such part.
    """
    if domain.compare.parts is None or "belief" not in domain.compare.parts.part:
        raise TomevalError(
            f"domain {domain.name!r}: its functional measure has no part that belief costs, so "
            "there is no literal-functional gap"
        )
    return domain.compare.parts.whole, domain.compare.parts.part["belief"]


def wording_gap(runs: Runs, reference: str | None = None) -> tuple[list[WordingGap], list[str]]:
    """Return which share of the literal-functional gap disappears under the best wording.

    The gap of an episode is its functional regret less what acting on its own predictions would
    have cost: knowing without using. The share explained is how much smaller its mean is under the
    best of the swept wordings than over all of them, each the same, by `choose_least`. It is not
    the share of the gap's *variance* that lies between wordings (`sensitivity` has that): a gap
    that is the same under every wording but for a hundredth has all of its variance there, and none
    of its size.

    Raises
    ------
    TomevalError
        The wording varies nowhere, or the domain has no such gap.
    """
    with opened(runs) as listed:
        names = literal_functional_names(listed[0].domain)
        _, grids, notes = grids_of(listed, names, reference)
    gaps: list[WordingGap] = []
    whole, belief = ({one.where: one for one in grids if one.metric == name} for name in names)
    for where, laid in whole.items():
        if where not in belief or belief[where].values.shape != laid.values.shape:
            notes.append(f"{where}: predictions are missing in some cells: no gap")
        else:
            gaps += _of(replace(laid, values=laid.values - belief[where].values))
    if not gaps:
        raise TomevalError("; ".join(notes))
    notes += [
        f"{one.laid.where}, {one.player}, gap: {one.chosen.reason}"
        for one in gaps
        if one.chosen.reason
    ]
    return gaps, list(dict.fromkeys(notes))


def _of(laid: Grid) -> list[WordingGap]:
    """Return the players of a grid, and all of them together."""
    values = laid.by_wording()
    rows = dict(zip(laid.players, values, strict=True))
    if len(rows) > 1:
        missing = np.isnan(values).any(axis=0)
        rows[EVERY] = np.where(missing, np.nan, np.nan_to_num(values).mean(axis=0))
    found = []
    for player, mine in rows.items():
        need = 1 if laid.exact else 2
        if np.isfinite(mine).sum(axis=1).min() < need:
            continue  # no two episodes that all players have
        chosen = choose_least(mine, laid.exact)
        found.append(WordingGap(laid, player, chosen, laid.wordings[chosen.best]))
    return found


class Chosen(NamedTuple):
    """What choosing the least of W conditions saves of their mean.

    The `mean` over conditions with Student's 95 % interval over units; `least`, the mean of the
    conditions that were chosen without the unit in which they are evaluated; the `share` 1 - least
    / mean, with a 95 % interval of what the truly least condition saves, or the `reason` why one of
    them is NaN; the condition with the `best` mean of all units, and the share of units without
    which the same one would be chosen (`kept`).
    """

    mean: float
    mean_low: float
    mean_high: float
    least: float
    share: float
    low: float
    high: float
    best: int
    kept: float
    reason: str


def choose_least(values: FloatArray, exact: bool = False) -> Chosen:
    """Return what the least of several conditions saves, as a share of the mean over all of them.

    Parameters
    ----------
    values : ndarray, shape (W, U)
        By condition and unit; NaN where a condition lacks a unit. Conditions share units.
    exact : bool
        The units are all there are: the least condition is known, and there is no interval.

    Notes
    -----
    The least of noisy means lies too low. So for every unit the condition is chosen on all others
    and evaluated on this one (leave-one-out), which has no such bias; where the conditions are
    hardly told apart, a worse one is chosen at times, and the share lies a little too low.

    Interval: that of 1 - μ_w / μ by Fieller for every condition w, at the level of Bonferroni's
    correction; the largest of W true shares lies between the largest lower and the largest upper
    end, with at least 95 %, and is never below 0.

    Examples
    --------
    >>> found = choose_least(np.array([[4.0, 4.2, 3.8, 4.0], [1.0, 1.1, 0.9, 1.0]]))
    >>> round(found.share, 3), round(found.low, 3), round(found.high, 3), found.best
    (0.6, 0.575, 0.63, 1)
    """
    from scipy.special import stdtrit

    there = np.isfinite(values)
    sums, counts = np.where(there, values, 0.0).sum(axis=1), there.sum(axis=1)
    means = sums / counts
    mean, best = float(means.mean()), int(means.argmin())
    if exact:
        least, kept = float(means[best]), 1.0
    else:
        least, kept = _left_out(values, best)
    moves = np.where(there, values - means[:, None], 0.0)
    moves /= np.sqrt(counts * np.maximum(counts - 1.0, 1.0))[:, None]
    common, freedom = moves.mean(axis=0), float(counts.min() - 1)
    half = math.nan if exact else float(stdtrit(freedom, 0.975) * np.sqrt(common @ common))
    bounds = (mean, mean - half, mean + half)
    nothing = (math.nan,) * 3
    if mean <= 0:
        return Chosen(*bounds, least, *nothing, best, kept, "its mean is not above 0")
    if exact:
        return Chosen(*bounds, least, 1 - least / mean, *nothing[:2], best, kept, "")
    if mean <= half:
        return Chosen(*bounds, least, *nothing, best, kept, "its mean is not told apart from 0")
    ends = []
    for w, move in enumerate(moves):
        moments = (float(move @ move), float(common @ common), float(move @ common), freedom)
        _, low, high = fieller(float(means[w]), mean, moments, 1 - 0.05 / len(means))
        ends.append((1 - high, 1 - low))
    low, high = (max(end) for end in zip(*ends, strict=True))
    share = 1 - least / mean
    if not math.isfinite(low + high):
        why = f"too few episodes for an interval over {len(means)} wordings"
        return Chosen(*bounds, least, share, math.nan, math.nan, best, kept, why)
    return Chosen(*bounds, least, share, max(0.0, low), high, best, kept, "")


def _left_out(values: FloatArray, best: int) -> tuple[float, float]:
    """Return the mean of conditions chosen on the other units, and how often that is the best.

    Conditions that the others cannot tell apart count alike, whatever their order and rounding.
    """
    there = np.isfinite(values)
    filled = np.where(there, values, 0.0)
    counts = there.sum(axis=1, keepdims=True) - there
    sums = filled.sum(axis=1, keepdims=True) - filled
    others = np.divide(sums, counts, out=np.full(sums.shape, np.inf), where=counts > 0)
    least = others.min(axis=0)
    chosen = others <= least + 1e-9 * np.maximum(np.abs(least), 1.0)
    usable = chosen & there
    found = (filled * usable).sum(axis=0)[usable.any(axis=0)] / usable.sum(axis=0)[
        usable.any(axis=0)
    ]
    return float(found.mean()), float((chosen[best] / chosen.sum(axis=0)).mean())
