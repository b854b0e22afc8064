"""The published games that ship: every number against plain Python on the same moves."""

import csv
import io
import os
import re

import known_by_hand as hand
import pytest
import scipy.stats
from support import ROOT
from typer.testing import CliRunner

import tomeval
from tomeval.cli.app import app
from tomeval.core.errors import TomevalError
from tomeval.core.parts import known
from tomeval.games.matrix.bounds import experiment_bounds

PAGE = (ROOT / "docs" / "known_models.md").read_text()
POLICIES = ("models", "reactive", "columns")


def test_regret_of_every_model_against_every_policy_is_that_by_hand() -> None:
    regret = {}
    for name in POLICIES:
        with tomeval.Run(f"known_{name}") as run:
            for row in run.rows():
                task = row["subject"], row["game"], row["partners"]
                regret[task] = row["delta_functional_per_step"]
    by_hand = hand.regrets()
    assert len(regret) == 57
    assert regret == pytest.approx(by_hand, abs=1e-12)
    # and by head: half of ten rounds miss the partner who alternates, worth 7 each
    assert by_hand["GPT-4", "IBS", "alternator"] == pytest.approx(3.5)
    assert by_hand["GPT-4", "IPD", "always(0)"] == pytest.approx(10 - 8)


def test_points_of_people_are_those_by_hand() -> None:
    with tomeval.Run("known_people") as run:
        rows = {(row["game"], row["condition"]): row for row in run.rows()}
    assert {key: row["reward_per_step"] for key, row in rows.items()} == pytest.approx(
        hand.people(), abs=1e-12
    )


def test_every_shipped_run_opens_by_name_and_a_path_goes_first(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in known("runs"):
        with tomeval.Run(name) as run:
            assert run.rows()
            assert run.name == name
    assert not list(tmp_path.iterdir())
    os.mkdir("known_models")
    with pytest.raises(TomevalError, match="not a run folder"):
        tomeval.Run("known_models")
    with pytest.raises(TomevalError, match="did you mean the run 'known_people'"):
        tomeval.Run("known_peple")


def test_matches_of_model_against_model_have_no_exact_regret() -> None:
    with tomeval.Run("known_pairs") as run:
        rows = run.rows()
    assert {row["partners"] for row in rows} == {"unknown"}
    assert not any("delta_functional_per_step" in row for row in rows)


def test_what_is_attainable_in_the_tasks_is_that_by_hand() -> None:
    rows = experiment_bounds(tomeval.load_experiment("known_models").cells)
    assert len(rows) == 6
    for row in rows:
        wanted = hand.best(row["partners"], row["game"], 10) / 10
        assert row["best"] == pytest.approx(wanted, abs=1e-12)
        assert row["horizon"] == 10


def test_a_row_of_ones_own_stands_beside_theirs(tmp_path) -> None:
    overrides = ["subjects=['rmax']", "episodes=5"]
    tomeval.run(tomeval.load_experiment("known_models", overrides), tmp_path / "mine").close()
    asked = ["table", "known_models", str(tmp_path / "mine"), "--format", "csv"]
    done = CliRunner().invoke(app, asked)
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert len(rows) == 33 + 6
    assert {row["run"] for row in rows if row["subject"] == "rmax"} == {"mine"}
    assert {row["run"] for row in rows if row["subject"] != "rmax"} == {"known_models"}
    value = {(row["subject"], row["game"], row["partners"]): row for row in rows}
    own = value["GPT-4", "IBS", "alternator"]
    assert float(own["delta_functional_per_step"]) == pytest.approx(3.5)
    with tomeval.Run(tmp_path / "mine") as run:
        for row in run.rows():
            same = value["rmax", row["game"], row["partners"]]
            assert float(same["delta_functional_per_step"]) == row["delta_functional_per_step"]


PLAIN, PREDICTS = "against GPT-4", "against GPT-4, predicts first"


@pytest.mark.parametrize("games", [("IPD", "IBS"), ("IPD",), ("IBS",)])
def test_what_people_gain_against_a_model_that_predicts_first_is_that_by_hand(games) -> None:
    with tomeval.Run("known_people", f"game={','.join(games)}") as run:
        row = run.compare("condition", PLAIN, metrics="reward", resamples=99).rows()[0]
    difference, error = hand.gained(games, PREDICTS, PLAIN)
    half = (row["difference_high"] - row["difference_low"]) / 2
    assert row["difference"] == pytest.approx(difference, abs=1e-12)
    assert half == pytest.approx(scipy.stats.t.ppf(0.975, row["pairs"] - 2) * error, rel=2e-3)
    assert f"{difference:.2f} ± {half:.2f}" in PAGE


def test_the_claims_of_the_page_are_those_of_the_moves() -> None:
    columns, models = hand.matches("known_columns"), hand.matches("known_models")
    (unforgiving,) = models["GPT-4", "IPD", "defect_once", ""]
    assert [own for own, _ in unforgiving] == [0] + [1] * 9
    assert "9 of 9 rounds" in PAGE
    (stubborn,) = models["GPT-4", "IBS", "alternator", ""]
    assert {own for own, _ in stubborn} == {0}
    by_hand = hand.regrets()
    for subject, game, policy, said in (
        ("GPT-4", "IBS", "alternator", "3.50"),
        ("GPT-4, predicts first", "IBS", "alternator", "1.40"),
        ("GPT-4", "IBS", "always(1)", "2.80"),
        ("GPT-4, predicts first", "IBS", "always(1)", "0.70"),
        ("GPT-4", "IBS (column)", "alternator(1, 0)", "3.50"),
        ("GPT-4, predicts first", "IBS (column)", "alternator(1, 0)", "5.50"),
        ("GPT-4", "IPD", "defect_once", "0.50"),
        ("GPT-4", "IPD", "tit_for_two_tats", "1.10"),
    ):
        assert f"{by_hand[subject, game, policy]:.2f}" == said
        assert said in PAGE
    # constant players against one who alternates: 10 or 7 in half of the rounds
    best = hand.best("alternator", "IBS", 10) / 10
    assert (best - 10 / 2, best - 7 / 2) == pytest.approx((3.5, 5.0))
    for name, count in (("models", 33), ("columns", 18), ("reactive", 9), ("pairs", 98)):
        log = hand.matches(f"known_{name}")
        kept = [
            m
            for key, all_ in log.items()
            for m in all_
            if key[2] == "unknown" or hand.possible(key[2], m)
        ]
        assert len(kept) == count
        assert f"`known_{name}` ({count}" in PAGE
    assert len(columns) == 18


def test_the_first_table_of_the_page_is_that_by_hand() -> None:
    by_hand = hand.regrets()
    for subject in (
        "GPT-4, predicts first", "GPT-4", "Claude 2", "Llama 2 70B", "text-davinci-002",
        "text-davinci-003",
    ):  # fmt: skip
        policies = ("always(0)", "always(1)", "alternator")
        numbers = [round(by_hand[subject, "IBS", policy], 2) for policy in policies]
        row = r"\s+".join([re.escape(subject), *(re.escape(str(number)) for number in numbers)])
        assert re.search(rf"^{row}$", PAGE, re.MULTILINE), subject
