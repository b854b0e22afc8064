"""Recorded games: files that are read back, files that are spoiled, and how replays end."""

from __future__ import annotations

import json
import math
from unicodedata import normalize

import pytest
from asking import query
from decrypto_support import Logged, said
from hypothesis import given, settings
from hypothesis import strategies as st
from support import dump

import tomeval
from tomeval.core.errors import TomevalError
from tomeval.games.decrypto.game import CODES, Rules, Turn, outcome_of
from tomeval.games.decrypto.replays import RecordedGame, read_games, write_games
from tomeval.games.decrypto.tables import table_rows
from tomeval.models.scripted import SCRIPTS
from tomeval.runs.experiment import make_experiment

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


def game(**change):
    return {"games": [GAME.as_json() | change]}


def turn(**change):
    return game(turns=[GAME.as_json()["turns"][0] | change])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 2}, "version: input should be 1, is 2"),
        ({"gmes": []}, "unknown key 'gmes' (did you mean 'games'?)"),
        ({"games": []}, "games: list should have at least 1 item"),
        (game(keywords=["a", "b", "c", "A"]), "must differ"),
        (game(keywords=["a", "b", "c", "x\ny"]), "text on one line"),
        (game(players={"alice": "x"}), "game 1: players.alice"),
        (game(turns=["x"]), "game 1: turns[0]: "),
        (turn(code=[1, 1, 2]), "turn 1: code: must be three different digits from 1 to 4"),
        (turn(hints=["a", " ", "b"]), "is empty"),
    ],
)
def test_spoiled_files_name_the_place(tmp_path, change, message) -> None:
    path = tmp_path / "games.json"
    write_games(path, [GAME])
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
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


def game_of(marks, codes=CODES, name="", **rules) -> RecordedGame:
    """Return a game with (Bob right, Eve right) per turn."""
    turns = tuple(
        Turn(code, ("cat", "dog", "owl"), code if bob else (4, 3, 2), code if eve else (3, 4, 2))
        for code, (bob, eve) in zip(codes, marks, strict=False)
    )
    return RecordedGame(keywords=KEYS, turns=turns, rules=Rules(**rules), name=name)


def replayed(tmp_path, games, **more):
    """Return a run in which the script, or who else is named, plays what is recorded."""
    write_games(tmp_path / "games.json", games)
    data = {
        "domain": "decrypto",
        "players": {"s": {"model": "scripted:decrypto"}},
        "records": "games.json",
        **more,
    }
    return tomeval.run(make_experiment(data, base=tmp_path), tmp_path / "run")


EVE = [{"encoder": "record", "decoder": "record", "interceptor": "s"}]
OTHERS = CODES[1:]
# The Eve that is put in always guesses 1-2-3, so she is right exactly where that is the code.
TEN = [
    # Bob as recorded: wrong twice, and the limit of two is his. 2 miscommunications.
    *(game_of([(0, 0), (1, 0), (0, 0)], OTHERS[i:]) for i in range(2)),
    # One interception is enough by these rules, and 1-2-3 comes first. 2 interceptions, although
    # the recorded Eve was not right before the last turn.
    *(
        game_of([(1, 0), (1, 0), (1, 1)], [CODES[0], *OTHERS[i:]], interceptions=1)
        for i in range(2)
    ),
    # Three turns win, or eight. 4 survived.
    *(game_of([(1, 0)] * 3, OTHERS[i:], turns=3) for i in range(3)),
    game_of([(1, 0), (0, 0)] + [(1, 0)] * 6),
    # The recorded Eve won in turns 2 and 4, where the new one is wrong: 2 undecided.
    *(game_of([(1, 0), (1, 1)] * 2, OTHERS[i:]) for i in range(2)),
]
ENDINGS = ("miscommunication", "interception", "both", "survived", "undecided")


def test_ten_games_of_which_two_are_undecided(tmp_path) -> None:
    with replayed(tmp_path, TEN, pairings=EVE, seed=[1, 2]) as run:
        (script,), whole = table_rows("outcomes", run), run.rows()
    assert (script["encoder"], script["games"]) == ("record", 20)  # ten games, two seeds
    assert [script[f"{name}_percent"] for name in ENDINGS] == pytest.approx([20, 20, 0, 40, 20])
    assert (whole[0]["survived_percent"], whole[0]["undecided_percent"]) == pytest.approx((40, 20))
    assert math.isnan(script["turns_per_game"])


