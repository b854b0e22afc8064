"""Whether what a figure shows can be read: nothing over anything else, nothing cut off."""

from __future__ import annotations

import itertools

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text


def drawn_texts(figure) -> list[Text]:
    """Return every text that stands on the page: tick labels only where their tick is in view."""
    if figure.stale:  # not drawn since something in it changed
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


def head(figure) -> str:
    """Return what stands above all panels, in one line."""
    legends = [legend.get_title().get_text() for legend in figure.legends]
    return " ".join([figure.get_suptitle(), *legends]).strip().replace("\n", " ")


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
    for axes, panel in zip(figure.axes, panels, strict=True):
        assert min(panel.width, panel.height) > 40 or axes.get_label() == "<colorbar>"
        for text, box in zip(texts, boxes, strict=True):
            wide = min(panel.x1, box.x1) - max(panel.x0, box.x0)
            high = min(panel.y1, box.y1) - max(panel.y0, box.y0)
            inside = wide > 1 and high > 1
            assert not inside or text in axes.texts, f"{text.get_text()!r} lies over a panel"


def contrast(one: str, other: str) -> float:
    """Return WCAG's contrast of two colours."""

    def light(colour: str) -> float:
        parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return sum(w * p for w, p in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    low, high = sorted((light(one), light(other)))
    return (high + 0.05) / (low + 0.05)
