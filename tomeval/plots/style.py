"""How figures look: sizes, colours, lines, marks, names that fit, legends that fit."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy as np

from tomeval.core.text import visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTHS = {"single": 3.35, "double": 6.9}
"""Inches: one column of a two-column page (85 mm), and the whole page (175 mm)."""

# Okabe and Ito's colours, which colour-blind people tell apart, the yellow replaced by a brown that
# stands out on white; with each its own line and marker, which stay in grey.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#8C6D31")
LINES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)), (0, (7, 2)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
FILLINGS = ("full", "none", "left", "top")
BASELINE = "0.25"
BASELINE_LINE: dict[str, Any] = {"color": BASELINE, "lw": 1.1, "ls": (0, (4, 1.5))}

RC: dict[str, Any] = {
    "font.family": ["DejaVu Sans"],  # ships with matplotlib: the same picture everywhere
    "font.size": 7.5,
    "axes.titlesize": 7.5,
    "axes.labelsize": 7.5,
    "axes.titlepad": 4.0,
    "axes.labelpad": 2.5,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.labelsize": 6.5,
    "ytick.labelsize": 6.5,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "legend.fontsize": 7.0,
    "figure.titlesize": 8.0,
    "hatch.linewidth": 0.6,
    "savefig.dpi": 200,
    "svg.hashsalt": "tomeval",
    "text.parse_math": False,  # a name with dollar signs is a name
}

P = ParamSpec("P")
R = TypeVar("R")


def in_style(function: Callable[P, R]) -> Callable[P, R]:
    """Make a function draw in this style, whatever the user's matplotlibrc says."""

    @wraps(function)
    def styled(*args: P.args, **kwargs: P.kwargs) -> R:
        import matplotlib

        with matplotlib.rc_context():
            matplotlib.rcdefaults()
            settings: Any = matplotlib.rcParams
            settings.update(RC)
            return function(*args, **kwargs)

    return styled


def new_figure(
    width: float, height: float, rows: int = 1, columns: int = 1, **more: Any
) -> tuple[Figure, list[Axes]]:
    """Return a figure and its panels, row after row, outside pyplot's state and any window."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained", dpi=150)
    figure.get_layout_engine().set(w_pad=0.04, h_pad=0.04)  # type: ignore[union-attr,call-arg]
    panels = figure.subplots(rows, columns, squeeze=False, **more)
    return figure, list(np.ravel(panels))


def line_style(index: int) -> dict[str, Any]:
    """Return colour and dashes of the index-th subject's line; pairs repeat only after 64."""
    dashes = LINES[(index + index // len(COLOURS)) % len(LINES)]
    return {"color": COLOURS[index % len(COLOURS)], "ls": dashes}


def point_style(index: int) -> dict[str, Any]:
    """Return colour, marker and filling of the index-th subject's point; they repeat after 32."""
    colour = COLOURS[index % len(COLOURS)]
    filling = FILLINGS[index // len(COLOURS) % len(FILLINGS)]
    return {
        "color": colour,
        "marker": MARKERS[index % len(MARKERS)],
        "fillstyle": filling,
        "markeredgecolor": "white" if filling == "full" else colour,
        "markeredgewidth": 0.4 if filling == "full" else 1.0,
        "markersize": 8.0 if MARKERS[index % len(MARKERS)] == "*" else 5.5,
        "ls": "none",
    }


_PARTS = re.compile(r"[^_=/:(,-]*[_=/:(,-]+|[^_=/:(,-]+")


def fold(text: str, width: int) -> str:
    """Return a text in lines of at most `width` characters; nothing but spaces is left out.

    Lines end between words; only a word that is too long for a line is divided, if possible after
    a mark such as ``_`` or ``/``.

    Examples
    --------
    >>> print(fold("QA(option_order=shuffled), hf:owner/a-model", 16))
    QA(option_order=
    shuffled),
    hf:owner/a-model
    """
    # What is no character to draw, such as a line feed, divides words.
    shown = "".join(char if char.isprintable() else " " for char in visible(text))
    lines = [""]
    for word in shown.split():
        parts = _PARTS.findall(word) if len(word) > width else [word]
        lines[-1] += " " * bool(lines[-1])
        for part in parts:
            if len(lines[-1] + part) > width:
                lines.append("")
            while len(part) > width:
                lines[-1], part = part[:width], part[width:]
                lines.append("")
            lines[-1] += part
    return "\n".join(filter(None, (line.strip() for line in lines))) or " "


def lines_of(texts: Sequence[str]) -> int:
    """Return how many lines the tallest of some texts has."""
    return max((text.count("\n") + 1 for text in texts), default=1)


def add_legend(figure: Figure, handles: Sequence[Any], *, top: bool = False, **more: Any) -> None:
    """Put a legend below or above the panels: as many columns as fit, and room for its rows.

    With `top` an axis name fits below all panels, and ``title`` is the title of all of them.
    """
    size = 6.5 if figure.get_figwidth() < 5 else 7.0
    handle_length = more.setdefault("handlelength", 2)
    room = figure.get_figwidth() - 0.1
    beside = (handle_length + 0.8 + 1.2) * size / 72  # inches: the mark, its pad, the next column
    most = int((room - beside) / (0.0085 * size))
    for handle in handles:
        handle.set_label(fold(str(handle.get_label()), most))
    labels = [str(handle.get_label()) for handle in handles]
    columns = max(1, min(len(handles), int(room / (beside + text_width(labels, size)))))
    rows = -(-len(handles) // columns) + ("title" in more)
    height = 0.0205 * size * rows * lines_of(labels) + 0.08
    figure.set_figheight(figure.get_figheight() + height)
    figure.legend(
        handles=handles,
        loc="outside upper center" if top else "outside lower center",
        ncols=columns,
        frameon=False,
        fontsize=size,
        columnspacing=1.2,
        **more,
    )


def text_width(texts: Sequence[str], size: float) -> float:
    """Return the width in inches of the widest line of some texts."""
    from matplotlib.textpath import TextPath

    lines = [line for text in texts for line in text.split("\n") if line.strip()]
    widths = (TextPath((0, 0), line, size=size).get_extents().width for line in lines)
    return max(widths, default=0.0) / 72
