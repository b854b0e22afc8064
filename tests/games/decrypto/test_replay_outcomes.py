"""What replays say of games: how many ended in each way, and what was predicted of the record."""

from __future__ import annotations

import csv
import io
import math

import pytest

from tomeval.games.decrypto.game import CODES, Rules, Turn
from tomeval.games.decrypto.replays import RecordedGame, write_games
from tomeval.games.decrypto.tables import table_rows
from tomeval.play.runner import run_experiment
from tomeval.runs.experiment import make_experiment
from tomeval.runs.results import Run

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


ENDINGS = ("miscommunication", "interception", "both", "survived", "undecided")


def test_ten_games_of_which_two_are_undecided(ten, tomeval) -> None:
    with Run(ten) as run:
        script, _ = table_rows("outcomes", run)
        whole = run.rows()
    assert (script["encoder"], script["games"]) == ("record", 20)  # ten games, two seeds
    assert [script[f"{name}_percent"] for name in ENDINGS] == pytest.approx([20, 20, 0, 40, 20])
    assert (whole[0]["survived_percent"], whole[0]["undecided_percent"]) == pytest.approx((40, 20))
    assert math.isnan(script["turns_per_game"])
    _, out, _ = tomeval("table", ten, "--what", "outcomes", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert next(row["undecided_percent"] for row in rows) == "20.0"
