"""Knows, uses, plays: by hand, and where they must not move; see also `tests/recomputed`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support import episodes_of

import tomeval
from tomeval.games.matrix.games import get_game
from tomeval.games.matrix.partner_specs import get_partner
from tomeval.games.matrix.played import Played
from tomeval.games.matrix.results import matrix_cells
from tomeval.games.matrix.scores import chance_regret, scores


def simulated(p: float, q: float) -> dict[str, Any]:
    return {"kind": "simulated", "name": f"p {p} q {q}", "p": p, "q": q}


def run_of(folder, **keys):
    return tomeval.run({"horizon": 12, "episodes": 8, "seed": 3} | keys, folder)


def test_the_mean_over_episodes_is_the_ratio_of_sums(tmp_path) -> None:
    """Against a partner that draws in some states alone episodes have unequal bottoms."""
    with run_of(
        tmp_path, games="IBS", partners="noisy_tit_for_tat", subjects=[simulated(0.6, 0.5)]
    ) as run:
        (cell,) = matrix_cells(run)
        terms = scores(cell.played).replies
        assert np.ptp(terms.bottom) > 0
        part = cell.totals("replies_percent").parts
        assert part.mean() == pytest.approx(100 * terms.top.sum() / terms.bottom.sum())
        # The spread of these parts is that of the ratio estimator (Cochran 1977, section 6.4).
        rest = terms.top - terms.score * terms.bottom
        error = rest.std(ddof=1) / np.sqrt(len(rest)) / terms.bottom.mean()
        assert part.std(ddof=1) / np.sqrt(len(part)) == pytest.approx(100 * error)


def test_by_hand_against_a_mixture() -> None:
    """Rock half of the time: knows 1/6 a step at best; Paper earns (0.5 - 0.25) against 0."""
    game = get_game("RPS")
    partner = get_partner("mixture(0.5, 0.25, 0.25)", game)
    own, theirs, said = np.array([1, 1, 0, 2]), np.array([0, 2, 0, 1]), np.array([0, 0, 0, 1])
    played = episodes_of(game, own, theirs, said, partners=[partner])
    knows, replies, plans, uses, plays = (terms.score for terms in scores(played)[:5])
    assert knows == pytest.approx((3 - 4 / 3) / (4 / 6))  # three right
    assert replies == plans == uses == pytest.approx(3 / 4)  # lost 0, 0, 1, 0; chance 1 a step
    # rewards 1, -1, 0, 1; the optimum earns 0.25 a step, random play 0
    assert plays == pytest.approx(1.0 / 1.0)
    assert chance_regret(game, partner, 4) == pytest.approx(1.0)


def test_plans_look_ahead_and_replies_do_not() -> None:
    """Cooperating with tit for tat forgoes the step's best reply and keeps the plan."""
    game, horizon = get_game("IPD"), 10
    partner = get_partner("tit_for_tat", game)
    theirs = [0] * horizon
    found = scores(episodes_of(game, [0] * 9 + [1], theirs, theirs, partners=[partner]))
    assert found.plans.score == pytest.approx(1.0)
    assert found.replies.score == pytest.approx(-0.8)  # nine steps at the worst, one at the best
    assert found.uses is None  # defecting is best for the step, whatever is predicted
    assert found.plays.score == pytest.approx(1.0)
    # The optimum earns 9 x 8 + 10; random play 9 in the first step and 5.75 in each later one.
    assert chance_regret(game, partner, horizon) == pytest.approx(82 - (9 + 9 * 5.75))


def test_steps_without_a_prediction_are_left_out_of_knows_and_uses() -> None:
    game = get_game("RPS")
    partner = get_partner("always(0)", game)
    own, said = [1, 2, 2, 0], [0, -1, -1, 0]
    played = episodes_of(game, own, [0] * 4, said, partners=[partner], lengths=(2, 2))
    found = scores(played)
    assert found.knows.score == 1.0
    assert found.replies.score == pytest.approx(0.5)  # Paper, then Rock
    assert found.plays.score == pytest.approx((1 - 1 - 1 + 0) / 4)
    nobody = scores(replace(played, predicted=np.full(4, -1)))
    assert nobody.uses is None
    assert np.isnan(nobody.knows.score)
    silent = scores(replace(played, predicted=None))
    assert np.isnan(silent.knows.score)
    assert silent.plays.score == found.plays.score


def test_nothing_to_know_nothing_at_stake_and_unknown_partners() -> None:
    game = get_game("RPS")
    moves = np.array([0, 1, 2, 1])

    def of(which, partners) -> Any:
        return scores(episodes_of(which, moves, moves, moves, partners=partners))

    uniform = of(game, [get_partner("uniform_random", game)])
    assert np.isnan(uniform.knows.score)
    assert np.isnan(uniform.plays.score)
    assert uniform.uses is not None
    unknown = of(game, [])
    assert np.isnan([unknown.knows.score, unknown.plans.score, unknown.plays.score]).all()
    assert unknown.uses is not None  # replies need no partner
    alike = replace(game, payoffs=np.ones_like(game.payoffs))
    flat = of(alike, [get_partner("always(0)", alike)])
    assert flat.uses is None
    assert np.isnan(flat.plays.score)
    nothing = (np.zeros(0, dtype=int) for _ in range(5))
    empty = Played(game, [get_partner("always(0)", game)], *nothing, np.zeros(0))
    assert np.isnan(scores(empty).plays.score)
    assert scores(empty).plays.totals.parts.shape == (0,)
