"""Oracles: the paired t test, Welch's standard error, plain matrices, known truth."""

from __future__ import annotations

import csv
import io
import shutil

import numpy as np
import pytest
import scipy.special
from procedures import TRUTH, draw, fitted
from support import edit

import tomeval
from tomeval.core.errors import TomevalError
from tomeval.extensions.regression import regress

SUBJECTS = [
    {"kind": "simulated", "name": "low", "p": 0.6, "q": 0.5},
    {"kind": "simulated", "name": "high", "p": 0.9, "q": 0.8},
]
TASK = {"games": ["RPS", "IPD"], "subjects": SUBJECTS, "horizon": 25, "episodes": 20}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("regression") / "run"
    tomeval.run(TASK, path).close()
    return path


def edited(folder, copy, change):
    edit(shutil.copytree(folder, copy), change)
    return copy


def test_errors_are_mancl_and_derouens_in_whole_matrices() -> None:
    """Clusters of unequal sizes, whose residuals are multiplied by the inverse of I - H."""
    rng = np.random.default_rng(2)
    frame = draw(9, "gaussian", rng).sample(frac=0.6, random_state=1).sort_values("cluster")
    fit = fitted(frame, "gaussian")
    x, groups, rho = fit.model.exog, fit.model.groups, fit.cov_struct.dep_params
    same = groups[:, None] == groups
    inverse = np.linalg.inv(np.where(same, rho, 0.0) + (1 - rho) * np.eye(len(x)))
    bread = np.linalg.inv(x.T @ inverse @ x)
    assert fit.params.to_numpy() == pytest.approx(bread @ x.T @ inverse @ frame["y"], rel=1e-6)
    hat = np.where(same, x @ bread @ x.T @ inverse, 0.0)
    adjusted = np.linalg.solve(np.eye(len(x)) - hat, frame["y"] - x @ fit.params)
    weighted = np.where(same, inverse, 0.0) @ adjusted
    moves = np.array([bread @ x[groups == g].T @ weighted[groups == g] for g in range(9)])
    assert fit.bse.to_numpy() == pytest.approx(np.sqrt((moves**2).sum(axis=0)), rel=1e-6)


def test_two_players_who_meet_the_same_chance_are_a_paired_t_test(folder) -> None:
    """The residual of one of n differences counts n / (n - 1) times: errors are SD / √(n - 1)."""
    with tomeval.Run(folder, "game=IPD") as run:
        fit = regress(run, "regret ~ subject")
        low, high = (cell.metrics()["delta_functional_per_step"] for cell in run.cells)
    row = fit.loc["subject[high]"]
    assert row["estimate"] == pytest.approx((high - low).mean())
    assert row["error"] == pytest.approx((high - low).std(ddof=1) / np.sqrt(19))
    half = scipy.special.stdtrit(19, 0.975) * row["error"]
    assert row["high"] - row["estimate"] == pytest.approx(half)


def test_two_groups_have_the_standard_error_of_welch(folder) -> None:
    with tomeval.Run(folder, "subject=low") as run:
        fit = regress(run, "regret ~ game")
        one, two = (cell.metrics()["delta_functional_per_step"] for cell in run.cells)
    row = fit.loc["game[IPD]"]
    assert row["estimate"] == pytest.approx(two.mean() - one.mean())
    assert row["error"] == pytest.approx(np.sqrt((one.var(ddof=1) + two.var(ddof=1)) / 19))


def test_simulated_players_have_the_log_odds_they_were_given(folder) -> None:
    fit = regress(folder, "correct ~ subject * log(step)")
    truth = scipy.special.logit([0.6, 0.9])
    off = fit["estimate"] - [truth[0], truth[1] - truth[0], 0.0, 0.0]
    assert (off.abs() < 3.5 * fit["error"]).all()
    assert fit["low"].iloc[1] > 0


@pytest.mark.parametrize("family", ["gaussian", "binomial"])
def test_a_difference_in_learning_is_recovered(family) -> None:
    fit = fitted(draw(400, family, np.random.default_rng(5)), family)
    assert fit.bse.iloc[4] < 0.07
    assert ((fit.params - TRUTH).abs() < 3.5 * fit.bse).all()


