"""Are variances between wordings recovered? Simulated subjects whose dials depend on the wording.

Each repetition draws effects of players, options of wording and their interactions from known
variances, plays the simulated subject with the dials that they add up to, and takes its measures
through the analysis of `tomeval.extensions.wording.variance`. ToM % is 100 p, whoever plays, and
with p fixed the literal-functional gap is linear in q: both have known variances. Prints coverage
of the 95 % intervals, and how far the estimates lie off on average.

    python benchmarks/sensitivity_coverage.py [--repetitions 400]
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import numpy as np
from counting import Floats, Row, count, percent, played, setup_of

from tomeval.domains.matrix.calibration import expected
from tomeval.domains.matrix.measures import episode_metrics
from tomeval.extensions.wording.factorial import (
    ANY,
    INNER,
    PLAYER,
    REST,
    UNITS,
    Source,
    components,
    grid,
)

SHAPE = (3, 2, 3, 3)  # players, and three options of wording
HORIZON = 20
CENTRE = 0.55
SPREAD: dict[Source, float] = {
    PLAYER: 0.08,
    1: 0.06,
    2: 0.06,
    3: 0.05,
    INNER: 0.02,
    (PLAYER, 1): 0.03,
    (PLAYER, 2): 0.0,
    (PLAYER, 3): 0.02,
    REST: 0.02,
}
"""Standard deviations of the effects on a dial."""


def axes_of(source: Source, count: int) -> tuple[int, ...]:
    """Return the axes of the grid whose combinations have effects of their own."""
    inner = tuple(range(1, count))
    if isinstance(source, tuple):
        return (0, source[1])
    if isinstance(source, int):
        return (source,)
    return {PLAYER: (0,), INNER: inner, REST: (0, *inner)}[source]


def dials(
    spread: Mapping[Source, float], shape: tuple[int, ...], rng: np.random.Generator
) -> Floats:
    """Draw a dial for every cell."""
    found: Floats = np.full(shape, CENTRE)
    for source, deviation in spread.items():
        chosen = axes_of(source, len(shape))
        wide = [size if axis in chosen else 1 for axis, size in enumerate(shape)]
        found = found + deviation * rng.normal(size=wide)
    return np.minimum(np.maximum(found, 0.0), 1.0)


def values_of(dial: str, values: Floats, fixed: float, episodes: int, seed: int) -> Floats:
    """Return ToM % (dial p) or the gap (dial q) of every cell and episode."""
    result = np.empty((*values.shape, episodes))
    for place in np.ndindex(values.shape):
        # Equal dials would be the same play: chance depends on them to the last digit.
        own = 1e-9 * np.ravel_multi_index(place, values.shape)
        options = {"p": fixed, "q": fixed, dial: min(1.0, float(values[place]) + own)}
        result[place] = _measure(dial, options, episodes, seed)
    return result


def _measure(dial: str, options: dict[str, Any], episodes: int, seed: int) -> Floats:
    setup = setup_of("simulated", options, "RPS", "single_action", horizon=HORIZON, seed=seed)
    metrics = episode_metrics(played(setup, 0, episodes))
    if dial == "p":
        return metrics["tom_percent"]
    return metrics["delta_functional_per_step"] - metrics["delta_tom_best_response_per_step"]


@cache
def gap_of(q: float, p: float) -> float:
    """Return the expected literal-functional gap, by the closed form."""
    setup = setup_of("simulated", {}, "RPS", "single_action")
    truth = expected(setup.game, setup.tables, p=p, q=q)
    return truth["delta_functional_per_step"] - truth["delta_tom_best_response_per_step"]


def slope(dial: str, fixed: float) -> float:
    """Return how much the measure rises with the dial, on which it depends linearly."""
    if dial == "p":
        return 100.0
    ends = gap_of(0.0, fixed), gap_of(1.0, fixed)
    assert math.isclose(gap_of(0.5, fixed), sum(ends) / 2)
    return ends[1] - ends[0]


def coverage(
    dial: str,
    spread: Mapping[Source, float],
    shape: tuple[int, ...],
    episodes: int,
    repetitions: int,
    fixed: float = 0.8,
) -> dict[Source, tuple[float, float, float]]:
    """Return for every source its true variance, the mean estimate, and the share of hits."""
    size = slope(dial, fixed)
    truth: dict[Source, float] = {key: (value * size) ** 2 for key, value in spread.items()}
    truth[ANY] = sum(value for key, value in truth.items() if key != PLAYER)
    hits: dict[Source, list[bool]] = {}
    found: dict[Source, list[float]] = {}
    for number in range(repetitions):
        rng = np.random.default_rng(number)
        values = values_of(dial, dials(spread, shape, rng), fixed, episodes, number)
        for key, one in components(grid(values), rng, 1_000).items():
            if key in truth:
                found.setdefault(key, []).append(one.raw)
                hits.setdefault(key, []).append(one.low <= truth[key] <= one.high)
    return {
        key: (truth[key], float(np.mean(found[key])), float(np.mean(hits[key]))) for key in found
    }


def shown(source: Source) -> str:
    names = {
        PLAYER: "player",
        INNER: "wording x wording",
        REST: "player x wording x wording",
        ANY: "any wording",
        UNITS: "episodes",
    }
    if isinstance(source, tuple):
        return f"player x option {source[1]}"
    return (
        f"option {source}, of {SHAPE[source]} values" if isinstance(source, int) else names[source]
    )


def variances(repetitions: int) -> Iterator[Row]:
    """Variances by source of wording; coverage of their 95 % intervals in %."""
    for episodes in (5, 20):
        for dial, measure in (("p", "ToM %"), ("q", "gap")):
            of_dial = coverage(dial, SPREAD, SHAPE, episodes, repetitions)
            for key, (truth, mean, hit) in of_dial.items():
                yield {
                    "measure": measure,
                    "episodes": episodes,
                    "source": shown(key),
                    "variance": f"{truth:.4g}",
                    "mean estimate": f"{mean:.4g}",
                    "coverage %": percent(hit),
                }


if __name__ == "__main__":
    count({"variances": variances}, 400)
