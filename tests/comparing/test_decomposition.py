"""Oracles: inversion of the t test, scipy's correlations, the simulated subject's closed form."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize
import scipy.stats

import tomeval
from tomeval.comparing.decomposition import decompose
from tomeval.statistics.ratios import fieller

RNG = np.random.default_rng(4)
SUBJECTS = [
    {"kind": "simulated", "name": "careless", "p": 0.8, "q": 0.4},
    {"kind": "simulated", "name": "careful", "p": 0.8, "q": 1.0},
    {"kind": "best_response"},
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shares") / "run"
    tomeval.run(
        {
            "games": ["RPS", "IPD"],
            "partners": ["single_action", "tit_for_tat"],
            "subjects": SUBJECTS,
            "horizon": 20,
            "episodes": 15,
            "seed": [3, 4],
        },
        folder,
    ).close()
    return folder


@pytest.mark.parametrize("shift", [0.4, 1.0])
def test_fieller_inverts_the_paired_t_test(shift) -> None:
    bottom = RNG.normal(shift + 1, 1, size=30)
    top = 0.6 * bottom + RNG.normal(0, 0.4, size=30)
    covariance = np.cov(top, bottom) / 30
    moments = (covariance[0, 0], covariance[1, 1], covariance[0, 1], 29.0)
    value, low, high = fieller(top.mean(), bottom.mean(), moments)
    assert value == pytest.approx(top.mean() / bottom.mean())

    def p(ratio):
        return scipy.stats.ttest_1samp(top - ratio * bottom, 0).pvalue - 0.05

    assert low == pytest.approx(scipy.optimize.brentq(p, value - 3, value))
    assert high == pytest.approx(scipy.optimize.brentq(p, value, value + 3))


def test_no_share_of_what_may_be_nothing() -> None:
    assert np.isnan(fieller(0.1, 0.1, (0.01, 0.01, 0.0, 30.0))).all()
    assert fieller(2.0, 4.0, (0.0, 0.0, 0.0, 9.0)) == (0.5, 0.5, 0.5)


def test_parts_of_cells(folder) -> None:
    found = decompose(folder)
    with tomeval.Run(folder) as run:
        cells = [cell.metrics() for cell in run.cells]
    assert len(found.names) == len(set(found.names)) == len(cells) == 2 * 2 * 3 * 2
    assert found.part[..., 0].sum(axis=1) == pytest.approx(found.functional[:, 0])
    for c, cell in enumerate(cells):
        regret = cell["delta_functional_per_step"]
        assert found.functional[c, 0] == pytest.approx(regret.mean(), abs=1e-12)
        parts = ("delta_tom_best_response", "response_gap", "foresight_gap")
        for k, name in enumerate(parts):
            mine = cell[f"{name}_per_step"]
            assert found.part[c, k, 0] == pytest.approx(mine.mean(), abs=1e-12)
            half = scipy.stats.t.ppf(0.975, 14) * scipy.stats.sem(mine)
            assert found.part[c, k, 2] - found.part[c, k, 0] == pytest.approx(half, abs=1e-12)
        if not found.reason[c]:
            share, low, high = found.share[c].T
            assert share.sum() == pytest.approx(1)
            assert share == pytest.approx(found.part[c, :, 0] / found.functional[c, 0])
            assert (low <= share).all()
            assert (share <= high).all()


def test_no_regret_has_no_shares(folder) -> None:
    found = decompose(folder, "subject")
    best = found.names.index("best_response")
    assert found.functional[best, 0] == pytest.approx(0)
    assert np.isnan(found.share[best]).all()
    assert "not told apart from 0" in found.reason[best]
    assert found.rows()[best]["reason"] == found.reason[best]


def test_levels_are_means_over_tasks(folder) -> None:
    cells, levels = decompose(folder), decompose(folder, "subject")
    for row, name in enumerate(levels.names):
        mine = [c for c, label in enumerate(cells.labels) if label["subject"] == name]
        whole, parts = cells.functional[mine, 0], cells.part[mine, :, 0]
        assert levels.functional[row, 0] == pytest.approx(whole.mean(), abs=1e-12)
        assert levels.part[row, :, 0] == pytest.approx(parts.mean(axis=0), abs=1e-12)
        assert levels.episodes[row] == 4 * 30


def test_shares_are_near_the_closed_form(tmp_path) -> None:
    game = tomeval.get_game("RPS")
    partners = tomeval.get_partner_set("single_action", game)
    truth = tomeval.expected(game, partners, p=0.8, q=0.4, horizon=50)
    run = tomeval.run(
        {"games": "RPS", "subjects": SUBJECTS[:1], "horizon": 50, "episodes": 400}, tmp_path / "run"
    )
    with run:
        found = decompose(run)
    total = truth["delta_functional_per_step"]
    expected = np.array(
        [truth["delta_tom_best_response_per_step"], truth["response_gap_per_step"], 0.0]
    )
    assert (found.share[0, :, 1] - 0.02 < expected / total).all()
    assert (expected / total < found.share[0, :, 2] + 0.02).all()
