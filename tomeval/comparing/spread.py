"""The variances of a sweep: random factors and slopes, all levels together, by REML."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tomeval.comparing.sweep import SEED, Observation
from tomeval.statistics.paired import FloatArray
from tomeval.statistics.reml import variance_ratios


@dataclass(frozen=True)
class Factor:
    """A random factor: its name, its number of levels and their standard deviation."""

    name: str
    count: int
    sd: float


def random_factors(
    found: Sequence[Observation], by: str, levels: Sequence[str], names: Sequence[str]
) -> tuple[tuple[Factor, ...], float, list[str]]:
    """Return the standard deviations of random factors and slopes, of the residual, and notes.

    `names` are the groups, coarse first, and what is held; levels differ in slopes over them.
    """
    kept = [one for one in found if one.level in levels]
    values, mine = np.array([one.value for one in kept]), [one.level for one in kept]
    fixed = np.stack([np.ones(len(kept)), *(_is(mine, name) for name in levels[1:])], axis=1)
    columns = {name: [one.factors[name] for one in kept] for name in (*names, SEED)}
    for name in names:
        pairs = zip(mine, columns[name], strict=True)
        columns[f"{by} x {name}"] = [repr(pair) for pair in pairs]
    chosen: dict[str, list[str]] = {}
    notes = []
    slopes = {f"{by} x {name}" for name in names}
    for name, labels in columns.items():
        count = len(set(labels))
        same = [other for other, theirs in chosen.items() if _same(theirs, labels)]
        if same and name not in slopes:
            notes.append(f"{name} and {same[0]} go together: only {same[0]} has a variance")
        # With one observation of each value it is the residual; a slope over one value is a level.
        if 1 < count < len(kept) and not same and not _same(labels, mine):
            chosen[name] = labels
    if len(kept) <= fixed.shape[1]:
        return (), float("nan"), [*notes, "too few observations for variances"]
    size = float(values.std())
    keys = [np.unique(labels, return_inverse=True)[1] for labels in chosen.values()]
    ratios, residual, _ = variance_ratios(fixed, values / size, keys)
    deviations = np.sqrt(np.where(ratios < 1e-5, 0.0, ratios * residual)) * size
    notes += [
        f"{name} has no variance of its own beyond the other effects'"
        for name, deviation in zip(chosen, deviations, strict=True)
        if deviation == 0
    ]
    random = tuple(
        Factor(name, int(key.max()) + 1, float(deviation))
        for name, key, deviation in zip(chosen, keys, deviations, strict=True)
    )
    return random, float(np.sqrt(residual)) * size, notes


def _same(one: Sequence[str], other: Sequence[str]) -> bool:
    """Tell whether two factors split the observations alike."""
    pairs = set(zip(one, other, strict=True))
    return len(pairs) == len(set(one)) == len(set(other))


def _is(values: Sequence[str], name: str) -> FloatArray:
    return np.array([float(value == name) for value in values])
