"""Coverage of the intervals of shares of turns: python benchmarks/decrypto_coverage.py.

Games of 2 to 8 turns; the turns of a game share a probability, drawn from a beta distribution with
the given intra-game correlation. Beside it: how often Wilson's interval over turns would hold it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
from counting import Row, count, percent

from tomeval.statistics.estimates import clustered_share, wilson


def shares(repetitions: int) -> Iterator[Row]:
    """Shares of turns, with games as clusters: coverage in % and mean width."""
    rng = np.random.default_rng(1)
    for games, p, correlation in itertools.product(
        (8, 20, 32, 96), (0.5, 0.1, 0.02), (0, 0.2, 0.6)
    ):
        inside, plain, width = [], [], []
        for _ in range(repetitions):
            size = rng.integers(2, 9, games)
            chance = np.full(games, p)
            if correlation:
                odds = (1 - correlation) / correlation
                chance = rng.beta(p * odds, (1 - p) * odds, games)
            cluster = np.repeat(np.arange(games), size)
            hits = rng.random(len(cluster)) < chance[cluster]
            share = clustered_share(hits, cluster)
            inside.append(share.low <= p <= share.high)
            width.append(share.high - share.low)
            low, high = wilson(float(hits.sum()), len(hits))
            plain.append(low <= p <= high)
        yield {
            "games": games,
            "p": p,
            "correlation": correlation,
            "coverage": percent(inside),
            "width": f"{np.mean(width):.3f}",
            "games ignored": percent(plain),
        }


if __name__ == "__main__":
    count({"shares": shares}, 3000)
