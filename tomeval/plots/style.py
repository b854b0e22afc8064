"""How figures look, whatever the user's matplotlib settings but the font."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy as np

from tomeval.core.printing import wrap
from tomeval.core.text import visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

P = ParamSpec("P")
R = TypeVar("R")

SIZE = 7.5
SMALL = 7.0
"""Points; at 420 pixels across a figure for a screen has letters of 9 pixels."""

RC: dict[str, Any] = {
    "font.family": ["DejaVu Sans"],  # ships with matplotlib: the same picture everywhere
    "font.size": SIZE,
    "axes.titlesize": SIZE,
    "axes.labelsize": SIZE,
    "axes.titlepad": 4.0,
    "axes.labelpad": 2.5,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.labelsize": SMALL,
    "ytick.labelsize": SMALL,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "legend.fontsize": SMALL,
    "legend.title_fontsize": SIZE,
    "figure.titlesize": SIZE,
    "figure.titleweight": "bold",
    "figure.labelsize": SIZE,
    "hatch.linewidth": 0.6,
    "savefig.dpi": 300,
    "pdf.fonttype": 42,  # TrueType: journals refuse type 3, and text can be edited
    "svg.hashsalt": "tomeval",  # the same run gives the same file
    "text.parse_math": False,  # a name with dollar signs is a name
}

WIDTHS = {"screen": 4.33, "single": 3.35, "double": 6.9}
"""Inches: a telephone or half a window (110 mm), one column of a page (85), the page (175)."""

# After Okabe and Ito, whose colours colour-blind people tell apart; shades that stand out from
# white and from the dark page of the report alike. With each its own line and marker, which stay
# in grey. Black is the ink of the page.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#C76A9E", "#2A93B8", "#B88000", "#000000", "#8A5FBF")
LINES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)), (0, (7, 2)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">", "p", "h", "d", "8", "H")
FILLINGS = ("full", "none", "left", "top")
BASELINE = "0.25"
BASELINE_LINE: dict[str, Any] = {"color": BASELINE, "lw": 1.1, "ls": (0, (4, 1.5))}


def in_style(function: Callable[P, R]) -> Callable[P, R]:
    """Make a function draw in this style, and leave matplotlib's settings as they were."""

    @wraps(function)
    def styled(*args: P.args, **kwargs: P.kwargs) -> R:
        import matplotlib

        settings: Any = matplotlib.rcParams
        family = settings["font.family"]  # the user's, as names may need letters that ours lacks
        own = {} if family == matplotlib.rcParamsDefault["font.family"] else {"font.family": family}
        with matplotlib.rc_context():
            matplotlib.rcdefaults()
            settings.update(RC | own)
            return function(*args, **kwargs)

    return styled


def new_figure(
    width: float, height: float, rows: int = 1, columns: int = 1, count: int = 0, **more: Any
) -> tuple[Figure, list[Axes]]:
    """Return a figure and its panels, row after row, outside pyplot's state and any window.

    `count` is how many panels are wanted, default all; the others are left out, and the lowest one
    of every column has tick labels, also where panels share their axes.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained", dpi=150)
    figure.get_layout_engine().set(w_pad=0.04, h_pad=0.04)  # type: ignore[union-attr,call-arg]
    panels = list(np.ravel(figure.subplots(rows, columns, squeeze=False, **more)))
    count = count or len(panels)
    for axes in panels[count:]:
        axes.remove()
    for axes in panels[max(0, count - columns) : count]:
        axes.tick_params(axis="x", labelbottom=True)
    return figure, panels[:count]


def line_style(index: int) -> dict[str, Any]:
    """Return colour and dashes of the index-th subject's line; pairs repeat only after 64."""
    dashes = LINES[(index + index // len(COLOURS)) % len(LINES)]
    return {"color": COLOURS[index % len(COLOURS)], "ls": dashes}


def point_style(index: int, filling: int | None = None) -> dict[str, Any]:
    """Return colour, marker and filling of the index-th subject's point.

    They repeat after 32; with a `filling` of its own, such as that of the subject's model, marker
    and colour repeat after 120.
    """
    colour = COLOURS[index % len(COLOURS)]
    count = len(COLOURS) if filling is None else len(MARKERS)
    marker = MARKERS[index % count]
    fill = FILLINGS[(index // len(COLOURS) if filling is None else filling) % len(FILLINGS)]
    return {
        "color": colour,
        "marker": marker,
        "fillstyle": fill,
        "markeredgecolor": "white" if fill == "full" else colour,
        "markeredgewidth": 0.4 if fill == "full" else 1.0,
        "markersize": 8.0 if marker == "*" else 5.5,
        "ls": "none",
    }


def fold(text: str, width: int) -> str:
    """Return a text in lines of at most `width` characters, see `tomeval.core.text.wrap`.

    Examples
    --------
    >>> print(fold("QA(option_order=shuffled), hf:owner/a-model", 16))
    QA(option_order=
    shuffled),
    hf:owner/a-model
    """
    # What is no character to draw, such as a line feed, divides words.
    shown = "".join(char if char.isprintable() else " " for char in visible(text)).strip()
    return "\n".join(wrap(shown, width)) or " "


def lines_of(texts: Sequence[str]) -> int:
    """Return how many lines the tallest of some texts has."""
    return max((text.count("\n") + 1 for text in texts), default=1)


def add_head(figure: Figure, title: str, handles: Sequence[Any] = (), **more: Any) -> None:
    """Write above all panels what a picture shows, with a legend if there are handles."""
    if handles:
        add_legend(figure, handles, top=True, title=title, **more)
        return
    shown = fold(title, _letters(figure, SIZE))
    figure.suptitle(shown)
    figure.set_figheight(figure.get_figheight() + 0.14 * lines_of([shown]) + 0.05)


def _letters(figure: Figure, size: float) -> int:
    """Return how many letters of a size, bold ones too, fit a line."""
    return int((figure.get_figwidth() - 0.1) / (0.0088 * size))


def add_legend(figure: Figure, handles: Sequence[Any], *, top: bool = False, **more: Any) -> None:
    """Put a legend below or above the panels: as many columns as fit, and room for its rows.

    With `top` an axis name fits below all panels, and ``title`` is the title of all of them.
    """
    size = SMALL
    handle_length = more.setdefault("handlelength", 2)
    room = figure.get_figwidth() - 0.1
    beside = (handle_length + 0.8 + 1.2) * size / 72  # inches: the mark, its pad, the next column
    most = int((room - beside) / (0.0085 * size))
    for handle in handles:
        handle.set_label(fold(str(handle.get_label()), most))
    labels = [str(handle.get_label()) for handle in handles]
    columns = max(1, min(len(handles), int(room / (beside + text_width(labels, size)))))
    rows = -(-len(handles) // columns)
    height = 0.0205 * size * rows * lines_of(labels) + 0.08
    if "title" in more:
        more["title"] = fold(more["title"], _letters(figure, SIZE))
        more["title_fontproperties"] = {"weight": "bold", "size": SIZE}
        height += 0.0205 * SIZE * lines_of([more["title"]])
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
