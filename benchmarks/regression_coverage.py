"""Coverage of the intervals of ``compare --what regression``, behind docs/calibration.md.

Two players meet the same chance in every episode of 20 steps; one learns faster. Episodes differ in
level, and steps of an episode follow each other (AR 1), so the working correlation is wrong, as it
is in games. Half of the episodes are of another game.

    python benchmarks/regression_coverage.py --repetitions 2000
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from counting import Floats, Row, count, percent
from numpy.typing import NDArray
from scipy.special import expit, stdtrit
from scipy.stats import norm

from tomeval.core.errors import TomevalError
from tomeval.extensions.regression import fit_steps

EPISODES = (5, 10, 30)
STEPS = 20
TERMS = ("game", "player", "log(step)", "player:log(step)")
TRUTH = np.array([0.0, 0.5, -0.3, -0.2, 0.3])


def draw(episodes: int, family: str, rng: np.random.Generator) -> pd.DataFrame:
    """Return the steps of one simulated run: response ``y``, terms and ``cluster``."""
    shape = (episodes, 2, STEPS)
    cluster, player, step = np.indices(shape)
    noise = rng.normal(size=shape)
    for late in range(1, STEPS):
        noise[..., late] = 0.6 * noise[..., late - 1] + 0.8 * noise[..., late]
    level = 0.5 * rng.normal(size=(episodes, 1, 1)) + 0.5 * rng.normal(size=(episodes, 2, 1))
    latent = level + noise
    slow, game = np.log(step + 1), cluster % 2
    x = np.stack([np.ones(shape), game, player, slow, player * slow], axis=-1)
    y = x @ TRUTH + latent
    if family == "binomial":
        # A normal latent of SD sqrt(1.5) mapped to a uniform keeps the marginal logit exact.
        y = 1.0 * (norm.cdf(latent / np.sqrt(1.5)) < expit(x @ TRUTH))
    columns = {"y": y, "game": game, "player": player, "step": step + 1, "cluster": cluster}
    return pd.DataFrame({name: values.ravel() for name, values in columns.items()})


def fitted(frame: pd.DataFrame, family: str) -> Any:
    """Return the fit of simulated steps."""
    return fit_steps("y ~ game + player * log(step)", frame, family == "binomial")


def held(frame: pd.DataFrame, family: str) -> NDArray[np.bool_]:
    """Tell which intervals hold the truth, shape (4,), without the intercept."""
    fit = fitted(frame, family)
    half: Floats = stdtrit(frame["cluster"].nunique() - 1, 0.975) * fit.bse.to_numpy()
    inside: NDArray[np.bool_] = np.abs(fit.params.to_numpy() - TRUTH) <= half
    return inside[1:]


def coefficients(repetitions: int) -> Iterator[Row]:
    """Coefficients: coverage in %."""
    for family in ("gaussian", "binomial"):
        for episodes in EPISODES:
            rng, hits = np.random.default_rng([1, episodes]), []
            for _ in range(repetitions):
                frame = draw(episodes, family, rng)
                try:
                    hits.append(held(frame, family))
                except TomevalError:
                    continue
            shares = zip(TERMS, np.transpose(hits), strict=True)
            row = {"family": family, "episodes": episodes}
            row |= {term: percent(hit) for term, hit in shares}
            yield row | {"not converged": repetitions - len(hits)}


if __name__ == "__main__":
    count({"coefficients": coefficients}, 2000)
