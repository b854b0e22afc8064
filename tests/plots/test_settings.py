"""The user's matplotlib settings count, but for those that names and files depend on."""

from __future__ import annotations

import matplotlib
import pytest

import tomeval
from tomeval.plots import draw, picture, plain_style, plot_run, save
from tomeval.plots.settings import MUST, in_style, users_settings


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    subjects = ["rmax", {"kind": "simulated", "name": "$half$ & 50 %", "p": 0.5}]
    experiment = {"games": "RPS", "subjects": subjects, "episodes": 3, "horizon": 3}
    with tomeval.run(experiment, tmp_path_factory.mktemp("settings") / "run") as run:
        yield run


@in_style
def now(name: str):
    return matplotlib.rcParams[name]


def test_what_is_set_in_python_counts(opened, tmp_path) -> None:
    def drawn(folder):
        return plot_run(opened, tmp_path / folder, only=["forest"], formats=["svg"])[0].read_text()

    plain = drawn("a")
    with matplotlib.rc_context({"axes.facecolor": "#aa1122"}):
        assert "#aa1122" in drawn("b")
        assert now("axes.facecolor") == "#aa1122"
    assert "#aa1122" not in plain
    assert plain == drawn("c")


def test_a_matplotlibrc_counts_even_where_it_repeats_a_default(tmp_path, monkeypatch) -> None:
    assert matplotlib.rcParamsDefault["axes.spines.top"] is True
    assert now("axes.spines.top") is False
    (tmp_path / "matplotlibrc").write_text("axes.spines.top: True\n")
    monkeypatch.setenv("MATPLOTLIBRC", str(tmp_path / "matplotlibrc"))
    assert users_settings() == {"axes.spines.top": True}
    assert now("axes.spines.top") is True
    assert now("axes.spines.right") is False


def test_letters_grow_in_proportion() -> None:
    plain = {name: now(name) for name in ("axes.titlesize", "xtick.labelsize", "legend.fontsize")}
    with matplotlib.rc_context({"font.size": 15.0, "legend.fontsize": 11.0}):
        assert now("font.size") == 15
        assert now("axes.titlesize") == 2 * plain["axes.titlesize"]
        assert now("xtick.labelsize") == 2 * plain["xtick.labelsize"]
        assert now("legend.fontsize") == 11  # the user's own


def test_names_stay_text_and_files_the_same_whatever_is_set(opened, tmp_path) -> None:
    settings = {"text.usetex": True, "text.parse_math": True, "svg.hashsalt": None}
    with matplotlib.rc_context(settings):
        assert {name: now(name) for name in MUST} == MUST
        one, two = (
            plot_run(opened, tmp_path / name, only=["forest_tom"], formats=["svg"])[0]
            for name in "ab"
        )
    assert one.read_bytes() == two.read_bytes()


def test_parts_of_a_page_are_the_pages(opened) -> None:
    with plain_style():
        plain = picture(draw(opened, ["forest_tom"])[0], "svg")
    with matplotlib.rc_context({"axes.facecolor": "#aa1122"}), plain_style():
        assert picture(draw(opened, ["forest_tom"])[0], "svg") == plain
    assert b"#aa1122" not in plain


def test_fonts_in_pdf_are_truetype(opened, tmp_path) -> None:
    (path,) = save(draw(opened, ["forest_tom"]), tmp_path, ["pdf"])
    data = path.read_bytes()
    assert b"/Type3" not in data
    assert b"/CIDFontType2" in data
