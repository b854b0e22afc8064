"""Large boards: values are those that enumeration finds, and stand only where they are exact."""

import numpy as np
import pytest

from tomeval.games.blotto import solver
from tomeval.games.blotto.allocations import drawn, result
from tomeval.games.blotto.policies import POLICIES
from tomeval.games.blotto.rules import PRESETS, Blotto, BlottoRules, State
from tomeval.games.game import Ask, Probe


def games(name, rounds):
    return Blotto(BlottoRules(**PRESETS[name] | {"rounds": rounds}))


@pytest.mark.parametrize("name", ["copy", "reply", "shift"])
def test_plans_without_slips_can_be_beaten(name):
    """Every allocation can be beaten there, so the match is won, and the third mistake loses it."""
    game = games("small", 5)
    found = solver(game, 0, {1: POLICIES[name]()})
    assert found.value() == 1
    follower = found.follow(game.view(State(), 0))
    state, memory = State(), game.evenly
    rng = np.random.default_rng(0)
    for lost in range(3):
        values = follower.values(game.view(state, 0), Ask(0, "allocate"))
        assert dict(values.observer(Probe("allocation", 1))) == {memory: 1.0}
        assert values.answer(Probe("allocation", 1))[0] == memory
        assert values.best == 1
        assert values.of(values.best_actions()[0]) == 1
        draws = iter(lambda: drawn(game.fields, game.units, rng), None)
        worst = next(a for a in draws if result(a, memory) == -1)
        # Two rounds may be lost: three are left to win.
        assert values.of(worst) == (1 if lost < 2 else -1)
        state = game.outcomes(state, {0: worst, 1: memory})[0][1]
        memory = POLICIES[name]().then(memory, worst)
        if lost < 2:
            follower.observe(game.view(state, 0))


def test_plans_on_large_boards_have_no_values():
    assert solver(games("large", 2), 0, {1: POLICIES["shift"]()}) is None


def test_a_posterior_over_many_allocations_is_looked_up_and_not_listed():
    game = Blotto(BlottoRules(fields=6, units=30, rounds=1))
    view = game.view(State(), 0)
    even, all_on_one, size = (5,) * 6, (30, 0, 0, 0, 0, 0), 324_632
    policy = POLICIES["mixture"]([even], noise=0.5)
    values = solver(game, 0, {1: policy}).follow(view).values(view, Ask(0, "allocate"))
    probe = Probe("allocation", 1)
    posterior = values.observer(probe)
    assert posterior[even] == pytest.approx(0.5 + 0.5 / size, rel=1e-12)
    assert posterior[all_on_one] == pytest.approx(0.5 / size, rel=1e-12)
    for impossible in [(29, 0, 0, 0, 0, 0), (31, -1, 0, 0, 0, 0), (30, 0, 0, 0, 0)]:
        assert posterior.get(impossible, 0.0) == 0
    assert len(posterior) == size
    assert values.answer(probe)[1] == posterior[even]
    assert values.answer(probe)[0] == even
    assert values.of(values.best_actions()[0]) == pytest.approx(values.best, abs=1e-12)
    uniform = POLICIES["uniform"]()
    large = games("large", 1)
    view = large.view(State(), 0)
    values = solver(large, 0, {1: uniform}).follow(view).values(view, Ask(0, "allocate"))
    assert large.broken(values.answer(probe)[0]) is None
    assert values.answer(probe)[1] == 1 / 316_251
