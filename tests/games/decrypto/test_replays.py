from __future__ import annotations

import json
from unicodedata import normalize

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tomeval.core.errors import TomevalError
from tomeval.games.decrypto.game import CODES, Rules, Turn, outcome_of
from tomeval.games.decrypto.replays import RecordedGame, read_games, write_games

KEYS = ("river", "violin", "bread", "winter")
TURN = Turn((2, 4, 1), ("string", "snow", "bank"), (2, 4, 1), (1, 2, 3))
GAME = RecordedGame(KEYS, (TURN,), Rules(), "one", {"encoder": "a person"}, "a test")

letters = st.characters(codec="utf-8", exclude_categories=("C", "Z"))
# Files are read back in composed form.
text = st.text(letters, min_size=1, max_size=9).map(lambda word: normalize("NFC", word))
guesses = st.sampled_from(CODES)
turns = st.tuples(
    st.sampled_from(CODES),
    st.tuples(text, text, text),
    guesses,
    guesses,
).map(lambda row: Turn(*row))


@settings(max_examples=25)
@given(
    st.lists(text, min_size=4, max_size=4, unique_by=str.casefold),
    st.lists(turns, min_size=1, max_size=8, unique_by=lambda turn: turn.code),
    text,
)
def test_what_is_written_is_read_back(tmp_path_factory, keywords, played, name) -> None:
    end = next(
        n for n in range(1, len(played) + 1) if n == len(played) or outcome_of(played[:n], Rules())
    )
    game = RecordedGame(tuple(keywords), tuple(played[:end]), Rules(), name)
    path = tmp_path_factory.mktemp("games") / "games.json"
    write_games(path, [game])
    assert read_games(path) == [game]


def spoiled(change) -> str:
    data = {"format": "tomeval-decrypto-games", "version": 1, "games": [GAME.as_json()]}
    return json.dumps(change(data) or data)


def game(**change):
    def spoil(data):
        data["games"][0].update(change)

    return spoil


def turn(**change):
    def spoil(data):
        data["games"][0]["turns"][0].update(change)

    return spoil


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: ["x"], "is not a file of recorded games"),
        (lambda data: {**data, "version": 2}, "version 2; this tomeval reads 1"),
        (lambda data: {**data, "gmes": []}, "unknown key 'gmes' (did you mean 'games'?)"),
        (lambda data: {**data, "games": []}, "at least one game"),
        (game(keywords=["a", "b", "c", "A"]), "must differ"),
        (game(keywords=["a", "b", "c", "x\ny"]), "text on one line"),
        (game(players={"alice": "x"}), "game 1: players.alice"),
        (game(turns=["x"]), "game 1: turns.0: "),
        (turn(code=[1, 1, 2]), "turns.0.code: must be three different digits from 1 to 4"),
    ],
)
def test_spoiled_files_name_the_place(tmp_path, change, message) -> None:
    path = tmp_path / "games.json"
    path.write_text(spoiled(change))
    with pytest.raises(TomevalError) as caught:
        read_games(path)
    assert message in str(caught.value)
    assert str(path) in str(caught.value)


def test_a_game_ends_where_its_rules_end_it(tmp_path) -> None:
    wrong = [t._replace(code=c, bob=(4, 3, 2)) for t, c in zip([TURN] * 3, CODES[:3], strict=True)]
    path = tmp_path / "games.json"
    write_games(path, [RecordedGame(KEYS, tuple(wrong))])
    with pytest.raises(TomevalError, match="continues after turn 2, where its rules end it"):
        read_games(path)
    write_games(path, [RecordedGame(KEYS, (TURN, TURN))])
    with pytest.raises(TomevalError, match="a code appears twice"):
        read_games(path)
    write_games(path, [GAME, GAME])
    with pytest.raises(TomevalError, match="two games have the name 'one'"):
        read_games(path)


def test_missing_and_broken_files(tmp_path) -> None:
    with pytest.raises(TomevalError, match="no such file"):
        read_games(tmp_path / "nothing.json")
    path = tmp_path / "x.json"
    path.write_text("{")
    with pytest.raises(TomevalError, match="not valid JSON"):
        read_games(path)
    path.write_text("[" * 100_000)
    with pytest.raises(TomevalError, match="not valid JSON"):
        read_games(path)