def test_what_is_left_out_is_told(folder, tmp_path) -> None:
    def change(line):
        if (line["cell"], line["episode"]) == (0, 3):
            return line | {"status": "void"}
        unasked = {"predicted_action": None, "predict_outcome": "not_asked"}
        return line | unasked if line["cell"] == 1 else line

    fit = regress(edited(folder, tmp_path / "copy", change), "correct ~ game")
    assert "1,475 steps in 39 clusters" in fit.attrs["heading"][0]
    assert fit.attrs["notes"] == ["left out: 525 steps of incomplete episodes or without a value"]


def test_clusters_over_runs(folder, tmp_path) -> None:
    more = tmp_path / "more"
    tomeval.run({**TASK, "subjects": [{**SUBJECTS[0], "name": "third"}], "seed": 9}, more).close()
    fit = regress([folder, more], "regret~run+C(partner_action)")
    assert "run[more]" in fit.index
    assert "C(partner_action)[2]" in fit.index
    assert "3,000 steps in 80 clusters" in fit.attrs["heading"][0]


def test_few_clusters_have_no_intervals_and_one_is_refused(tmp_path) -> None:
    tomeval.run({**TASK, "games": "IPD", "episodes": 4}, tmp_path / "run").close()
    few = regress(tmp_path / "run", "regret ~ subject")
    assert few.attrs["notes"] == ["no intervals: at least 5 clusters are needed, there are 4"]
    assert few[["low", "high"]].isna().all(axis=None)
    assert np.isfinite(few["error"]).all()
    tomeval.run({**TASK, "games": "IPD", "episodes": 1}, tmp_path / "one").close()
    with pytest.raises(TomevalError, match="hang on one cluster"):
        regress(tmp_path / "one", "regret ~ step")


def test_people_are_one_cluster_each() -> None:
    with tomeval.Run("known_people") as run:
        names = {name for cell in run.cells for name in cell.people}
        fit = regress(run, "own_reward ~ step * game")
    assert f"in {len(names)} clusters" in fit.attrs["heading"][0]


REFUSED = {
    "regret ~ a b": "write RESPONSE ~ TERM",
    "regret ~ exp(step)": "of columns, log(column) and C(column)",
    "regret ~ C(__import__('os').system('true'))": "write RESPONSE",
    "regret ~ sbject": "unknown column 'sbject' (did you mean 'subject'?)",
    "horizon ~ subject": "horizon is a text, or the same in every step",
    "regret ~ log(own_reward)": "not above 0",
    "regret ~ horizon": "terms are collinear",
    "stated_accuracy ~ step": "no step of a complete episode has stated_accuracy, step",
}


@pytest.mark.parametrize("formula", REFUSED)
def test_what_cannot_be_answered_is_one_line(folder, formula) -> None:
    with pytest.raises(TomevalError) as refused:
        regress(folder, formula)
    assert REFUSED[formula] in str(refused.value)
    assert "\n" not in str(refused.value)


def test_what_leaves_no_error_has_none_to_estimate(tmp_path) -> None:
    subjects = [{"kind": "simulated", "name": "always", "p": 1.0, "q": 1.0}, SUBJECTS[0]]
    tomeval.run({**TASK, "games": "RPS", "subjects": subjects}, tmp_path / "run").close()
    for formula in ("correct ~ subject", "own_reward ~ C(own_action) * C(partner_action)"):
        with pytest.raises(TomevalError, match="no error is left"):
            regress(tmp_path / "run", formula)


def test_the_command(folder, tomeval) -> None:
    command = ("compare", folder, "--what", "regression", "--formula")
    code, out, errors = tomeval(*command, "regret ~ subject * log(step)")
    assert (code, errors) == (0, "")
    assert "2,000 steps in 40 clusters" in out
    assert "subject[high]:log(step)" in out
    code, out, _ = tomeval(*command, "correct ~ subject", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    fit = regress(folder, "correct ~ subject")
    assert [float(row["estimate"]) for row in rows] == fit["estimate"].tolist()
    for more, said in {
        ("regret ~ subject", "--metric", "regret"): "--metric has no effect with",
        ("",): "write RESPONSE ~",
    }.items():
        code, out, errors = tomeval(*command, *more)
        assert (code, out) == (2, "")
        assert said in errors
