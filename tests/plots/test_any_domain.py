"""Figures of a kind of game that the package does not know."""

from __future__ import annotations

import numpy as np
import pytest
from layout import head

import tomeval
from tomeval.plots import draw

EXPERIMENT = {"domain": "toy", "guessers": ["one", "next"], "size": [3, 5], "episodes": 6}


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    with tomeval.run(EXPERIMENT, tmp_path_factory.mktemp("toy") / "run") as run:
        yield run


def test_a_task_is_a_panel_and_a_player_a_row(opened) -> None:
    drawing = draw(opened, ["forest"])[0]
    assert drawing.stem == "forest_loss"
    assert drawing.title == "loss/step by guesser: size 3 and 5"
    assert head(drawing.figure) == drawing.title
    assert [axes.get_title() for axes in drawing.figure.axes] == ["size 3", "size 5"]
    means = [
        [float(line.get_xdata()[0]) for line in axes.lines if line.get_marker() == "o"]
        for axes in drawing.figure.axes
    ]
    rows = [row["loss_per_step"] for row in opened.rows()]
    assert np.allclose(means, [rows[:2], rows[2:]])
