"""How many episodes it takes to find a difference with the test of `compare`, from pilot data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tomeval.comparing.comparison import compare_pairs, compared_sides
from tomeval.comparing.layout import Pairing
from tomeval.comparing.pairing import pair
from tomeval.comparing.result import ALPHA
from tomeval.comparing.sides import Runs, Side, check_by, metric_names, opened
from tomeval.core.errors import TomevalError
from tomeval.statistics import RESAMPLES
from tomeval.statistics.flips import enough_pairs, pairs_needed, power_of, smallest_effect
from tomeval.statistics.paired import FloatArray, standard_error

POWER = 0.8
"""The probability of finding a difference."""
FEW = 2
"""With fewer pairs beyond the fewest that can reject, the sign flip has much less power."""
_NO_MORE = "each distinct episode was played once: there can be no more"


def episodes_needed(
    runs: Runs,
    metric: str,
    difference: float,
    by: str | None = None,
    baseline: str | None = None,
    *,
    reference: str | None = None,
    resamples: int = RESAMPLES,
) -> list[dict[str, Any]]:
    """Return how many episodes let `compare` find a difference, by scope and level.

    Parameters
    ----------
    runs, by, baseline, reference, resamples
        Pilot runs and the comparison that is planned, as for `tomeval.comparing.compare`.
    difference : float
        The true mean difference to detect, in the metric's unit; its sign does not matter.

    Returns
    -------
    list of dict
        ``scope``, the level, ``baseline``, ``metric``; of the pilot ``pairs``, their ``unit`` (such
        as episodes, or deals that several games share), the ``sd`` of their differences, and the
        ``power`` that it had itself. ``tests`` is the size of the family: a p below 0.05 / tests
        is a find whatever the others of the family show. ``pairs_needed`` are needed in all, which
        are so many ``episodes`` in every cell. ``smallest_difference`` is what the pilot's own size
        detects with this power, NaN if its test can find nothing. ``reason``: why there is no
        number.

    Notes
    -----
    Differences are taken as normal with the pilot's SD, and the sign flip as Student's test with a
    pair less, from `FEW` pairs more on than it needs to reject at all: simulated with 1 to 11 tests
    it then has at most one percentage point less power than is said. Over all tasks, units of
    several partner sets are taken as one sample with their mean variance.
    """
    if not (np.isfinite(difference) and difference != 0):
        raise TomevalError(f"the difference must be a number other than 0, is {difference}")
    with opened(runs) as listed:
        [metric] = metric_names(listed, [metric])
        by = check_by(listed, by)
        names, sides = compared_sides(listed, by, [metric], reference)
        pairing = pair(sides, by, baseline, names)
        per_unit, unit = _per_unit(sides, pairing), f"{listed[0].domain.unit}s"
    planned = compare_pairs(pairing, margin=np.full(1, np.nan), resamples=99)
    rows = []
    for s, scope in enumerate(planned.scopes):
        for k, level in enumerate(pairing.levels):
            if pairing.apart[s, k]:
                raise TomevalError(
                    f"{scope}, {level}: its episodes are not paired with those of "
                    f"{pairing.baseline!r}; power needs pairs"
                )
            spread, tests = _spread(pairing, s, k), int(planned.family_size[s, k, 0])
            met = [task for task in pairing.scopes[s] if pairing.counts[task, k]]
            row: dict[str, Any] = {"scope": scope, by: level, "baseline": pairing.baseline}
            row |= {"metric": metric, "pairs": spread[0], "unit": unit}
            each = float(per_unit[met, k].max()) if met else math.nan  # NaN if any is
            how: dict[str, Any] = {"tests": tests, "resamples": resamples, "per_unit": each}
            rows.append(row | needed(*spread, difference=abs(difference), **how))
    return rows


def _spread(pairing: Pairing, scope: int, level: int) -> tuple[int, int, float]:
    """Return the pilot's sampling units, their groups of one chance, and the SD of differences.

    The SD is NaN if it is not known.
    """
    influences = [part for one in pairing.parts(scope, level) for part in one.moves]
    pairs = sum(map(len, influences))
    used = pairing.used[pairing.scopes[scope], level].any()
    error = standard_error(influences).error[0] if used else math.nan
    # The standard error of the mean of `pairs` alike units with this SD is the pilot's own; with
    # equal numbers in all groups, more of each make it smaller in the same way.
    return pairs, len(influences), float(error) * math.sqrt(pairs)


def needed(
    pairs: int,
    groups: int,
    sd: float,
    *,
    difference: float,
    tests: int,
    resamples: int = RESAMPLES,
    per_unit: float = 1.0,
) -> dict[str, Any]:
    """Return the columns of `episodes_needed` that follow from the spread of a pilot.

    Parameters
    ----------
    pairs, groups, sd
        Sampling units, the groups of one chance that they are in, the SD of their differences.
    difference, tests, resamples
        What is to be found, in a family of how many tests of how many resamples.
    per_unit : float
        Episodes of a cell in a unit; NaN: there can be no more.
    """
    row: dict[str, Any] = {"sd": sd, "tests": tests, "power": math.nan, "pairs_needed": None}
    row |= {"episodes": None, "smallest_difference": math.nan}
    if pairs < 2:
        return row | {"reason": "fewer than two pairs"}
    if not tests or math.isnan(sd):
        return row | {"reason": "not every episode has a value, or a task has one pair"}
    if sd == 0:
        return row | {"reason": "the pilot's differences do not vary"}
    least, alpha = enough_pairs(tests, resamples), ALPHA / tests
    if least is None:
        why = f"{resamples} resamples cannot reject after correction for {tests} tests"
        return row | {"reason": why}
    reason = ""
    if pairs < least + FEW:
        reason = f"the pilot itself is too small: {pairs} of at least {least + FEW} pairs"
    else:
        row["power"] = power_of(difference / sd, pairs - 1, alpha)
        row["smallest_difference"] = sd * smallest_effect(pairs - 1, POWER, alpha)
    if math.isnan(per_unit):
        return row | {"reason": _NO_MORE}
    if (enough := pairs_needed(difference / sd, POWER, alpha)) is not None:
        each = math.ceil(max(enough + 1, least + FEW) / groups)
        row |= {"pairs_needed": each * groups, "episodes": math.ceil(each * per_unit)}
    return row | {"reason": reason}


def _per_unit(sides: Sequence[Side], pairing: Pairing) -> FloatArray:
    """Return how many episodes of a cell make a sampling unit, by task and level, shape (T, L).

    NaN where there can be no more: both sides played each distinct episode once.
    """
    per_unit = np.full((len(pairing.tasks), len(pairing.levels)), np.nan)
    for t, k in np.ndindex(*per_unit.shape):
        *task, held = pairing.tasks[t].values()
        for side in sides:
            mine = side.level in (pairing.levels[k], pairing.baseline) and side.cell.units
            same = list(side.task.values()) == task and side.held in ("", held)
            if mine and same and not side.cell.each_once:
                per_unit[t, k] = np.fmax(per_unit[t, k], len(side.episodes) / side.cell.units)
    return per_unit
