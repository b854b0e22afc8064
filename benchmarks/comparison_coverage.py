"""Do the comparisons keep their promises? Coverage, false positives and power by simulation.

Every procedure is repeated on simulated data whose truth is known: the simulated subject's closed
form (`tomeval.expected`), or numbers drawn for it. Prints what is behind docs/comparisons.md.

    python benchmarks/comparison_coverage.py [--repetitions 1000] [--only pairs,flips,...]
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
from counting import Floats, Row, count, held, percent, setup_of, spread
from coverage import metrics_of, truth_of

from tomeval.comparing.comparison import Comparison, compare_pairs
from tomeval.comparing.pairing import Meeting, Pairing
from tomeval.games.matrix.measures import MEASURES, METRICS
from tomeval.games.matrix.play import Setup
from tomeval.statistics.flips import FlipPower
from tomeval.statistics.paired import ENUMERATED, sign_flip, sign_flip_exact

CELLS = list(itertools.product(("RPS", "IBS", "IPD"), ("single_action", "tit_for_tat")))
BASE, OTHER = 0.8, 0.9
RESAMPLES = 999


def cell(game: str, partners: str, p: float, copy: int = 0) -> Setup:
    """Return a cell; copies of a subject meet the same partners but draw other numbers."""
    return setup_of("simulated", {"p": p - copy * 1e-12, "q": 0.5}, game, partners)


def compared(level: Floats, base: Floats) -> Comparison:
    """Compare L levels with their baselines in one task, each of shape (n, L, M).

    Repetitions of one experiment are laid out as levels with a baseline of their own, so that one
    call makes them all. They then share the resamples, which changes no share on average.
    """
    units = [(1, i) for i in range(len(level))]
    paired = np.ones((len(level), 1, level.shape[1]), dtype=bool)
    pairing = Pairing(
        "level",
        "base",
        tuple(f"level {i}" for i in range(level.shape[1])),
        tuple(MEASURES[name] for name in METRICS),
        ("0",),
        ({"game": "0"},),
        [Meeting(units, [0], level[:, None], base[:, None], paired)],
        np.zeros((1, level.shape[1]), dtype=np.int64),
        np.array([[100.0 if name.endswith("_percent") else 10.0 for name in METRICS]]),
    )
    return compare_pairs(pairing, resamples=RESAMPLES)


def cut(data: Floats, episodes: int) -> Floats:
    """Return episodes as repetitions of so many each, shape (episodes, repetitions, M)."""
    return data.reshape(-1, episodes, data.shape[-1]).swapaxes(0, 1)


def pairs(repetitions: int) -> Iterator[Row]:
    """Paired differences in one task: coverage where subjects differ, and where they do not."""
    names = ("t", "p_t", "p_permutation")
    for episodes in (5, 10, 20, 30, 100):
        shares: dict[str, list[float]] = {name: [] for name in names}
        for task, p in itertools.product(CELLS, (OTHER, BASE)):
            same = p == BASE
            one, two = cell(*task, BASE), cell(*task, p, int(same))
            base, level = (metrics_of(each, 0, episodes * repetitions)[0] for each in (one, two))
            known = truth_of(cell(*task, p)) - truth_of(one)
            found = compared(cut(level, episodes), cut(base, episodes))
            hits: dict[str, Any] = {
                "t": held(found.t_low[0], found.t_high[0], known),
            }
            if same:
                hits["p_t"] = found.p_t[0] < 0.05
                hits["p_permutation"] = found.p_permutation[0] < 0.05
            varies = (level - base).std(axis=0) > 1e-9
            for name, each in hits.items():
                means = 100 * np.mean(each, axis=0)[varies]
                shares[name] += means[np.isfinite(means)].tolist()
        for name in names:
            what = "false positives" if name.startswith("p_") else "coverage"
            yield {"pairs": episodes, "what": f"{what}: {name}", **spread(shares[name])}


def flips(repetitions: int) -> Iterator[Row]:
    """Power of the sign flip, corrected, with the number of pairs that `power` gives for 80 %."""
    rng = np.random.default_rng(8)
    for tests, effect in itertools.product((1, 5, 11), (0.5, 1.0, 2.0)):
        pairs = FlipPower(0.8, 0.05 / tests, 9_999).pairs(effect) or 2
        data = rng.normal(effect, 1, size=(pairs, 10 * repetitions)) / pairs
        if pairs <= ENUMERATED:
            p = sign_flip_exact([data])
        else:
            ones = np.ones((1, data.shape[1]))
            p = sign_flip([data[:, None]], ones, pairs * ones, 9_999, rng)[1]
        row = {"tests": tests, "effect": effect, "pairs": pairs}
        yield {**row, "power %": percent(p * tests < 0.05)}


if __name__ == "__main__":
    parts = (pairs, flips)
    count({part.__name__: part for part in parts}, 1_000)
