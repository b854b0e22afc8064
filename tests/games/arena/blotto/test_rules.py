"""Rules of Blotto: hand-worked matches, faults, endings, what a seat sees."""

import numpy as np
import pytest

from tomeval.games.arena.named_games import get_kind
from tomeval.games.blotto.rules import Blotto, BlottoRules, State
from tomeval.games.game import Ask, Broken, Probe, Stage

KIND = get_kind("blotto")
WIN, LOSE = (0, 3, 3), (2, 2, 2)
ASK = Ask(0, "allocate")


def small(**changes):
    return Blotto(BlottoRules(**{"fields": 3, "units": 6, "rounds": 5} | changes))


def played(game, rounds):
    """Return the state after rounds of (seat 0, seat 1)."""
    state = game.deal(np.random.default_rng(0))
    for first, second in rounds:
        assert game.due(state) == (Ask(0, "allocate"), Ask(1, "allocate"))
        actions = {0: first, 1: second}
        place, state = game.after(state, actions, np.random.default_rng(0))
        assert place == 0
    return state


def make(parameters):
    return KIND.make(KIND.rules(**parameters))


@pytest.mark.parametrize(
    ("rounds", "ending", "rewards", "wins"),
    [
        ([(WIN, LOSE)] * 3, "majority", (1, -1), (1, 0)),
        ([(LOSE, WIN)] * 3, "majority", (-1, 1), (0, 1)),
        ([(WIN, LOSE), (LOSE, WIN), *[(WIN, WIN)] * 3], "tie", (0, 0), (0.5, 0.5)),
        ([(WIN, WIN)] * 4 + [(LOSE, WIN)], "most_rounds", (-1, 1), (0, 1)),
        ([(WIN, LOSE), (LOSE, WIN)] * 2 + [(WIN, LOSE)], "majority", (1, -1), (1, 0)),
    ],
)
def test_matches_end_as_worked_by_hand(rounds, ending, rewards, wins):
    game = small()
    for length in range(len(rounds)):
        assert game.due(played(game, rounds[:length])), length
    state = played(game, rounds)
    assert game.due(state) == ()
    assert (game.ending(state), game.rewards(state), game.wins(state)) == (ending, rewards, wins)
    assert game.rounds(state) == len(rounds)
    assert ending in Blotto.endings


def test_with_an_even_number_of_rounds_half_of_them_is_no_majority():
    game = small(rounds=4)
    state = played(game, [(WIN, LOSE)] * 2)
    assert game.due(state)
    assert game.due(played(game, [(WIN, LOSE)] * 3)) == ()


def test_rewards_are_parameters():
    game = small(win=10, tie=4, loss=2, rounds=1)
    assert game.rewards(played(game, [(WIN, LOSE)])) == (10, 2)
    assert game.rewards(played(game, [(WIN, WIN)])) == (4, 4)


def test_the_reward_of_rounds_counts_all_of_them():
    game = small(reward="rounds")
    assert game.needed is None
    state = played(game, [(WIN, LOSE)] * 3)
    assert game.due(state)
    state = played(game, [(WIN, LOSE)] * 3 + [(WIN, WIN), (LOSE, WIN)])
    assert game.due(state) == ()
    assert (game.rewards(state), game.wins(state)) == ((0.4, -0.4), (1, 0))
    assert game.ending(state) == "most_rounds"
    other = small(reward="rounds", win=10.0, tie=5.0, loss=4.0)
    assert other.rewards(state) == (7.0, 4.6)
    assert other.rewards(played(other, [(WIN, LOSE)] * 5)) == (10, 4)
    assert other.rewards(other.struck(State(), ASK, "forfeit")) == (4, 10)


def test_a_forfeit_loses_whatever_the_rounds_were():
    game = small()
    state = game.struck(played(game, [(WIN, LOSE)] * 2), ASK, "forfeit")
    assert game.due(state) == ()
    assert (game.ending(state), game.rewards(state), game.wins(state)) == (
        "forfeit",
        (-1, 1),
        (0, 1),
    )
    assert game.rounds(state) == 3
    assert game.rewards(game.struck(State(), Ask(1, "allocate"), "forfeit")) == (1, -1)


@pytest.mark.parametrize(
    ("items", "broken"),
    [
        ([2, 2], Broken("format", "3 expected, 2 given")),
        ([2, "2", 2], Broken("format", "'2' is not a whole number")),
        ([True, 3, 2], Broken("format", "True is not a whole number")),
        ([5, 3, -2], Broken("rule", "field C cannot get -2 units")),
        ([2, 2, 1], Broken("rule", "the units add up to 5, not to 6")),
        ([0, 0, 6], None),
    ],
)
def test_faults(items, broken):
    game = small()
    view = game.view(State(), 0)
    assert game.broken(items) == broken
    probe = game.probes(view._state, ASK, None, {})[0]
    for read in (game.read(view, ASK, items), game.read(view, probe, items)):
        assert read == tuple(items) if broken is None else read.error == broken.error


def test_the_probe_asks_for_the_other_seats_allocation():
    game = small()
    (probe,) = game.probes(State(), ASK, None, {})
    assert (probe, probe.question) == (Probe("allocation", 1), "allocation_1")
    after = played(game, [(WIN, LOSE)])
    trail = [Stage(State(), {0: WIN, 1: LOSE}), Stage(after, {0: LOSE, 1: WIN})]
    assert [game.truth(probe, 0, trail, at, after) for at in (0, 1)] == [LOSE, WIN]
    assert game.truth(probe, 0, trail, 2, after) is None
    assert game.truth(probe, 0, [Stage(State(), {0: WIN})], 0, after) is None
    assert game.asked(probe) == "allocation of Player 1"
    assert (game.told(probe.name, WIN), game.told(probe.name, None)) == ("A 0, B 3, C 3", "nothing")
    assert game.hit(probe, LOSE, LOSE) == 1
    assert game.hit(probe, (2, 1, 3), LOSE) == 0


def test_one_step_payoffs_hold_the_other_seat_fixed_in_the_unit_of_the_reward():
    game = small(reward="rounds")  # of five: each is a fifth of winning or losing them all
    found = game.stepwise(State(), 0, {0: LOSE, 1: WIN}, (1, 4, 1))
    assert found == (-0.2, 0.2, 0.2)
    found = game.stepwise(State(), 1, {0: LOSE, 1: WIN}, None)
    assert found[:2] == (0.2, 0.2)
    assert np.isnan(found.reply)
    two = Blotto(BlottoRules(fields=2, units=6, reward="rounds"))
    assert two.stepwise(State(), 0, {0: (6, 0), 1: (3, 3)}, (3, 3)) == (0, 0, 0)
    # Of five rounds each is worth a fifth of 20 - 5.
    scaled = small(reward="rounds", win=20, tie=5, loss=-10)
    assert scaled.stepwise(State(), 0, {0: LOSE, 1: WIN}, LOSE) == (-3, 3, -3)


@pytest.mark.parametrize(
    "rewards", [{}, {"reward": "rounds", "win": 2.0}, {"reward": "match", "win": 2.0, "tie": 0.5}]
)
def test_where_the_reward_is_no_sum_over_rounds_none_has_a_payoff(rewards):
    assert small(**rewards).stepwise(State(), 0, {0: LOSE, 1: WIN}, (1, 4, 1)) is None
