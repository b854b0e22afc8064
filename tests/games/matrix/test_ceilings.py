"""What is attainable against partners that draw: by enumeration, by play, in tables."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import ALL_GAMES, random_partner

import tomeval
from tomeval.games.matrix.bounds import CEILINGS, attainable_as_played, most_attainable
from tomeval.games.matrix.games import GAMES
from tomeval.games.matrix.partner_specs import get_partner
from tomeval.games.matrix.results import matrix_cells
from tomeval.games.matrix.shown import bounds_rows

IPD, RPS = GAMES["IPD"], GAMES["RPS"]


def by_hand(game, predicted: int, actual: int, name: str) -> float:
    """Return a prediction's worth from the payoffs alone; tied best actions count by their mean."""
    if name == "tom_percent_attainable":
        return 100.0 * (predicted == actual)
    if predicted == actual:
        return 0.0
    best = max(game.own[a][actual] for a in range(game.n))
    options = list(range(game.n))
    if "misprediction" in name:
        options = [a for a in options if game.own[a][actual] < best]
    if not options:
        return 0.0
    top = max(game.own[a][predicted] for a in options)
    lost = [best - game.own[a][actual] for a in options if game.own[a][predicted] == top]
    return sum(lost) / len(lost)


def enumerated(game, partner, horizon: int, name: str) -> float:
    """Return the best expected sum over all predictions and moves, history by history."""
    pick = max if CEILINGS[name] > 0 else min

    def walk(state: int, left: int) -> float:
        if left == 0:
            return 0.0
        row = partner.emissions[state]
        now = pick(
            sum(p * by_hand(game, c, b, name) for b, p in enumerate(row)) for c in range(game.m)
        )
        later = pick(
            sum(p * walk(int(partner.next_state[state, a, b]), left - 1) for b, p in enumerate(row))
            for a in range(game.n)
        )
        return now + later

    return walk(partner.start, horizon) / horizon


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(ALL_GAMES),
    st.integers(0, 10**6),
    st.sampled_from(["stochastic", "mixed", "deterministic"]),
)
def test_attainable_is_what_all_histories_give(game, seed, kind) -> None:
    partner = random_partner(game, np.random.default_rng(seed), 3, kind)
    found = most_attainable(game, partner, 3)
    assert list(found) == list(CEILINGS)
    for name, value in found.items():
        assert value == pytest.approx(enumerated(game, partner, 3, name), abs=1e-9)
    if kind == "deterministic":
        assert list(found.values()) == [100.0, 0.0, 0.0]


def test_attainable_by_hand() -> None:
    # Half Rock: predict Rock, and be right half of the time. To act on "Rock" is to play Paper,
    # which loses 1 against Paper (0 instead of 1) and 2 against Scissors (-1 instead of 1):
    # 0.3 x 1 + 0.2 x 2. Acting on "Paper" costs 0.5 x 2 + 0.2 x 1, on "Scissors" 0.5 x 1 + 0.3 x 2.
    half = get_partner("mixture(0.5, 0.3, 0.2)", RPS)
    assert list(most_attainable(RPS, half, 7).values()) == pytest.approx([50, 0.7, 0.7])
    # Generous tit for tat draws only after a defection: cooperating, all can be foreseen.
    generous = get_partner("generous_tit_for_tat(0.3)", IPD)
    assert list(most_attainable(IPD, generous, 9).values()) == [100, 0, 0]


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
    rows, _ = bounds_rows("RPS", "mixture(0.5, 0.3, 0.2) + always(0)", 10, "horizon")
    assert [row["tom_percent_attainable"] for row in rows] == pytest.approx([50, 100, 75])
    least = [row["delta_tom_best_response_attainable"] for row in rows]
    assert least == pytest.approx([0.7, 0, 0.35])
