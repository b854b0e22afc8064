"""Oracles: analysis of variance of balanced sweeps, statsmodels' formulas, simulated sweeps."""

from __future__ import annotations

import sys
import warnings

import numpy as np
import pytest
import scipy.stats

import tomeval
from tomeval.core.errors import TomevalError

pytest.importorskip("statsmodels", reason="needs statsmodels")

from tomeval.comparing.mixed import mixed_model
from tomeval.statistics.reml import variance_ratios

SUBJECTS = [
    {"kind": "simulated", "name": "a", "p": 0.6, "q": 0.5},
    {"kind": "simulated", "name": "b", "p": 0.8, "q": 0.5},
    {"kind": "simulated", "name": "c", "p": 0.9, "q": 0.9},
]
PARTNERS = ["always(0)", "always(1)", "tit_for_tat", "grim_trigger"]


def play(folder, **changes):
    task = {
        "games": "IPD",
        "partners": PARTNERS,
        "subjects": SUBJECTS,
        "horizon": 20,
        "episodes": 10,
    }
    tomeval.run({**task, **changes}, folder).close()
    return folder


def means(folder, metric):
    """Return the cells' means, shape (partners, subjects, seeds)."""
    with tomeval.Run(folder) as run:
        found = {}
        for cell in run.cells:
            key = (cell.game.name, cell.partners[0].name, cell.definition["subject"])
            found.setdefault(key, []).append(cell.metrics()[metric].mean())
    values = np.array(list(found.values()))
    return values.reshape(-1, 3, values.shape[1])


@pytest.mark.parametrize("seeds", [[1], [1, 2, 3]])
@pytest.mark.parametrize("metric", ["tom_percent", "delta_functional_per_step"])
def test_balanced_sweeps_give_the_analysis_of_variance(tmp_path, seeds, metric) -> None:
    folder = play(tmp_path / "run", seed=seeds)
    fit = mixed_model(folder, metric, "subject", "a")
    table = means(folder, metric).mean(axis=2)
    centred = table - table.mean(axis=0) - table.mean(axis=1, keepdims=True) + table.mean()
    freedom = 3 * 2
    error = np.sqrt(2 * (centred**2).sum() / freedom / 4)
    difference = table.mean(axis=0)[1:] - table.mean(axis=0)[0]
    assert fit.freedom == freedom
    assert fit.difference == pytest.approx(difference)
    if all(factor.sd > 1e-3 for factor in fit.random if factor.name != "seed"):
        half = scipy.stats.t.ppf(0.975, freedom) * error
        assert fit.high - fit.difference == pytest.approx(half, rel=2e-3)
        p = 2 * scipy.stats.t.sf(np.abs(difference) / error, freedom)
        assert fit.p == pytest.approx(p, rel=1e-2)
    else:
        assert any("no variance" in note for note in fit.notes)


def test_factors_are_named_in_order(tmp_path) -> None:
    """Partners differ much, seeds hardly: the standard deviations must not be mixed up."""
    fit = mixed_model(play(tmp_path / "run", seed=[1, 2, 3]), "reward_per_step", "subject")
    found = {factor.name: factor for factor in fit.random}
    assert {name: factor.count for name, factor in found.items()} == {
        "partner": 4,
        "seed": 3,
        "subject x partner": 12,
    }
    assert found["partner"].sd > 1 > 10 * found["seed"].sd
    assert fit.observations == 36
    assert "one game only: the differences hold for this one" in fit.notes
    assert len(fit.rows()) == 2


def test_one_partner_per_game_is_one_factor(tmp_path) -> None:
    folder = play(
        tmp_path / "run", games=["RPS", "IBS", "IPD"], partners="tit_for_tat", seed=[1, 2]
    )
    fit = mixed_model(folder, "tom_percent", "subject", scale="range")
    assert [factor.name for factor in fit.random] == ["game", "seed", "subject x partner"]
    assert any("partner and game go together" in note for note in fit.notes)


def test_a_missing_cell_is_no_obstacle(tmp_path) -> None:
    one = play(tmp_path / "one", subjects=SUBJECTS[:2])
    two = play(tmp_path / "two", subjects=SUBJECTS[2:], partners=PARTNERS[:3])
    fit = mixed_model([one, two], "tom_percent", "subject")
    assert fit.observations == 11
    assert np.isfinite(fit.high).all()


def test_refusals(tmp_path, monkeypatch) -> None:
    def refused(message, *args):
        with pytest.raises(TomevalError, match=message):
            mixed_model(*args)

    one = play(tmp_path / "one", partners="tit_for_tat")
    refused("several games, partners or seeds", one, "tom_percent", "subject")
    two = play(tmp_path / "two")
    refused("did you mean", two, "tom_procent", "subject")
    refused("as the baseline 'x'", two, "tom_percent", "subject", "x")
    alone = play(tmp_path / "three", subjects=SUBJECTS[:1])
    refused("two or more of subject", alone, "tom_percent", "subject")
    best = [{"kind": "best_response", "name": name} for name in "ab"]
    flat = play(tmp_path / "four", subjects=best)
    refused("does not vary", flat, "tom_percent", "subject")
    monkeypatch.setitem(sys.modules, "statsmodels.regression.mixed_linear_model", None)
    refused(r"pip install statsmodels", two, "tom_percent", "subject")


def test_the_optimum_is_above_all_that_statsmodels_finds() -> None:
    """And the likelihood is statsmodels' own, so that the two can be held against each other."""
    from statsmodels.regression import mixed_linear_model as module

    rng = np.random.default_rng(6)
    level, partner, seed = (x.ravel() for x in np.meshgrid(range(3), range(4), range(3)))
    values = 2 * rng.normal(size=4)[partner] + 0.2 * rng.normal(size=36)
    values += 0.3 * rng.normal(size=(3, 4))[level, partner]
    fixed = np.stack([np.ones(36), level == 1, level == 2], axis=1).astype(float)
    keys = (partner, seed, 10 * level + partner)
    parts = [(key[:, None] == np.unique(key)).astype(float) for key in keys]
    ratios, likelihood = variance_ratios(fixed, values, parts)
    for method in ("lbfgs", "powell", "nm", "cg"):
        specification = module.VCSpec(
            list("abc"),
            [[[str(i) for i in range(p.shape[1])]] for p in parts],
            [[p] for p in parts],
        )
        model = module.MixedLM(values, fixed, np.zeros(36), exog_vc=specification)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert model.fit(reml=True, method=method).llf <= likelihood + 1e-6
    at = module.MixedLMParams.from_components(
        fe_params=np.zeros(3), cov_re=np.zeros((0, 0)), vcomp=ratios
    )
    assert model.loglike(at) == pytest.approx(likelihood, abs=1e-6)
