"""Figures of a kind of game that the package does not know."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from layout import head
from matplotlib.figure import Figure
from toy_domain import TOY

import tomeval
from tomeval.core.errors import TomevalError
from tomeval.plots import Drawing, draw, figures_of
from tomeval.runs.domain import register_domain

EXPERIMENT = {"domain": "toy", "guessers": ["one", "next"], "size": [3, 5], "episodes": 6}


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    with tomeval.run(EXPERIMENT, tmp_path_factory.mktemp("toy") / "run") as run:
        yield run


@pytest.fixture
def changed(tmp_path):
    """Return a run of the same domain with other attributes."""
    runs = []

    def change(**parts):
        register_domain(replace(TOY, **parts))
        runs.append(tomeval.run(EXPERIMENT, tmp_path / str(len(runs))))
        return runs[-1]

    yield change
    for run in runs:
        run.close()
    register_domain(TOY)


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


def test_differences_are_of_the_first_measure(opened) -> None:
    (drawing,) = draw(opened, ["differences"])
    assert drawing.title == "loss/step compared with one, by guesser"
    assert "left of 0 is better" in drawing.caption
    rows = [row["loss_per_step"] for row in opened.rows()]
    for place, axes in enumerate(drawing.figure.axes):
        (dot,) = [line for line in axes.lines if line.get_marker() == "o"]
        assert dot.get_xdata()[0] == pytest.approx(rows[2 * place + 1] - rows[2 * place])


def own_figure(run, options):
    return [Drawing("own", "own", Figure(), "Own", "A caption.", run.name)]


def test_a_domain_draws_figures_of_its_own(changed) -> None:
    run = changed(show=replace(TOY.show, figures={"own": f"{__name__}:own_figure"}))
    assert list(figures_of(run)) == ["forest", "differences", "own"]
    assert [d.name for d in draw(run, every=True)] == ["forest", "forest", "differences", "own"]
    with pytest.raises(TomevalError, match="did you mean 'own'"):
        draw(run, ["oown"])


def test_a_measure_without_values_in_some_tasks_has_no_figure_there(tmp_path) -> None:
    players = {"mini": {"embedding": "minilm"}, "lm": {"model": "scripted:decrypto"}}
    seats = [
        {"encoder": "lm", "decoder": "mini", "interceptor": "mini"},
        {"encoder": "mini", "decoder": "mini", "interceptor": "lm"},
    ]
    data = {"domain": "decrypto", "players": players, "pairings": seats, "episodes": 2}
    with tomeval.run({**data, "probes": {"eve": True}}, tmp_path / "run") as run:
        drawn = {d.stem: [a.get_title() for a in d.figure.axes] for d in draw(run, ["forest"])}
    assert {stem: len(panels) for stem, panels in drawn.items()} == {
        "forest_tom_eve": 1,  # nobody predicts where nobody is asked
        "forest_interception": 2,
    }
