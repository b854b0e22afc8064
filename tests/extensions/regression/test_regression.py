"""Oracles: plain matrices, statsmodels' sandwich, the paired t test, known truth."""

from __future__ import annotations

import csv
import io
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest
import scipy.linalg
import scipy.special
import scipy.stats
from regression_coverage import TRUTH, draw
from statsmodels.genmod import cov_struct, families
from statsmodels.genmod.generalized_estimating_equations import GEE
from statsmodels.stats.multitest import multipletests
from support import edit

import tomeval
from tomeval.core.errors import TomevalError
from tomeval.extensions.regression.estimates import sandwich, solve
from tomeval.extensions.regression.model import regress
from tomeval.extensions.regression.steps import _check_apart

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


def edited(folder, copy, *statements):
    edit(shutil.copytree(folder, copy), *statements)
    return copy


def sample(seed=0, sizes=(4, 7, 3, 6, 5, 8)):
    """Return a response, a design and clusters of unequal sizes."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(len(sizes)), sizes)
    n = len(groups)
    x = np.stack([np.ones(n), rng.normal(size=n), groups % 2, rng.normal(size=n) ** 2], axis=1)
    y = x @ [1.0, 0.5, -0.5, 0.2] + rng.normal(size=n) + rng.normal(size=len(sizes))[groups]
    return y, x, groups


def test_uncorrected_and_independent_it_is_least_squares_with_clusters() -> None:
    y, x, groups = sample()
    beta = np.linalg.lstsq(x, y)[0]
    bread = np.linalg.inv(x.T @ x)
    scores = np.array([x[groups == g].T @ (y - x @ beta)[groups == g] for g in range(6)])
    by_hand = bread @ scores.T @ scores @ bread
    found, _ = sandwich(x, y - x @ beta, groups, 0.0, power=0.0)
    assert found == pytest.approx(by_hand, rel=1e-12)
    theirs = GEE(y, x, groups, cov_struct=cov_struct.Independence()).fit()
    assert theirs.params == pytest.approx(beta)
    assert found == pytest.approx(theirs.cov_params(), rel=1e-9)


@pytest.mark.parametrize("family", ["gaussian", "binomial"])
@pytest.mark.parametrize(("power", "kind"), [(-1.0, "bias_reduced"), (0.0, "robust")])
def test_other_powers_are_the_covariances_of_statsmodels(family, power, kind) -> None:
    y, x, groups = sample(1, (14, 17, 13, 26, 25, 18))
    y = (y > 0.8) * 1.0 if family == "binomial" else y
    of = families.Binomial() if family == "binomial" else families.Gaussian()
    theirs = GEE(y, x, groups, family=of, cov_struct=cov_struct.Exchangeable()).fit(cov_type=kind)
    solved = solve(y, x, groups, family)
    assert solved.exchangeable
    assert abs(solved.rho) > 0.02
    found, _ = sandwich(solved.x, solved.residual, groups, solved.rho, power)
    assert solved.estimate == pytest.approx(theirs.params, rel=1e-9)
    assert found == pytest.approx(theirs.cov_params(), rel=1e-8)


@pytest.mark.parametrize("power", [-0.5, -1.0])
def test_correction_and_degrees_of_freedom_in_whole_matrices(power) -> None:
    """Every matrix of N x N, and the moves as linear forms of all residuals."""
    y, x, groups = sample(2)
    rho, n = 0.3, len(y)
    r = np.where(groups[:, None] == groups, rho, 0.0) + (1 - rho) * np.eye(n)
    half = scipy.linalg.sqrtm(np.linalg.inv(r))
    d = half @ x  # whitened
    bread = np.linalg.inv(d.T @ d)
    residual = y - x @ (bread @ d.T @ half @ y)
    moves = []
    for g in range(6):
        own = np.diag((groups == g) * 1.0)
        hat = (own @ d @ bread @ d.T @ own)[np.ix_(groups == g, groups == g)]
        adjust = np.zeros((n, n))
        adjust[np.ix_(groups == g, groups == g)] = scipy.linalg.fractional_matrix_power(
            np.eye(len(hat)) - hat, power
        )
        moves.append(bread @ d.T @ adjust)  # (P, N): of whitened residuals
    moves = np.array(moves)
    given = moves @ (half @ residual)
    left = np.eye(n) - d @ bread @ d.T  # the covariance of whitened residuals
    found, freedom = sandwich(x, residual, groups, rho, power)
    assert found == pytest.approx(given.T @ given, rel=1e-8)
    for j in range(4):
        p = moves[:, j] @ left @ moves[:, j].T
        assert freedom[j] == pytest.approx(np.trace(p) ** 2 / (p**2).sum(), rel=1e-8)


def test_two_players_who_meet_the_same_chance_are_a_paired_t_test(folder) -> None:
    """The intervals of `compare` and of one term are the same numbers."""
    for response, measure, factor in (
        ("regret", "delta_functional_per_step", 1),
        ("correct", "tom_percent", 100),
    ):
        fit = regress(folder, f"{response} ~ subject", "linear", where=["game=IPD"])
        with tomeval.Run(folder, "game=IPD") as run:
            found = run.compare("subject", "low", metrics=measure).at("high", measure)
        row = fit.rows()[1]
        assert (fit.clusters, fit.episodes, fit.steps) == (20, 40, 1000)
        assert row["freedom"] == pytest.approx(19)
        assert factor * row["estimate"] == pytest.approx(found["difference"])
        if response == "regret":  # the ends of shares are bounded there
            assert row["low"] == pytest.approx(found["difference_low"])
        assert row["p"] == pytest.approx(found["p_t"])
        turned = regress(folder, f"{response} ~ subject", "linear", "high", ["game=IPD"])
        assert turned.estimate[1] == pytest.approx(-row["estimate"])
        assert turned.terms == ("(intercept)", "subject[low]")


def test_two_groups_have_the_standard_error_of_welch(folder) -> None:
    """Games are of different clusters: each coefficient has the degrees of freedom of its own."""
    fit = regress(folder, "regret ~ game + (1|episode)", where=["subject=low"])
    with tomeval.Run(folder, "subject=low") as run:
        one, two = (cell.metrics()["delta_functional_per_step"] for cell in run.cells)
    assert fit.estimate[1] == pytest.approx(two.mean() - one.mean())
    assert fit.error[1] == pytest.approx(np.sqrt(one.var(ddof=1) / 20 + two.var(ddof=1) / 20))
    assert fit.freedom[1] == pytest.approx(38)
    assert fit.freedom[0] == pytest.approx(19)


def test_simulated_players_have_the_log_odds_they_were_given(folder) -> None:
    fit = regress(folder, "correct ~ subject * log(step)")
    truth = scipy.special.logit([0.6, 0.9])
    expected = [truth[0], truth[1] - truth[0], 0.0, 0.0]
    assert fit.family == "binomial"
    assert (np.abs(fit.estimate - expected) < 3.5 * fit.error).all()
    assert fit.p[1] < 1e-3


@pytest.mark.parametrize("family", ["gaussian", "binomial"])
def test_a_difference_in_learning_is_recovered(family) -> None:
    y, x, groups = draw(400, family, np.random.default_rng(5))
    solved = solve(y, x, groups, family)
    error = np.sqrt(np.diag(sandwich(solved.x, solved.residual, groups, solved.rho)[0]))
    assert error[4] < 0.07
    assert (np.abs(solved.estimate - TRUTH) < 3.5 * error).all()


def test_intervals_of_five_episodes_hold_the_truth() -> None:
    """A short form of benchmarks/regression_coverage.py; uncorrected ones hold it in 75 to 85 %."""
    rng, hits = np.random.default_rng(7), np.zeros(5)
    for _ in range(200):
        y, x, groups = draw(5, "gaussian", rng)
        solved = solve(y, x, groups, "gaussian")
        covariance, freedom = sandwich(solved.x, solved.residual, groups, solved.rho)
        half = scipy.special.stdtrit(freedom, 0.975) * np.sqrt(np.diag(covariance))
        hits += np.abs(solved.estimate - TRUTH) <= half
    assert (hits / 200 > 0.90).all()


def test_units_of_the_response_carry_over(folder, tmp_path) -> None:
    """Payoffs a thousand times as large: everything but t, p and the correlation is, too."""
    plain = regress(folder, "partner_reward ~ subject * step")
    times = "UPDATE steps SET partner_reward = 1000 * partner_reward"
    scaled = regress(edited(folder, tmp_path / "copy", times), "partner_reward ~ subject * step")
    assert scaled.estimate == pytest.approx(1000 * plain.estimate)
    assert scaled.high == pytest.approx(1000 * plain.high)
    assert scaled.p == pytest.approx(plain.p)


def test_holm_covers_all_terms_but_the_intercept(folder) -> None:
    fit = regress(folder, "regret ~ subject * log(step) + game")
    assert fit.p_holm[0] == fit.p[0]
    assert fit.p_holm[1:] == pytest.approx(multipletests(fit.p[1:], method="holm")[1])


def test_what_is_left_out_is_told(folder, tmp_path) -> None:
    copy = edited(
        folder,
        tmp_path / "copy",
        "UPDATE episodes SET status = 'void' WHERE cell = 0 AND episode = 3",
        "UPDATE steps SET predicted_action = NULL, predict_outcome = 'not_asked' WHERE cell = 1",
    )
    fit = regress(copy, "correct ~ game")
    assert (fit.steps, fit.episodes, fit.clusters) == (59 * 25, 59, 39)
    assert fit.notes == (
        "left out: 25 steps of void episodes",
        "left out: 500 steps without a value of correct",
    )


def test_columns_of_numbers_can_be_categories(folder) -> None:
    fit = regress(folder, "regret ~ factor(partner_action)", where=["game=RPS"])
    assert fit.terms == ("(intercept)", "partner_action[1]", "partner_action[2]")
    assert fit.baselines == {"factor(partner_action)": "0"}
    plain = regress(folder, "regret ~ partner_action", where=["game=RPS"])
    assert "factor(partner_action) takes its values as categories" in plain.notes[0]


def test_clusters_by_column_and_over_runs(folder, tmp_path) -> None:
    more = tmp_path / "more"
    tomeval.run({**TASK, "subjects": [{**SUBJECTS[0], "name": "third"}], "seed": 9}, more).close()
    fit = regress([folder, more], "regret ~ run")
    assert fit.terms == ("(intercept)", "run[more]")
    assert (fit.clusters, fit.episodes) == (80, 120)
    by_partner = regress(folder, "regret ~ subject + (1|partner)")
    with tomeval.Run(folder) as run:
        assert by_partner.clusters == run.steps()["partner"].nunique()


def test_people_are_one_cluster_each() -> None:
    with tomeval.Run("known_people") as run:
        names = {name for cell in run.cells for name in cell.people}
        fit = regress(run, "own_reward ~ step * game")
    assert fit.clusters == len(names)
    assert fit.episodes > fit.clusters


@pytest.mark.parametrize(
    ("formula", "more", "said"),
    [
        ("regret ~ sbject", {}, "unknown column 'sbject' (did you mean 'subject'?)"),
        ("regret ~ subject + (1|episod)", {}, "unknown column 'episod' (did you mean 'episode'?)"),
        ("regret ~ subject", {"baseline": "hgh"}, "unknown level 'hgh' (did you mean 'high'?)"),
        ("regret ~ subject", {"method": "gea"}, "unknown method 'gea' (did you mean 'gee'?)"),
        ("horizon ~ subject", {}, "horizon is 25 in every step: nothing to explain"),
        ("own_label ~ subject", {}, "own_label is a text; a response is a number"),
        ("regret ~ labels", {}, "labels is 'canonical' in every step: leave it out"),
        ("regret ~ log(subject)", {}, "log(subject): subject is a text"),
        ("regret ~ log(own_reward)", {}, "not above 0, the least -1"),
        ("regret ~ horizon", {}, "horizon is collinear"),
        ("regret ~ factor(cell) + subject", {}, "subject[high] is collinear"),
        ("regret ~ step + (1|horizon)", {}, "only one cluster of horizon, so standard errors"),
        ("stated_accuracy ~ step", {}, "no step has a value of stated_accuracy, step: 2,000"),
        ("own_reward ~ own_reward", {}, "own_reward is on both sides"),
    ],
)
def test_what_cannot_be_answered_is_one_line(folder, formula, more, said) -> None:
    with pytest.raises(TomevalError) as refused:
        regress(folder, formula, **more)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_perfect_and_constant_players(tmp_path) -> None:
    """An oracle is always right: no log-odds are finite, but its share is 1."""
    subjects = [{"kind": "simulated", "name": "always", "p": 1.0, "q": 1.0}, SUBJECTS[0]]
    path = tmp_path / "run"
    tomeval.run({**TASK, "games": "RPS", "subjects": subjects}, path).close()
    for baseline, where in (("always", "the baseline"), ("low", "subject[always]")):
        with pytest.raises(TomevalError, match="no log-odds are finite; use --method linear") as no:
            regress(path, "correct ~ subject", baseline=baseline)
        assert f"the response is always 1 in {where}" in str(no.value)
    fit = regress(path, "correct ~ subject", "linear")
    assert fit.estimate[0] == pytest.approx(1)
    only = ["subject=always"]
    for response in ("correct", "regret"):
        with pytest.raises(TomevalError, match=f"{response} is . in every step"):
            regress(path, f"{response} ~ step", where=only)
    with pytest.raises(TomevalError, match="fit every step exactly"):
        regress(
            path,
            "own_reward ~ factor(partner_action) + factor(own_action) * factor(partner_action)",
        )


def test_few_clusters_have_no_interval(folder, tmp_path) -> None:
    few = tmp_path / "few"
    tomeval.run({**TASK, "games": "RPS", "episodes": 4}, few).close()
    fit = regress(few, "regret ~ subject")
    assert np.isnan([fit.low, fit.high, fit.p]).all()
    assert np.isfinite(fit.error).all()
    assert fit.notes == ("no intervals: at least 5 clusters are needed, there are 4",)


def test_the_command(folder, tomeval) -> None:
    command = ("compare", folder, "--what", "regression", "--formula")
    code, out, errors = tomeval(*command, "regret ~ subject * log(step)")
    assert (code, errors) == (0, "")
    head = (
        "regret ~ subject + log(step) + subject:log(step) + (1|episode): 2,000 steps, 80 episodes"
    )
    assert f"{head}, 40 clusters of episodes with the same random draws" in out
    assert "subject[high]:log(step)" in out
    code, out, _ = tomeval(*command, "correct ~ subject", "--format", "csv", "--baseline", "high")
    rows = list(csv.DictReader(io.StringIO(out)))
    fit = regress(folder, "correct ~ subject", baseline="high")
    assert [float(row["estimate"]) for row in rows] == fit.estimate.tolist()
    assert "log-odds" in tomeval(*command, "correct ~ subject")[1]
    code, out, errors = tomeval("compare", folder, "--what", "regression")
    assert (code, out) == (2, "")
    assert "--what regression needs a --formula: write RESPONSE ~" in errors
    code, _, errors = tomeval(*command, "regret ~ subject", "--metric", "regret")
    assert code == 2
    assert "--metric has no effect with --what regression" in errors


def test_help_and_compare_do_not_load_statsmodels(folder) -> None:
    script = (
        "import sys; from tomeval.cli import main; from contextlib import suppress\n"
        "with suppress(SystemExit): main()\n"
        "print('statsmodels' in sys.modules)"
    )
    for command in (["--help"], ["table", folder], ["compare", folder, "--by", "subject"]):
        done = subprocess.run(
            [sys.executable, "-c", script, *command], capture_output=True, check=True
        )
        assert done.stdout.strip().endswith(b"False")


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_collinearity_does_not_depend_on_the_unit(scale) -> None:
    x = np.random.default_rng(0).normal(size=(40, 2))
    one = np.ones(40)
    _check_apart(np.stack([one, *(scale * x).T], axis=1), ["(intercept)", "a", "b"])
    with pytest.raises(TomevalError, match="c is collinear"):
        _check_apart(np.stack([one, *x.T, scale * x.sum(axis=1)], axis=1), ["1", "a", "b", "c"])


def test_an_unknown_column_names_the_nearest_few(folder) -> None:
    with pytest.raises(TomevalError) as caught:
        regress(folder, "regrt ~ subject")
    said = str(caught.value)
    assert "--formula: unknown column 'regrt' (did you mean 'regret'?); known: regret, " in said
    assert re.search(r"and \d+ more$", said)
    assert len(said.partition("known: ")[2].split(", ")) == 9
