"""Measure how often a designed partner finds a known difference with the calls computed for it.

    python benchmarks/design_power.py [REPETITIONS]

Searches a partner for pairs of subjects of known difference, plays studies of the size that
`tomeval design` names, with new episodes each, and counts in how many of them a paired t test at
5 % finds the difference, in its true direction; and the same against tit for tat and single
actions. Also, how often the 95 % interval of the difference holds the expected one. Prints the
table of docs/measures/design.md.
"""

from __future__ import annotations

import math
import sys

import numpy as np
from scipy import stats

from tomeval.domains.matrix.batch import simulate
from tomeval.domains.matrix.games import get_game
from tomeval.domains.matrix.play import Setup
from tomeval.domains.matrix.subject_specs import expand_subject
from tomeval.extensions.design.search import Found, design

CASES = [
    ("IPD", 3, {"p": 1.0, "q": 0.9}, {"p": 0.8, "q": 1.0}),
    ("IPD", 3, {"p": 0.9, "q": 0.3}, {"p": 0.9, "q": 0.5}),
    ("stag_hunt", 3, {"p": 0.6, "q": 0.9}, {"p": 0.8, "q": 0.9}),
    ("IBS", 3, {"p": 0.9, "q": 0.3}, {"p": 0.9, "q": 0.5}),
    ("RPS", 2, {"p": 0.9, "q": 0.3}, {"p": 0.9, "q": 0.5}),
]
HORIZON = 30
MOST_PAIRS = 200
"""Larger studies are not played: what is needed against a partner that can hardly tell."""


def main(repetitions: int) -> None:
    """Print a row per pair of subjects and partner."""
    print("| game | subjects | partner | difference | episodes each | calls | found | covered |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for name, states, *options in CASES:
        game = get_game(name)
        specs = [f"simulated(p={one['p']}, q={one['q']})" for one in options]
        found = design(game, states, HORIZON, between=specs, top=1)
        for one in (*found.best, *found.beside):
            power, cover = math.nan, math.nan
            if one.episodes is not None and one.episodes <= MOST_PAIRS:
                power, cover = study(name, one, options, repetitions)
            print(
                f"| {name} | {' or '.join(specs)} | {one.partners.name} | {one.difference:.3f} | "
                f"{one.episodes:,} | {one.calls:,} | {100 * power:.1f} | {100 * cover:.1f} |",
                flush=True,
            )


def study(
    name: str, found: Found, options: list[dict[str, float]], repetitions: int
) -> tuple[float, float]:
    """Return the share of studies that find the difference, and whose interval holds it."""
    game = get_game(name)
    pairs = found.episodes or 2
    values = []
    for one in options:
        [player] = expand_subject({"kind": "simulated", **one}, [], "benchmark")
        setup = Setup(
            player.kind,
            player.options,
            game=game,
            labels=game.label_set(),
            partners=found.partners,
            horizon=HORIZON,
            seed=20_000,
        )
        steps = simulate(setup, 0, repetitions * pairs)
        own, actual = (np.asarray(a, int) for a in (steps.own_action, steps.partner_action))
        values.append(-game.own[own, actual].mean(axis=1))  # less the best reward, as of both
    differences = (values[0] - values[1]).reshape(repetitions, pairs)
    mean = differences.mean(axis=1)
    error = differences.std(axis=1, ddof=1) / math.sqrt(pairs)
    bound = stats.t.ppf(0.975, pairs - 1) * error
    significant = (np.abs(mean) > bound) & (np.sign(mean) == np.sign(found.difference))
    covered = np.abs(mean - found.difference) <= bound + 1e-12
    return float(significant.mean()), float(covered.mean())


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000)
