"""What figures show is what the run's rows say."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import scripts

import tomeval
from tomeval.core.errors import TomevalError
from tomeval.core.text import visible
from tomeval.extensions.known import known_models
from tomeval.games.plane import Looks
from tomeval.plots import Options, draw, picture
from tomeval.plots.style import fold
from tomeval.runs.results import Run, joined

NASTY = '</svg><script>alert(1)</script> $x$ & "q"'
SUBJECTS = [
    "rmax",
    "best_response",
    {"kind": "simulated", "name": "half", "p": 0.5},
    {"kind": "simulated", "name": NASTY, "p": 0.9, "q": 0.2},
]


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    experiment = {
        "games": ["RPS", "IBS", "IPD"],
        "partners": ["single_action", "tit_for_tat"],
        "subjects": SUBJECTS,
        "horizon": 8,
        "episodes": 9,
    }
    with tomeval.run(experiment, tmp_path_factory.mktemp("content") / "run") as run:
        yield run


def shown_rows(run, axes):
    """Return the rows of the task that a panel names, such as "RPS, tit_for_tat"."""
    game, partners = axes.get_title().replace("\n", " ").split(", ")
    rows = [row for row in run.rows() if (row["game"], row["partners"]) == (game, partners)]
    assert len(rows) == len(SUBJECTS)
    return rows


def test_forest_shows_the_rows_of_the_table_and_the_tabular_line(opened) -> None:
    (drawing,) = draw(opened, ["forest"], Options(metrics=("delta_functional_per_step",)))
    for axes in drawing.figure.axes:
        mine = shown_rows(opened, axes)
        dots = {
            float(line.get_ydata()[0]): float(line.get_xdata()[0])
            for line in axes.lines
            if line.get_marker() in ("o", "D")
        }
        spans = {
            float(line.get_ydata()[0]): np.ptp(line.get_xdata()) / 2
            for line in axes.lines
            if len(set(line.get_ydata())) == 1 and len(line.get_xdata()) == 2
        }
        for place, row in enumerate(mine):
            assert dots[place] == pytest.approx(row["delta_functional_per_step"])
            half = row["delta_functional_per_step_ci95"]
            assert spans[place] == pytest.approx(half) or spans[place] < half  # where it is cut
        based = [line for line in axes.lines if line.get_color() == "0.25" and not_dot(line)]
        (line,) = (line for line in based if len(set(line.get_xdata())) == 1)
        assert line.get_xdata()[0] == pytest.approx(mine[0]["delta_functional_per_step"])
    assert "rmax" in drawing.description


def not_dot(line) -> bool:
    return line.get_marker() == "None"


def test_a_picture_holds_nothing_that_acts_and_is_the_same_again(opened) -> None:
    for drawing in draw(opened, ["regret", "plane", "forest"])[:4]:
        drawn = picture(drawing, "svg")
        assert drawn == picture(drawing, "svg")
        root = ET.fromstring(drawn)
        names = {element.tag.rpartition("}")[2] for element in root.iter()}
        assert names.isdisjoint({"script", "image", "foreignObject", "a"})
        assert not re.search(rb'\s(?:href|src)="(?!#)', drawn)
        assert not re.search(rb"\son\w+=", drawn)


def test_a_run_without_complete_episodes_has_no_figures(tmp_path) -> None:
    experiment = {"games": "RPS", "model": "scripted:silent", "episodes": 2, "horizon": 3}
    experiment["subjects"] = {"strategy": "QA", "max_attempts": 1}
    with (
        scripts(silent=lambda request: "no answer"),
        tomeval.run(experiment, tmp_path / "run") as run,
        pytest.raises(TomevalError, match="no complete episode"),
    ):
        draw(run)


@given(st.text(), st.integers(1, 30))
def test_folding_loses_nothing_and_keeps_the_width(text, width) -> None:
    folded = fold(text, width)
    # What acts or is not seen stands as an escape, made of letters; other gaps divide words.
    shown = "".join(char if char.isprintable() else " " for char in visible(text))
    assert folded.replace("\n", "").replace(" ", "") == shown.replace(" ", "")
    assert all(len(line) <= width for line in folded.split("\n"))


def test_a_player_looks_alike_whatever_its_model_which_fills_the_point(tmp_path) -> None:
    experiment = {
        "games": "RPS",
        "subjects": ["rmax", {"strategy": ["QA", "CoT"]}],
        "model": ["scripted:one", "scripted:two"],
        "horizon": 3,
        "episodes": 2,
    }
    rock = dict.fromkeys(("one", "two"), lambda request: "Final answer: Rock")
    with scripts(**rock), tomeval.run(experiment, tmp_path / "run") as run:
        looks = Looks(run.cells)
        drawn = {(cell.player, cell.own_model): looks.of(cell) for cell in run.cells}
        (plane,) = draw(run, ["plane"])
    for player in ("QA", "CoT"):
        one, two = (drawn[player, f"scripted:{name}"] for name in ("one", "two"))
        assert (one["marker"], one["color"]) == (two["marker"], two["color"])
        assert (one["fillstyle"], two["fillstyle"]) == ("full", "none")
        for name in ("one", "two"):  # the description tells them apart
            assert f"{player}, scripted:{name}, RPS" in plane.description
    assert len({look["marker"] for look in drawn.values()}) == 3


def test_the_plane_shows_whole_intervals_and_points_beyond_the_frame_on_its_edge(opened) -> None:
    """An interval that ends outside of the frame is not shown to end on its edge."""
    (plane,) = draw(opened, ["plane"])
    (axes,) = plane.figure.axes
    rows = [row for row in opened.rows() if np.isfinite(row["uses_percent"])]
    assert len(axes.containers) == len(rows)
    left = 0
    for drawn, row in zip(axes.containers, rows, strict=True):
        across, up = (bar.get_segments()[0] for bar in drawn[2])
        for at, (segment, name) in enumerate(((across, "knows"), (up, "uses"))):
            value, low, high = (
                row[f"{name}_percent{end}"] for end in ("", "_ci95_low", "_ci95_high")
            )
            place = min(max(value, -20), 100)
            ends = sorted(segment[:, at])
            assert drawn[0].get_xydata()[0][at] == pytest.approx(place)
            assert ends == pytest.approx([min(low, place), max(high, place)])
            left += low < -20
    assert left


def test_players_without_predictions_stand_beside_the_plane_by_plays(opened, tmp_path) -> None:
    """Their marks are the values of their tasks and the mean of these; nobody stands twice."""
    known_models(tmp_path / "known")
    with Run(tmp_path / "known") as known:
        run = joined([opened, known])
        (plane,) = draw(run, ["plane"])
        tasks: dict[str, list[float]] = {}
        for row in known.rows():
            tasks.setdefault(row["subject"], []).append(row["plays_percent"])
    drawn = [line.get_ydata() for line in plane.figure.axes[1].get_lines()]
    shown = [(drawn[2 * at], drawn[2 * at + 1]) for at in range(len(tasks))]
    for (marks, (mean,)), values in zip(shown, tasks.values(), strict=True):
        assert sorted(marks) == pytest.approx(sorted(max(value, -20) for value in values))
        assert mean == pytest.approx(max(np.mean(values), -20))
    assert (
        f"Llama 2 70B: plays \u2212{abs(round(np.mean(tasks['Llama 2 70B'])))}."
        in plane.description
    )
    assert "GPT-4" not in plane.caption
