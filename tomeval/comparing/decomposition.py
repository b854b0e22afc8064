"""The parts of a functional measure, and their shares in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tomeval.comparing.sides import (
    Runs,
    Side,
    check_by,
    metric_names,
    opened,
    read_sides,
)
from tomeval.core.errors import TomevalError
from tomeval.runs.columns import filled
from tomeval.runs.measures import Measure
from tomeval.statistics.bounded import FEWEST, cut
from tomeval.statistics.paired import FloatArray, IntArray, standard_error, t_interval
from tomeval.statistics.ratios import fieller, ratio_moments


@dataclass(frozen=True, eq=False)
class Decomposition:
    """The K parts of a functional measure of C cells or levels, and their shares in it.

    Attributes
    ----------
    whole : Measure
        What is split.
    parts : tuple of str
        In matrix games belief, response and foresight.
    labels : tuple of dict
        The rows' columns: those of the cell, or the level.
    functional : ndarray, shape (C, 3)
        The whole with the ends of Student's 95 % interval, in its unit.
    part : ndarray, shape (C, K, 3)
        The parts likewise.
    share : ndarray, shape (C, K, 3)
        Ratios of means, part / whole, with Fieller's 95 % interval; they add up to 1, and some can
        lie outside 0..1 if parts offset each other. NaN if `reason` says why.
    reason : tuple of str
        Empty, or why a row has no shares.
    episodes : ndarray of int, shape (C,)
        Sampling units.
    """

    whole: Measure
    parts: tuple[str, ...]
    labels: tuple[dict[str, Any], ...]
    functional: FloatArray
    part: FloatArray
    share: FloatArray
    reason: tuple[str, ...]
    episodes: IntArray

    @property
    def names(self) -> list[str]:
        """The rows in words."""
        return [", ".join(str(v) for v in label.values() if v != "") for label in self.labels]

    def rows(self) -> list[dict[str, Any]]:
        """Return one dict per row, at full precision."""
        result = []
        for c, label in enumerate(self.labels):
            row = {**label, "episodes": int(self.episodes[c])}
            row |= _columns("functional", self.functional[c])
            for part, value, share in zip(self.parts, self.part[c], self.share[c], strict=True):
                row |= _columns(part, value) | _columns(f"{part}_share", share)
            result.append(row | {"reason": self.reason[c]})
        return result


def _columns(name: str, ends: FloatArray) -> dict[str, float]:
    return dict(zip((name, f"{name}_low", f"{name}_high"), ends.tolist(), strict=True))


def decompose(runs: Runs, by: str | None = None, reference: str | None = None) -> Decomposition:
    """Split the functional measure into its parts, with intervals.

    Parameters
    ----------
    runs, reference
        As for `tomeval.comparing.compare`.
    by : str, optional
        None: one row per cell. Else one row per level, as in `tomeval.comparing.compare`: the mean
        over all its tasks, every task counting the same.

    Raises
    ------
    TomevalError
        The domain's functional measure has no parts.

    Notes
    -----
    Fieller 1954: the interval holds all ratios ρ for which the mean of part - ρ whole does not
    differ from 0 at 5 %. It is bounded only if the whole itself differs from 0; else shares are not
    given.
    """
    with opened(runs) as listed:
        domain = listed[0].domain
        if domain.compare.parts is None:
            raise TomevalError(
                f"domain {domain.name!r}: its functional measure cannot be split into parts"
            )
        metrics = (domain.compare.parts.whole, *domain.compare.parts.part.values())
        metric_names(listed, metrics)
        if by is not None:
            check_by(listed, by)
        sides = read_sides(listed, by, metrics, reference)
        groups: dict[Any, list[Side]] = {}
        for number, side in enumerate(sides):
            groups.setdefault(number if by is None else side.level, []).append(side)
        labels: list[dict[str, Any]] = [{str(by): level} for level in groups]
        if by is None:
            labels = filled([{**side.cell.columns, "seed": side.seed} for side in sides])
            if len(listed) > 1:
                labels = [{**m, "run": s.run} for m, s in zip(labels, sides, strict=True)]
    measures = listed[0].measures
    whole = measures[domain.compare.parts.whole]
    limits = np.array([measures[name].limits for name in metrics])
    rows = [_decomposed(group, whole, limits) for group in groups.values()]
    means, shares = (np.stack([row[place] for row in rows]) for place in (0, 1))
    return Decomposition(
        whole,
        tuple(domain.compare.parts.part),
        tuple(labels),
        functional=means[:, 0],
        part=means[:, 1:],
        share=shares,
        reason=tuple(row[2] for row in rows),
        episodes=np.array([row[3] for row in rows], dtype=np.int64),
    )


def linear_form(sides: Sequence[Side]) -> tuple[FloatArray, list[FloatArray], int]:
    """Return means of some cells over tasks, influences by independent stratum, and units.

    Seeds of a task are joined; tasks count the same. Episodes of one seed and cluster that met the
    same chance are one unit.
    """
    tasks: dict[Any, list[Side]] = {}
    for side in sides:
        if len(side.episodes):
            tasks.setdefault(side.key, []).append(side)
    width = sides[0].values.shape[1]
    mean = np.zeros(width) if tasks else np.full(width, np.nan)
    strata: dict[tuple[Any, ...], dict[tuple[int, Any], FloatArray]] = {}
    for group in tasks.values():
        values = np.concatenate([side.values for side in group])
        centre = values[0] + (values - values[0]).mean(axis=0)  # exact if all are equal
        mean += centre / len(tasks)
        moves = (values - centre) / (len(values) * len(tasks))
        stratum = strata.setdefault(group[0].draws, {})
        units = [(side.seed, label) for side in group for label in side.clusters.tolist()]
        for unit, move in zip(units, moves, strict=True):
            stratum[unit] = stratum.get(unit, 0.0) + move
    influences = [np.stack(list(stratum.values())) for stratum in strata.values()]
    return mean, influences, sum(map(len, influences))


def _decomposed(
    sides: Sequence[Side], whole: Measure, limits: FloatArray
) -> tuple[FloatArray, FloatArray, str, int]:
    """Return the whole and K parts, (1 + K, 3), shares, (K, 3), reason, sampling units."""
    mean, influences, units = linear_form(sides)
    standard = standard_error(influences)
    nothing = np.full(len(mean), np.nan)
    low, high = nothing, nothing
    if units >= FEWEST:
        low, high = cut(*t_interval(mean, standard), mean, *limits.T)
    shares, reason = np.full((len(mean) - 1, 3), np.nan), ""
    if units == 0:
        reason = "no complete episode"
    elif np.isnan(mean).any():
        reason = "not every episode has a value of every part"
    elif abs(mean[0] - mean[1:].sum()) > 1e-9 * max(1.0, float(np.abs(mean).max())):
        reason = "the parts are of different steps and do not add up: some steps lack one"
    elif np.isnan(standard.error[0]):
        reason = "fewer than two episodes of a task: no interval"
    elif units < FEWEST:
        reason = f"fewer than {FEWEST} episodes: no interval"
    else:
        scale = float(np.abs(mean).max())
        for k in range(1, len(mean)):
            shares[k - 1] = fieller(mean[k], mean[0], ratio_moments(influences, k))
        if np.isnan(shares).any() or abs(mean[0]) <= 1e-12 * max(scale, 1.0):
            shares[:] = np.nan
            reason = (
                f"{whole.heading} is {mean[0]:.4g} [{low[0]:.4g}, {high[0]:.4g}], not told apart "
                "from 0: shares of it are undefined"
            )
    return np.stack([mean, low, high], axis=1), shares, reason, units
