"""How often 95 % intervals of the use slope hold the truth.

Believers of known use play many times over; each repetition is a run of its own. The truth has a
closed form (`expected_slope`). Prints a row per case: coverage with its standard error, and the
mean estimate beside the truth.

    python benchmarks/planted_coverage.py [--repetitions 1000] [--episodes 20]
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from one_thread import use_one_thread

from tomeval.domains.matrix.games import MatrixGame, get_game
from tomeval.domains.matrix.partner_specs import get_partner_set
from tomeval.domains.matrix.play import Setup, play_episode
from tomeval.domains.matrix.played import Played
from tomeval.domains.matrix.responses import best_responses
from tomeval.extensions.planted.measures import Statements, use_slopes
from tomeval.extensions.planted.trust import contrast
from tomeval.report.tables import render
from tomeval.statistics import estimate

HORIZON = 10
CASES: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("RPS", "uniform_random", {"accuracy": 0.5, "use": 0.5}),
    ("RPS", "uniform_random", {"accuracy": 0.9, "use": 0.8}),
    ("IBS", "uniform_random", {"accuracy": 0.25, "use": 0.2}),
    ("IBS", "tit_for_tat", {"accuracy": 0.75, "use": 0.6, "p": 0.9, "q": 1.0}),
    ("stag_hunt", "noisy_tit_for_tat", {"accuracy": 0.6, "use": 0.0, "p": 1.0, "q": 1.0}),
)


def expected_slope(game: MatrixGame, responses: NDArray[np.bool_], use: float) -> float:
    """Return the use slope of one who answers statements by `responses` with probability `use`.

    `responses`, shape (n, m), tells which actions it takes, tied ones equally likely; else it acts
    by what the statement does not change, which adds exactly 0.
    """
    policy = responses / responses.sum(axis=0)
    return use * float((policy * contrast(game)).sum(axis=0).mean())


def slopes_of(game: str, partners: str, options: dict[str, Any], count: int) -> NDArray[Any]:
    """Return the use slope of `count` episodes."""
    found = get_game(game)
    setup = Setup(
        "believer",
        options,
        game=found,
        labels=found.label_set(),
        partners=get_partner_set(partners, found),
        horizon=HORIZON,
        seed=0,
        on_invalid="void",
    )
    values = np.empty(count)
    for episode in range(count):
        steps = play_episode(setup, episode)
        said = [steps.details[0, t]["act"]["belief"]["action"] for t in range(HORIZON)]
        played = Played(
            found,
            [],
            np.zeros(1, dtype=np.int64),
            np.array([HORIZON]),
            steps.own_action[0],
            steps.partner_action[0],
            None,
            found.own[steps.own_action[0], steps.partner_action[0]],
        )
        told = Statements(options["accuracy"], np.array(said))
        values[episode] = use_slopes(played, told).mean()
    return values


def row(name: str, held: list[bool], found: NDArray[Any], truth: float) -> dict[str, Any]:
    """Return a row of the printed table."""
    share = float(np.mean(held))
    error = math.sqrt(max(share * (1 - share), 1e-9) / len(held))
    return {
        "case": name,
        "coverage_percent": round(100 * share, 1),
        "standard_error": round(100 * error, 2),
        "truth": round(truth, 4),
        "mean estimate": round(float(found.mean()), 4),
    }


def rows(repetitions: int, episodes: int) -> Iterator[dict[str, Any]]:
    """Yield a row per case."""
    for game, partners, options in CASES:
        made = get_game(game)
        truth = expected_slope(made, best_responses(made), options["use"])
        sample = slopes_of(game, partners, options, repetitions * episodes)
        parts = sample.reshape(repetitions, episodes)
        found = [estimate(part) for part in parts]
        held = [bool(one.low[0] <= truth <= one.high[0]) for one in found]
        told = ", ".join(f"{key} {value}" for key, value in options.items())
        yield row(f"use slope: {game}, {partners}, {told}", held, parts.mean(axis=1), truth)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--repetitions", type=int, default=1000)
    parser.add_argument("--episodes", type=int, default=20)
    told = parser.parse_args()
    began = time.perf_counter()
    print(render(list(rows(told.repetitions, told.episodes)), "text"))
    print(f"{time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    use_one_thread()
    main()
