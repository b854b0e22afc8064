"""Exact values of Blotto against brute force, hand-worked matches, and each other."""

import numpy as np
import pytest
from games.arena.brute_force import BruteForce

from tomeval.games.blotto import solver
from tomeval.games.blotto.allocations import best_reply, every, result
from tomeval.games.blotto.policies import POLICIES
from tomeval.games.blotto.rules import Blotto, BlottoRules, State
from tomeval.games.game import Ask, Probe

BOARDS = [(3, 4, 2), (3, 3, 2), (3, 2, 2), (2, 3, 3), (4, 2, 2)]
LARGE = [pytest.param(board, marks=pytest.mark.slow) for board in BOARDS[3:]]
PROBE = Probe("allocation", 1)


def all_of(game):
    return [tuple(row) for row in every(game.fields, game.units).tolist()]


def some(rng, game, most=3):
    listed = all_of(game)
    places = rng.choice(len(listed), rng.integers(1, most + 1))
    return [listed[i] for i in places]


def drawn_policy(name, game, rng):
    """Return a policy with random options that fit the game."""
    # Brute force would take minutes where any of 15 allocations may be drawn in each round.
    noise = 0.0 if game.units == 4 else float(rng.choice([0.0, 0.25]))
    if name == "mixture":
        allocations = some(rng, game)
        weights = [float(w) for w in rng.random(len(allocations)) + 0.1]
        return POLICIES[name](allocations, weights, noise=noise)
    if name in ("copy", "reply", "shift"):
        return POLICIES[name](some(rng, game, 1)[0], noise=noise)
    return POLICIES[name]()


def oracle(game, seat, policy):
    legal = all_of(game)
    found = BruteForce(game, seat, {1 - seat: policy}, lambda view, ask: legal)
    (belief,) = found.begin([(1.0, State())]).values()
    return found, belief


@pytest.mark.parametrize("seat", [0, 1])
@pytest.mark.parametrize("name", sorted(POLICIES))
@pytest.mark.parametrize("board", [*BOARDS[:3], *LARGE])
def test_values_are_those_of_brute_force(board, name, seat):
    """V*, every Q* and the posterior, before the first round and along a random match."""
    fields, units, rounds = board
    rounds = 1 if name == "uniform" and units == 4 else rounds
    rng = np.random.default_rng([*board, seat, *name.encode()])
    reward = "match" if seat == 0 else "rounds"
    rules = {"fields": fields, "units": units, "rounds": rounds, "reward": reward}
    game = Blotto(BlottoRules(**rules, win=2.0, tie=0.5))
    policy = drawn_policy(name, game, rng)
    brute, belief = oracle(game, seat, policy)
    found = solver(game, seat, {1 - seat: policy})
    assert found.value() == pytest.approx(brute.value(belief), abs=1e-12)
    follower = found.follow(game.view(State(), seat))
    while game.due(belief[0][1]):
        total = sum(weight for weight, _, _ in belief)
        view = game.view(belief[0][1], seat)
        values = follower.values(view, Ask(seat, "allocate"))
        assert values.best == pytest.approx(brute.value(belief) / total, abs=1e-12)
        for action in all_of(game):
            value = values.of(action)
            assert value == pytest.approx(brute.q(belief, action) / total, abs=1e-12)
            assert value <= values.best
        action = some(rng, game, 1)[0]
        after = brute.successors(belief, action)
        chances = {s: sum(entry[0] for entry in entries) for s, entries in after.items()}
        other = {events[-1].data[2 - seat]: p / total for events, p in chances.items()}
        posterior = values.observer(PROBE)
        assert dict(posterior) == pytest.approx(other, abs=1e-12)
        assert len(posterior) == len(other)
        assert values.attainable(PROBE) == pytest.approx(max(other.values()), abs=1e-12)
        assert other[values.guess(PROBE)] == pytest.approx(max(other.values()), abs=1e-12)
        for best in values.best_actions():
            assert brute.q(belief, best) / total == pytest.approx(values.best, abs=1e-12)
        belief = after[list(after)[rng.integers(len(after))]]
        follower.observe(game.view(belief[0][1], seat))


@pytest.mark.parametrize("board", [*BOARDS[:3], *LARGE])
@pytest.mark.parametrize("name", sorted(POLICIES))
def test_the_value_of_chance_is_that_of_brute_force(board, name):
    class Random(BruteForce):
        """The same enumeration with the mean over actions in place of the best."""

        def value(self, belief):
            if not self.game.due(belief[0][1]):
                return super().value(belief)
            return np.mean([self.q(belief, action) for action in self.legal(None, None)])

    fields, units, rounds = board
    rounds = 1 if name == "uniform" and units == 4 else rounds
    reward = "rounds" if units == 3 else "match"
    game = Blotto(BlottoRules(fields=fields, units=units, rounds=rounds, reward=reward))
    policy = drawn_policy(name, game, np.random.default_rng([*board, *name.encode()]))
    brute = Random(game, 0, {1: policy}, lambda view, ask: all_of(game))
    (belief,) = brute.begin([(1.0, State())]).values()
    found = solver(game, 0, {1: policy}).chance()
    assert found == pytest.approx(brute.value(belief), abs=1e-12)


def test_a_match_worked_by_hand():
    """Three rounds against 5 0 0 or 0 0 5 with equal chances, 3 fields.

    Beating one is beating the other: 0 3 2 has B always; against 5 0 0 it also has C, against
    0 0 5 it ties A and loses C: a tie. 1 3 1 takes B and C, or A and B: it wins always.
    """
    game = Blotto(BlottoRules(fields=3, units=5, rounds=3))
    policy = POLICIES["mixture"](((5, 0, 0), (0, 0, 5)))
    found = solver(game, 0, {1: policy})
    assert found.value() == 1
    values = found.follow(game.view(State(), 0)).values(game.view(State(), 0), Ask(0, "allocate"))
    assert values.of((1, 3, 1)) == 1
    assert values.of((0, 3, 2)) == 1  # after a tie two wins are left
    assert values.of((5, 0, 0)) == 1
    one = Blotto(BlottoRules(fields=3, units=5, rounds=1))
    found = solver(one, 0, {1: policy})
    values = found.follow(one.view(State(), 0)).values(one.view(State(), 0), Ask(0, "allocate"))
    assert values.of((0, 3, 2)) == 0.5
    assert values.of((5, 0, 0)) == 0
    assert values.of((0, 5, 0)) == 0


def test_rounds_against_a_stationary_player_are_independent():
    """The reward of rounds is a mean: the best of a match is the best of one round."""
    game = Blotto(BlottoRules(reward="rounds"))
    policy = drawn_policy("mixture", game, np.random.default_rng(1))
    mix = policy.mix(game, None)
    best = max(
        sum(weight * result(own, other) for other, weight in mix.named.items())
        for own in all_of(game)
    )
    found = solver(game, 0, {1: policy}).value()
    assert found == pytest.approx(best, abs=1e-12)


def test_the_reply_acts_on_the_statement_and_on_nothing_else():
    game = Blotto(BlottoRules(fields=3, units=20))
    view = game.view(State(), 0)
    for policy in (POLICIES["uniform"](), POLICIES["copy"]()):
        values = solver(game, 0, {1: policy}).follow(view).values(view, Ask(0, "allocate"))
        assert values.reply({PROBE: (7, 7, 6)}) == best_reply((7, 7, 6))
        assert values.reply({}) is None
        assert values.reply({Probe("other", 1): (7, 7, 6)}) is None
    assert game.step_reply(view, {PROBE: (7, 7, 6)}) == best_reply((7, 7, 6))
    assert game.step_reply(view, {}) is None
