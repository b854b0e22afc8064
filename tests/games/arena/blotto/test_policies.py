"""Scripted Blotto players: what they do, that they draw what they say, and refused options."""

from collections import Counter

import numpy as np
import pytest

from tomeval.core.errors import TomevalError
from tomeval.games.arena.players import made_policy
from tomeval.games.blotto.allocations import best_reply, result
from tomeval.games.blotto.policies import POLICIES
from tomeval.games.blotto.rules import Blotto, BlottoRules, State
from tomeval.games.game import Ask

GAME = Blotto(BlottoRules(fields=3, units=5, rounds=9))
ASK = Ask(1, "allocate")
MANY = [
    ("uniform", {}),
    ("mixture", {"allocations": [[5, 0, 0], [1, 2, 2]], "weights": [3, 1]}),
    ("mixture", {"allocations": [[5, 0, 0], [1, 2, 2]], "noise": 0.3}),
    ("copy", {"noise": 0.5}),
    ("reply", {"first": [0, 0, 5]}),
    ("shift", {"step": 1}),
]


def make(name, options):
    policy = made_policy(POLICIES[name], name, options)
    policy.fits(GAME)
    return policy


def conversation(policy, rounds):
    """Return the choices of seat 1 before each of some rounds of (seat 0, seat 1)."""
    state = State()
    memory = policy.start(GAME.view(state, 1))
    found = [policy.choices(GAME.view(state, 1), ASK, memory)]
    for first, second in rounds:
        state = GAME.outcomes(state, {0: first, 1: second})[0][1]
        memory = policy.observe(GAME.view(state, 1), memory)
        found.append(policy.choices(GAME.view(state, 1), ASK, memory))
    return found


ROUNDS = [((5, 0, 0), (1, 2, 2)), ((0, 3, 2), (3, 2, 0)), ((1, 1, 3), (1, 1, 3))]


@pytest.mark.parametrize(("name", "options"), MANY)
def test_it_draws_what_it_says_and_each_allocation_once(name, options):
    policy = make(name, options)
    (before,) = conversation(policy, [])
    state = State()
    memory = policy.start(GAME.view(state, 1))
    rng = np.random.default_rng(3)
    draws = 4_000
    counts = Counter(policy.act(GAME.view(state, 1), ASK, memory, rng) for _ in range(draws))
    assert set(counts) <= {action for _, action in before}
    for weight, action in before:
        # Six standard deviations: 100 comparisons fail by chance with p < 1e-6.
        assert (
            abs(counts[action] / draws - weight) < 6 * (weight * (1 - weight) / draws) ** 0.5 + 1e-9
        )


def certain(name, options, rounds):
    return [choices[0][1] for choices in conversation(make(name, options), rounds)]


def test_copy_plays_what_the_other_played():
    assert certain("copy", {}, ROUNDS) == [(2, 2, 1), (5, 0, 0), (0, 3, 2), (1, 1, 3)]


def test_reply_beats_what_the_other_played():
    found = certain("reply", {"first": [5, 0, 0]}, ROUNDS)
    assert found[0] == (5, 0, 0)
    assert found[1:] == [best_reply(first) for first, _ in ROUNDS]
    assert [result(a, first) for a, (first, _) in zip(found[1:], ROUNDS, strict=True)] == [1, 1, 1]


def test_shift_takes_units_from_lost_fields():
    # 2 2 1 against 5 0 0 loses A, whose units go to B and C; 1 3 1 against 0 3 2 loses C.
    assert certain("shift", {"step": 1}, ROUNDS)[:3] == [(2, 2, 1), (1, 3, 1), (2, 3, 0)]
    assert certain("shift", {"step": 9}, ROUNDS)[:2] == [(2, 2, 1), (0, 3, 2)]
    # A tie loses no field.
    assert certain("shift", {}, [((2, 2, 1), (2, 2, 1))])[1] == (2, 2, 1)


def test_plans_are_made_as_if_there_had_been_no_slip():
    slipped = [((5, 0, 0), (0, 0, 5))]
    noisy = conversation(make("shift", {"step": 1, "noise": 0.4}), slipped)[-1]
    assert max(noisy)[1] == (1, 3, 1)
    assert max(noisy)[0] == pytest.approx(0.6 + 0.4 / 21)


def test_an_allocation_named_twice_counts_twice():
    policy = make("mixture", {"allocations": [[5, 0, 0], [1, 2, 2], [5, 0, 0]]})
    assert dict(map(reversed, conversation(policy, [])[0])) == pytest.approx(
        {(5, 0, 0): 2 / 3, (1, 2, 2): 1 / 3}
    )


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("mixture", {"allocations": []}, "allocations: tuple should have at least 1 item"),
        (
            "mixture",
            {"allocations": [[5, 0, 0]], "weights": [1, 1]},
            "one for each of 1 allocations",
        ),
        (
            "mixture",
            {"allocations": [[5, 0, 0]], "noise": 1.5},
            "noise: input should be less than or equal to 1, is 1.5",
        ),
        ("mixture", {"allocations": [[4, 0, 0]]}, r"\[4, 0, 0\]: the units add up to 4, not to 5"),
        ("copy", {"first": [4, 2, -1]}, "first.*field C cannot get -1"),
        ("shift", {"step": 0}, "step: input should be greater than 0, is 0"),
    ],
)
def test_options_that_make_no_sense_are_one_error(name, options, message):
    with pytest.raises(TomevalError, match=message):
        make(name, options)
