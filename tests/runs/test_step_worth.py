"""The step table holds the claim: what each step is worth adds up to the measures, everywhere."""

import json

import numpy as np
import pytest

import tomeval
from tomeval.games.matrix.optima import best_response

MATRIX = {
    "games": ["RPS", "IPD"],
    "partners": ["single_action", "tit_for_tat", "generous_tit_for_tat"],
    "subjects": ["rmax", {"kind": "simulated", "p": 0.7, "q": 0.5}],
    "horizon": 7,
    "episodes": 8,
    "seed": 4,
}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    experiment = MATRIX | {
        "games": [{"game": "RPS", "partners": ["single_action", "tit_for_tat"]}, "IPD"]
    }
    with tomeval.run(experiment, tmp_path_factory.mktemp("worth") / "run") as run:
        yield run


def test_means_over_steps_are_the_measures_of_the_table(run) -> None:
    means = run.steps().groupby("cell")[["correct", "regret", "tom_regret"]].mean()
    measures = {
        "correct": ("tom_percent", 100),
        "regret": ("delta_functional_per_step", 1),
        "tom_regret": ("delta_tom_best_response_per_step", 1),
    }
    for number, row in enumerate(run.rows()):
        for column, (measure, scale) in measures.items():
            assert scale * means.loc[number, column] == pytest.approx(row[measure], abs=1e-12)


def test_the_best_action_is_that_of_the_optimum_in_the_partners_state(run) -> None:
    """By hand from the other columns: the state, the steps left, and backward induction."""
    steps = run.select("game=IPD").steps()
    assert set(steps["best_action"]) == {0, 1}
    for row in steps.itertuples():
        game = tomeval.get_game(row.game)
        partner = tomeval.get_partner(row.partner, game)
        plan = best_response(game, partner, int(row.horizon))
        assert row.best_action == plan.policy[row.step - 1, row.partner_state]


def test_who_always_plays_the_best_action_has_no_regret(tmp_path) -> None:
    experiment = MATRIX | {"subjects": "best_response", "games": "IPD", "partners": "tit_for_tat"}
    with tomeval.run(experiment, tmp_path / "run") as run:
        steps = run.steps()
    assert (steps["own_action"] == steps["best_action"]).all()
    assert (steps["regret"] == 0).all()
    # by head: cooperate with tit for tat, and defect in the last of seven steps
    assert steps["best_action"].tolist() == [0, 0, 0, 0, 0, 0, 1] * (len(steps) // 7)


def test_steps_of_void_episodes_are_worth_nothing(tmp_path) -> None:
    log = tmp_path / "log.csv"
    log.write_text(
        "episode,step,own_action,partner_action,predicted_action,game,partner\n"
        "a,1,0,0,0,IPD,tit_for_tat\na,2,invalid,0,0,IPD,tit_for_tat\n"
        "b,1,0,0,1,IPD,tit_for_tat\nb,2,1,0,,IPD,tit_for_tat\n"
    )
    with tomeval.import_log(log, tmp_path / "run") as run:
        steps = run.steps()
    assert steps["status"].tolist() == ["void", "void", "complete", "complete"]
    assert steps["regret"].isna().tolist() == [True, True, False, False]
    assert steps["regret"][2:].tolist() == [0.0, 0.0]
    assert steps["correct"].isna().tolist() == [True, True, False, True]
    assert steps["correct"][2] == 0


def test_unknown_partners_leave_regret_and_the_best_action_open() -> None:
    with tomeval.Run("known_people") as run:
        steps = run.steps()
    assert steps[["regret", "best_action"]].isna().all(axis=None)


def test_decisions_of_the_arena_add_up_to_its_measures(tmp_path) -> None:
    experiment = {
        "domain": "arena",
        "games": {"dilemma": {"game": "ipd3", "talk": 1}, "blotto": {"game": "blotto"}},
        "players": {
            "planner": {"kind": "planner"},
            "chance": {"kind": "random"},
            "tft": {"kind": "tit_for_tat", "noise": 0.1},
            "mixer": {"kind": "mixture", "allocations": [[8, 8, 4], [4, 8, 8], [10, 10, 0]]},
        },
        "lineups": [
            {"game": "dilemma", "subject": ["planner", "tft", "chance"], "others": "tft"},
            {"game": "blotto", "subject": ["planner", "mixer", "chance"], "others": "mixer"},
        ],
        "episodes": 4,
        "seed": 1,
    }
    with tomeval.run(experiment, tmp_path / "run") as run:
        steps, rows = run.steps(), run.rows()
    assert "best_action" not in steps
    mine = steps[steps["slot"] == 0]
    assert steps[steps["slot"] != 0][["correct", "regret", "tom_regret"]].isna().all(axis=None)
    told = [[probe["hit"] for probe in json.loads(text).values()] for text in mine["probes"]]
    hits = [[hit for hit in each if hit is not None] for each in told]
    by_hand = [sum(each) / len(each) if each else np.nan for each in hits]
    assert any(0 < share < 1 for share in by_hand)
    assert mine["correct"].tolist() == pytest.approx(by_hand, nan_ok=True)
    games = mine.groupby(["cell", "episode"])["regret"].mean()
    means = games.groupby("cell").mean().to_numpy(dtype=float)
    wanted = np.array([row["delta_functional_per_decision"] for row in rows])
    assert (wanted > 0).sum() > 3
    assert means == pytest.approx(wanted, abs=1e-12)


def test_turns_of_decrypto_say_whether_the_guess_was_predicted(tmp_path) -> None:
    experiment = tomeval.load_experiment("decrypto_tom", ["episodes=3"], "scripted:decrypto")
    with tomeval.run(experiment, tmp_path / "run") as run:
        steps, rows = run.steps(), run.rows()
    assert not {"regret", "best_action", "tom_regret"} & set(steps.columns)
    means = 100 * steps.groupby("cell")["correct"].mean()
    wanted = np.array([row["tom_eve_percent"] for row in rows])
    assert (wanted > 0).any()
    assert means.to_numpy(dtype=float) == pytest.approx(wanted, nan_ok=True)
