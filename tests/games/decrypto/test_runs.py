from __future__ import annotations

import asyncio
import json
import math

import numpy as np
import pytest
from asking import query
from decrypto_support import Logged, everything, experiment, said
from support import dump

import tomeval
from tomeval.games.decrypto.game import CODES, Turn
from tomeval.games.decrypto.replays import RecordedGame, write_games
from tomeval.games.decrypto.tables import TABLES, table_rows
from tomeval.models.scripted import SCRIPTS, ScriptedModel
from tomeval.play.runner import run_experiment
from tomeval.runs.experiment import make_experiment

PROBES = {"eve": True, "eve_reminded": True, "bob": True, "beliefs": True}
MIXED = {
    "domain": "decrypto",
    "players": {
        "s": {"model": "scripted:decrypto"},
        "talk": {
            "model": "scripted:decrypto",
            "memory": "conversation",
            "strategy": {"encoder": "Oracle + CoT", "decoder": "Reflexion 1"},
        },
        "minilm": {"embedding": "minilm"},
        "chance": {"kind": "random"},
    },
    "pairings": [
        {"encoder": ["s", "minilm"], "decoder": "matched", "interceptor": ["s", "chance"]},
        {"encoder": "talk", "decoder": "talk", "interceptor": "minilm"},
        {"encoder": "minilm", "decoder": "minilm", "interceptor": "minilm"},
    ],
    "episodes": 2,
    "seed": [5, 6],
    "rules": {"turns": 3},
    "probes": PROBES,
}


def test_rows_do_not_depend_on_who_answers_first(tmp_path, monkeypatch) -> None:
    plain = ScriptedModel.generate

    async def generate(self, request):
        await asyncio.sleep(0.002 * (slow in request.group))
        return await plain(self, request)

    monkeypatch.setattr(ScriptedModel, "generate", generate)
    asked = {**MIXED, "episodes": 1, "seed": 5}
    for slow in ("decoder", "interceptor"):
        run_experiment(make_experiment(asked), tmp_path / slow)
    assert dump(tmp_path / "decoder") == dump(tmp_path / "interceptor")


def test_void_games_are_counted_and_left_out(tmp_path, monkeypatch) -> None:
    def answer(question):
        return "nothing" if "turn 2 of" in question else everything(question)

    monkeypatch.setitem(SCRIPTS, "logged", Logged(answer))
    players = {"l": {"model": "scripted:logged", "max_attempts": 1}}
    with tomeval.run(experiment(players=players), tmp_path / "a") as run:
        (row,) = table_rows("outcomes", run)
    assert (row["games"], row["void"]) == (0, 2)
    assert row["invalid_rate"] == 1 / 4  # of Alice, Bob, Eve, Alice
    assert run_experiment(experiment(players=players), tmp_path / "a") == 0


def test_a_lost_prediction_of_a_draft_counts_once(tmp_path, monkeypatch) -> None:
    """What Social asks before Alice's hints has no row of its own: her hints are invalid, once."""

    def answer(question):
        return "nothing" if "Which code will Bob guess?" in question else everything(question)

    monkeypatch.setitem(SCRIPTS, "logged", Logged(answer))
    strategy = {"encoder": "Social QA"}
    players = {"l": {"model": "scripted:logged", "max_attempts": 2, "strategy": strategy}}
    with tomeval.run(experiment(players=players, on_invalid="random"), tmp_path / "a") as run:
        sql = "SELECT seat, outcome, attempts, COUNT(*) FROM asked GROUP BY 1, 2, 3 ORDER BY 1"
        asked = query(run, sql)
        [row], [status] = table_rows("outcomes", run), run.status()
    turns = asked[0][3]
    assert asked == [
        ("decoder", "valid", 1, turns),
        ("encoder", "unparsable", 2, turns),
        ("interceptor", "valid", 1, turns),
    ]
    assert status["unparsable"] == turns
    assert row["invalid_rate"] == row["reask_rate"] == status["reask_rate"] == 1 / 3


def test_the_known_script_comes_out_as_worked_out(tmp_path) -> None:
    """Bob always right, Eve 1-2-3, Alice expects Eve to be right, beliefs as the script says."""
    settings = {"players": {"s": {"model": "scripted:decrypto"}}, "episodes": 8, "seed": [1, 2]}
    with tomeval.run(experiment(**settings, probes=PROBES), tmp_path / "a") as run:
        codes = np.concatenate([cell.played["code"] for cell in run.cells])
        tables = {what: table_rows(what, run) for what in TABLES}
    hit = codes == 123
    outcomes = tables["outcomes"][0]
    assert outcomes["games"] == 16
    assert outcomes["survived_percent"] == 100.0  # 1-2-3 comes once at most
    assert outcomes["turns_per_game"] == 8.0
    assert outcomes["miscommunication_per_turn_percent"] == 0.0
    assert outcomes["interception_per_turn_percent"] == pytest.approx(100 * hit.mean())
    perspective = tables["perspective"][0]
    assert perspective["predicted_eve_percent"] == 100.0
    assert perspective["tom_eve_percent"] == pytest.approx(100 * hit.mean())
    assert perspective["tom_bob_percent"] == 100.0
    beliefs = tables["beliefs"][0]
    assert beliefs["turns_a_wrong"] == 16 * 7
    assert [beliefs[f"{n}_percent"] for n in ("weak_rc", "weak_fb", "consistent")] == [0, 0, 100]
    assert all(math.isnan(beliefs[f"{n}_in_view_percent"]) for n in ("weak_rc", "strong_fb"))
    functional = tables["functional"][0]
    assert functional["knowingly_bad_percent"] == 100.0
    assert functional["value_per_turn"] == pytest.approx(1 - hit.mean())
    first = tables["turns"][0]
    assert (first["turn"], first["games"]) == (1, 16)
    assert first["chance_percent"] == pytest.approx(100 / 24)
    assert first["predicted_eve_percent"] == 100.0


