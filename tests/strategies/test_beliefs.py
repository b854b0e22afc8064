"""Beliefs as a part of strategies: how they are written, and how statements are drawn."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tomeval.core.errors import TomevalError
from tomeval.strategies import Strategy, parse_strategy
from tomeval.strategies.beliefs import WORDINGS, Belief, plant, propensity
from tomeval.strategies.compose import ANSWERS, CONTEXTS

BELIEFS = [
    Belief(accuracy, wording, rated)
    for accuracy in (0, 5, 25, 100)
    for wording in WORDINGS
    for rated in (False, True)
    if not (rated and wording == "certain")
]


def test_every_name_is_read_back_with_every_context_and_answer() -> None:
    seen = set()
    for belief, context, answer in itertools.product(BELIEFS, CONTEXTS, ANSWERS):
        strategy = Strategy(context, belief.key, answer)
        assert strategy.part.belief == belief
        assert parse_strategy(strategy.name) == strategy
        seen.add(strategy.name)
    assert len(seen) == len(BELIEFS) * len(CONTEXTS) * len(ANSWERS)


@pytest.mark.parametrize(
    "text",
    [
        "Belief 25% (stranger, rated) + CoT",
        "cot+BELIEF 25 % ( Stranger , rated )",
        {"advice": "belief_stranger_25_rated", "answer": "cot"},
    ],
)
def test_a_belief_can_be_written_as_name_and_key(text) -> None:
    assert parse_strategy(text) == Strategy("full", "belief_stranger_25_rated", "cot")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("Belief 25%", "its parts are"),
        ("Belief 101% (own)", "from 0 to 100 %, is 101 %"),
        ("Belief 25% (strange)", "did you mean 'stranger'?"),
        ("Belief 100% (certain, rated)", "contradicts"),
        ("Oracle + Belief 25% (own)", "two parts of the same kind: Oracle and Belief 25% (own)"),
    ],
)
def test_what_is_no_belief_is_refused_in_one_line(text, says) -> None:
    with pytest.raises(TomevalError) as error:
        parse_strategy(text)
    assert says in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("accuracy", [0.0, 0.25, 0.6, 1.0])
def test_statements_have_the_probabilities_that_they_are_weighted_by(accuracy) -> None:
    # Every pair of a fine grid of uniform numbers, so that shares are probabilities.
    grid = (np.arange(300) + 0.5) / 300
    for count, truth in ((2, 1), (3, 0), (4, 2)):
        drawn = np.zeros(count)
        for right, which in itertools.product(grid, grid):
            said, is_right = plant(truth, count, accuracy, right, which)
            drawn[said] += 1 / len(grid) ** 2
            assert is_right == (said == truth)
        assert drawn == pytest.approx(
            propensity(np.arange(count), truth, count, accuracy), abs=4e-3
        )


def test_what_is_right_at_one_accuracy_is_right_at_higher_ones() -> None:
    rng = np.random.default_rng(1)
    for right, which in rng.random((500, 2)):
        said = [plant(2, 4, accuracy / 10, right, which) for accuracy in range(11)]
        flags = [one.right for one in said]
        assert flags == sorted(flags)
        assert len({one.stated for one in said if not one.right}) <= 1