def test_replay_of_eve_by_hand(tmp_path) -> None:
    games = [game_of([(1, 0), (1, 1), (0, 0)]), game_of([(1, 0), (1, 0)])]
    with replayed(tmp_path, games, pairings=EVE) as run:
        (outcomes,) = table_rows("outcomes", run)
        played = run.cells[0].played
    # Codes 1-2-3 and 1-2-4 (and 1-3-2): this Eve guesses 1-2-3, right in the first turn of each.
    assert played["code"].tolist() == [123, 124, 132, 123, 124]
    assert outcomes["interception_per_turn_percent"] == pytest.approx(40)
    assert outcomes["miscommunication_per_turn_percent"] == pytest.approx(20)
    assert outcomes["undecided_percent"] == 100  # the records end before either limit
    assert not played["own"].any()
    # The past is the record's: Eve's own guesses of then.
    text = "".join(row[-1] for row in dump(tmp_path / "run")["calls"])
    assert "Eve guessed 3-4-2 (wrong)" in text
    assert "Eve guessed 1-2-3" not in text


ALICE = {
    "players": {"l": {"model": "scripted:logged"}},
    "pairings": [{"encoder": "l", "decoder": "record", "interceptor": "record"}],
    "probes": {"eve": True, "bob": True},
}


def alice_says(monkeypatch, code) -> Logged:
    """Have a script give the hints x, y, z, and predict a code for both listeners."""
    log = Logged(
        lambda q: said("code", code) if "you gave" in q else said("hints", ["x", "y", "z"])
    )
    monkeypatch.setitem(SCRIPTS, "logged", log)
    return log


def test_replay_of_alice_predicts_people_without_being_heard(tmp_path, monkeypatch) -> None:
    log = alice_says(monkeypatch, [1, 2, 4])
    with replayed(tmp_path, [game_of([(1, 0), (1, 1), (0, 0)])], **ALICE) as run:
        (row,), (functional,) = (table_rows(what, run) for what in ("perspective", "functional"))
        ((details,), *_) = query(run, "SELECT details FROM step_records")
    # She says 1-2-4 every turn; Eve said 3-4-2, 1-2-4, 3-4-2 and Bob 1-2-3, 1-2-4, 4-3-2.
    assert row["tom_eve_percent"] == row["tom_bob_percent"] == pytest.approx(100 / 3)
    assert all("cat; dog; owl" in text for text in log.asked("you gave these hints"))
    assert math.isnan(functional["knowingly_bad_percent"])
    assert json.loads(details)["encoder"]["given"] == ["x", "y", "z"]
    assert math.isnan(functional["value_per_turn"])


def test_replay_with_all_seats_taken_hears_the_new_hints(tmp_path) -> None:
    with replayed(tmp_path, [game_of([(1, 0), (1, 0), (0, 0)])]) as run:
        played = run.cells[0].played
    assert (played["bob"] == played["code"]).all()
    assert played["own"].all()


def test_a_guess_that_is_no_code_is_kept_and_counts_as_wrong(tmp_path, monkeypatch) -> None:
    """It is an invalid answer and a miscommunication; players see it as it was written."""
    first = TURN._replace(bob=(2, 4, 4), eve=())
    second = Turn((1, 2, 3), ("cat", "dog", "owl"), (1, 2, 3), (5, 2))
    recorded = RecordedGame(keywords=KEYS, turns=(first, second), name="people")
    write_games(tmp_path / "again.json", [recorded])
    assert read_games(tmp_path / "again.json") == [recorded]
    log = alice_says(monkeypatch, [1, 2, 3])
    with replayed(tmp_path, [recorded], **ALICE) as run:
        one, two = run.steps().to_dict("records")
        (perspective,), (outcomes,) = (table_rows(w, run) for w in ("perspective", "outcomes"))
        assert (one["bob"], one["decoder_outcome"], one["miscommunication"]) == (244, "illegal", 1)
        assert (one["eve"], one["interceptor_outcome"], one["interception"]) == (0, "empty", 0)
        assert (two["bob"], two["decoder_outcome"], two["miscommunication"]) == (123, "recorded", 0)
        assert (two["eve"], two["interceptor_outcome"], two["interception"]) == (52, "illegal", 0)
    # Only Bob's second guess is one, so it alone is predicted: 1-2-3, rightly.
    assert perspective["tom_bob_percent"] == 100
    assert math.isnan(perspective["tom_eve_percent"])
    assert (one["hints"], outcomes["invalid_rate"]) == ('["string", "snow", "bank"]', 0)
    assert log.asked("Bob guessed 2-4-4 (wrong), Eve guessed nothing (wrong)")
    assert outcomes["miscommunication_per_turn_percent"] == 50
