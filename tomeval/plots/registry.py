"""All figures by name, and how to draw those that a run supports."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tomeval.core.errors import TomevalError, unknown
from tomeval.domains.matrix.figures.curves import regret_curves, tom_curves
from tomeval.domains.matrix.figures.decomposition import decomposition
from tomeval.domains.matrix.figures.label_bias import label_bias
from tomeval.domains.matrix.figures.scatter import scatter
from tomeval.plots.differences import differences
from tomeval.plots.drawing import DEFAULT, Drawing, Options
from tomeval.plots.forest import forest
from tomeval.plots.output import safe_stems
from tomeval.plots.profiles import performance_profiles
from tomeval.runs.results import Run

FIGURES: dict[str, Callable[[Run, Options], list[Drawing]]] = {
    "regret": regret_curves,
    "tom": tom_curves,
    "forest": forest,
    "differences": differences,
    "scatter": scatter,
    "decomposition": decomposition,
    "profiles": performance_profiles,
    "label_bias": label_bias,
}
"""What draws each figure: empty where the run's data does not support it."""


def draw(
    run: Run,
    only: Sequence[str] = (),
    options: Options = DEFAULT,
) -> list[Drawing]:
    """Draw figures of a run, each with caption and description.

    Parameters
    ----------
    run : Run
    only : sequence of str
        Names in `FIGURES`; default: all that the run's data supports.
    options : Options

    Raises
    ------
    TomevalError
        An unknown name, a named figure that the data does not support, or a run without any
        complete episode.
    """
    for name in only:
        if name not in FIGURES:
            raise unknown("figure", name, FIGURES)
    if not any(cell.played.episodes for cell in run.cells):
        raise TomevalError(f"{run.folder}: has no complete episode yet, nothing to plot")
    drawings = []
    for name in FIGURES if not only else dict.fromkeys(only):
        found = FIGURES[name](run, options)
        if only and not found:
            raise TomevalError(f"{run.folder}: its data does not support the figure {name!r}")
        drawings += found
    return safe_stems(drawings)
