from __future__ import annotations

import tomllib
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from support import changed_documents, outcome

from tomeval.core.errors import TomevalError
from tomeval.games.matrix.games import GAMES, Labels, get_game, load_game, mirrored

LABELS = {"plain": Labels("plain", ("a", "b"), ("a", "b"))}
SQUARE = [[[1, 2], [3, 4]], [[5, 6], [7, 8]]]


def test_paper_payoffs() -> None:
    # Riemer et al. 2025: own, partner by [own action][partner action]
    assert GAMES["RPS"].own.tolist() == [[0, -1, 1], [1, 0, -1], [-1, 1, 0]]
    assert GAMES["IBS"].payoffs.tolist() == [[[10, 7], [0, 0]], [[0, 0], [7, 10]]]
    assert GAMES["IPD"].payoffs.tolist() == [[[8, 8], [0, 10]], [[10, 0], [5, 5]]]
    assert (GAMES["RPS"].partner == -GAMES["RPS"].own).all()


def test_symmetric_games_are_symmetric_and_ordered() -> None:
    # reward R, sucker S, temptation T, punishment P
    order = {
        "stag_hunt": "RTPS",
        "chicken": "TRSP",
        "deadlock": "TPRS",
        "IPD": "TRPS",
    }
    for name, letters in order.items():
        own = GAMES[name].own
        value = {"R": own[0, 0], "S": own[0, 1], "T": own[1, 0], "P": own[1, 1]}
        ranked = [value[letter] for letter in letters]
        assert ranked == sorted(ranked, reverse=True)
        assert len(set(ranked)) == 4
        assert (GAMES[name].partner == own.T).all()
    harmony = GAMES["harmony"].own
    assert harmony[0, 0] > harmony[1, 0]
    assert harmony[0, 1] > harmony[1, 1]
    assert 2 * GAMES["IPD"].own[0, 0] > 10 + 0  # mutual cooperation beats taking turns


@pytest.mark.parametrize("name", GAMES)
def test_payoffs_cannot_be_written_and_names_ignore_case(name: str) -> None:
    game = get_game(name.upper())
    assert game is GAMES[name]
    with pytest.raises(ValueError, match="read-only"):
        game.payoffs[0, 0, 0] = 9


PAYOFFS = "payoffs = [[[1, 0.5], [2, 0], [0, 0]], [[0, 1], [1, 1], [3, -2]]]"
GOOD = f"""
name = "custom"
title = "A game"
{PAYOFFS}
[labels.words]
own = ["up", "down"]
partner = ["left", "middle", "right"]
"""


def test_game_file_of_any_shape(tmp_path) -> None:
    path = tmp_path / "custom.toml"
    path.write_text(GOOD)
    game = load_game(path)
    assert (game.n, game.m, game.wording, game.title) == (2, 3, "score", "A game")
    assert game.own.tolist() == [[1, 2, 0], [0, 1, 3]]
    assert game.label_set().partner == ("left", "middle", "right")
    assert (get_game("custom.toml", tmp_path).payoffs == game.payoffs).all()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('name = "custom"', 'nam = "custom"', "unknown key 'nam' (did you mean 'name'?)"),
        ('name = "custom"', "", "missing key 'name'"),
        ('name = "custom"', 'name = "rps"', "is a built-in game"),
        (PAYOFFS, "payoffs = [[1, 2], [3, 4]]", "need (n, m, 2)"),
        ("[[1, 0.5], ", "[", "every row needs the same number"),
        ("[2, 0]", "[true, 0]", "must be numbers"),
        ('["up", "down"]', '["up"]', "has 1 labels, the payoffs have 2 actions"),
        ('["up", "down"]', '["up", "UP"]', "differ beyond case"),
        ('["up", "down"]', '["up", ""]', "is not a label"),
        ('["up", "down"]', r'["up", "b\nc"]', "unprintable"),
        ("[2, 0]", "[nan, 0]", "payoffs[0][1][0] is nan, payoffs must be finite"),
        ('["up", "down"]', '"up"', "must be a list of names"),
        ("[labels.words]", "[labels.words", "not valid TOML"),
        ('title = "A game"', 'wording = "pts"', "unknown wording 'pts'"),
    ],
)
def test_bad_game_file_is_one_clear_message(tmp_path, old, new, message) -> None:
    path = tmp_path / "custom.toml"
    assert old in GOOD
    path.write_text(GOOD.replace(old, new))
    with pytest.raises(TomevalError) as caught:
        load_game(path)
    assert str(path) in str(caught.value)
    assert message in str(caught.value)


@settings(max_examples=200, deadline=None)
@given(changed_documents(tomllib.loads(GOOD)))
def test_any_document_is_a_game_or_a_clear_error(document) -> None:
    with patch("tomeval.games.matrix.games.read_toml", return_value=document):
        game, message = outcome(lambda: load_game("fuzz.toml"))
    if game is None:
        assert "fuzz.toml" in message
    else:
        assert np.isfinite(game.payoffs).all()
        assert game.label_set().own


def test_a_file_can_tell_a_story(tmp_path) -> None:
    file = tmp_path / "ships.toml"
    payoffs = 'name = "ships"\npayoffs = [[[1, 1], [0, 2]], [[2, 0], [1, 1]]]\n'
    labels = '[labels]\nplain = ["Oak", "Elm"]\n'
    file.write_text(f'{payoffs}story = "Two ships meet."\n{labels}')
    game = load_game(file)
    assert game.story == "Two ships meet."
    assert mirrored(game).story == game.story
    file.write_text(payoffs + labels)
    assert load_game(file).story == ""
    for story, fault in (("x" * 2_001, "2,001 characters"), (r"a\u0007", "control character")):
        file.write_text(f'{payoffs}story = "{story}"\n{labels}')
        with pytest.raises(TomevalError, match=fault):
            load_game(file)
