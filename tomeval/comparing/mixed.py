"""A mixed model of a whole sweep: subjects fixed; games, partners and seeds random."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tomeval.comparing.comparison import SCALES, in_ranges
from tomeval.comparing.sides import Runs, Side, level_names, metric_names, opened, read_sides
from tomeval.core.errors import TomevalError, unknown
from tomeval.statistics.paired import FloatArray
from tomeval.statistics.reml import variance_ratios

FACTORS = ("game", "partner", "seed", "model")


@dataclass(frozen=True)
class Factor:
    """A random factor: its name, how many of it were met, and the standard deviation they have."""

    name: str
    count: int
    sd: float


@dataclass(frozen=True, eq=False)
class MixedFit:
    """Differences from a baseline that take games, partners and seeds as a sample of more.

    Attributes
    ----------
    by, baseline, metric : str
    levels : tuple of str
        L levels other than the baseline.
    difference, low, high, p : ndarray, shape (L,)
        Level - baseline with Student's 95 % interval and two-sided p, not corrected.
    freedom : int
        Degrees of freedom of the differences.
    random : tuple of Factor
        Random factors of the model; those with a single level or no own variation are left out.
    residual_sd : float
        Standard deviation of what is left.
    observations : int
        Means over the episodes of a level with one partner and seed.
    notes : tuple of str
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
        return [
            {
                self.by: level,
                "baseline": self.baseline,
                "metric": self.metric,
                "difference": float(self.difference[i]),
                "difference_low": float(self.low[i]),
                "difference_high": float(self.high[i]),
                "p": float(self.p[i]),
            }
            for i, level in enumerate(self.levels)
        ]


def mixed_model(
    runs: Runs,
    metric: str,
    by: str = "strategy",
    baseline: str | None = None,
    reference: str | None = None,
    scale: str = "payoff",
) -> MixedFit:
    """Fit metric ~ level + (1 | game) + (1 | partner) + (1 | seed) + (1 | level x partner) by REML.

    The paired comparison says how far a difference would move with other episodes of the same
    tasks. This one asks how far it would move with other games, partners and seeds like these: what
    varies between them is the noise. It needs a sweep over several.

    Parameters
    ----------
    runs, by, baseline, reference, scale
        As for `tomeval.comparing.compare`; ``partner`` is the one drawn, within its game.
    metric : str

    Raises
    ------
    TomevalError
        statsmodels is missing; only one level, or no random factor with two levels; a metric
        without a value in some episode; too few observations, or no variation.

    Notes
    -----
    An observation is the mean of a level's complete episodes with one partner and seed; all weigh
    the same. Several models are one more random factor. Subjects differ more with some partners
    than with others; with several seeds this is the random factor ``level x partner``, with one
    seed it is in the residual. Degrees of freedom are those of this variation: combinations of
    level, partner and model less the rank of the other effects. In a balanced sweep differences and
    their tests are those of the analysis of variance of the means over seeds. There is no level x
    game factor: few sweeps have the games to tell its size.
    """
    if scale not in SCALES:
        raise unknown("scale", scale, SCALES)
    with opened(runs) as listed:
        metric_names(listed, [metric])
        sides = read_sides(listed, by, [metric], reference)
        if scale == "range":
            sides = [in_ranges(side, [metric]) for side in sides]
        levels, values, factors = _observations(sides)
    baseline, others = _compared(level_names(sides), set(levels), by, baseline)
    if not np.isfinite(values).all():
        raise TomevalError(f"not every episode has a value of {metric}: no mixed model")
    fixed = np.stack([np.ones(len(values)), *(_is(levels, name) for name in others)], axis=1)
    chosen, notes = _chosen(factors)
    if not chosen:
        raise TomevalError(
            "a mixed model needs several games, partners or seeds; this comparison has one of "
            "each: use the paired comparison"
        )
    combined = list(zip(levels, *(factors[n] for n in FACTORS if n != "seed"), strict=True))
    freedom = _freedom(fixed, chosen, combined)
    if len(set(combined)) < len(values):
        chosen = {**chosen, f"{by} x partner": [str(one) for one in combined]}
    return _fit(by, baseline, metric, others, fixed, values, chosen, freedom, notes)


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


