from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tomeval.core.errors import TomevalError
from tomeval.domains.decrypto.fields import as_said, read_code, read_guess
from tomeval.domains.decrypto.game import NoCode, Rules, Turn
from tomeval.domains.decrypto.imports import import_turns
from tomeval.domains.decrypto.replays import read_games, write_games

KEYS = ("river", "violin", "bread", "winter")
TURN = Turn((2, 4, 1), ("string", "snow", "bank"), (2, 4, 1), (1, 2, 3))

CSV = """game,keyword_1,keyword_2,keyword_3,keyword_4,code,hint_1,hint_2,hint_3,bob,eve
x,river,violin,bread,winter,2-4-1,string,snow,bank,241,1 2 3
x,river,violin,bread,winter,123,flow,bow,loaf,1-2-3,4.3.2
y,a,b,c,d,312,"ice cream",p,q,312,312
"""


def test_import_of_csv(tmp_path) -> None:
    path = tmp_path / "turns.csv"
    path.write_text(CSV)
    one, two = import_turns(path).games
    assert one.turns == (TURN, Turn((1, 2, 3), ("flow", "bow", "loaf"), (1, 2, 3), (4, 3, 2)))
    assert (two.name, two.keywords, two.turns[0].hints[0]) == (
        "y",
        ("a", "b", "c", "d"),
        "ice cream",
    )
    write_games(tmp_path / "games.json", [one, two])
    assert read_games(tmp_path / "games.json") == [one, two]


def test_import_of_json(tmp_path) -> None:
    path = tmp_path / "turns.json"
    row = {"keywords": list(KEYS), "code": [2, 4, 1], "hints": list(TURN.hints), "bob": "241"}
    path.write_text(json.dumps([{**row, "eve": "1-2-3"}]))
    assert import_turns(path).games[0].turns == (TURN,)
    path.write_text(json.dumps([row]))
    with pytest.raises(TomevalError, match="entry 1: missing 'eve'"):
        import_turns(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("game,", "gme,"), "unknown key 'gme' (did you mean 'game'?)"),
        ((",eve\n", "\n"), "columns: missing 'eve'"),
        (("2-4-1", "2-4-5"), "line 2: code must be three different digits"),
        (("flow,bow,loaf,1-2-3", "flow,bow,loaf"), "line 3: needs 11 fields"),
        (("x,river,violin,bread,winter,123", "x,river,violin,bread,wintr,123"), "other keywords"),
        (("string", ""), "line 2: a hint is empty"),
    ],
)
def test_import_names_the_line(tmp_path, change, message) -> None:
    path = tmp_path / "turns.csv"
    path.write_text(CSV.replace(*change, 1))
    with pytest.raises(TomevalError) as caught:
        import_turns(path)
    assert message in str(caught.value)


def test_nothing_to_import(tmp_path) -> None:
    path = tmp_path / "x.json"
    path.write_text("[]")
    with pytest.raises(TomevalError, match="holds no turn"):
        import_turns(path)


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


# A limit of two each. Bob of p is wrong in turns 1 and 3: over there, although two turns follow.
# Eve of q is right in turns 1 and 2, but her second guess has a digit too many. r is broken off.
WRONG_GUESSES = """game,keyword_1,keyword_2,keyword_3,keyword_4,code,hint_1,hint_2,hint_3,bob,eve
p,river,violin,bread,winter,241,a,b,c,"1,1,2",123
p,river,violin,bread,winter,123,a,b,c,123,7 1 2
q,river,violin,bread,winter,412,a,b,c,412,412
p,river,violin,bread,winter,134,a,b,c,,134
q,river,violin,bread,winter,132,a,b,c,132,1324
p,river,violin,bread,winter,432,,,,no code,432
p,river,violin,bread,winter,432,a,b,c,432,432
r,river,violin,bread,winter,432,a,b,c,432,no idea
"""


def test_a_guess_that_is_no_code_is_wrong_and_play_past_the_end_is_cut(tmp_path) -> None:
    path = tmp_path / "turns.csv"
    path.write_text(WRONG_GUESSES)
    found = import_turns(path)
    p, q, r = found.games
    assert [(turn.bob, turn.eve) for turn in p.turns] == [
        (NoCode("1,1,2"), (1, 2, 3)),
        ((1, 2, 3), NoCode("7 1 2")),
        (NoCode(""), (1, 3, 4)),
    ]
    assert [turn.miscommunicated for turn in p.turns] == [True, False, True]
    assert [turn.intercepted for turn in q.turns] == [True, False]
    assert [game.outcome for game in (p, q, r)] == ["miscommunication", None, None]
    assert found.summary == (
        "3 games, 6 turns: 1 miscommunication, 0 interception, 0 both, 0 survived, 2 undecided"
    )
    assert [note.removeprefix(f"{path}: ") for note in found.notes] == [
        "line 2: Bob: '1,1,2' is no code, which counts as a wrong guess (game 'p', turn 1)",
        "line 3: Eve: '7 1 2' is no code, which counts as a wrong guess (game 'p', turn 2)",
        "line 5: Bob: there is no guess, which counts as a wrong guess (game 'p', turn 3)",
        "line 7: game 'p' ended with turn 3 by its rules (miscommunication); cut: what was played "
        "on in turns 4 to 5",
        "line 6: Eve: '1324' is no code, which counts as a wrong guess (game 'q', turn 2)",
        "line 9: Eve: 'no idea' is no code, which counts as a wrong guess (game 'r', turn 1)",
    ]
    write_games(tmp_path / "games.json", found.games)
    assert read_games(tmp_path / "games.json") == found.games


