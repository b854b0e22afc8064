"""How often 95 % intervals of the use slope hold the truth.

Believers of known use play many times over; each repetition is a run of its own. The truth has a
closed form (`expected_slope`).

    python benchmarks/planted_coverage.py [--repetitions 1000]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from counting import Floats, Row, count, percent, setup_of
from numpy.typing import NDArray

from tomeval.extensions.planted import Statements, contrast, use_slopes
from tomeval.games.matrix.games import MatrixGame, get_game
from tomeval.games.matrix.play import play_episode
from tomeval.games.matrix.played import Played
from tomeval.games.matrix.responses import best_responses
from tomeval.statistics import estimate

EPISODES, HORIZON = 20, 10
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


def slopes_of(game: str, partners: str, options: dict[str, Any], repetitions: int) -> Floats:
    """Return the use slope of every repetition's episodes, shape (repetitions, EPISODES)."""
    setup = setup_of("believer", options, game, partners, horizon=HORIZON, seed=0)
    values = np.empty(repetitions * EPISODES)
    for episode in range(len(values)):
        record = play_episode(setup, episode)
        own, theirs = (np.array(record.column(f"{who}_action")) for who in ("own", "partner"))
        said = [one["belief"]["action"] for one in record.column("act_details")]
        played = Played(
            setup.game,
            [],
            np.zeros(1, dtype=np.int64),
            np.array([HORIZON]),
            own,
            theirs,
            None,
            setup.game.own[own, theirs],
        )
        told = Statements(options["accuracy"], np.array(said))
        values[episode] = use_slopes(played, told).mean()
    return values.reshape(repetitions, EPISODES)


def row(name: str, held: Sequence[bool], found: Floats, truth: float) -> Row:
    """Return a row of the printed table."""
    return {
        "case": name,
        "coverage_percent": percent(held),
        "truth": round(truth, 4),
        "mean estimate": round(float(found.mean()), 4),
    }


def slopes(repetitions: int) -> Iterator[Row]:
    """Slopes of use, whose truth has a closed form."""
    for game, partners, options in CASES:
        made = get_game(game)
        truth = expected_slope(made, best_responses(made), options["use"])
        runs = slopes_of(game, partners, options, repetitions)
        found = [estimate(run) for run in runs]
        held = [bool(one.low[0] <= truth <= one.high[0]) for one in found]
        told = ", ".join(f"{key} {value}" for key, value in options.items())
        yield row(f"{game}, {partners}, {told}", held, runs.mean(axis=1), truth)


if __name__ == "__main__":
    count({"slopes": slopes}, 1000)
