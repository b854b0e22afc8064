"""Figures look the same whatever the user's matplotlib settings are."""

from __future__ import annotations

import matplotlib
import pytest

import tomeval
from tomeval.plots import draw, plot_run, save
from tomeval.plots.style import RC, in_style


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    subjects = ["rmax", {"kind": "simulated", "name": "$half$ & 50 %", "p": 0.5}]
    experiment = {"games": "RPS", "subjects": subjects, "episodes": 3, "horizon": 3}
    with tomeval.run(experiment, tmp_path_factory.mktemp("settings") / "run") as run:
        yield run


@in_style
def now(name: str):
    return matplotlib.rcParams[name]


def test_names_stay_text_and_files_the_same_whatever_is_set(opened, tmp_path) -> None:
    settings = {"text.usetex": True, "text.parse_math": True, "svg.hashsalt": None}
    with matplotlib.rc_context(settings | {"font.size": 15.0}):
        assert {name: now(name) for name in RC} == RC
        with matplotlib.rc_context({"font.family": ["DejaVu Serif"]}):
            assert now("font.family") == ["DejaVu Serif"]  # for letters that ours has not
        assert matplotlib.rcParams["text.usetex"]
        one, two = (
            plot_run(opened, tmp_path / name, only=["forest_tom"], formats=["svg"])[0]
            for name in "ab"
        )
    assert one.read_bytes() == two.read_bytes()


def test_fonts_in_pdf_are_truetype(opened, tmp_path) -> None:
    (path,) = save(draw(opened, ["forest_tom"]), tmp_path, ["pdf"])
    data = path.read_bytes()
    assert b"/Type3" not in data
    assert b"/CIDFontType2" in data
