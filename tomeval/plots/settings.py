"""The style that figures are drawn in, whatever the user's matplotlib settings but the font."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any, ParamSpec, TypeVar

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
    "ps.fonttype": 42,
    "svg.hashsalt": "tomeval",  # the same run gives the same file
    "text.usetex": False,  # names are text, not commands
    "text.parse_math": False,  # a name with dollar signs is a name
    "axes.formatter.use_mathtext": False,
}

P = ParamSpec("P")
R = TypeVar("R")

_PLAIN = ContextVar("_PLAIN", default=False)


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


@contextmanager
def plain_style() -> Iterator[None]:
    """Draw without titles, for pictures that are parts of a page, which has headings of its own."""
    before = _PLAIN.set(True)
    try:
        yield
    finally:
        _PLAIN.reset(before)


def on_page() -> bool:
    """Tell whether pictures are parts of a page, see `plain_style`."""
    return _PLAIN.get()
