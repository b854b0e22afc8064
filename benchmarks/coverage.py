"""How often a 95 % interval holds the truth: the simulated subject's closed form as the truth.

Plays every cell many times over, makes all kinds of interval of every metric, and counts. Prints
plain tables: by kind of interval and number of episodes, and by partner set. Then shares at their
extremes, drawn from distributions of known mean.

    python benchmarks/coverage.py [--repetitions 2000] [--workers 2] [--kinds normal,t,bca]
    python benchmarks/coverage.py --only shares [--repetitions 20000]
"""

from __future__ import annotations

import argparse
import itertools
import multiprocessing
import time
from collections import defaultdict
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from one_thread import use_one_thread

from tomeval.domains.matrix.batch import simulate
from tomeval.domains.matrix.calibration import expected
from tomeval.domains.matrix.games import get_game
from tomeval.domains.matrix.limits import game_limits, regret_limits
from tomeval.domains.matrix.measures import MEASURES, METRICS, episode_metrics
from tomeval.domains.matrix.partner_specs import get_partner_set
from tomeval.domains.matrix.play import Setup
from tomeval.domains.matrix.played import Played
from tomeval.report.tables import render
from tomeval.statistics import estimate

EXTREMES = (5, 6, 10, 30, 100)
"""Episodes of the shares."""
HORIZON = 100
GAMES = ("RPS", "IBS", "IPD")
PARTNERS = ("single_action", "tit_for_tat", "noisy_tit_for_tat")
DIALS = ((0.5, 0.5), (0.9, 0.2), (0.9, 1.0), (0.99, 0.9), (1.0, 0.0))
EPISODES = (30, 100)
KINDS = ("normal", "t", "bca")
RESAMPLES = 1_999
PER_BLOCK = 50  # repetitions simulated at a time
LOW, HIGH = 93.0, 97.0
Floats = NDArray[np.float64]


class Case(NamedTuple):
    """One cell, with the number of episodes of each repetition."""

    game: str
    partners: str
    p: float
    q: float
    episodes: int


class Count(NamedTuple):
    """How many repetitions' intervals held the truth, per kind of interval and metric."""

    case: Case
    held: dict[str, Floats]  # kind: shape (M,)
    truth: Floats  # (M,)
    varies: NDArray[np.bool_]  # (M,): whether the metric differs between episodes


def measure(case: Case, repetitions: int, kinds: tuple[str, ...]) -> Count:
    game = get_game(case.game)
    partners = get_partner_set(case.partners, game)
    setup = Setup(
        "simulated",
        {"p": case.p, "q": case.q},
        game=game,
        labels=game.label_set(None),
        partners=partners,
        horizon=HORIZON,
        seed=case.episodes,
    )
    truth = as_array(expected(game, partners, p=case.p, q=case.q))
    shares = dict(enumerate(partners.weights))
    exact = game_limits(game) | regret_limits(game, partners.partners, HORIZON, "horizon")
    limits = [exact.get(name) or MEASURES[name].limits for name in METRICS]
    held = {kind: np.zeros(len(METRICS)) for kind in kinds}
    varies = np.zeros(len(METRICS), dtype=bool)
    for first in range(0, repetitions, PER_BLOCK):
        count = min(PER_BLOCK, repetitions - first)
        values, which = play(setup, first * case.episodes, count * case.episodes)
        for number in range(count):
            part = slice(number * case.episodes, (number + 1) * case.episodes)
            mine, partner = values[part], which[part]
            # Rounding of sums makes equal values differ in the last digits.
            varies |= np.ptp(mine, axis=0) > 1e-9
            for kind in kinds:
                found = estimate(
                    mine,
                    kind,
                    strata=partner,
                    shares=shares,
                    bounds=limits,
                    rng=np.random.default_rng(first + number),
                    resamples=RESAMPLES,
                )
                slack = 1e-9
                held[kind] += (found.low <= truth + slack) & (truth <= found.high + slack)
    return Count(case, {k: v / repetitions for k, v in held.items()}, truth, varies)


def as_array(values: dict[str, float]) -> Floats:
    return np.array([values[name] for name in METRICS])


def play(setup: Setup, first: int, count: int) -> tuple[Floats, NDArray[np.int64]]:
    """Return every metric of some episodes, shape (E, M), and the partner each one drew."""
    steps = simulate(setup, first, count)
    played = Played(
        setup.game,
        setup.tables.partners,
        steps.partners.astype(np.int64),
        np.full(count, HORIZON),
        steps.own_action.ravel().astype(np.int64),
        steps.partner_action.ravel().astype(np.int64),
        steps.predicted_action.ravel().astype(np.int64),
        steps.rewards(setup.game)[0].ravel(),
    )
    metrics = episode_metrics(played)
    return np.stack([metrics[name] for name in METRICS], axis=1), played.which


