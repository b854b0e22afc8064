"""Coverage of the intervals of ``compare --what regression``, behind docs/calibration.md.

Two players meet the same chance in every episode of 20 steps; one learns faster. Episodes differ in
level, and steps of an episode follow each other (AR 1), so the working correlation is wrong, as it
is in games. Half of the episodes are of another game.

    python benchmarks/regression_coverage.py --repetitions 2000
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from counting import Floats, Row, count, percent
from scipy.special import expit, stdtrit
from scipy.stats import norm

from tomeval.core.errors import TomevalError
from tomeval.extensions.regression.estimates import sandwich, solve
from tomeval.statistics.paired import IntArray

EPISODES = (5, 10, 30)
STEPS = 20
TERMS = ("game", "player", "log(step)", "player:log(step)")
TRUTH = np.array([0.0, 0.5, -0.3, -0.2, 0.3])
CORRECTIONS = {
    "none, normal": (0.0, "normal"),
    "none, t of clusters - 1": (0.0, "clusters"),
    "Mancl and DeRouen, t of clusters - 1": (-1.0, "clusters"),
    "Mancl and DeRouen, Satterthwaite": (-1.0, "own"),
    "Kauermann and Carroll, Satterthwaite": (-0.5, "own"),
}


def draw(episodes: int, family: str, rng: np.random.Generator) -> tuple[Floats, Floats, IntArray]:
    """Return the response, the design and the clusters of one simulated run."""
    shape = (episodes, 2, STEPS)
    game = np.broadcast_to((np.arange(episodes) % 2 == 1)[:, None, None], shape)
    player = np.broadcast_to(np.arange(2)[:, None], shape)
    slow = np.broadcast_to(np.log(np.arange(1, STEPS + 1)), shape)
    x = np.stack([np.ones(shape), game, player, slow, player * slow], axis=-1).reshape(-1, 5)
    noise = rng.normal(size=shape)
    for step in range(1, STEPS):
        noise[..., step] = 0.6 * noise[..., step - 1] + 0.8 * noise[..., step]
    level = 0.5 * rng.normal(size=(episodes, 1, 1)) + 0.5 * rng.normal(size=(episodes, 2, 1))
    groups = np.repeat(np.arange(episodes), 2 * STEPS)
    latent = (level + noise).ravel()
    if family == "gaussian":
        return x @ TRUTH + latent, x, groups
    # A normal latent of SD sqrt(1.5) mapped to a uniform keeps the marginal logit exact.
    uniform = norm.cdf(latent / np.sqrt(1.5))
    return (uniform < expit(x @ TRUTH)).astype(np.float64), x, groups


def coefficients(repetitions: int) -> Iterator[Row]:
    """Coefficients: coverage in %, by the correction of their standard errors."""
    for family in ("gaussian", "binomial"):
        for episodes in EPISODES:
            rng = np.random.default_rng([1, episodes])
            hits: dict[str, list[Floats]] = {name: [] for name in CORRECTIONS}
            for _ in range(repetitions):
                y, x, groups = draw(episodes, family, rng)
                try:
                    solved = solve(y, x, groups, family)
                except TomevalError:
                    continue
                for name, (power, kind) in CORRECTIONS.items():
                    how = (groups, solved.rho, power)
                    covariance, freedom = sandwich(solved.x, solved.residual, *how)
                    if kind != "own":
                        freedom = np.full(5, episodes - 1.0 if kind == "clusters" else np.inf)
                    half = stdtrit(freedom, 0.975) * np.sqrt(np.diag(covariance))
                    hits[name].append((np.abs(solved.estimate - TRUTH) <= half)[1:])
            for name, each in hits.items():
                row = {"family": family, "episodes": episodes, "correction": name}
                shares = zip(TERMS, np.transpose(each), strict=True)
                row |= {term: percent(hit) for term, hit in shares}
                yield row | {"not converged": repetitions - len(each)}


if __name__ == "__main__":
    count({"coefficients": coefficients}, 2000)
