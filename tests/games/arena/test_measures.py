"""Measures of the arena, worked out by hand from two games with four decisions and four probes."""

from dataclasses import replace

import numpy as np
import pytest

from tomeval.games.arena.measures import MEASURES
from tomeval.games.played import Played

NAN = float("nan")


@pytest.fixture
def played():
    values = {
        # Game 0: known 1, known 3, not known. Game 1: known 0.
        "regret": [1, 3, NAN, 0],
        "tom_regret": [2, NAN, NAN, 0.5],
        "step_payoff": [1, 2, 0, 5],
        "step_best": [5, 4, 1, 5],
        "step_reply": [3, NAN, 1, 5],
        # What options are worth: the second decision was not held to what was said.
        "best": [5, 9, NAN, 2],
        "chosen": [4, 6, 4, 2],
        "option_mean": [2, 5, 1, 0],
        "said_best": [5, NAN, 4, 3],
        "said_chosen": [4, NAN, 2, 3],
        "said_mean": [1, NAN, 1, 1],
        "step_said_best": [3, 1, NAN, NAN],
        "step_said_chosen": [3, 0, NAN, NAN],
        "step_said_mean": [1, 0.5, NAN, NAN],
        "other_lost": [2, NAN, 1, 0.5],
        "other_chance": [3, NAN, 2, 1],
        "depends": [1, NAN, 0, 1],
    }
    steps = {
        "game": np.array([0, 0, 0, 1]),
        "own": np.array([True, True, True, True]),
        "asked": np.array([True, True, False, True]),
        "stated": np.array([True, True, False, True]),
        "acted_on": np.array([True, True, False, False]),
    }
    return Played(
        by_game={
            "reward": np.array([2.0, -1.0]),
            "won": np.array([0.5, 0.0]),
            "rounds": np.array([3, 1]),
            "deal": np.array([0, 0]),
            "best_value": np.array([5.0, 4.0]),
            "random_value": np.array([1.0, 2.0]),
        },
        steps=steps | {name: np.array(column, dtype=float) for name, column in values.items()},
        probes={
            "game": np.array([0, 0, 0, 1]),
            "used": np.array([True, False, True, True]),
            "valid": np.array([True, True, False, True]),
            "hit": np.array([1, 0.5, NAN, 0]),
            "attainable": np.array([1, 0.9, 0.7, NAN]),
            "chance": np.array([0.5, 0.25, 0.5, 0.5]),
            "brier": np.array([0.5, 1.5, NAN, 0.25]),
            "observer_brier": np.array([0, 1.25, 0.5, NAN]),
        },
    )


def changed(played, **columns):
    """Return games with other columns."""
    whole = vars(played)
    parts = {
        part: {name: columns.get(name, old) for name, old in whole[part].items()}
        for part in ("by_game", "steps", "probes")
    }
    return replace(played, **parts)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        # (0.5 + 0.25) / (0.5 + 0.65); the third has no hit, the fourth nothing attainable.
        ("knows_percent", [100 * 0.75 / 1.15, NAN]),
        ("knows_used_percent", [100, NAN]),
        ("plans_percent", [100 * (1 - 3 / 7), 100]),
        ("uses_percent", [100 * (1 - 3 / 7), 100]),
        ("replies_percent", [100 * (1 - 1 / 2.5), NAN]),
        ("plays_percent", [NAN, 100]),  # a regret of game 0 is not known
        ("reward", [2, -1]),
        ("win_percent", [50, 0]),
        ("tom_percent", [75, 0]),
        ("tom_attainable_percent", [100 * 2.6 / 3, NAN]),
        ("brier_score", [1, 0.25]),
        ("brier_above_observer", [(0.5 + 0.25) / 2, NAN]),  # where both are known
        ("delta_functional_per_decision", [2, 0]),
        ("delta_functional_per_game", [NAN, 0]),  # one decision of game 0 is not known
        ("exact_percent", [100 * 2 / 3, 100]),
        ("delta_tom_per_decision", [2, 0.5]),
        ("delta_tom_known_percent", [50, 100]),  # decision 2 has no reply; nothing beside 3
        # Of game 0 only decision 1 has a reply, and values that are exact: 1 = 2 + 2 - 3.
        ("belief_per_decision", [2, 0]),
        ("response_per_decision", [2, 0]),
        ("foresight_per_decision", [1 - 4, 0]),
        ("split_percent", [100 / 3, 100]),
        ("told_percent", [50, 100]),
        ("acted_on_percent", [100, 0]),  # of decision 1, whose reply has a value
        ("rounds_per_game", [3, 1]),
    ],
)
def test_by_hand(played, name, expected):
    found = MEASURES[name].of(played, "").values
    assert found == pytest.approx(np.array(expected, dtype=float), nan_ok=True)


PARTS = ("belief_per_decision", "response_per_decision", "foresight_per_decision")


def test_parts_that_a_whole_line_up_lacks_take_no_decision_from_the_others(played):
    silent = changed(played, valid=np.zeros(4, dtype=bool))
    found = [MEASURES[name].of(silent, "").values for name in (*PARTS, "split_percent")]
    assert np.isnan(found[:2]).all()
    assert found[2] == pytest.approx([((1 - 4) + (3 - 2)) / 2, 0])
    assert found[3] == pytest.approx([200 / 3, 100])
    unknown = {"regret": np.full(4, NAN)}
    found = [MEASURES[n].of(changed(played, **unknown), "").values for n in PARTS]
    assert found[0] == pytest.approx([(2 + 0) / 2, 0])
    assert found[1] == pytest.approx([(2 + 1) / 2, 0])
    assert np.isnan(found[2]).all()


def test_a_game_without_a_decision_loses_nothing(played):
    """Of a third game it only knows that it was paid; without any value that says nothing."""
    more = {"reward": np.zeros(3)}
    per_game = MEASURES["delta_functional_per_game"].of
    assert per_game(changed(played, **more), "").values == pytest.approx([NAN, 0, 0], nan_ok=True)
    unknown = {"regret": np.full(4, NAN)}
    assert np.isnan(per_game(changed(played, **unknown, **more), "").values).all()


def test_a_message_in_a_game_without_a_readable_prediction_is_no_statement(played):
    """Its reply costs 0 whatever is said: that is no belief of a player who stated none."""
    values = {"step_payoff": np.zeros(4), "step_best": np.zeros(4)}
    values["step_reply"] = np.zeros(4)
    talking = changed(played, **values, valid=np.array([False, False, False, True]))
    assert [MEASURES[name].of(talking, "").bottom.tolist() for name in PARTS] == [[0, 1]] * 3


def test_reads_is_what_acts_follow_beyond_random_statements(played):
    """Own lost 3 of 9, other 3.5 of 6: 1 - (3 / 9) / (3.5 / 6), the mean of linear parts."""
    found = MEASURES["reads_percent"].of(played, "").values
    assert found.mean() == pytest.approx(100 * (1 - 3 / 9 / (3.5 / 6)))
    blind = {"depends": np.zeros(4)}
    for name in ("reads_percent", "uses_percent"):
        assert np.isnan(MEASURES[name].of(changed(played, **blind), "").values).all()


def test_plays_by_decision_where_games_have_no_value(played):
    """Lost 1 + 3 of (5 - 2) + (9 - 5): the third decision is not known, the fourth lost 0."""
    unknown = changed(played, random_value=np.full(2, NAN))
    assert MEASURES["plays_percent"].of(unknown, "").values == pytest.approx(
        [100 * (1 - 4 / 7), 100]
    )
