"""What curves show at every step and episode, computed a second time; and several runs on one."""

from __future__ import annotations

import numpy as np
import pytest

import tomeval
from tomeval.games.matrix.curves import _points, smooth
from tomeval.games.matrix.results import matrix_cell
from tomeval.plots import Options, draw

STEPS, EPISODES = 6, 8
GAME = {
    "games": "IPD",
    "partners": ["tit_for_tat"],
    "subjects": [{"kind": "simulated", "name": "half", "p": 0.5}, "random"],
    "horizon": STEPS,
    "episodes": EPISODES,
}
BEST = [8, 8, 8, 8, 8, 10]
"""Cooperate with tit for tat, and defect once it can no longer answer."""


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    base = tmp_path_factory.mktemp("curves")
    for name, seed in (("one", 1), ("two", 2)):
        tomeval.run(GAME | {"seed": seed}, base / name).close()
    return [base / "one", base / "two"]


@pytest.fixture
def command(request):
    """The command line, under a name that leaves the package's free."""
    return request.getfixturevalue("tomeval")


@pytest.fixture(scope="module")
def opened(folders):
    with tomeval.Run(folders[0]) as run:
        yield run


def regret(run, subject: str) -> np.ndarray:
    """Return regret by episode and step, from the rewards of the step table alone."""
    steps = run.select(f"subject={subject}").steps()
    return np.array(BEST) - steps["own_reward"].to_numpy(float).reshape(EPISODES, STEPS)


def line_of(run, options: Options, name: str = "half", figure: str = "regret"):
    (drawing,) = draw(run, [figure], options)
    (axes,) = drawing.figure.axes
    (line,) = [line for line in axes.lines if line.get_label() == name]
    return line, drawing, axes


@pytest.mark.parametrize("window", [1, 2, 5, 50])
def test_a_window_by_hand(opened, window) -> None:
    values = regret(opened, "half").mean(axis=0)
    line, *_ = line_of(opened, Options(window=window))
    before, after = window // 2, (window - 1) // 2
    expected = [values[max(0, t - before) : t + after + 1].mean() for t in range(STEPS)]
    assert line.get_ydata() == pytest.approx(expected)
    assert smooth(values[None], window)[0] == pytest.approx(expected)


@pytest.mark.parametrize("partners", ["tit_for_tat", "uniform_random", "single_action"])
@pytest.mark.parametrize("reference", ["horizon", "stationary"])
def test_the_mean_of_single_steps_is_the_number_of_the_table(tmp_path, partners, reference) -> None:
    experiment = GAME | {"partners": [partners], "seed": 2, "reference": reference}
    with tomeval.run(experiment, tmp_path / "run") as run:
        rows = run.rows()
        for cell, row in zip(map(matrix_cell, run.cells), rows, strict=True):
            for name in ("delta_functional_per_step", "tom_percent"):
                _, drawn = _points(cell, name, Options(window=1))
                assert drawn.mean.mean() == pytest.approx(row[name]), name


def test_bands_are_intervals_over_episodes(opened) -> None:
    steps = opened.select("subject=half").steps()
    right = 100.0 * (steps["predicted_action"] == steps["partner_action"]).to_numpy(float)
    right = right.reshape(EPISODES, STEPS)
    windows = [right[:, max(0, t - 2) : t + 3].mean(axis=1) for t in range(STEPS)]
    line, _, axes = line_of(opened, Options(), figure="tom")
    assert line.get_ydata() == pytest.approx([values.mean() for values in windows])
    band = axes.collections[0].get_paths()[0].vertices
    q = 2.3646243  # t of seven degrees of freedom
    for step, values in enumerate(windows, start=1):
        mean, width = values.mean(), q * values.std(ddof=1) / np.sqrt(EPISODES)
        ends = band[band[:, 0] == step, 1]
        # No share is beyond 0 or 100: an end m solves (mean - m)² = c m (100 - m).
        if 0 < mean < 100:
            c = width**2 / (mean * (100 - mean))
            reach = sorted(np.roots([1 + c, -2 * mean - 100 * c, mean**2]).real)
        else:  # all alike: a share of q² / (8 + q²) may differ
            unseen = 100 * q**2 / (EPISODES + q**2)
            reach = (0, unseen) if mean == 0 else (100 - unseen, 100)
        assert (ends.min(), ends.max()) == pytest.approx(reach, abs=2e-2)
