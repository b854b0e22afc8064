"""What replays say of games: how many ended in each way, and the record's own row beside them."""

from __future__ import annotations

import csv
import io
import math

import pytest
from decrypto_support import call

from tomeval.domains.decrypto.game import CODES, Rules, Turn
from tomeval.domains.decrypto.replays import RecordedGame, write_games
from tomeval.domains.decrypto.results import as_recorded, pairings
from tomeval.domains.decrypto.tables import table_rows
from tomeval.runs.experiment import make_experiment
from tomeval.runs.results import Run
from tomeval.runs.runner import run_experiment

KEYS = ("river", "violin", "bread", "winter")
HUMAN = {"encoder": "human", "decoder": "human", "interceptor": "minilm"}
OTHERS = [code for code in CODES if code != (1, 2, 3)]
FIRST = [(1, 2, 3), *OTHERS]


def game(name, codes, marks, rules=None, wrong=(4, 3, 2)):
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
    return RecordedGame(KEYS, turns, rules or Rules(), name, HUMAN)


# The Eve that is put in always guesses 1-2-3, so she is right exactly where that is the code.
TEN = [
    # Bob as recorded: wrong twice, and the limit of two is his. 2 miscommunications.
    *(game(f"m{i}", OTHERS[i:], [(0, 0), (1, 0), (0, 0)]) for i in range(2)),
    # One interception is enough by these rules, and 1-2-3 comes first. 2 interceptions, although
    # the recorded Eve was not right before the last turn.
    *(
        game(f"i{i}", [(1, 2, 3), *OTHERS[i:]], [(1, 0), (1, 0), (1, 1)], Rules(interceptions=1))
        for i in range(2)
    ),
    # Three turns win, or eight. 4 survived.
    *(game(f"s{i}", OTHERS[i:], [(1, 0)] * 3, Rules(turns=3)) for i in range(3)),
    game("s3", FIRST, [(1, 0), (0, 0)] + [(1, 0)] * 6),
    # The recorded Eve won in turns 2 and 4, where the new one is wrong: 2 undecided.
    *(game(f"u{i}", OTHERS[i:], [(1, 0), (1, 1)] * 2) for i in range(2)),
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


COUNTS = ("miscommunication", "interception", "both", "survived", "undecided")


def test_ten_games_of_which_two_are_undecided(ten) -> None:
    with Run(ten) as run:
        recorded, script, _ = table_rows("outcomes", run)
        whole = run.rows()
    assert (script["encoder"], script["games"]) == ("record", 20)  # ten games, two seeds
    assert [script[name] for name in COUNTS] == [4, 4, 0, 8, 4]
    assert [script[f"{name}_percent"] for name in COUNTS] == pytest.approx([20, 20, 0, 40, 20])
    assert (whole[0]["survived_percent"], whole[0]["undecided_percent"]) == pytest.approx((40, 20))
    # The record itself: each game once. The last two are interceptions, and so are the two i.
    assert [recorded[role] for role in HUMAN] == [
        "human, as recorded",
        "human, as recorded",
        "minilm, as recorded",
    ]
    assert recorded["games"] == 10
    assert [recorded[name] for name in COUNTS] == [2, 4, 0, 4, 0]
    assert [recorded[f"{n}_percent"] for n in COUNTS] == pytest.approx([20, 40, 0, 40, 0])
    # 3 turns in seven games, 8 in one, 4 in two; 5 of these 37 miscommunications, 6 interceptions.
    assert recorded["turns_per_game"] == pytest.approx(3.7)
    assert recorded["miscommunication_per_turn_percent"] == pytest.approx(100 * 5 / 37)
    assert recorded["interception_per_turn_percent"] == pytest.approx(100 * 6 / 37)
    assert math.isnan(script["turns_per_game"])


def test_the_table_that_people_read(ten, monkeypatch, capsys) -> None:
    _, out, _ = call(monkeypatch, capsys, "table", ten, "--by", "interceptor")
    head, recorded, script, _ = (line.split() for line in out.splitlines()[-4:])
    assert head[:7] == ["interceptor", "games", *COUNTS]
    assert recorded[:9] == ["minilm,", "as", "recorded", "10", "2", "4", "0", "4", "0"]
    assert script[:7] == ["s", "20", "4", "4", "0", "8", "4"]
    _, out, _ = call(monkeypatch, capsys, "table", ten, "--what", "outcomes", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [row["undecided"] for row in rows][:2] == ["0", "4"]
    assert rows[0]["turns_per_game"] == "3.7"


def test_predictions_of_recorded_guesses(tmp_path) -> None:
    """This Alice says that both guess the code: Bob does in turns 2 to 4, Eve in the first."""
    codes, told = OTHERS[:4], ("cat", "dog", "owl")
    turns = (
        Turn(codes[0], told, codes[1], codes[0]),
        *(Turn(code, told, code, codes[0]) for code in codes[1:]),
    )
    write_games(tmp_path / "games.json", [RecordedGame(KEYS, turns, Rules(turns=4), "one")])
    data = {
        "domain": "decrypto",
        "players": {"s": {"model": "scripted:decrypto"}},
        "pairings": [
            {"encoder": "s", "decoder": "record", "interceptor": "record"},
            {"encoder": "record", "decoder": "record", "interceptor": "s"},
        ],
        "records": "games.json",
        "probes": {"eve": True, "bob": True},
    }
    run_experiment(make_experiment(data, base=tmp_path), tmp_path / "run")
    with Run(tmp_path / "run") as run:
        recorded = table_rows("outcomes", run)[0]
        perspective = table_rows("perspective", run)[0]
        agrees = table_rows("replay", run)
        exported = run.store.query(
            "SELECT bob, eve, miscommunication, interception FROM step_records WHERE cell = 0"
        )
        played = [pairing.played for pairing in pairings(run)]
        whole, names = as_recorded(run)
    assert recorded["miscommunication_per_turn_percent"] == 25.0
    assert recorded["interception_per_turn_percent"] == 25.0
    assert (recorded["survived"], recorded["encoder"]) == (1, "as recorded")
    assert set(names.values()) == {""}
    number = [100 * a + 10 * b + c for a, b, c in codes]
    assert exported == [
        (number[1], number[0], 1, 1), (number[1], number[0], 0, 0), (number[2], number[0], 0, 0),
        (number[3], number[0], 0, 0),
    ]  # fmt: skip
    assert (perspective["tom_bob_percent"], perspective["tom_eve_percent"]) == (75.0, 25.0)
    assert perspective["turns"] == 4
    # An Eve who guesses 1-2-3 never says what the record has.
    assert (agrees[1]["eve_agrees_percent"], agrees[1]["intercepted_record_percent"]) == (0.0, 25.0)
    assert played[0].outcomes == played[1].outcomes == whole.outcomes == ["survived"]


def test_records_with_different_players_are_not_named(tmp_path) -> None:
    other = game("x", OTHERS, [(1, 0)])
    mixed = [
        TEN[0],
        RecordedGame(other.keywords, other.turns, other.rules, "x", {"decoder": "Ann"}),
    ]
    write_games(tmp_path / "games.json", mixed)
    data = {
        "domain": "decrypto",
        "players": {"dice": {"kind": "random"}},
        "pairings": [{"encoder": "record", "decoder": "record", "interceptor": "dice"}],
        "records": "games.json",
    }
    run_experiment(make_experiment(data, base=tmp_path), tmp_path / "run")
    with Run(tmp_path / "run") as run:
        row = table_rows("outcomes", run)[0]
    assert [row[role] for role in HUMAN] == ["as recorded"] * 3
    assert [row[name] for name in COUNTS] == [1, 0, 0, 0, 1]
    assert row["turns_per_game"] == 3.0  # of the one that ended
