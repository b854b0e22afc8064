"""What reading a run of many cells may cost: work that cells share is done once."""

from __future__ import annotations

from unittest import mock

import pytest

import tomeval
from tomeval.games.matrix import optima, responses
from tomeval.runs.results import Run

GRID = {
    "games": ["RPS", "IPD"],
    "partners": ["single_action", "tit_for_tat"],
    "subjects": ["random", "fictitious_play", *({"kind": "simulated", "p": p} for p in (0.2, 0.8))],
    "horizon": 3,
    "episodes": 6,
    "seed": [1, 2, 3],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("sizes") / "run"
    tomeval.run(GRID, path).close()
    return path


def test_a_table_solves_each_game_and_partner_once(folder) -> None:
    for solved in (optima.known_best_response, optima.reference_rewards):
        solved.cache_clear()  # other tests solve some of them
    with (
        Run(folder) as run,
        mock.patch.object(optima, "_induction", wraps=optima._induction) as one,
    ):
        assert len(run.rows()) == 2 * 2 * 4 * 3
    # single_action: three partners in RPS and two in IPD; tit for tat: one in each
    # each for the best and for the worst response, between which regret lies
    assert one.call_count == 2 * (3 + 2 + 1 + 1)


def test_shared_tables_cannot_be_written_to() -> None:
    game = tomeval.get_game("IPD")
    partner = tomeval.get_partner("tit_for_tat", game)
    for shared in (
        responses.best_responses(game),
        responses.stepwise_regret(game),
        responses.misjudgement_cost(game, "misprediction"),
        optima.reference_rewards(game, partner, 5, "horizon"),
        optima.reference_rewards(game, partner, 5, "stationary"),
    ):
        with pytest.raises(ValueError, match="read-only"):
            shared[0] = 1
