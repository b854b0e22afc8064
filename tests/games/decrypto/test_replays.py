"""Recorded games: files that are read back, files that are spoiled, and how replays end."""

from __future__ import annotations

import json
import math
from unicodedata import normalize

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tomeval.core.errors import TomevalError
from tomeval.games.decrypto.game import CODES, Rules, Turn, outcome_of
from tomeval.games.decrypto.replays import RecordedGame, read_games, write_games
from tomeval.games.decrypto.tables import table_rows
from tomeval.play.runner import run_experiment
from tomeval.runs.experiment import make_experiment
from tomeval.runs.results import Run

KEYS = ("river", "violin", "bread", "winter")
TURN = Turn((2, 4, 1), ("string", "snow", "bank"), (2, 4, 1), (1, 2, 3))
GAME = RecordedGame(
    keywords=KEYS,
    turns=(TURN,),
    name="one",
    players={"encoder": "a person"},
    source="a test",
)

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
    game = RecordedGame(keywords=tuple(keywords), turns=tuple(played[:end]), name=name)
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
        (game(turns=["x"]), "game 1: turns[0]: "),
        (turn(code=[1, 1, 2]), "turns[0].code: must be three different digits from 1 to 4"),
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
    write_games(path, [GAME.model_copy(update={"turns": tuple(wrong)})])
    with pytest.raises(TomevalError, match="continues after turn 2, where its rules end it"):
        read_games(path)
    write_games(path, [GAME.model_copy(update={"turns": (TURN, TURN)})])
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


HUMAN = {"encoder": "human", "decoder": "human", "interceptor": "minilm"}
OTHERS = [code for code in CODES if code != (1, 2, 3)]
FIRST = [(1, 2, 3), *OTHERS]


def ended(name, codes, marks, rules=None, wrong=(4, 3, 2)):
    """Return a game with (Bob right, Eve right) per turn; who is not right says `wrong`."""
    turns = tuple(
        Turn(
            code,
            ("cat", "dog", "owl"),
            code if bob else wrong,
            code if eve else (4, 2, 3) if code != (4, 2, 3) else (4, 3, 1),
        )
        for code, (bob, eve) in zip(codes, marks, strict=False)
    )
    return RecordedGame(
        keywords=KEYS, turns=turns, rules=rules or Rules(), name=name, players=HUMAN
    )


# The Eve that is put in always guesses 1-2-3, so she is right exactly where that is the code.
TEN = [
    # Bob as recorded: wrong twice, and the limit of two is his. 2 miscommunications.
    *(ended(f"m{i}", OTHERS[i:], [(0, 0), (1, 0), (0, 0)]) for i in range(2)),
    # One interception is enough by these rules, and 1-2-3 comes first. 2 interceptions, although
    # the recorded Eve was not right before the last turn.
    *(
        ended(f"i{i}", [(1, 2, 3), *OTHERS[i:]], [(1, 0), (1, 0), (1, 1)], Rules(interceptions=1))
        for i in range(2)
    ),
    # Three turns win, or eight. 4 survived.
    *(ended(f"s{i}", OTHERS[i:], [(1, 0)] * 3, Rules(turns=3)) for i in range(3)),
    ended("s3", FIRST, [(1, 0), (0, 0)] + [(1, 0)] * 6),
    # The recorded Eve won in turns 2 and 4, where the new one is wrong: 2 undecided.
    *(ended(f"u{i}", OTHERS[i:], [(1, 0), (1, 1)] * 2) for i in range(2)),
]


@pytest.fixture
def ten(tmp_path):
    write_games(tmp_path / "games.json", TEN)
    data = {
        "domain": "decrypto",
        "players": {"s": {"model": "scripted:decrypto"}, "dice": {"kind": "random"}},
        "pairings": [{"encoder": "record", "decoder": "record", "interceptor": ["s", "dice"]}],
        "records": "games.json",
        "seed": [1, 2],
    }
    run_experiment(make_experiment(data, base=tmp_path), tmp_path / "run")
    return tmp_path / "run"


ENDINGS = ("miscommunication", "interception", "both", "survived", "undecided")


def test_ten_games_of_which_two_are_undecided(ten) -> None:
    with Run(ten) as run:
        script, _ = table_rows("outcomes", run)
        whole = run.rows()
    assert (script["encoder"], script["games"]) == ("record", 20)  # ten games, two seeds
    assert [script[f"{name}_percent"] for name in ENDINGS] == pytest.approx([20, 20, 0, 40, 20])
    assert (whole[0]["survived_percent"], whole[0]["undecided_percent"]) == pytest.approx((40, 20))
    assert math.isnan(script["turns_per_game"])
