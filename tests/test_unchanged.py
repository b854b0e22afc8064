"""Every request and every row of known plays, against digests recorded before.

A prompt, a seed, a group or a sampling setting that changes by one character moves published rows.
A deliberate change replaces its digest in ``recorded.json``.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import decrypto_support as support
import pytest
from known import Known, fixed, make_setup, play

import tomeval
from tomeval.domains.matrix.games import get_game
from tomeval.models.base import GenerateRequest, ScoreRequest
from tomeval.strategies import all_strategies
from tomeval.strategies.asking import flatten

RECORDED = json.loads((Path(__file__).parent / "recorded.json").read_text(encoding="utf-8"))
GAMES = {"RPS": "neutral", "IPD": "canonical"}


def digest(data: Any) -> str:
    text = json.dumps(data, sort_keys=True, default=list)
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def request(asked: GenerateRequest | ScoreRequest) -> list[Any]:
    sampling = getattr(asked, "sampling", None)
    return [
        flatten(asked.prompt),
        getattr(asked, "seed", None),
        asked.group,
        sorted(vars(sampling).items()) if sampling else None,
        list(getattr(asked, "choices", ())),
        list(getattr(asked, "labels", ())),
    ]


@pytest.mark.parametrize("game_name", GAMES)
def test_matrix_requests(game_name):
    game, labels = get_game(game_name), GAMES[game_name]
    found = {}
    for strategy in all_strategies():
        script = Known(game, game.label_set(labels))
        partner = fixed(game, [(2 * i + 1) % game.m for i in range(4)])
        options = {"conditional": True, "option_order": "shuffled"}
        steps = play(make_setup(game, partner, strategy, 4, labels, **options), script)
        rows = [
            steps.own_action.tolist(),
            steps.predicted_action.tolist(),
            steps.told.tolist(),
            [[call[0], call[1], call[2]] for call in steps.calls],
        ]
        asked = [request(one) for one in script.requests]
        found[f"{game_name} {strategy.name}"] = digest([asked, rows])
    recorded = RECORDED["requests"].items()
    assert found == {key: value for key, value in recorded if key.startswith(game_name)}


@pytest.mark.parametrize("case", RECORDED["decrypto_requests"])
def test_decrypto_requests(case):
    memory, _, names = case.partition(" ")
    encoder, _, other = names.partition(" / ")
    logs = {role: support.Logged(support.everything) for role in support.ROLES}
    options = {
        role: {"strategy": encoder if role == "encoder" else other, "memory": memory}
        for role in support.ROLES
    }
    game = support.play(support.table(logs, probes=support.ALL_PROBES, **options))
    turns = [
        [
            *(turn.number, turn.hints, turn.bob, turn.eve, turn.outcomes, turn.attempts),
            *(turn.told, turn.details),
            [[p.question, p.outcome, p.value, p.attempts] for p in turn.probes],
        ]
        for turn in game.turns
    ]
    asked = {role: [request(one) for one in log.requests] for role, log in logs.items()}
    calls = [[turn, role, call.get("purpose")] for turn, role, call in game.calls]
    found = digest([asked, game.status, game.outcome, turns, calls])
    assert found == RECORDED["decrypto_requests"][case]


MATRIX_ROWS = (
    "SELECT cell, episode, step, partner_state, own_action, partner_action, own_reward, "
    "partner_reward, predicted_action, own_probs, predicted_probs, act_outcome, predict_outcome, "
    "act_attempts, predict_attempts, told FROM steps ORDER BY cell, episode, step"
)
DECRYPTO_ROWS = (
    "SELECT cell, episode, step, status, outcome, keywords, code, hints, bob, eve, "
    "encoder_outcome, decoder_outcome, interceptor_outcome, encoder_attempts, decoder_attempts, "
    "interceptor_attempts, told, best FROM steps JOIN episodes USING (cell, episode) "
    "ORDER BY cell, episode, step"
)


@pytest.mark.parametrize(
    ("name", "sql"), [("tabular_baseline", MATRIX_ROWS), ("decrypto_quickstart", DECRYPTO_ROWS)]
)
def test_rows_of_shipped_experiments(name, sql, tmp_path):
    with tomeval.run(name, tmp_path / "run") as played:
        assert digest([list(row) for row in played.store.query(sql)]) == RECORDED[name]
