from __future__ import annotations

import io

from support import Typing

from tomeval.core.printing import Console
from tomeval.games.decrypto.described import keep, sit
from tomeval.games.decrypto.replays import read_games
from tomeval.games.people.session import play_session


def sit_down(seat, lines, out, others=("minilm",), **more):
    screen = io.StringIO()
    keys, before = Typing(lines, screen), len(read_games(out)) if out.exists() else 0
    sitting = sit(seat, others, settings={"seed": 4, **more})
    play_session(sitting, Console(keys, screen))
    keep(sitting, out, Console(keys, screen))
    record = read_games(out)[before:] if out.exists() else []
    return record[0] if record else None, screen.getvalue(), keys.seen


def test_eve_plays_a_game_to_its_end(tmp_path) -> None:
    out = tmp_path / "games.json"
    lines = ["123"] * 3
    record, screen, seen = sit_down("interceptor", lines, out, rules={"turns": 3})
    assert record is not None
    assert [turn.eve for turn in record.turns] == [(1, 2, 3)] * 3
    assert record.players == {"encoder": "minilm", "decoder": "minilm", "interceptor": "human"}
    assert "Alice and Bob win" in screen
    # The keywords are told at the end and not before.
    for word in record.keywords:
        assert all(word.upper() not in text.upper() for text in seen)
        assert word in screen


def test_alice_is_told_what_is_wrong_with_her_hints(tmp_path) -> None:
    lines = ["snow", "a, b, c, d", "meal, b, c", "meals, b, c", "1, 2, 3", " big  cat , owl, fox "]
    record, screen, _ = sit_down("encoder", lines, tmp_path / "g.json", rules={"turns": 1})
    assert record is not None
    assert record.turns[0].hints == ("big cat", "owl", "fox")
    assert "3 expected, 4 given" in screen
    assert screen.count("is a keyword or a form of one ('meal')") == 2
    assert "must be one or two words of letters" in screen
    assert "The code is 2-3-4: your first hint is for keyword 2 (breeze)" in screen


def test_a_game_that_is_broken_off_keeps_its_finished_turns(tmp_path) -> None:
    out = tmp_path / "games.json"
    record, screen, _ = sit_down("decoder", ["234", "quit"], out)
    assert record is not None
    assert len(record.turns) == 1
    again, _, _ = sit_down("decoder", ["234", "143"], out)  # the input ends
    assert [game.name for game in read_games(out)] == ["game 1", "game 2"]
    assert again is not None
    assert len(again.turns) == 2
    assert "The game was not finished." in screen
