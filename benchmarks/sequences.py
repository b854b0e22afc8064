"""How often intervals miss when one looks again and again: Student's, and confidence sequences.

    python benchmarks/sequences.py          the tables of docs/any_time.md

Every run draws up to `--most` sampling units and looks at the interval again and again. It misses
if any of the intervals misses the expectation.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from tomeval.statistics.bounded import Bounds, score_ends
from tomeval.statistics.sequences import TUNE, mean_sequence

FloatArray = NDArray[np.float64]
Draw = Callable[[np.random.Generator, int], FloatArray]

PERCENT = (0.0, 1.0)

CASES: dict[str, tuple[Draw, float, Bounds]] = {
    "uniform": (lambda rng, n: rng.random(n), 0.5, PERCENT),
    "coin": (lambda rng, n: (rng.random(n) < 0.5).astype(np.float64), 0.5, PERCENT),
    "95 % zeros": (
        lambda rng, n: (rng.random(n) < 0.05).astype(np.float64),
        0.05,
        PERCENT,
    ),
    "3 % outliers": (
        lambda rng, n: np.where(rng.random(n) < 0.03, 1.0, 0.2 + 0.02 * rng.random(n)),
        0.97 * 0.21 + 0.03,
        PERCENT,
    ),
}


def looks(count: int, most: int) -> list[int]:
    """Return at most `count` numbers of units from 6 to `most`, evenly in their logarithm."""
    return sorted({round(n) for n in np.geomspace(6, most, count)})


def t_misses(values: FloatArray, mean: float, at: Iterable[int], bounds: Bounds) -> bool:
    """Tell whether any of Student's intervals, score intervals between bounds, misses the mean."""
    n = np.array(list(at))
    ends = np.cumsum(values)[n - 1] / n
    squares = np.cumsum((values - values[0]) ** 2)[n - 1] / n - (ends - values[0]) ** 2
    error = np.sqrt(np.maximum(squares, 0) / (n - 1))
    low, high = score_ends(ends, error, stdtrit(n - 1, 0.975), n, *bounds)
    return bool(((mean < low - 1e-12) | (mean > high + 1e-12)).any())


def sequence_misses(values: FloatArray, mean: float, at: Iterable[int], bounds: Bounds) -> bool:
    """Tell whether any interval of the sequence misses the mean."""
    ends = [mean_sequence(values[:n], bounds=bounds) for n in at]
    return any(not low <= mean <= high for low, high in ends)


def coverage(seed: int, runs: int, most: int) -> None:
    """Print in which share of runs an interval misses at any of 12, and at any of 1,000 looks."""
    grids = {12: looks(12, 200), 1000: looks(1000, most)}
    print(f"{runs} runs; misses at any look, in %\n")
    print(f"| values | t, 12 looks to 200 | sequence | t, 1,000 looks to {most:,} | sequence |")
    print("| --- | --- | --- | --- | --- |")
    for name, (draw, mean, bounds) in CASES.items():
        lost, rng = np.zeros(4), np.random.default_rng(seed)
        for _ in range(runs):
            values = draw(rng, most)
            for place, at in enumerate(grids.values()):
                lost[2 * place] += t_misses(values, mean, at, bounds)
                lost[2 * place + 1] += sequence_misses(values, mean, at, bounds)
        print(f"| {name} |" + "|".join(f" {share:.1f} " for share in 100 * lost / runs) + "|")


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--most", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    print(f"sequences tuned at {TUNE}")
    coverage(given.seed, given.runs, given.most)


if __name__ == "__main__":
    main()
