"""Nothing lies over anything else, and nothing is cut off, at 16 subjects x 3 games."""

from __future__ import annotations

import pytest
from layout import check

import tomeval
from tomeval.games.matrix.domain import MATRIX
from tomeval.plots import FIGURES, Options, draw
from tomeval.plots.style import WIDTHS

SUBJECTS = [
    "rmax",
    *(
        {"kind": "simulated", "name": f"Oracle + Max -Payoffs {k}, a longer name", "p": k / 16}
        for k in range(15)
    ),
]


@pytest.fixture(scope="module")
def sixteen(tmp_path_factory):
    experiment = {
        "games": ["RPS", "IBS", "IPD"],
        "labels": "neutral",
        "partners": ["tit_for_tat"],
        "subjects": SUBJECTS,
        "horizon": 6,
        "episodes": 4,
    }
    with tomeval.run(experiment, tmp_path_factory.mktemp("layout") / "run") as run:
        yield run


@pytest.mark.parametrize("column", ["screen", "single"])
@pytest.mark.parametrize("name", [*FIGURES, *MATRIX.figures])
def test_nothing_overlaps_at_sixteen_subjects(sixteen, name, column) -> None:
    drawings = draw(sixteen, [name], Options(column))
    figure = drawings[0].figure
    assert figure.get_figwidth() == pytest.approx(WIDTHS[column])
    assert figure.get_figheight() < 9.6
    check(figure)


def test_the_check_finds_an_overlap(sixteen) -> None:
    figure = draw(sixteen, ["forest"])[0].figure
    figure.axes[0].set_xlabel("in the way of what names all panels", labelpad=9)
    figure.text(0.5, 0.5, "over the middle panel")
    with pytest.raises(AssertionError, match="over"):
        check(figure)
