"""The gallery's index and the manual show pictures that exist, each as bitmap and as vector."""

from __future__ import annotations

import ast
import re

from support import ROOT

from tomeval.plots import FIGURES

GALLERY = ROOT / "figures" / "gallery"


def test_every_picture_is_in_the_index_and_the_other_way_round() -> None:
    index = (GALLERY / "README.md").read_text(encoding="utf-8")
    shown = set(re.findall(r"\]\((\w+)\.png\)", index))
    assert shown == {path.stem for path in GALLERY.glob("*.png")}
    assert shown == {path.stem for path in GALLERY.glob("*.svg")}
    assert index.count("Figure: `") == len(shown)


def test_the_manual_shows_pictures_of_the_gallery() -> None:
    for page in (ROOT / "docs").glob("*.md"):
        for name in re.findall(r"\(\.\./figures/gallery/([^)]+)\)", page.read_text("utf-8")):
            assert (GALLERY / name).is_file(), f"{page.name}: {name}"


def test_every_figure_has_a_short_script() -> None:
    drawn = set()
    for path in (ROOT / "figures").glob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert ast.get_docstring(ast.parse(text))
        if path.stem != "make_gallery" and not path.stem.startswith("decrypto"):
            assert len(text.splitlines()) < 20
            found = re.search(r"only=\[(.+)\]", text)
            assert found
            drawn |= set(re.findall(r'"(\w+)"', found[1]))
    assert drawn == set(FIGURES)
