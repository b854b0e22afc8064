"""What a reader needs of every picture: labels, names, scales, possible values, letters to read."""

from __future__ import annotations

import pytest
from layout import drawn_texts

import tomeval
from tomeval.plots import Options, draw


@pytest.fixture(scope="module")
def eight(tmp_path_factory):
    """Seven subjects beside the baseline, so that a last row of panels is not full."""
    names = [{"kind": "simulated", "name": f"player {k}", "p": k / 7} for k in range(7)]
    experiment = {"games": ["RPS", "IPD"], "partners": "tit_for_tat", "subjects": ["rmax", *names]}
    experiment |= {"horizon": 4, "episodes": 3}
    with tomeval.run(experiment, tmp_path_factory.mktemp("eight") / "run") as run:
        yield run


@pytest.fixture(scope="module")
def pictures(eight):
    """Return all that can be drawn of them."""
    return draw(eight, (), every=True)


def test_letters_can_be_read_at_420_pixels(pictures) -> None:
    for drawing in pictures:
        width = 72 * drawing.figure.get_figwidth()
        for text in drawn_texts(drawing.figure):
            assert text.get_fontsize() * 420 / width >= 9, (drawing.stem, text.get_text())


@pytest.fixture(scope="module")
def uneven(tmp_path_factory):
    """Few short episodes, so that means ± 1.96 standard errors leave what is possible."""
    subjects = [{"kind": "simulated", "name": f"p {p}", "p": p, "q": p} for p in (0.2, 0.5, 0.8)]
    experiment = {"games": ["RPS", "IBS"], "subjects": ["random", *subjects], "horizon": 2}
    with tomeval.run(experiment | {"episodes": 5}, tmp_path_factory.mktemp("cut") / "run") as run:
        yield run


LIMITS = {"tom_percent": (0, 100), "delta_functional_per_step": (0, {"RPS": 2, "IBS": 8.5})}
"""RPS: from the best to the worst response; IBS: 10 or 7 lost, each half of the time."""


@pytest.mark.parametrize("measure", LIMITS)
def test_intervals_stay_where_means_can_be(uneven, measure) -> None:
    rows, beyond = uneven.rows(), 0
    (drawing,) = draw(uneven, ["forest"], Options(metrics=(measure,)))
    for axes in drawing.figure.axes:
        game = axes.get_title()
        low, high = LIMITS[measure]
        high = high[game] if isinstance(high, dict) else high
        mine = [row for row in rows if row["game"] == game]
        lines = {
            float(line.get_ydata()[0]): line.get_xdata()
            for line in axes.lines
            if len(line.get_xdata()) == 2 and len(set(line.get_ydata())) == 1
        }
        for place, row in enumerate(mine):
            ends = row[f"{measure}_ci95_low"], row[f"{measure}_ci95_high"]
            assert low <= ends[0] <= row[measure] <= ends[1] <= high
            assert lines[place] == pytest.approx(ends)
            half = row[f"{measure}_ci95"]
            beyond += row[measure] - half < low or row[measure] + half > high
    assert beyond  # else this shows nothing
    assert "stay within the bounds" in drawing.caption


def test_bands_stay_where_means_can_be(uneven) -> None:
    for drawing in draw(uneven, ["tom", "regret"]):
        (axes,) = drawing.figure.axes
        game = "RPS" if "RPS" in drawing.stem else "IBS"
        low, high = (0, 100) if drawing.name == "tom" else (0, 2) if game == "RPS" else (0, 10)
        for band in axes.collections:
            y = band.get_paths()[0].vertices[:, 1]
            assert low - 1e-9 <= y.min() <= y.max() <= high + 1e-9
