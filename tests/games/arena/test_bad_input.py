"""Experiments that cannot be played: one line with file, place, value and near match."""

import pytest

from tomeval.core.errors import TomevalError
from tomeval.games.arena.named_games import named_game
from tomeval.games.arena.wording import TEXTARENA
from tomeval.runs.experiment import make_experiment


def refused(game, first, second, rules=None, **more):
    """Return what is said of an experiment in which `first` meets as many `second` as it takes."""
    name = more.pop("name", "g")
    data = {
        "domain": "arena",
        "games": {name: {"game": game, **(rules or {})}},
        "players": {"a": first, "b": second},
        "lineups": [{"game": name, "subject": "a", "others": "b"}],
        **more,
    }
    with pytest.raises(TomevalError) as caught:
        make_experiment(data, where="x.toml").expand()
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("game", "table", "said"),
    [
        (
            "mafia",
            {"kind": "follower", "noise": "x"},
            "follower: noise: input should be a valid number, is",
        ),
        (
            "blotto",
            {"kind": "shift", "step": 1.5},
            "shift: step: input should be a valid integer, is",
        ),
        (
            "blotto",
            {"kind": "mixture", "allocations": [[8, 8, 4]], "noise": "0.5"},
            "mixture: noise: input should be a valid number, is '0.5'",
        ),
        (
            "codenames",
            {"kind": "embedding", "embedding": {}},
            "embedding: input should be a valid string",
        ),
        (
            "codenames",
            {"kind": "embedding", "risk": float("nan")},
            "risk: input should be a finite number",
        ),
        ("ipd3", {"kind": "tit_for_tatt"}, "unknown player of ipd3 'tit_for_tatt' (did you mean"),
        ("ipd3", {"kind": "grim", "error_rate": 2}, "error_rate: must be a number from 0 to 1, is"),
        ("ipd3", {"kind": "grim", "error": "formatt"}, "unknown type of error 'formatt' (did you"),
    ],
)
def test_options_that_make_no_sense_are_one_line(game, table, said):
    """A text that stands for false would else count as true."""
    message = refused(game, table, {"kind": "random"})
    assert message.startswith("x.toml: players.a")
    assert said in message


@pytest.mark.parametrize(
    ("lineup", "said"),
    [
        ({}, "x.toml: nothing to play: add [[lineups]]"),
        ({"others": ["b"]}, "lineups[0].others: 'ipd3' has 3 seats, so the subject needs 2"),
        ({"subject": "aa", "others": "b"}, "unknown player 'aa' (did you mean 'a'?)"),
        ({"others": ["p", "b"]}, "player 'p': a planner must be the subject, and all others"),
        ({"subject": "m", "others": "b"}, "player 'm': strategy 'LM' cannot play 'ipd3'"),
    ],
)
def test_line_ups_that_cannot_be_played(lineup, said):
    lineup = {"game": "ipd3", "subject": "a", **lineup} if lineup else None
    players = {name: {"kind": "grim"} for name in "ab"} | {"p": {"kind": "planner"}}
    players["m"] = {"model": "scripted:arena", "strategy": "LM"}
    data = {"domain": "arena", "players": players, "lineups": [lineup] if lineup else []}
    with pytest.raises(TomevalError) as caught:
        make_experiment(data, where="x.toml").expand()
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("game", "rules", "said"),
    [
        ("blotto", {"win": 0.0, "loss": 0.0}, "must descend.*win 0, tie 0, loss 0"),
        ("blotto", {"tie": 2.0}, "must descend.*tie 2"),
        ("blotto", {"fields": 5, "units": 4, "rules": TEXTARENA}, "not 4 on 5"),
        ("blotto", {"reward": "rounds", "rules": TEXTARENA}, "not 20 on 3 and 'rounds'"),
        ("ipd3", {"payoffs": {"R": 3, "T": 2, "S": 0, "P": 1}}, "T = 2.*dilemma = false"),
        ("ipd3", {"payoffs": {"R": 3, "T": 6, "S": 0, "P": 1}}, "2 R > T \\+ S"),
        ("ipd3", {"payoffs": {"R": 3, "T": 5, "S": -1e300, "P": 1e-300}}, "fewer digits"),
        ("codenames", {"red": 700}, "a board needs 716 words, but the list has 680"),
        ("codenames", {"words": "nowhere.txt"}, "nowhere.txt"),
    ],
)
def test_rules_that_make_no_sense(game, rules, said):
    with pytest.raises(TomevalError, match=said):
        named_game("x", {"game": game, **rules}, "x.toml: games.x")


@pytest.mark.parametrize(
    ("game", "rules", "player", "said"),
    [
        ("blotto", {"fields": 7, "units": 75}, "uniform", "divided in 324,540,216 ways"),
        ("ipd3", {"talk": 0}, "believer", "talk = 0"),
    ],
)
def test_rules_that_a_game_or_a_player_cannot_have(game, rules, player, said):
    assert said in refused(game, {"kind": player}, {"kind": player}, rules)
