"""Matrix games as plain games: optima agree with the solver of all games."""

from __future__ import annotations

import numpy as np
import pytest
from support import ALL_GAMES, shipped

from tomeval.games.enumeration import enumeration
from tomeval.games.game import Ask, Stage
from tomeval.games.matrix.optima import best_response, dynamics
from tomeval.games.matrix.rules import RepeatedGame, TablePolicy

T = 5


@pytest.mark.parametrize("game", ALL_GAMES, ids=lambda game: game.name)
def test_optima_are_those_of_the_generic_solver(game) -> None:
    """V*, the best actions and the value of random play, against every shipped partner."""
    rules = RepeatedGame(game, T)
    partners = list(shipped(game))
    assert len(partners) > 5
    for partner in partners:
        solver = enumeration(rules, 0, {1: TablePolicy(partner)})
        plan = best_response(game, partner, T)
        assert solver.value() == pytest.approx(plan.value, abs=1e-12 * T * 10)
        rewards, transitions = dynamics(game, partner)
        worth = np.zeros(len(rewards))
        for _ in range(T):
            worth = (rewards + transitions @ worth).mean(axis=1)
        assert solver.chance() == pytest.approx(worth[partner.start], abs=1e-10)
        state, where = rules.deal(np.random.default_rng(0)), partner.start
        follower = solver.follow(rules.view(state, 0))
        for t in range(T):  # one way through the game
            best = follower.values(rules.view(state, 0), Ask(0, "act")).best_actions()
            assert list(best) == np.flatnonzero(plan.optimal[t, where]).tolist()
            moves = {0: t % game.n, 1: int(partner.emissions[where].argmax())}
            state, where = rules.then(state, moves), int(partner.next_state[where, *moves.values()])
            if t < T - 1:
                follower.observe(rules.view(state, 0))


def test_a_seat_sees_no_move_of_the_round() -> None:
    """Twins that differ in what the other seat does now are alike to a seat until it is over."""
    game = RepeatedGame(ALL_GAMES[0], 2)
    state = game.deal(np.random.default_rng(0))
    [probe] = game.probes(state, Ask(0, "act"), None, {})
    assert (probe.name, probe.about, probe.given) == ("predict", 1, None)
    for theirs in range(3):
        trail = [Stage(state, {0: 0, 1: theirs})]
        assert game.truth(probe, 0, trail, 0, game.then(state, trail[0].actions)) == theirs
    assert game.view(state, 0).events == ()
