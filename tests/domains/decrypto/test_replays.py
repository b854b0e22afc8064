from __future__ import annotations

import json
from unicodedata import normalize

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tomeval.core.errors import TomevalError
from tomeval.domains.decrypto.game import CODES, NoCode, Rules, Turn, outcome_of
from tomeval.domains.decrypto.replays import (
    RecordedGame,
    as_said,
    read_code,
    read_games,
    read_guess,
    write_games,
)

KEYS = ("river", "violin", "bread", "winter")
TURN = Turn((2, 4, 1), ("string", "snow", "bank"), (2, 4, 1), (1, 2, 3))
GAME = RecordedGame(KEYS, (TURN,), Rules(), "one", {"encoder": "a person"}, "a test")

letters = st.characters(codec="utf-8", exclude_categories=("C", "Z"))
# Files are read back in composed form.
text = st.text(letters, min_size=1, max_size=9).map(lambda word: normalize("NFC", word))
said = st.sampled_from(["", "1-1-2", "7 1 2", "24 1", "I pass", "2-4", "1234"])
guesses = st.sampled_from(CODES) | said.map(NoCode)
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


def gone(key):
    def spoil(data):
        del data["games"][0]["turns"][0][key]

    return spoil


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: ["x"], "is not a file of recorded games"),
        (lambda data: {**data, "version": 2}, "version 2, this tomeval reads 1"),
        (lambda data: {**data, "gmes": []}, "unknown key 'gmes' (did you mean 'games'?)"),
        (lambda data: {**data, "games": []}, "at least one game"),
        (game(keywords=["a", "b", "c"]), "game 1: keywords must be a list of 4"),
        (game(keywords=["a", "b", "c", "A"]), "must differ"),
        (game(keywords=["a", "b", "c", " "]), "a keyword is empty"),
        (game(keywords=["a", "b", "c", "x\ny"]), "text on one line"),
        (game(rules={"turns": 99}), "game 1: rules: turns must be from 1 to 24, is 99"),
        (game(rules={"turn": 9}), "unknown key 'turn' (did you mean 'turns'?)"),
        (game(players={"alice": "x"}), "players: unknown key 'alice'"),
        (game(turns=[]), "at least one turn"),
        (game(turns=["x"]), "turn 1: must be an object"),
        (turn(code=[1, 1, 2]), "turn 1: code must be three different digits from 1 to 4"),
        (turn(code="1-2"), "code must be"),
        (turn(bob=None), "bob must be"),
        (turn(eve={"code": [1, 2, 3]}), "eve must be a code, or the text that was said in place"),
        (turn(hints=["a", "b"]), "hints must be a list of 3"),
        (turn(hints=["a", "b", 3]), "a hint must be text"),
        (turn(hint="x"), "unknown key 'hint' (did you mean 'hints'?)"),
        (gone("eve"), "turn 1: missing 'eve'"),
    ],
)
def test_spoiled_files_name_the_place(tmp_path, change, message) -> None:
    path = tmp_path / "games.json"
    path.write_text(spoiled(change))
    with pytest.raises(TomevalError) as caught:
        read_games(path)
    assert message in str(caught.value)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("stands", "read"),
    [("241", (2, 4, 1)), (241, (2, 4, 1)), ([1, 1, 2], NoCode("1,1,2")), ("", NoCode(""))],
)
def test_guesses_of_other_programs(tmp_path, stands, read) -> None:
    path = tmp_path / "games.json"
    path.write_text(spoiled(turn(eve=stands)))
    assert read_games(path)[0].turns[0].eve == read


def test_a_game_ends_where_its_rules_end_it(tmp_path) -> None:
    wrong = [t._replace(code=c, bob=(4, 3, 2)) for t, c in zip([TURN] * 3, CODES[:3], strict=True)]
    path = tmp_path / "games.json"
    write_games(path, [RecordedGame(KEYS, tuple(wrong))])
    with pytest.raises(TomevalError, match="goes on after turn 2, where it ended"):
        read_games(path)
    write_games(path, [RecordedGame(KEYS, (TURN, TURN))])
    with pytest.raises(TomevalError, match="a code comes twice"):
        read_games(path)
    write_games(path, [GAME, GAME])
    with pytest.raises(TomevalError, match="two games are called 'one'"):
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


@pytest.mark.parametrize(
    ("text", "code"),
    [
        *((text, (2, 4, 1)) for text in ("241", "2-4-1", " 2, 4, 1 ", "[2, 4, 1]", "(2 4 1)")),
        *(
            (text, (2, 4, 1))
            for text in ("2 - 4 - 1", "2->4->1", '"241"', "241.0", "241.", "２４１")
        ),
        *((value, (2, 4, 1)) for value in (241, 241.0, [2, 4, 1], ["2", "4", "1"])),
        *((text, None) for text in ("1,1,2", "7 1 2", "", "24", "2413", "24 1", "-241", "2-4-1!")),
        *((value, None) for value in (None, True, 112, 24.1, [2, 4], [[2], 4, 1], [24, 1], {})),
        *((text, None) for text in ("241 123", "two four one", "0241", "2.0,4.0,1.0", "2a4b1")),
    ],
)
def test_what_reads_as_a_code(text, code) -> None:
    assert read_code(text) == code


near_codes = st.text("1234 -,.[]()x…", max_size=9)
scalars = st.none() | st.booleans() | st.integers(0, 9999) | st.floats() | near_codes | st.text()
anything = st.recursive(
    scalars | st.text(min_size=190, max_size=300),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=2),
    max_leaves=6,
)


@settings(max_examples=300)
@given(anything)
def test_a_guess_is_read_back_as_what_it_was(value) -> None:
    guess = read_guess(value)
    if isinstance(guess, NoCode):
        assert read_guess(guess.said) == guess
        assert guess.said.isprintable()
        assert len(guess.said) <= 200
    else:
        assert read_guess(list(guess)) == guess
        digits = [c for c in as_said(value) if c.isdecimal()]
        assert [int(c) for c in digits if c != "0"] == list(guess)
