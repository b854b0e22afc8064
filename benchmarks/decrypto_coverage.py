"""Coverage of the intervals of shares of turns: python benchmarks/decrypto_coverage.py.

Games of 2 to 8 turns; the turns of a game share a probability, drawn from a beta distribution with
the given intra-game correlation. Prints how often the 95 % interval holds the truth, its mean
width, and how often Wilson's interval over turns would.
"""

from __future__ import annotations

import itertools

import numpy as np

from tomeval.statistics.shares import clustered_share, wilson

REPEATS = 3000


def coverage(
    games: int, p: float, correlation: float, rng: np.random.Generator
) -> tuple[float, float, float]:
    """Return coverage, mean width, and coverage when games are ignored."""
    held = plain = width = 0.0
    for _ in range(REPEATS):
        size = rng.integers(2, 9, games)
        chance = np.full(games, p)
        if correlation:
            odds = (1 - correlation) / correlation
            chance = rng.beta(p * odds, (1 - p) * odds, games)
        cluster = np.repeat(np.arange(games), size)
        hits = rng.random(len(cluster)) < chance[cluster]
        found = clustered_share(hits, cluster)
        held += found.low <= p <= found.high
        width += found.high - found.low
        low, high = wilson(float(hits.sum()), len(hits))
        plain += low <= p <= high
    return held / REPEATS, width / REPEATS, plain / REPEATS


if __name__ == "__main__":
    rng = np.random.default_rng(1)
    print("games  p     correlation  coverage  width  games ignored")
    for games, p, correlation in itertools.product(
        (8, 20, 32, 96), (0.5, 0.1, 0.02), (0, 0.2, 0.6)
    ):
        held, width, plain = coverage(games, p, correlation, rng)
        print(f"{games:5}  {p:<4}  {correlation:11}  {held:8.3f}  {width:5.3f}  {plain:13.3f}")
