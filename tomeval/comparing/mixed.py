"""A mixed model of a whole sweep: fixed levels; random tasks, draws and seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tomeval.comparing.comparison import SCALES, in_ranges
from tomeval.comparing.sides import (
    Runs,
    Side,
    check_by,
    level_names,
    metric_names,
    opened,
    read_sides,
)
from tomeval.core.errors import TomevalError, unknown
from tomeval.statistics.paired import FloatArray
from tomeval.statistics.reml import crossed_fit

SEED = "seed"


@dataclass(frozen=True)
class Factor:
    """A random factor: its name, its number of levels and their standard deviation."""

    name: str
    count: int
    sd: float


@dataclass(frozen=True, eq=False)
class MixedFit:
    """Differences from a baseline that take tasks, draws and seeds as a sample of more.

    Attributes
    ----------
    levels : tuple of str
        L levels other than the baseline.
    difference, low, high, p : ndarray, shape (L,)
        Level - baseline with Student's 95 % interval and two-sided p, not corrected.
    freedom : int
        Degrees of freedom of the differences.
    random : tuple of Factor
        Random factors of the model, without those of a single level or no variation of their own.
    residual_sd : float
        Standard deviation of the residual.
    observations : int
        Means over the episodes of a level with one draw, such as a partner, and seed.
    """

    by: str
    baseline: str
    metric: str
    levels: tuple[str, ...]
    difference: FloatArray
    low: FloatArray
    high: FloatArray
    p: FloatArray
    freedom: int
    random: tuple[Factor, ...]
    residual_sd: float
    observations: int
    notes: tuple[str, ...]

    def rows(self) -> list[dict[str, Any]]:
        """Return one dict per level."""
        columns = ("difference", "difference_low", "difference_high", "p")
        numbers = np.stack([self.difference, self.low, self.high, self.p], axis=1).tolist()
        return [
            {self.by: level, "baseline": self.baseline, "metric": self.metric}
            | dict(zip(columns, mine, strict=True))
            for level, mine in zip(self.levels, numbers, strict=True)
        ]


def mixed_model(
    runs: Runs,
    metric: str,
    by: str | None = None,
    baseline: str | None = None,
    reference: str | None = None,
    scale: str = "payoff",
) -> MixedFit:
    """Fit metric ~ level + (1 | group) ... + (1 | seed) + (1 | level x finest group) by REML.

    The paired comparison says how far a difference would move with other episodes of the same
    tasks. This one asks how far it would move with other tasks, draws and seeds like these: their
    variation is the noise. It needs a sweep over several of them.

    Parameters
    ----------
    runs, by, baseline, reference, scale
        As for `tomeval.comparing.compare`.

    Raises
    ------
    TomevalError
        statsmodels is missing; only one level, or no random factor with two levels; a metric
        without a value in some episode; too few observations, or no variation.

    Notes
    -----
    The groups are those of `tomeval.runs.cell.RunCell.groups`: in matrix games ``game`` and
    ``partner``, the one drawn, within its game. An observation is the mean of a level's complete
    episodes in one group and seed; all weigh the same. What is held fixed, such as several models,
    is one more random factor. Levels differ more in some groups than in others; with several seeds
    this is the random factor ``level x partner``, with one seed it is in the residual. Degrees of
    freedom are those of this variation: combinations of level and groups less the rank of the other
    effects. In a balanced sweep differences and their tests are those of the analysis of variance
    of the means over seeds. There is no level x game factor: few sweeps have the games to tell its
    size.
    """
    if scale not in SCALES:
        raise unknown("scale", scale, SCALES)
    with opened(runs) as listed:
        metric_names(listed, [metric])
        by = check_by(listed, by)
        sides = read_sides(listed, by, [metric], reference)
        if scale == "range":
            sides = [in_ranges(side, [metric]) for side in sides]
        held = listed[0].domain.held_name(by)
        levels, values, factors = _observations(sides, held)
    baseline, others = _compared(level_names(sides), set(levels), by, baseline)
    if not np.isfinite(values).all():
        raise TomevalError(f"not every episode has a value of {metric}: no mixed model")
    fixed = np.stack([np.ones(len(values)), *(_is(levels, name) for name in others)], axis=1)
    chosen, notes = _chosen(factors, held)
    if not chosen:
        *first, last = (f"{name}s" for name in factors if name != held)
        wanted = f"{', '.join(first)} or {last}" if first else last
        raise TomevalError(
            f"a mixed model needs several {wanted}; this comparison has one of each: use the "
            "paired comparison"
        )
    groups = [name for name in factors if name not in (SEED, held)]
    combined = list(zip(levels, *(factors[n] for n in (*groups, held)), strict=True))
    freedom = level_freedom(fixed, chosen, combined)
    if len(set(combined)) < len(values):
        finest = groups[-1] if groups else held
        chosen = {**chosen, f"{by} x {finest}": [str(one) for one in combined]}
    return fit_levels(by, baseline, metric, others, fixed, values, chosen, freedom, notes)


def _compared(
    names: Sequence[str], played: set[str], by: str, baseline: str | None
) -> tuple[str, tuple[str, ...]]:
    """Return the baseline and the other levels that have observations."""
    baseline = names[0] if baseline is None else baseline
    if baseline not in names:
        raise unknown(f"{by} as the baseline", baseline, names)
    others = tuple(name for name in names if name != baseline and name in played)
    if not others or baseline not in played:
        raise TomevalError(f"a mixed model needs complete episodes of two or more of {by}")
    return baseline, others


def level_freedom(fixed: FloatArray, chosen: dict[str, list[str]], combined: Sequence[Any]) -> int:
    """Return the degrees of freedom of the level-by-group variation."""
    first = [combined.index(one) for one in dict.fromkeys(combined)]
    parts = [_columns(chosen[name]) for name in chosen if name != SEED]
    effects = np.concatenate([fixed, *parts], axis=1)[first]
    freedom = len(first) - int(np.linalg.matrix_rank(effects))
    if freedom < 1:
        raise TomevalError(
            f"{len(first)} combinations of level and group are too few for a mixed model: use the "
            "paired comparison"
        )
    return freedom


def _columns(values: Sequence[str]) -> FloatArray:
    """Return one indicator column for each distinct value."""
    return np.stack([_is(values, one) for one in dict.fromkeys(values)], axis=1)


def _observations(
    sides: Sequence[Side], held: str
) -> tuple[list[str], FloatArray, dict[str, list[str]]]:
    """Return the level, the mean and the factors of every (level, task, draw, seed)."""
    levels: list[str] = []
    values: list[float] = []
    factors: dict[str, list[str]] = {}
    for side in sides:
        for drawn in np.unique(side.which):
            levels.append(side.level)
            values.append(float(side.values[side.which == drawn, 0].mean()))
            found = {**side.cell.groups(int(drawn)), SEED: str(side.seed), held: side.held}
            for name, value in found.items():
                # A column in which levels differ is not a group.
                if name in side.task or name not in side.cell.domain.task:
                    factors.setdefault(name, []).append(value)
    return levels, np.array(values), factors


def _is(values: Sequence[str], name: str) -> FloatArray:
    return np.array([float(value == name) for value in values])


def _chosen(factors: dict[str, list[str]], held: str) -> tuple[dict[str, list[str]], list[str]]:
    """Return the factors that vary and do not repeat an earlier one, and what was left out."""
    chosen: dict[str, list[str]] = {}
    notes = []
    for name, values in factors.items():
        count = len(set(values))
        same = [
            other
            for other, theirs in chosen.items()
            if len(set(zip(theirs, values, strict=True))) == count == len(set(theirs))
        ]
        if count < 2:
            if name != held:
                notes.append(f"one {name} only: the differences hold for this one")
        elif same:
            notes.append(f"{name} and {same[0]} go together: only {same[0]} is in the model")
        else:
            chosen[name] = values
            if count < 5:
                notes.append(f"{count} levels of {name}: its variance is uncertain with so few")
    return chosen, notes


def fit_levels(
    by: str,
    baseline: str,
    metric: str,
    others: tuple[str, ...],
    fixed: FloatArray,
    values: FloatArray,
    chosen: dict[str, list[str]],
    freedom: int,
    notes: list[str],
) -> MixedFit:
    """Fit by REML and read off the differences."""
    from scipy.special import stdtr, stdtrit

    parts = {name: _columns(mine) for name, mine in chosen.items()}
    spread = float(values.std())
    if spread <= 1e-12 * max(1.0, float(np.abs(values).max())):
        raise TomevalError(f"{metric} does not vary in this sweep: nothing to model")
    fit, warned = crossed_fit(fixed, values / spread, parts)
    error = np.sqrt(np.diag(fit.cov_params())[1 : fixed.shape[1]]) * spread
    difference = fit.fe_params[1:] * spread
    half = stdtrit(freedom, 0.975) * error
    random = tuple(
        Factor(name, part.shape[1], float(np.sqrt(max(variance, 0.0))) * spread)
        for (name, part), variance in zip(sorted(parts.items()), fit.vcomp, strict=True)
    )
    ends = (difference - half, difference + half)
    p = 2 * stdtr(freedom, -np.abs(difference) / error)
    residual, notes = float(np.sqrt(fit.scale)) * spread, [*notes, *warned]
    found = (difference, *ends, p, freedom, random, residual, len(values), tuple(notes))
    return MixedFit(by, baseline, metric, others, *found)