def work(job: tuple[Case, int, tuple[str, ...]]) -> Count:
    return measure(*job)


def report(counts: list[Count], repetitions: int, kinds: tuple[str, ...]) -> None:
    constant = missed_constant = 0
    shares: dict[tuple[str, int, str], list[float]] = defaultdict(list)
    lowest: dict[tuple[str, int, str], tuple[float, str]] = {}
    for count in counts:
        case = count.case
        for index, metric in enumerate(METRICS):
            if not count.varies[index]:
                constant += 1
                missed_constant += any(count.held[kind][index] < 1 for kind in kinds)
                continue
            for kind in kinds:
                key = (kind, case.episodes, case.partners)
                share = 100 * float(count.held[kind][index])
                shares[key].append(share)
                place = f"{metric}, {case.game}, p={case.p}, q={case.q}"
                lowest[key] = min(lowest.get(key, (101.0, "")), (share, place))
    error = 100 * np.sqrt(0.95 * 0.05 / repetitions)
    print(f"{repetitions} repetitions per cell: a coverage has a standard error of {error:.2f} %.")
    print("A case is a cell and a metric that varies between its episodes.\n")
    print(render([summary(kind, n, shares) for kind in kinds for n in EPISODES]))
    print("\nBy partner set, with the lowest case")
    rows = [
        {**summary(kind, n, {key: shares[key]}), "partners": key[2], "lowest": lowest[key][1]}
        for kind, n, partners in itertools.product(kinds, EPISODES, PARTNERS)
        for key in [(kind, n, partners)]
    ]
    print(render(rows))
    print(
        f"\n{constant} more cases do not vary; {missed_constant} of their intervals do not always "
        "hold the truth"
    )


def summary(
    kind: str, episodes: int, shares: dict[tuple[str, int, str], list[float]]
) -> dict[str, object]:
    """Return one row about all cases of a kind of interval and a number of episodes."""
    mine = [share for key, part in shares.items() if key[:2] == (kind, episodes) for share in part]
    return {
        "interval": kind,
        "episodes": episodes,
        "cases": len(mine),
        "mean %": f"{np.mean(mine):.2f}",
        "lowest %": f"{min(mine):.1f}",
        "highest %": f"{max(mine):.1f}",
        "in 93..97 %": sum(LOW <= share <= HIGH for share in mine),
    }


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


def report_shares(repetitions: int) -> None:
    """Print the coverage of shares, and of Student's interval without bounds, with their widths."""
    rows = []
    for name, (draw, mean) in SHARES.items():
        row: dict[str, object] = {"episodes' shares": name}
        for count in EXTREMES:
            values = 100 * draw(np.random.default_rng(count), (count, repetitions))
            said = []
            for bounds in ((0.0, 100.0), (-np.inf, np.inf)):
                found = estimate(values, "t", bounds=bounds)
                held = (found.low <= 100 * mean + 1e-9) & (100 * mean <= found.high + 1e-9)
                said.append((100 * held.mean(), float(np.median(2 * found.half))))
                if np.isfinite(bounds[0]):
                    assert ((found.low >= 0) & (found.high <= 100)).all()
                    assert ((found.low <= found.mean) & (found.mean <= found.high)).all()
            row[f"{count}"] = f"{said[0][0]:.1f} ({said[1][0]:.1f})"
            row[f"width, {count}"] = f"{said[0][1]:.3g} ({said[1][1]:.3g})"
        rows.append(row)
    error = 100 * np.sqrt(0.95 * 0.05 / repetitions)
    print(f"Shares, {repetitions} repetitions (standard error {error:.2f} %): coverage in %, and")
    print("median width; in brackets Student's interval, which leaves 0 to 100\n")
    print(render(rows))


def main() -> None:
    use_one_thread()
    parser = argparse.ArgumentParser(description="Coverage of the 95 % intervals.")
    parser.add_argument("--repetitions", type=int, default=2_000)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--only", choices=("shares", "cells"))
    options = parser.parse_args()
    if options.only != "cells":
        report_shares(options.repetitions)
    if options.only == "shares":
        return
    start = time.perf_counter()
    cases = [
        Case(game, partners, p, q, episodes)
        for game, partners, (p, q), episodes in itertools.product(GAMES, PARTNERS, DIALS, EPISODES)
    ]
    kinds = tuple(options.kinds.split(","))
    jobs = [(case, options.repetitions, kinds) for case in cases]
    with multiprocessing.Pool(options.workers) as pool:
        counts = pool.map(work, jobs, chunksize=1)
    report(counts, options.repetitions, kinds)
    print(f"\n{time.perf_counter() - start:.0f} s with {options.workers} processes")


if __name__ == "__main__":
    main()
