"""The gallery's index and the manual show pictures that exist, each as bitmap and as vector."""

from __future__ import annotations

import re

from support import ROOT

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