REPLAY = {
    "domain": "decrypto",
    "players": {"s": {"model": "scripted:decrypto"}},
    "records": "games.json",
}


def record(*guesses) -> RecordedGame:
    """Return a game with (bob right, eve right) per turn."""
    turns = tuple(
        Turn(code, ("cat", "dog", "owl"), code if bob else (4, 3, 2), code if eve else (3, 4, 2))
        for code, (bob, eve) in zip(CODES, guesses, strict=False)
    )
    return RecordedGame(
        keywords=("river", "violin", "bread", "winter"), turns=turns, name=f"{len(turns)}"
    )


def test_replay_of_eve_by_hand(tmp_path) -> None:
    write_games(tmp_path / "games.json", [record((1, 0), (1, 1), (0, 0)), record((1, 0), (1, 0))])
    seated = [{"encoder": "record", "decoder": "record", "interceptor": "s"}]
    made = make_experiment({**REPLAY, "pairings": seated}, base=tmp_path)
    with tomeval.run(made, tmp_path / "a") as run:
        (outcomes,) = table_rows("outcomes", run)
        played = run.cells[0].played
    # Codes 1-2-3 and 1-2-4 (and 1-3-2): this Eve guesses 1-2-3, right in the first turn of each.
    assert played["code"].tolist() == [123, 124, 132, 123, 124]
    assert outcomes["interception_per_turn_percent"] == pytest.approx(40)
    assert outcomes["miscommunication_per_turn_percent"] == pytest.approx(20)
    assert (
        played.by_game["outcome"].tolist() == ["undecided"] * 2
    )  # the records end before either limit
    assert outcomes["games"] == 2
    assert (outcomes["undecided_percent"], outcomes["survived_percent"]) == (100.0, 0.0)
    assert outcomes["turns_per_game"] != outcomes["turns_per_game"]  # not a number: none ended
    assert not played["own"].any()
    # The past is the record's: Eve's own guesses of then.
    text = "".join(r[-1] for r in dump(tmp_path / "a")["calls"])
    assert "Eve guessed 3-4-2 (wrong)" in text
    assert "Eve guessed 1-2-3" not in text


def test_replay_of_alice_predicts_people_without_being_heard(tmp_path, monkeypatch) -> None:
    write_games(tmp_path / "games.json", [record((1, 0), (1, 1), (0, 0))])
    log = Logged(
        lambda q: said("code", [1, 2, 4]) if "you gave" in q else said("hints", ["x", "y", "z"])
    )
    monkeypatch.setitem(SCRIPTS, "logged", log)
    data = {
        **REPLAY,
        "players": {"l": {"model": "scripted:logged"}},
        "pairings": [{"encoder": "l", "decoder": "record", "interceptor": "record"}],
        "probes": {"eve": True, "bob": True},
    }
    with tomeval.run(make_experiment(data, base=tmp_path), tmp_path / "a") as run:
        (row,) = table_rows("perspective", run)
        (functional,) = table_rows("functional", run)
        ((details,), *_) = query(run, "SELECT details FROM step_records")
    # She says 1-2-4 every turn; Eve said 3-4-2, 1-2-4, 3-4-2 and Bob 1-2-3, 1-2-4, 4-3-2.
    assert row["tom_eve_percent"] == row["tom_bob_percent"] == pytest.approx(100 / 3)
    assert all("cat; dog; owl" in text for text in log.asked("you gave these hints"))
    assert functional["knowingly_bad_percent"] != functional["knowingly_bad_percent"]
    assert json.loads(details)["encoder"]["given"] == ["x", "y", "z"]
    assert functional["value_per_turn"] != functional["value_per_turn"]


def test_replay_with_all_seats_taken_hears_the_new_hints(tmp_path) -> None:
    write_games(tmp_path / "games.json", [record((1, 0), (1, 0), (0, 0))])
    with tomeval.run(make_experiment(REPLAY, base=tmp_path), tmp_path / "a") as run:
        played = run.cells[0].played
    assert (played["bob"] == played["code"]).all()
    assert played["own"].all()
