"""The gallery's index and the manual show pictures that exist, each as bitmap and as vector."""

from __future__ import annotations

import re
import runpy

import pytest
from support import ROOT

import tomeval
from tomeval.plots import FIGURES
from tomeval.runs.domain import DOMAINS, get_domain
from tomeval.runs.outside import known_figures

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


def test_the_script_draws_what_it_is_asked_for(tmp_path, monkeypatch) -> None:
    experiment = {"games": "RPS", "subjects": ["rmax", "random"], "episodes": 2, "horizon": 3}
    tomeval.run(experiment, tmp_path / "run").close()
    script = ROOT / "figures" / "draw.py"
    words = [str(script), str(tmp_path / "run"), str(tmp_path / "out"), "forest", "tom"]
    monkeypatch.setattr("sys.argv", words)
    runpy.run_path(str(script))
    assert {path.stem for path in (tmp_path / "out").iterdir()} == {
        "forest_regret",
        "forest_tom",
        "tom",
    }
    monkeypatch.setattr("sys.argv", words[:2])
    with pytest.raises(SystemExit, match="RUN OUT NAME"):
        runpy.run_path(str(script))
