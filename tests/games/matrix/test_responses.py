from __future__ import annotations

import numpy as np
import pytest
from support import make_game

from tomeval.games.matrix.games import GAMES
from tomeval.games.matrix.responses import best_responses, misjudgement_cost


def test_best_responses_of_the_paper_games() -> None:
    assert best_responses(GAMES["RPS"]).tolist() == [[0, 0, 1], [1, 0, 0], [0, 1, 0]]
    assert best_responses(GAMES["IBS"]).tolist() == [[1, 0], [0, 1]]
    assert best_responses(GAMES["IPD"]).tolist() == [[0, 0], [1, 1]]


# The hand table of the reference, "ΔToM for IPD": [predicted][actual].
#   RPS: best response to the wrong prediction, 1 or 2, by both rules;
#   IBS: 10 where the partner played a0, 7 where it played a1, by both rules;
#   IPD: 0 under best_response (defecting is best anyway); under misprediction 2 against a
#        cooperator, 5 against a defector.
RPS_COST = [[0, 1, 2], [2, 0, 1], [1, 2, 0]]
IBS_COST = [[0, 7], [10, 0]]


@pytest.mark.parametrize("rule", ["best_response", "misprediction"])
def test_costs_by_hand(rule) -> None:
    # Predicted rock, so it plays paper: against paper a draw where scissors would win (cost 1),
    # against scissors a loss where rock would have won (cost 2). The rest by rotation.
    assert misjudgement_cost(GAMES["RPS"], rule).tolist() == RPS_COST
    assert misjudgement_cost(GAMES["IBS"], rule).tolist() == IBS_COST
    ipd = [[0, 0], [0, 0]] if rule == "best_response" else [[0, 5], [2, 0]]
    assert misjudgement_cost(GAMES["IPD"], rule).tolist() == ipd


def test_the_mean_rule_by_hand() -> None:
    # 1 and 2 in RPS, 10 and 7 in IBS, 2 and 5 in IPD: the published tit-for-tat rows.
    for name, mean in (("RPS", 1.5), ("IBS", 8.5), ("IPD", 3.5)):
        cost = misjudgement_cost(GAMES[name], "mean_misprediction")
        wrong = ~np.eye(len(cost), dtype=bool)
        assert set(cost[wrong].tolist()) == {mean}
        assert not np.diag(cost).any()


def test_misprediction_depends_on_a_strictly_dominated_action() -> None:
    # The prisoner's dilemma with a third own action that earns 1 and 4 where defecting earns 10 and
    # 5. Nobody would play it, but among the actions that are not best against C it is the best
    # against D (4 > 0): "D" where C was played now costs 10 - 1 instead of 10 - 8.
    ipd, more = make_game([[8, 0], [10, 5]]), make_game([[8, 0], [10, 5], [1, 4]])
    assert misjudgement_cost(ipd, "misprediction").tolist() == [[0, 5], [2, 0]]
    assert misjudgement_cost(more, "misprediction").tolist() == [[0, 5], [9, 0]]
    for game in (ipd, more):  # the best response does not see it
        assert not misjudgement_cost(game, "best_response").any()


def test_ties_count_by_their_mean() -> None:
    # Against prediction 0 the first two actions tie; against 1 they earn 3 and 1, the best is 4.
    game = make_game([[5, 3], [5, 1], [0, 4]])
    # regrets against 1: 1 and 3, mean 2
    assert misjudgement_cost(game, "best_response")[0, 1] == 2.0
    # neither of the two is best against 1, and both are best against 0 among such: mean 2 again
    assert misjudgement_cost(game, "misprediction")[0, 1] == 2.0
    # prediction 1 -> action 2, regret against 0: 5
    assert misjudgement_cost(game, "best_response")[1, 0] == 5.0
