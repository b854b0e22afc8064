"""Figures that lay the values of one column over each other, such as label sets."""

from __future__ import annotations

import numpy as np
import pytest
from asking import query
from layout import head

import tomeval
from tomeval.models.scripted import SCRIPTS
from tomeval.plots import Options, draw

LABELS = ["canonical", "letters", "neutral", "long_neutral", "nonsense"]
METRICS = {"regret": "delta_functional_per_step", "tom": "tom_percent"}


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    experiment = {
        "games": "RPS",
        "labels": LABELS,
        "partners": ["single_action", "tit_for_tat"],
        "subjects": ["rmax", {"kind": "simulated", "name": "mostly", "p": 0.8, "q": 0.7}],
        "horizon": 12,
        "episodes": 7,
    }
    with tomeval.run(experiment, tmp_path_factory.mktemp("overlays") / "run") as run:
        yield run


def by_steps(run, metric: str, subject: str, labels: str, partners: str) -> np.ndarray:
    """Recount a measure by step from the rows of the run: shape (episodes, steps)."""
    (cell,) = [
        cell
        for cell in run.cells
        if (cell.columns["subject"], cell.columns["labels"], cell.columns["partners"])
        == (subject, labels, partners)
    ]
    rows = query(
        run,
        "SELECT own_reward, predicted_action = partner_action FROM steps WHERE cell = ? "
        "ORDER BY episode, step",
        (cell.number,),
    )
    reward, right = np.array(rows, dtype=float).T.reshape(2, 7, 12)
    # Against either partner the best response wins every round of RPS that it can foresee; tit for
    # tat starts with action 0, which is foreseen too.
    return 100 * right if metric == "tom" else 1 - reward


def smoothed(values: np.ndarray) -> np.ndarray:
    """Average five steps around every step, fewer at the ends, one step at a time."""
    steps = range(values.shape[1])
    return np.stack([values[:, max(0, t - 2) : t + 3].mean(axis=1) for t in steps], axis=1)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("partners", ["single_action", "tit_for_tat"])
def test_label_sets_share_a_panel_with_the_tabular_line(opened, metric, partners) -> None:
    drawings = draw(opened, [metric], Options(by="labels"))
    assert [d.stem for d in drawings] == [
        f"{metric}_by_labels_mostly_RPS_{name}_12" for name in ("single_action", "tit_for_tat")
    ]
    (drawing,) = [d for d in drawings if partners in d.stem]
    (axes,) = drawing.figure.axes
    lines = {line.get_label(): line for line in axes.lines if not line.get_label().startswith("_")}
    assert list(lines) == [*LABELS, "rmax (tabular baseline)"]
    for name, line in lines.items():
        subject, labels = ("mostly", name) if name in LABELS else ("rmax", "canonical")
        found = smoothed(by_steps(opened, metric, subject, labels, partners))
        assert line.get_xdata().tolist() == list(range(1, 13))
        assert line.get_ydata() == pytest.approx(found.mean(axis=0))
    assert "mostly, RPS" in head(drawing.figure)
    assert (axes.get_xlabel(), axes.get_ylabel() != "") == ("step", True)
    assert "by labels" in drawing.title
    assert all(f"{name} " in drawing.description for name in LABELS)


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Two models, each with two strategies, besides the tabular baseline and a random player."""
    SCRIPTS["first"] = SCRIPTS["second"] = lambda request: "Final answer: Rock"
    experiment = {
        "games": "RPS",
        "subjects": ["rmax", "random", {"strategy": ["QA", "CoT"]}],
        "model": ["scripted:first", "scripted:second"],
        "horizon": 3,
        "episodes": 2,
        "seed": [1, 2],
    }
    with tomeval.run(experiment, tmp_path_factory.mktemp("overlays") / "models") as run:
        yield run


def test_what_is_not_compared_is_held_fixed(models) -> None:
    for by, held, levels in (  # a player without a strategy is a level, one without a model none
        ("strategy", ("scripted:first", "scripted:second"), ["QA", "CoT", "random"]),
        ("model", ("QA", "CoT"), ["scripted:first", "scripted:second"]),
    ):
        drawings = draw(models, ["regret"], Options(by=by))
        assert len(drawings) == len({d.stem for d in drawings}) == 4  # two seeds
        for drawing in drawings:
            (axes,) = drawing.figure.axes
            lines = [line.get_label() for line in axes.lines]
            assert [n for n in lines if not n.startswith("_")] == [
                *levels,
                "rmax (tabular baseline)",
            ]
            assert any(one in drawing.title for one in held)
