"""Which figures are drawn, their files and captions, whatever is set; and the gallery."""

from __future__ import annotations

import re

import matplotlib
import pytest
from support import ROOT

import tomeval
from tomeval.core.errors import TomevalError
from tomeval.plots import FIGURES, Options, chosen, draw, plot_run
from tomeval.plots.style import RC, in_style
from tomeval.runs.analyses import known_figures
from tomeval.runs.domain import DOMAINS, get_domain

TOM = Options(metrics=("tom_percent",))


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    subjects = ["rmax", {"kind": "simulated", "name": "half | <b> *x*", "p": 0.5}]
    experiment = {"games": ["RPS", "IPD"], "subjects": subjects, "horizon": 4, "episodes": 3}
    partners = ["single_action", "tit_for_tat"]
    with tomeval.run(
        experiment | {"partners": partners}, tmp_path_factory.mktemp("choosing") / "run"
    ) as run:
        yield run


def test_metrics_choose_what_forests_show(opened) -> None:
    options = Options(metrics=("reward_per_step", "self_consistency_percent"))
    assert chosen(opened, options=options) == ["forest"]
    assert chosen(opened, options=options, every=True) == ["forest"]
    found = draw(opened, ["forest"], options)
    assert [drawing.stem for drawing in found] == [
        "forest_reward",
        "forest_self_consistency",
    ]
    means = [
        line.get_xdata()[0]
        for axes in found[0].figure.axes
        for line in axes.lines
        if line.get_marker() in ("o", "D")
    ]
    by_task = sorted(opened.rows(), key=lambda row: row["partners"])
    assert means == pytest.approx([row["reward_per_step"] for row in by_task])
    with pytest.raises(TomevalError, match="does not apply to the figure 'plane'"):
        draw(opened, ["plane"], options)


def test_captions_say_what_every_file_shows(opened, tmp_path) -> None:
    plot_run(opened, tmp_path, formats=["png", "pdf"])
    text = (tmp_path / "captions.md").read_text(encoding="utf-8")
    sections = text.split("\n## ")[1:]
    first = ["plane", "forest_regret", "forest_tom"]
    assert [section.split("\n")[0] for section in sections] == first
    for stem, section in zip(first, sections, strict=True):
        assert f"Files: `{stem}.png`, `{stem}.pdf`" in section
        assert "3 complete episodes each" in section
    assert "half \\| \\<b\\> \\*x\\*" in text
    assert "<b>" not in text


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
            plot_run(opened, tmp_path / name, TOM, only=["forest"], formats=["svg"])[0]
            for name in "ab"
        )
    assert one.read_bytes() == two.read_bytes()


GALLERY = ROOT / "figures" / "gallery"


def test_every_picture_is_in_the_index_and_the_other_way_round() -> None:
    index = (GALLERY / "README.md").read_text(encoding="utf-8")
    shown = set(re.findall(r"\]\((\w+)\.png\)", index))
    assert shown == {path.stem for path in GALLERY.glob("*.png")}
    assert shown == {path.stem for path in GALLERY.glob("*.svg")}
    assert index.count("Figure: `") == len(shown)


def test_the_manual_has_a_row_for_every_figure() -> None:
    text = (ROOT / "docs" / "figures.md").read_text(encoding="utf-8")
    listed = {
        name for row in re.findall(r"^\|[^|]*\| (`.+?`) \|", text, re.M) for name in row.split("`")
    }
    own = [name for domain in DOMAINS for name in known_figures(get_domain(domain))]
    assert {*FIGURES, *own} <= listed
