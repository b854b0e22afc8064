"""What curves show at every step and episode, computed a second time; and several runs on one."""

from __future__ import annotations

import numpy as np
import pytest

import tomeval
from tomeval.core.errors import TomevalError
from tomeval.domains.matrix.figures.curves import smooth
from tomeval.plots import Options, draw
from tomeval.runs.results import Run, joined

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
    steps = run.steps(where=f"subject={subject}")
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


def test_what_cannot_be_drawn_is_one_error(opened, folders, command, tmp_path) -> None:
    with pytest.raises(TomevalError, match="--window 3 does not apply to the figure 'forest'"):
        draw(opened, ["forest"], Options(window=3))
    for option, value, why in (
        ("--window", "0", "window must be from 1 to 1,000,000, not 0"),
        ("--window", "9" * 20, "window must be from 1 to 1,000,000, not 9"),
    ):
        code, _, said = command("plot", folders[0], "--out", tmp_path, option, value)
        assert (code, why in said) == (2, True)
    many = ("--window", "3", "--metric", "regret")
    code, _, said = command("plot", folders[0], "--out", tmp_path, *many)
    assert (code, "no figure supports --metric" in said) == (2, True)
    code, _, said = command("plot", folders[0], folders[0], "--out", tmp_path)
    assert (code, "is named twice" in said) == (2, True)


def test_without_only_the_figures_that_heed_the_options_are_drawn(
    folders, command, tmp_path
) -> None:
    assert command("plot", folders[0], "-o", tmp_path, "--window", "3")[0] == 0
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"regret.png", "tom.png", "captions.md"}


def test_several_runs_are_drawn_as_one_and_told_apart_by_their_names(folders) -> None:
    with Run(folders[0]) as one, Run(folders[1]) as two:
        alone = [line_of(run, Options())[0].get_ydata() for run in (one, two)]
        both = joined([one, two])
        assert [cell.title for cell in both.cells] == [
            "half, one", "random, one", "half, two", "random, two"
        ]  # fmt: skip
        for name, expected in zip(("one", "two"), alone, strict=True):
            line, *_ = line_of(both, Options(), f"half, {name}")
            assert line.get_ydata().tolist() == expected.tolist()


def test_a_domain_without_curves_says_so(command, tmp_path) -> None:
    lineups = [{"game": "blotto", "subject": "random", "others": "random", "episodes": 2}]
    data = {"domain": "arena", "players": {"random": {"kind": "random"}}, "lineups": lineups}
    tomeval.run(data, tmp_path / "arena").close()
    code, _, said = command("plot", tmp_path / "arena", "-o", tmp_path, "--window", "3")
    assert (code, "no figure supports --window 3" in said) == (2, True)


def test_one_player_of_two_equal_runs_is_split_in_each(tmp_path) -> None:
    experiment = {"games": "IPD", "subjects": "rmax", "horizon": 4, "episodes": 5}
    for name in ("one", "two"):
        tomeval.run(experiment, tmp_path / name).close()
    with Run(tmp_path / "one") as one, Run(tmp_path / "two") as two:
        (alone,) = draw(two, ["decomposition"])
        (both,) = draw(joined([one, two]), ["decomposition"])
    said = alone.description.split("rmax", 1)[1]
    assert f"rmax, one{said.removesuffix('.')}" in both.description
    assert f"rmax, two{said}" in both.description
