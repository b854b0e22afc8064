from __future__ import annotations

import asyncio
import math

import numpy as np
import pytest
from asking import query
from decrypto_support import Logged, everything, experiment
from support import dump

import tomeval
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
    ],
    "episodes": 1,
    "seed": 5,
    "rules": {"turns": 3},
    "probes": PROBES,
}


def test_rows_do_not_depend_on_who_answers_first(tmp_path, monkeypatch) -> None:
    plain = ScriptedModel.generate

    async def generate(self, request):
        await asyncio.sleep(0.002 * (slow in request.group))
        return await plain(self, request)

    monkeypatch.setattr(ScriptedModel, "generate", generate)
    for slow in ("decoder", "interceptor"):
        run_experiment(make_experiment(MIXED), tmp_path / slow)
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
