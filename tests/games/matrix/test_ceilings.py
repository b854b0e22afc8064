"""What is attainable against partners that draw: by hand, by play, in tables."""

from __future__ import annotations

import numpy as np
import pytest

import tomeval
from tomeval.games.matrix.bounds import attainable_as_played, bounds_rows, by_state
from tomeval.games.matrix.games import GAMES
from tomeval.games.matrix.partner_specs import get_partner
from tomeval.games.matrix.results import matrix_cells

IPD, RPS = GAMES["IPD"], GAMES["RPS"]


def test_ceilings_of_states_by_hand() -> None:
    # Half Rock: predict Rock, and be right half of the time. To act on "Rock" is to play Paper,
    # which loses 1 against Paper (0 instead of 1) and 2 against Scissors (-1 instead of 1):
    # 0.3 x 1 + 0.2 x 2. Acting on "Paper" costs 0.5 x 2 + 0.2 x 1, on "Scissors" 0.5 x 1 + 0.3 x 2.
    half = get_partner("mixture(0.5, 0.3, 0.2)", RPS)
    found = [float(values[0]) for values in by_state(RPS, half).values()]
    assert found == pytest.approx([50, 0.7, 0.7])
    # Generous tit for tat draws only after a defection.
    generous = by_state(IPD, get_partner("generous_tit_for_tat(0.3)", IPD))
    assert [values.tolist() for values in generous.values()] == [
        [100, 100, 70],
        [0, 0, 0],
        pytest.approx([0, 0, 0.6]),  # "defects" costs 2 where it cooperates
    ]


def play(folder, game: str, partners: str, episodes: int = 60):
    """Play the best predictor, who plays the best response, and a learner."""
    return tomeval.run(
        {
            "games": [game],
            "partners": [partners],
            "subjects": ["best_response", "rmax"],
            "horizon": 50,
            "episodes": episodes,
            "seed": 4,
        },
        out=folder,
    )


@pytest.mark.parametrize(
    ("game", "partners"),
    [("IPD", "generous_tit_for_tat(0.3)"), ("RPS", "mixture(0.5, 0.3, 0.2) + always(0)")],
)
def test_the_best_predictor_attains_it_on_the_steps_as_played(tmp_path, game, partners) -> None:
    run = play(tmp_path / "run", game, partners)
    best, _ = matrix_cells(run)
    found, said = attainable_as_played(best.played), best.metrics()
    for name in ("tom_percent", "delta_tom_best_response_per_step"):
        ceiling = found[f"{name.removesuffix('_per_step')}_attainable"]
        difference = said[name] - ceiling
        error = difference.std(ddof=1) / np.sqrt(len(difference))
        assert abs(difference.mean()) <= 4 * error + 1e-9
    rows = run.rows()
    assert rows[0]["tom_percent_attainable"] == pytest.approx(
        found["tom_percent_attainable"].mean()
    )
    if game == "IPD":  # who only cooperates foresees all; who tries defection cannot
        assert rows[0]["tom_percent_attainable"] == 100
        assert 70 < rows[1]["tom_percent_attainable"] < 100
    assert rows[1]["tom_percent"] < rows[1]["tom_percent_attainable"]


def test_tables_show_it_where_chance_limits_it(tmp_path) -> None:
    run = play(tmp_path / "chance", "RPS", "uniform_random", 3)
    row = run.rows()[0]
    assert row["tom_percent_attainable"] == pytest.approx(100 / 3)
    assert row["delta_tom_misprediction_attainable"] == pytest.approx(1.0)  # (0 + 1 + 2) / 3
    plain = play(tmp_path / "plain", "RPS", "tit_for_tat", 3)
    assert not any("attainable" in name for name in plain.rows()[0])


def test_bounds_of_a_set_are_means_over_its_weights() -> None:
    rows, _ = bounds_rows("RPS", "mixture(0.5, 0.3, 0.2) + always(0)", 10)
    assert [row["best"] for row in rows] == pytest.approx([0.3, 1, 0.65])
