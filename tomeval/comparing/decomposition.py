"""What the functional regret is made of, and how it goes with the literal measures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tomeval.comparing.sides import Runs, Side, metric_names, opened, read_sides
from tomeval.core.errors import TomevalError
from tomeval.statistics.paired import FloatArray, IntArray, standard_error, t_interval

PARTS = ("belief", "response", "foresight")
"""ΔFunctional = belief + response + foresight, exactly; see `measures.step_metrics`."""
_METRICS = (
    "delta_functional_per_step",
    "delta_tom_best_response_per_step",
    "response_gap_per_step",
    "foresight_gap_per_step",
)


@dataclass(frozen=True, eq=False)
class Decomposition:
    """The parts of ΔFunctional/T of C cells or levels, and their shares in it.

    Attributes
    ----------
    names : tuple of str
        One per row.
    labels : tuple of dict
        The rows' columns: those of the cell, or the level.
    functional, functional_low, functional_high : ndarray, shape (C,)
        ΔFunctional/T with Student's 95 % interval, in payoff units per step.
    part, part_low, part_high : ndarray, shape (C, 3)
        Belief, response and foresight, in payoff units per step, likewise.
    share, share_low, share_high : ndarray, shape (C, 3)
        Ratios of means, part / ΔFunctional; they add up to 1, and single ones can lie outside 0..1
        where parts offset each other. Fieller's 95 % interval. NaN where `reason` says why.
    reason : tuple of str
        Empty, or why a row has no shares.
    episodes : ndarray of int, shape (C,)
        Sampling units.
    """

    names: tuple[str, ...]
    labels: tuple[dict[str, Any], ...]
    functional: FloatArray
    functional_low: FloatArray
    functional_high: FloatArray
    part: FloatArray
    part_low: FloatArray
    part_high: FloatArray
    share: FloatArray
    share_low: FloatArray
    share_high: FloatArray
    reason: tuple[str, ...]
    episodes: IntArray

    def rows(self) -> list[dict[str, Any]]:
        """Return one dict per row, at full precision."""
        result = []
        for c, label in enumerate(self.labels):
            row: dict[str, Any] = {**label, "episodes": int(self.episodes[c])}
            for name in ("functional", "functional_low", "functional_high"):
                row[name] = float(getattr(self, name)[c])
            for k, part in enumerate(PARTS):
                for kind in ("part", "share"):
                    stem = part if kind == "part" else f"{part}_share"
                    for end in ("", "_low", "_high"):
                        row[stem + end] = float(getattr(self, kind + end)[c, k])
            result.append(row | {"reason": self.reason[c]})
        return result


def decompose(runs: Runs, by: str | None = None, reference: str | None = None) -> Decomposition:
    """Split ΔFunctional/T into belief, response and foresight, with intervals.

    Parameters
    ----------
    runs : Run, path, or sequence of them
    by : str, optional
        None: one row per cell. Else one row per level, as in `tomeval.comparing.compare`: the mean
        over all its tasks, every task counting the same.
    reference : {"horizon", "stationary"}, optional
        Overrides the cells' own.

    Notes
    -----
    Fieller 1954: the interval holds all ratios ρ for which the mean of part - ρ ΔFunctional does
    not differ from 0 at 5 %. It is bounded only where ΔFunctional itself differs from 0; where it
    does not, shares are not given.
    """
    with opened(runs) as listed:
        metric_names(listed, _METRICS)
        sides = read_sides(listed, by or "subject", _METRICS, reference)
        groups: dict[Any, list[Side]] = {}
        for number, side in enumerate(sides):
            groups.setdefault(number if by is None else side.level, []).append(side)
        labels = [
            {
                **group[0].cell.labels_of_row(),
                "seed": group[0].seed,
                **({"run": group[0].run} if len(listed) > 1 else {}),
            }
            if by is None
            else {by: key}
            for key, group in groups.items()
        ]
    rows = [_decomposed(group) for group in groups.values()]
    names = _names(labels, by)
    mean, low, high, shares = (np.stack(column) for column in list(zip(*rows, strict=True))[:4])
    return Decomposition(
        names,
        tuple(labels),
        functional=mean[:, 0],
        functional_low=low[:, 0],
        functional_high=high[:, 0],
        part=mean[:, 1:],
        part_low=low[:, 1:],
        part_high=high[:, 1:],
        share=shares[:, 0],
        share_low=shares[:, 1],
        share_high=shares[:, 2],
        reason=tuple(row[4] for row in rows),
        episodes=np.array([row[5] for row in rows], dtype=np.int64),
    )


def _names(labels: Sequence[dict[str, Any]], by: str | None) -> tuple[str, ...]:
    """Name rows by what differs between them."""
    if by is not None:
        return tuple(str(label[by]) for label in labels)
    keys = [k for k in labels[0] if len({str(label[k]) for label in labels}) > 1] or ["subject"]
    if any(label["strategy"] and label["strategy"] == label["subject"] for label in labels):
        keys = [key for key in keys if key != "strategy"] or keys
    return tuple(", ".join(str(label[k]) for k in keys if label[k] != "") for label in labels)


def linear_form(sides: Sequence[Side]) -> tuple[FloatArray, list[FloatArray], int]:
    """Return means over tasks of some cells, influences by independent stratum, and units.

    Seeds of a task are joined; tasks count the same. Episodes of one seed and number against one
    partner set share their random numbers and are one unit.
    """
    tasks: dict[Any, list[Side]] = {}
    for side in sides:
        if len(side.episodes):
            tasks.setdefault((*side.task, side.player), []).append(side)
    width = sides[0].values.shape[1]
    mean = np.zeros(width) if tasks else np.full(width, np.nan)
    strata: dict[tuple[str, str], dict[tuple[int, int], FloatArray]] = {}
    for group in tasks.values():
        values = np.concatenate([side.values for side in group])
        centre = values[0] + (values - values[0]).mean(axis=0)  # exact where all are equal
        mean += centre / len(tasks)
        moves = (values - centre) / (len(values) * len(tasks))
        row = group[0].cell.labels_of_row()
        stratum = strata.setdefault((row["game"], row["partners"]), {})
        units = [(side.seed, number) for side in group for number in side.episodes.tolist()]
        for unit, move in zip(units, moves, strict=True):
            stratum[unit] = stratum.get(unit, 0.0) + move
    found = [np.stack(list(stratum.values())) for stratum in strata.values()]
    return mean, found, sum(map(len, found))


def _decomposed(
    sides: Sequence[Side],
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, str, int]:
    """Return mean, low and high of all four, shares (3, 3: value, low, high), reason, units."""
    mean, influences, units = linear_form(sides)
    standard = standard_error(influences)
    nothing = np.full(len(mean), np.nan)
    low, high = t_interval(mean, standard) if units else (nothing, nothing)
    shares, reason = np.full((3, 3), np.nan), ""
    if units == 0:
        reason = "no complete episode"
    elif np.isnan(mean).any():
        reason = "no predictions were recorded, or the partner is unknown"
    elif np.isnan(standard.error[0]):
        reason = "fewer than two episodes of a task: no interval"
    else:
        scale = float(np.abs(mean).max())
        shares[:] = [fieller(mean[k], mean[0], _covariance(influences, k)) for k in (1, 2, 3)]
        if np.isnan(shares).any() or abs(mean[0]) <= 1e-12 * max(scale, 1.0):
            shares[:] = np.nan
            reason = (
                f"ΔFunctional/T is {mean[0]:.4g} [{low[0]:.4g}, {high[0]:.4g}], not told apart "
                "from 0: shares of it are undefined"
            )
    return mean, low, high, shares.T, reason, units


def _covariance(influences: Sequence[FloatArray], column: int) -> tuple[float, float, float, float]:
    """Return variances of a column's and the first column's mean, covariance, t's freedom."""
    pairs = [z[:, [column, 0]] for z in influences]
    total = np.sum([len(z) / (len(z) - 1) * (z.T @ z) for z in pairs], axis=0)
    freedom = float(standard_error(influences).freedom[0])
    return float(total[0, 0]), float(total[1, 1]), float(total[0, 1]), freedom


