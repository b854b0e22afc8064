"""Nothing lies over anything else, and nothing is cut off, at 16 subjects x 3 games."""

from __future__ import annotations

import itertools

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text

import tomeval
from tomeval.plots import FIGURES, Options, draw

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


def drawn_texts(figure) -> list[Text]:
    """Return every text that stands on the page: tick labels only where their tick is in view."""
    FigureCanvasAgg(figure).draw()
    hidden = set()
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()):
                if not low - 1e-9 <= tick.get_loc() <= high + 1e-9:
                    hidden |= {tick.label1, tick.label2}
    texts = figure.findobj(Text)
    return [t for t in texts if t.get_visible() and t.get_text().strip() and t not in hidden]


def check(figure) -> None:
    """Check that texts are on the page, apart from each other and from foreign panels."""
    texts = drawn_texts(figure)
    boxes = [text.get_window_extent() for text in texts]
    page = figure.bbox
    for text, box in zip(texts, boxes, strict=True):
        inside = page.x0 - 1 <= box.x0 and box.x1 <= page.x1 + 1
        assert inside, text.get_text()
        assert page.y0 - 1 <= box.y0 <= box.y1 <= page.y1 + 1, text.get_text()
    pairs = itertools.combinations(zip(texts, boxes, strict=True), 2)
    for (left, a), (right, b) in pairs:
        wide = min(a.x1, b.x1) - max(a.x0, b.x0)
        high = min(a.y1, b.y1) - max(a.y0, b.y0)
        assert wide <= 0.5 or high <= 0.5, f"{left.get_text()!r} over {right.get_text()!r}"
    panels = [axes.get_window_extent() for axes in figure.axes]
    for a, b in itertools.combinations(panels, 2):
        assert min(a.x1, b.x1) <= max(a.x0, b.x0) or min(a.y1, b.y1) <= max(a.y0, b.y0)
    for panel in panels:
        assert panel.width > 40
        assert panel.height > 40
        for text, box in zip(texts, boxes, strict=True):
            wide = min(panel.x1, box.x1) - max(panel.x0, box.x0)
            high = min(panel.y1, box.y1) - max(panel.y0, box.y0)
            assert wide <= 1 or high <= 1, f"{text.get_text()!r} lies over a panel"


@pytest.mark.parametrize("column", ["double", "single"])
@pytest.mark.parametrize("name", list(FIGURES))
def test_nothing_overlaps_at_sixteen_subjects(sixteen, name, column) -> None:
    drawings = draw(sixteen, [name], Options(column))
    figure = drawings[0].figure
    assert figure.get_figwidth() == pytest.approx({"single": 3.35, "double": 6.9}[column])
    assert figure.get_figheight() < 9.6
    check(figure)


def test_the_check_finds_an_overlap(sixteen) -> None:
    figure = draw(sixteen, ["forest"])[0].figure
    figure.axes[0].set_xlabel("in the way of what names all panels", labelpad=9)
    figure.text(0.5, 0.5, "over the middle panel")
    with pytest.raises(AssertionError, match="over"):
        check(figure)


def test_every_subject_has_a_look_of_its_own(sixteen) -> None:
    legend = draw(sixteen, ["scatter"])[0].figure.legends[0]
    points = legend.legend_handles[:16]
    assert len({(p.get_marker(), p.get_fillstyle()) for p in points}) == 16  # in grey as well
    assert len({(p.get_color(), p.get_fillstyle()) for p in points}) == 16
    names = [text.get_text().replace("\n", "") for text in legend.get_texts()][:16]
    assert len(set(names)) == 16
