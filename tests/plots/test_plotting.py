from __future__ import annotations

import pytest

import tomeval
from tomeval.games.matrix.curves import curve_figure
from tomeval.plots import plot_run


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    experiment = {
        "games": ["IBS", "IPD"],
        "partners": ["single_action"],
        "subjects": ["rmax", {"kind": "simulated", "name": "half $50 & <b>", "p": 0.5}],
        "horizon": 12,
        "episodes": 6,
    }
    with tomeval.run(experiment, tmp_path_factory.mktemp("plots") / "run") as run:
        yield run


@pytest.fixture(scope="module")
def drawn(opened, tmp_path_factory):
    folder = tmp_path_factory.mktemp("drawn") / "deep" / "plots"
    return plot_run(opened, folder, every=True, formats=["png", "svg"])


def test_every_plot_is_made_twice_and_not_empty(drawn) -> None:
    names = sorted(path.name for path in drawn)
    stems = [
        f"{what}_{game}_canonical_single_action_12"
        for what in ("regret", "tom")
        for game in ("IBS", "IPD")
    ]
    family = ("plane", "forest_regret", "forest_tom")
    stems += family
    stems += ["differences_by_subject"]
    pictures = [f"{stem}.{kind}" for stem in stems for kind in ("png", "svg")]
    assert names == sorted([*pictures, "captions.md"])
    assert sorted(p.name for p in drawn[0].parent.iterdir()) == names
    for path in drawn[:-1]:
        data = path.read_bytes()
        assert len(data) > 5_000
        assert data.startswith(b"\x89PNG" if path.suffix == ".png" else b"<?xml")


def test_one_episode_has_no_band(tmp_path) -> None:
    experiment = {"games": "RPS", "subjects": "random", "episodes": 1, "horizon": 3}
    with tomeval.run(experiment, tmp_path / "run") as run:
        figure = curve_figure(run.cells, "tom_percent", "one")
        assert not figure.axes[0].collections
        assert plot_run(run, tmp_path / "plots", formats=["svg"])