def fieller(
    top: float, bottom: float, moments: tuple[float, float, float, float]
) -> tuple[float, float, float]:
    """Return the ratio of two means with Fieller's 95 % interval.

    Parameters
    ----------
    top, bottom : float
        The means.
    moments : tuple of float
        Variance of the mean `top`, of the mean `bottom`, their covariance, degrees of freedom.

    Returns
    -------
    value, low, high : float
        NaN where `bottom` does not differ from 0 at 5 %: the interval would be unbounded.

    Examples
    --------
    >>> [round(x, 4) for x in fieller(1.0, 2.0, (0.01, 0.01, 0.0, 30.0))]
    [0.5, 0.3904, 0.6202]
    """
    from scipy.special import stdtrit

    first, second, both, freedom = moments
    square = float(stdtrit(freedom, 0.975)) ** 2
    a = bottom**2 - square * second
    if a <= 0:
        return float("nan"), float("nan"), float("nan")
    b = top * bottom - square * both
    c = top**2 - square * first
    root = np.sqrt(max(b**2 - a * c, 0.0))
    return top / bottom, float((b - root) / a), float((b + root) / a)


@dataclass(frozen=True, eq=False)
class Correlation:
    """How a literal and a functional metric go together over C cells.

    Attributes
    ----------
    literal, functional : str
    names : tuple of str
        The cells.
    x, y : ndarray, shape (C,)
        The cells' means.
    pearson, pearson_low, pearson_high, spearman, spearman_low, spearman_high : float
        Coefficients and 95 % intervals over cells: Fisher's z, for ranks with the variance of
        Bonett and Wright 2000. NaN where `reason` says why.
    reason : str
    """

    literal: str
    functional: str
    names: tuple[str, ...]
    x: FloatArray
    y: FloatArray
    pearson: float
    pearson_low: float
    pearson_high: float
    spearman: float
    spearman_low: float
    spearman_high: float
    reason: str

    @property
    def cells(self) -> int:
        """Number of cells."""
        return len(self.x)


