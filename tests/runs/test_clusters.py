"""Episodes that share a deal are one sampling unit of tables and comparisons."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

import tomeval
from tomeval.comparing import compare
from tomeval.runs.cell import RunCell
from tomeval.statistics.estimates import share_of_sums

EXPERIMENT = {
    "domain": "toy",
    "guessers": ["one", "next"],
    "size": [4],
    "steps": 3,
    "episodes": 24,
}
SIZE = 4  # episodes of a cluster


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("toy") / "run"
    tomeval.run(EXPERIMENT, folder).close()
    return folder


@pytest.fixture
def clustered(monkeypatch):
    monkeypatch.setattr(RunCell, "clusters", property(lambda cell: cell.episodes // SIZE))


def test_tables_count_clusters(folder, clustered):
    with tomeval.Run(folder) as run:
        row = run.rows("t")[0]
        numbers, guesses = (run.cells[0].played[name] for name in ("number", "guess"))
    means = np.abs(guesses - numbers).mean(axis=1).reshape(-1, SIZE).mean(axis=1)
    half = scipy.stats.t.ppf(0.975, len(means) - 1) * scipy.stats.sem(means)
    assert row["loss_per_step"] == pytest.approx(means.mean())
    assert row["loss_per_step_ci95"] == pytest.approx(half)
    hits = (guesses == numbers).reshape(-1, SIZE * 3).sum(axis=1)
    known = share_of_sums(hits, np.full(len(hits), SIZE * 3))
    assert row["hit_percent_ci95_low"] == pytest.approx(100 * known.low)
    assert row["hit_percent_ci95_high"] == pytest.approx(100 * known.high)


def test_comparisons_pair_clusters(folder, clustered):
    with tomeval.Run(folder) as run:
        found = compare(run, resamples=199)
        one, other = (
            abs(p["guess"] - p["number"]).mean(axis=1) for p in (cell.played for cell in run.cells)
        )
    means = [values.reshape(-1, SIZE).mean(axis=1) for values in (one, other)]
    theirs = scipy.stats.ttest_rel(means[1], means[0])
    assert found.pairs[0, 0] == len(means[0])
    assert found.p_t[0, 0, 0] == pytest.approx(theirs.pvalue)
    assert found.difference[0, 0, 0] == pytest.approx((other - one).mean())
