"""The published games that ship: every number against plain Python on the same moves."""

import csv
import io
import os

import known_by_hand as hand
import pytest
from typer.testing import CliRunner

import tomeval
from tomeval.cli.app import app
from tomeval.core.errors import TomevalError
from tomeval.core.extensions import named
from tomeval.domains.matrix.listing import experiment_bounds

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
    # the partner has no table, so regret is an estimate against a fit, and has an interval
    assert all(row["delta_functional_fitted_per_step_ci95"] > 0 for row in rows.values())


def test_only_matches_that_their_policy_can_have_played_are_kept(caplog) -> None:
    played = hand.matches("known_reactive")
    lost = sum(not hand.possible(key[2], m) for key, found in played.items() for m in found)
    whole = sum(map(len, played.values()))
    with tomeval.Run("known_reactive") as run:
        kept = sum(row["episodes"] for row in run.rows())
    assert (whole, lost, kept) == (11, 2, 9)


def test_every_shipped_run_opens_by_name_and_a_path_goes_first(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in named("runs"):
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
    other = CliRunner().invoke(app, [*asked, "--what", "fitted"])
    assert "several runs have one table" in str(other.exception)
