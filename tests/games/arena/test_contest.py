"""The worked example of a game of the arena: its rules by hand, its values by enumeration."""

import numpy as np
import pytest
from arena_contest import contest
from games.arena.brute_force import BruteForce

from tomeval.games.enumeration import enumeration


@pytest.fixture
def module():
    with contest() as module:
        yield module


def made(module, **rules):
    return module.ExampleName(module.Rules(**rules))


def legal(view, ask):
    return view.game.options(view, ask)


def test_the_nearest_take_a_round_and_share_it(module):
    game = made(module)
    assert game.shares((33, 33, 22)) == (0, 0, 1)  # two thirds of the mean are 19.6
    assert game.shares((33, 33, 50)) == (0.5, 0.5, 0)
    assert game.shares((7, 7, 7)) == (1 / 3,) * 3
    assert made(module, players=2, factor=1).shares((3, 5)) == (0.5, 0.5)  # a tie is exact


def test_levels_reason_from_the_last_mean(module):
    game, level = made(module), module.Level
    state = game.deal(np.random.default_rng(0))
    (ask, *_) = game.due(state)
    numbers = [level(k).choices(game.view(state, 0), ask, None) for k in range(3)]
    assert numbers == [((1, 50),), ((1, 33),), ((1, 22),)]
    later = game.view(game.then(state, {0: 30, 1: 30, 2: 0}), 0)
    assert level(1, 0.5).choices(later, ask, None) == ((0.5, 13), (0.25, 12), (0.25, 14))


@pytest.mark.parametrize(
    "rules", [{"most": 6, "rounds": 2}, {"most": 5, "rounds": 3, "players": 2, "factor": 0.5}]
)
def test_values_are_those_of_enumeration(module, rules):
    game, rng = made(module, **rules), np.random.default_rng(1)
    others = {s: module.Level(s, 0.3) for s in range(1, game.seats)}
    solver, oracle = enumeration(game, 0, others), BruteForce(game, 0, others, legal)
    state = game.deal(rng)
    beliefs, follower = oracle.begin([(1.0, state)]), solver.follow(game.view(state, 0))
    assert solver.value() == pytest.approx(oracle.value(beliefs[oracle.seen(state)]), abs=1e-12)
    while due := game.due(state):
        view, belief = game.view(state, 0), beliefs[oracle.seen(state)]
        values, weight = follower.values(view, due[0]), sum(entry[0] for entry in belief)
        for own in legal(view, due[0]):
            assert values.of(own) == pytest.approx(oracle.q(belief, own) / weight, abs=1e-12)
        for probe in game.probes(view._state, due[0], None, {}):
            assert sum(values.observer(probe).values()) == pytest.approx(1)
        own = int(rng.choice(legal(view, due[0])))
        said = {s: p.act(game.view(state, s), due[s], None, rng) for s, p in others.items()}
        beliefs = oracle.successors(belief, own)
        state = game.then(state, {0: own, **said})
        follower.observe(game.view(state, 0))
