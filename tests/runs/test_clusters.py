"""Episodes that share a deal are one sampling unit of tables and comparisons."""

from __future__ import annotations

import pytest
import scipy.stats

import tomeval
from tomeval.comparing import compare
from tomeval.games.matrix.results import MatrixRunCell
from tomeval.statistics import estimate

EXPERIMENT = {
    "games": "IPD",
    "partners": "noisy_tit_for_tat(0.3)",
    "subjects": ["random", {"kind": "simulated", "p": 0.6, "q": 0.7}],
    "horizon": 9,
    "episodes": 40,
}
SIZE = 4  # episodes of a cluster


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clusters") / "run"
    tomeval.run(EXPERIMENT, folder).close()
    return folder


@pytest.fixture
def clustered(monkeypatch):
    monkeypatch.setattr(MatrixRunCell, "clusters", property(lambda cell: cell.episodes // SIZE))


def by_cluster(values):
    return values.reshape(-1, SIZE).mean(axis=1)


def test_tables_count_clusters(folder, clustered):
    with tomeval.Run(folder) as run:
        row, steps = run.rows("t")[0], run.steps()
        limits = run.cells[0].limits("reward_per_step")
    mine = steps[steps["cell"] == 0]
    means = by_cluster(mine.groupby("episode")["own_reward"].mean().to_numpy())
    alone = estimate(means, "t", bounds=[limits])
    assert row["reward_per_step"] == pytest.approx(means.mean())
    assert row["reward_per_step_ci95"] == pytest.approx(float(alone.half[0]))


def test_comparisons_pair_clusters(folder, clustered):
    with tomeval.Run(folder) as run:
        found = compare(run, metrics=["reward_per_step"], resamples=199)
        rewards = run.steps().groupby(["cell", "episode"])["own_reward"].mean()
    one, other = (by_cluster(rewards[cell].to_numpy()) for cell in (0, 1))
    theirs = scipy.stats.ttest_rel(other, one)
    assert found.pairs[0, 0] == len(one)
    assert found.p_t[0, 0, 0] == pytest.approx(theirs.pvalue)
    assert found.difference[0, 0, 0] == pytest.approx((other - one).mean())
