"""Beliefs as a part of strategies: how they are written, and how statements are drawn."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tomeval.core.errors import TomevalError
from tomeval.strategies import Strategy, all_strategies, parse_strategy
from tomeval.strategies.beliefs import WORDINGS, Belief, plant, propensity, spread
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
        "belief_stranger_25_rated + cot",
        'CoT + belief(accuracy = 0.25, as = "stranger", rated = true)',
        "belief(as = 'stranger', rated=true, accuracy=.25)+cot",
        {"advice": "Belief 25% (stranger, rated)", "answer": "cot"},
    ],
)
def test_a_belief_can_be_written_as_name_key_and_call(text) -> None:
    assert parse_strategy(text) == Strategy("full", "belief_stranger_25_rated", "cot")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("Belief 25%", "a belief is written"),
        ("Belief 101% (own)", "from 0 to 100 %, is 101 %"),
        ("Belief 25% (strange)", "did you mean 'stranger'?"),
        ("belief(accuracy = 0.333)", "whole percents, such as 0.25, is 0.333"),
        ("belief(accuracy = 25)", "from 0 to 1 in whole percents, such as 0.25, is 25"),
        ("belief(as = own)", "needs an accuracy"),
        ("belief(acuracy = 1)", "unknown option 'acuracy' (did you mean 'accuracy'?)"),
        ("belief()", "cannot be read"),
        ("belief(accuracy = 1, as = certain, rated = true)", "contradicts"),
        ("belief(accuracy = 1, rated = yes)", "must be true or false, is yes"),
        ("Oracle + Belief 25% (own)", "two parts of the same kind: Oracle and Belief 25% (own)"),
    ],
)
def test_what_is_no_belief_is_refused_in_one_line(text, says) -> None:
    with pytest.raises(TomevalError) as error:
        parse_strategy(text)
    assert says in str(error.value)
    assert "\n" not in str(error.value)


def test_beliefs_are_made_on_demand_and_not_listed() -> None:
    before = [strategy.name for strategy in all_strategies()]
    parse_strategy("Belief 37% (own)")
    assert [strategy.name for strategy in all_strategies()] == before
    assert not any("Belief" in name for name in before)


def test_lists_in_a_belief_are_axes() -> None:
    spec = "S2A + belief(accuracy = [0, 0.5], as = [own, stranger], rated = true) + CoT"
    assert [parse_strategy(one).name for one in spread(spec)] == [
        "S2A + Belief 0% (own, rated) + CoT",
        "S2A + Belief 0% (stranger, rated) + CoT",
        "S2A + Belief 50% (own, rated) + CoT",
        "S2A + Belief 50% (stranger, rated) + CoT",
    ]
    table = {"advice": "belief_own_5"}
    assert spread(table) == [table]


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


def test_an_empty_list_is_no_axis_of_beliefs() -> None:
    with pytest.raises(TomevalError, match="is empty"):
        spread("belief(accuracy = [])")