def _freedom(fixed: FloatArray, chosen: dict[str, list[str]], combined: Sequence[Any]) -> int:
    """Return the degrees of freedom of the level-by-partner variation."""
    first = [combined.index(one) for one in dict.fromkeys(combined)]
    parts = [_columns(chosen[name]) for name in chosen if name != "seed"]
    freedom = len(first) - int(
        np.linalg.matrix_rank(np.concatenate([fixed, *parts], axis=1)[first])
    )
    if freedom < 1:
        raise TomevalError(
            f"{len(first)} combinations of level and partner are too few for a mixed model: use "
            "the paired comparison"
        )
    return freedom


def _columns(values: Sequence[str]) -> FloatArray:
    """Return one indicator column for each distinct value."""
    return np.stack([_is(values, one) for one in dict.fromkeys(values)], axis=1)


def _observations(
    sides: Sequence[Side],
) -> tuple[list[str], FloatArray, dict[str, list[str]]]:
    """Return the level, the mean and the factors of every (level, task, partner, seed)."""
    levels: list[str] = []
    values: list[float] = []
    factors: dict[str, list[str]] = {name: [] for name in FACTORS}
    for side in sides:
        row = side.cell.labels_of_row()
        for index in np.unique(side.which):
            levels.append(side.level)
            values.append(float(side.values[side.which == index, 0].mean()))
            partner = side.cell.partners[index].name
            factors["game"].append(row["game"])
            factors["partner"].append(f"{row['game']}: {partner}")
            factors["seed"].append(str(side.seed))
            factors["model"].append(side.player)
    return levels, np.array(values), factors


def _is(values: Sequence[str], name: str) -> FloatArray:
    return np.array([float(value == name) for value in values])


def _chosen(factors: dict[str, list[str]]) -> tuple[dict[str, list[str]], list[str]]:
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
            if name != "model":
                notes.append(f"one {name} only: the differences hold for this one")
        elif same:
            notes.append(f"{name} and {same[0]} go together: only {same[0]} is in the model")
        else:
            chosen[name] = values
            if count < 5:
                notes.append(
                    f"{count} levels of {name}: how much it varies is hardly known from so few"
                )
    return chosen, notes


def _fit(
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
    fit, warned = _statsmodels_fit(fixed, values / spread, parts)
    error = np.sqrt(np.diag(fit.cov_params())[1 : fixed.shape[1]])
    difference = fit.fe_params[1:] * spread
    error = error * spread
    half = stdtrit(freedom, 0.975) * error
    return MixedFit(
        by,
        baseline,
        metric,
        others,
        difference,
        difference - half,
        difference + half,
        2 * stdtr(freedom, -np.abs(difference) / error),
        freedom,
        tuple(
            Factor(name, part.shape[1], float(np.sqrt(max(variance, 0.0))) * spread)
            for (name, part), variance in zip(sorted(parts.items()), fit.vcomp, strict=True)
        ),
        float(np.sqrt(fit.scale)) * spread,
        len(values),
        (*notes, *warned),
    )


def _statsmodels_fit(
    fixed: FloatArray, values: FloatArray, parts: dict[str, FloatArray]
) -> tuple[Any, list[str]]:
    """Fit crossed random factors; return the fit and which factors have no variance.

    statsmodels' optimisers stop at poor points of this likelihood and call it converged, so it is
    given the optimum to start from, and may not end below it.
    """
    try:
        module = importlib.import_module("statsmodels.regression.mixed_linear_model")
    except ModuleNotFoundError:
        raise TomevalError("a mixed model needs statsmodels: pip install statsmodels") from None
    names = sorted(parts)
    specification = module.VCSpec(
        names,
        [[[f"{name}{i}" for i in range(parts[name].shape[1])]] for name in names],
        [[parts[name]] for name in names],
    )
    model = module.MixedLM(values, fixed, np.zeros(len(values)), exog_vc=specification)
    model.reml = True
    ratios, best = variance_ratios(fixed, values, [parts[name] for name in names])
    start = module.MixedLMParams.from_components(
        fe_params=np.zeros(fixed.shape[1]), cov_re=np.zeros((0, 0)), vcomp=ratios
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # on variances of 0: they are told of below
        try:
            fit = model.fit(reml=True, start_params=start, method="lbfgs")
        except np.linalg.LinAlgError as error:
            raise TomevalError(f"the mixed model could not be fitted: {error}") from None
    if not fit.llf > best - 0.01:
        raise TomevalError("the mixed model did not converge: use the paired comparison")
    flat = [name for name, part in zip(names, fit.vcomp, strict=True) if part < 1e-5 * fit.scale]
    return fit, [f"{name} has no variance of its own beyond the other effects'" for name in flat]