def correlate(
    runs: Runs,
    literal: str = "tom_percent",
    functional: str = "delta_functional_per_step",
    reference: str | None = None,
) -> Correlation:
    """Correlate a literal with a functional metric over cells.

    The cell is the sampling unit: the interval says how far the coefficient would move with other
    subjects and tasks like these, if cells were drawn independently. Cells that share a subject or
    a game are not quite; and cells of games with different payoffs mix units.
    """
    with opened(runs) as listed:
        metric_names(listed, [literal, functional])
        sides = read_sides(listed, "subject", [literal, functional], reference)
        labels = [{**side.cell.labels_of_row(), "seed": side.seed} for side in sides]
    names = np.array(_names(labels, None), dtype=object)
    means = np.array(
        [side.values.mean(axis=0) if len(side.episodes) else [np.nan, np.nan] for side in sides]
    )
    kept = np.isfinite(means).all(axis=1)
    x, y = means[kept].T
    return Correlation(literal, functional, tuple(names[kept].tolist()), x, y, *correlation(x, y))


def correlation(
    x: FloatArray, y: FloatArray
) -> tuple[float, float, float, float, float, float, str]:
    """Return Pearson's and Spearman's coefficients with intervals, and why there are none.

    Examples
    --------
    >>> found = correlation(np.array([1.0, 2, 3, 4, 5]), np.array([1.0, 3, 2, 5, 4]))
    >>> [round(value, 3) for value in found[:3]]
    [0.8, -0.28, 0.986]
    """
    from scipy.stats import rankdata

    nan = float("nan")
    if x.shape != y.shape:
        raise TomevalError("a correlation needs as many values on both sides")
    if len(x) < 3:
        return nan, nan, nan, nan, nan, nan, f"{len(x)} cells: a correlation needs at least 3"
    if _constant(x) or _constant(y):
        return nan, nan, nan, nan, nan, nan, "all cells have the same value on one side"
    pearson = float(np.clip(np.corrcoef(x, y)[0, 1], -1, 1))
    ranks = rankdata(np.round(x, 10)), rankdata(np.round(y, 10))
    spearman = float(np.clip(np.corrcoef(*ranks)[0, 1], -1, 1))
    reason = "" if len(x) > 3 else "3 cells: an interval needs at least 4"
    ends = _fisher(pearson, len(x), 1.0)
    ranked = _fisher(spearman, len(x), 1 + spearman**2 / 2)
    return pearson, *ends, spearman, *ranked, reason


def _constant(values: FloatArray) -> bool:
    return float(np.ptp(values)) <= 1e-12 * max(1.0, float(np.abs(values).max()))


def _fisher(r: float, count: int, factor: float) -> tuple[float, float]:
    """Return the ends of an interval that is symmetric in Fisher's z."""
    if count < 4:
        return float("nan"), float("nan")
    if abs(r) >= 1:
        return r, r
    half = 1.959963984540054 * np.sqrt(factor / (count - 3))
    z = np.arctanh(r)
    return float(np.tanh(z - half)), float(np.tanh(z + half))
