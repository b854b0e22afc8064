"""What curves show at every step and episode, computed a second time; and several runs on one."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import tomeval
from tomeval.games.matrix.curves import _points, _regret_limits, smooth
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


def test_running_means_and_sums_by_hand(opened) -> None:
    values = regret(opened, "half").mean(axis=0)
    for curve, expected in (
        ("running", [values[: t + 1].mean() for t in range(STEPS)]),
        ("cumulative", [values[: t + 1].sum() for t in range(STEPS)]),
    ):
        line, drawing, axes = line_of(opened, Options(curve=curve))
        assert line.get_ydata() == pytest.approx(expected)
        assert line.get_xdata().tolist() == list(range(1, STEPS + 1))
        assert drawing.stem.startswith(f"regret_{curve}")
        assert (axes.get_xlabel(), "payoff units" in axes.get_ylabel()) == ("step", True)
    assert "cumulative ΔFunctional" in drawing.title
    assert "the sum of all steps up to there, averaged over 8 complete episodes" in drawing.caption


@pytest.mark.parametrize("partners", ["tit_for_tat", "uniform_random", "single_action"])
@pytest.mark.parametrize("reference", ["horizon", "stationary"])
def test_the_last_point_is_the_number_of_the_table(tmp_path, partners, reference) -> None:
    """Also of a set, and of luck, which leaves a player less than no regret."""
    with tomeval.run(GAME | {"partners": [partners], "seed": 2}, tmp_path / "run") as run:
        rows = run.rows(reference=reference)
        for cell, row in zip(map(matrix_cell, run.cells), rows, strict=True):
            for name, curve in itertools.product(
                ("delta_functional_per_step", "tom_percent"), ("running", "cumulative")
            ):
                expected = np.array(
                    [row[f"{name}{end}"] for end in ("", "_ci95_low", "_ci95_high")]
                )
                if name == "tom_percent" and curve == "cumulative":
                    continue
                _, drawn = _points(cell, name, Options(curve=curve, reference=reference))
                end = [part[-1] for part in (drawn.mean, drawn.low, drawn.high)]
                scale = STEPS if curve == "cumulative" else 1
                assert end == pytest.approx(scale * expected), (name, curve)


@pytest.mark.parametrize("curve", ["running", "cumulative"])
@pytest.mark.parametrize("game", ["IPD", "IBS", "RPS"])
def test_regret_lies_between_the_best_and_the_worst_way_to_play(tmp_path, game, curve) -> None:
    """All sequences of moves against tit for tat, one by one."""
    experiment = {"games": game, "partners": ["tit_for_tat"], "subjects": "random"}
    with tomeval.run(experiment | {"horizon": 4, "episodes": 2}, tmp_path / "run") as run:
        cell = matrix_cell(run.cells[0])
        options, own = Options(curve=curve), cell.game.own
        best = cell.curves()["delta_functional_per_step"] + cell.curves()["reward_per_step"]
        sums = best.cumsum(axis=1)
        steps = np.arange(1, 5)
        limits = _regret_limits(cell, sums if curve == "cumulative" else sums / steps, options)
        start = cell.partners[0].emissions[cell.partners[0].start].argmax()
    totals = []
    for moves in itertools.product(range(len(own)), repeat=4):
        answers = (start, *moves[:-1])
        totals.append(np.cumsum([own[a, b] for a, b in zip(moves, answers, strict=True)]))
    totals = np.array(totals, dtype=float) / (1 if curve == "cumulative" else steps)
    optimum = (sums if curve == "cumulative" else sums / steps)[0]
    assert limits[:, 0] == pytest.approx(optimum - totals.max(axis=0))
    assert limits[:, 1] == pytest.approx(optimum - totals.min(axis=0))


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