def row(game, code, bob, eve, **more):
    fields = {
        "keywords": list(KEYS),
        "code": code,
        "hints": ["a", "b", "c"],
        "bob": bob,
        "eve": eve,
    }
    return {"game": game, **fields, **more}


def test_where_a_game_ends_is_said_by_its_rules(tmp_path) -> None:
    path = tmp_path / "turns.json"
    path.write_text(json.dumps([row(1, code, code, 111) for code in (123, 124, 132)]))
    found = import_turns(path, Rules(turns=2))
    assert [(len(game.turns), game.outcome) for game in found.games] == [(2, "survived")]
    assert found.notes[-1].endswith("entry 3: game '1' ended with turn 2 by its rules (survived); "
                                    "cut: what was played on in turn 3")  # fmt: skip
    found = import_turns(path, Rules(turns=3, miscommunications=1, interceptions=5))
    assert [(len(game.turns), game.outcome) for game in found.games] == [(3, "survived")]


BAD = [
    row("good", 123, 123, 124),
    row("code", 123, 123, 124),
    row("code", "1-1-2", 123, 124),
    row("twice", 123, 123, 124),
    row("twice", 124, 123, 124),
    row("twice", 123, 123, 124),
    row("hint", 123, 123, 124, hints=["a", "b", ""]),
    row("words", 123, 123, 124),
    row("words", 124, 123, 124, keywords=["other", *KEYS[1:]]),
    row("key", 123, 123, 124, hint="a"),
    {name: value for name, value in row("gone", 123, 123, 124).items() if name != "eve"},
    row("good", 124, 123, 124),
    row("late", 123, 321, 123),
    row("late", 124, 321, 124),
    row("late", "gone on with no code", 321, 124),
]


def test_lenient_goes_on_and_names_game_and_turn(tmp_path) -> None:
    path = tmp_path / "turns.json"
    path.write_text(json.dumps(BAD))
    with pytest.raises(TomevalError) as caught:
        import_turns(path)
    first = f"{path}: entry 3: code must be three different digits from 1 to 4, is '1-1-2'"
    assert str(caught.value) == f"{first} (game 'code', turn 2)"
    found = import_turns(path, lenient=True)
    assert {game.name: len(game.turns) for game in found.games} == {"good": 2, "late": 2}
    assert [game.outcome for game in found.games] == [None, "both"]
    assert [reason.removeprefix(f"{path}: ") for reason in found.left_out] == [
        f"{first.removeprefix(f'{path}: ')} (game 'code', turn 2)",
        "entry 6: a code comes twice, first in turn 1 (game 'twice', turn 3)",
        "entry 7: a hint is empty (game 'hint', turn 1)",
        "entry 9: the game has had other keywords before (game 'words', turn 2)",
        "entry 10: unknown key 'hint' (did you mean 'hints'?); known: game, keywords, code, hints, "
        "bob, eve (game 'key', turn 1)",
        "entry 11: missing 'eve' (game 'gone', turn 1)",
    ]
    assert found.summary.endswith("; 6 games left out")


def test_lenient_of_a_csv_with_a_short_line(tmp_path) -> None:
    path = tmp_path / "turns.csv"
    path.write_text(CSV.replace("flow,bow,loaf,1-2-3", "flow,bow,loaf"))
    found = import_turns(path, lenient=True)
    assert [game.name for game in found.games] == ["y"]
    assert found.left_out == [f"{path}: line 3: needs 11 fields (game 'x', turn 2)"]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([BAD[2]], "no game can be read; the first: "),
        ([BAD[0], {**BAD[0], "game": ""}], "entry 2: 'game' is empty here, and not in other rows"),
        ([BAD[0], {**BAD[0], "game": None}], "entry 2: 'game' is empty here"),
        ([BAD[0], "x"], "entry 2: must be an object"),
        ([{**BAD[0], "game": ["x"]}], "entry 1: game must be a name or a whole number"),
    ],
)
def test_what_lenient_cannot_go_past(tmp_path, rows, message) -> None:
    path = tmp_path / "turns.json"
    path.write_text(json.dumps(rows))
    with pytest.raises(TomevalError) as caught:
        import_turns(path, lenient=True)
    assert message in str(caught.value)


def test_game_0_and_games_with_blanks_keep_their_names(tmp_path) -> None:
    path = tmp_path / "turns.json"
    path.write_text(
        json.dumps([row(0, 123, 123, 124), row(1, 124, 123, 124), row(" 0", 132, 1, 2)])
    )
    assert [(game.name, len(game.turns)) for game in import_turns(path).games] == [
        ("0", 2),
        ("1", 1),
    ]


def test_a_column_that_comes_twice(tmp_path) -> None:
    path = tmp_path / "turns.csv"
    path.write_text(CSV.replace(",bob,eve", ",bob,eve,eve", 1))
    with pytest.raises(TomevalError, match="columns: 'eve' comes twice"):
        import_turns(path)
