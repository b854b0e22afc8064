"""How often a 95 % interval holds the truth: the simulated subject's closed form as the truth.

Plays every cell many times over, makes all kinds of interval of every metric, and counts, by kind
of interval and number of episodes, and by partner set. Then shares at their extremes, drawn from
distributions of known mean.

    python benchmarks/coverage.py --only cells [--repetitions 1000]
    python benchmarks/coverage.py --only shares [--repetitions 20000]
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterator

import numpy as np
from counting import Floats, Row, count, held, percent, played, setup_of, spread
from numpy.typing import NDArray

from tomeval.games.matrix.bounds import game_limits, regret_limits
from tomeval.games.matrix.measures import MEASURES, METRICS, episode_metrics
from tomeval.games.matrix.play import Setup
from tomeval.games.matrix.subjects.simulated import expected
from tomeval.statistics import estimate

EXTREMES = (5, 6, 10, 30, 100)
"""Episodes of the shares."""
HORIZON = 100
GAMES = ("RPS", "IBS", "IPD")
PARTNERS = ("single_action", "tit_for_tat", "noisy_tit_for_tat")
DIALS = ((0.5, 0.5), (0.9, 0.2), (0.9, 1.0), (0.99, 0.9), (1.0, 0.0))
EPISODES = (30, 100)
KINDS = ("normal", "t")
PER_BLOCK = 50  # repetitions simulated at a time


def metrics_of(setup: Setup, first: int, episodes: int) -> tuple[Floats, NDArray[np.int64]]:
    """Return every metric of some episodes, shape (E, M), and the partner each one drew."""
    games = played(setup, first, episodes)
    metrics = episode_metrics(games)
    return np.stack([metrics[name] for name in METRICS], axis=1), games.which


def truth_of(setup: Setup) -> Floats:
    """Return the expectation of every metric of a simulated subject."""
    assert setup.horizon is not None
    known = expected(setup.game, setup.tables, **setup.options, horizon=setup.horizon)
    return np.array([known[name] for name in METRICS])


def shares_held(setup: Setup, episodes: int, repetitions: int) -> tuple[dict[str, Floats], Floats]:
    """Return by kind in what share of runs each metric is held, and how far its values range."""
    exact = game_limits(setup.game) | regret_limits(
        setup.game, setup.tables.partners, HORIZON, "horizon"
    )
    limits = [exact.get(name) or MEASURES[name].limits for name in METRICS]
    truth = truth_of(setup)
    inside = {kind: np.zeros(len(METRICS)) for kind in KINDS}
    ranges = np.zeros(len(METRICS))
    for first in range(0, repetitions, PER_BLOCK):
        runs = min(PER_BLOCK, repetitions - first)
        values, _ = metrics_of(setup, first * episodes, runs * episodes)
        for number in range(runs):
            part = slice(number * episodes, (number + 1) * episodes)
            ranges = np.maximum(ranges, np.ptp(values[part], axis=0))
            for kind in KINDS:
                found = estimate(values[part], kind, bounds=limits)
                inside[kind] += held(found.low, found.high, truth)
    return {kind: hits / repetitions for kind, hits in inside.items()}, ranges


def cells(repetitions: int) -> Iterator[Row]:
    """Cells and metrics that vary between their episodes, by interval, episodes and partner set."""
    cases: dict[tuple[str, int, str], list[tuple[float, str]]] = defaultdict(list)
    for game, partners, (p, q), episodes in itertools.product(GAMES, PARTNERS, DIALS, EPISODES):
        setup = setup_of("simulated", {"p": p, "q": q}, game, partners, seed=episodes)
        inside, ranges = shares_held(setup, episodes, repetitions)
        for kind, (m, name) in itertools.product(KINDS, enumerate(METRICS)):
            if ranges[m] > 1e-9:  # rounding of sums makes equal values differ
                told = f"{name}, {game}, p={p}, q={q}"
                cases[kind, episodes, partners].append((100 * float(inside[kind][m]), told))
    for kind, episodes in itertools.product(KINDS, EPISODES):
        of = {partners: cases[kind, episodes, partners] for partners in PARTNERS}
        for partners, mine in {"all": [*itertools.chain(*of.values())], **of}.items():
            row: Row = {"interval": kind, "episodes": episodes, "partners": partners}
            row |= {"cases": len(mine), **spread([share for share, _ in mine])}
            yield row | {"lowest": min(mine)[1]}


Draw = Callable[[np.random.Generator, tuple[int, int]], Floats]


def steps(p: float, horizon: int) -> tuple[Draw, float]:
    """Return shares of independent steps that are right with one probability."""
    return lambda rng, size: rng.binomial(horizon, p, size) / horizon, p


def two_kinds(share: float, p: float, q: float, horizon: int = HORIZON) -> tuple[Draw, float]:
    """Return episodes of two kinds: the steps of a share are right with probability p, else q."""

    def draw(rng: np.random.Generator, size: tuple[int, int]) -> Floats:
        right = np.where(rng.random(size) < share, p, q)
        return rng.binomial(horizon, right) / horizon

    return draw, share * p + (1 - share) * q


def beta(a: float, b: float) -> tuple[Draw, float]:
    """Return shares that differ smoothly."""
    return lambda rng, size: rng.beta(a, b, size), a / (a + b)


SHARES: dict[str, tuple[Draw, float]] = {
    "steps, 50 % right": steps(0.5, HORIZON),
    "steps, 99 % right": steps(0.99, HORIZON),
    "steps, 99.9 % right": steps(0.999, HORIZON),
    "10 steps, 99 % right": steps(0.99, 10),
    "all or nothing, half": two_kinds(0.5, 1.0, 0.0),
    "all or nothing, 5 %": two_kinds(0.05, 1.0, 0.0),
    "all or nothing, 2 %": two_kinds(0.02, 1.0, 0.0),
    "two kinds, 95 and 5 %": two_kinds(0.5, 0.95, 0.05),
    "two kinds, 100 and 33 %": two_kinds(0.5, 1.0, 0.33),
    "smooth, in the middle: Beta(2, 2)": beta(2, 2),
    "smooth, at both ends: Beta(0.2, 0.2)": beta(0.2, 0.2),
    "smooth, near 0: Beta(1, 30)": beta(1, 30),
    "skewed, near 0: Beta(0.5, 5)": beta(0.5, 5),
    "very skewed, near 0: Beta(0.1, 5)": beta(0.1, 5),
    "one in ten fails: 100 %, else 30 %": two_kinds(0.9, 1.0, 0.3),
    "one in ten fails: 99 %, else 30 %": two_kinds(0.9, 0.99, 0.3),
}


def shares(repetitions: int) -> Iterator[Row]:
    """Shares: coverage in %, median width, and in brackets Student's interval without bounds."""
    for name, (draw, mean) in SHARES.items():
        row: Row = {"episodes' shares": name}
        for episodes in EXTREMES:
            values = 100 * draw(np.random.default_rng(episodes), (episodes, repetitions))
            one, student = (
                estimate(values, "t", bounds=bounds) for bounds in ((0.0, 100.0), (-np.inf, np.inf))
            )
            assert ((one.low >= 0) & (one.high <= 100)).all()
            assert ((one.low <= one.mean) & (one.mean <= one.high)).all()
            inside = [percent(held(each.low, each.high, 100 * mean)) for each in (one, student)]
            widths = [f"{np.median(2 * each.half):.3g}" for each in (one, student)]
            row[f"{episodes}"] = "{} ({})".format(*inside)
            row[f"width, {episodes}"] = "{} ({})".format(*widths)
        yield row


if __name__ == "__main__":
    count({"cells": cells, "shares": shares}, 2_000)
