"""Players against players: the estimate of regret beside ToM %, a row per seat of every pairing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tomeval.core.numbers import between, number
from tomeval.domains.matrix.storing import PARTNER, SEAT
from tomeval.extensions.fitted.tables import SHOWN, Side, sides
from tomeval.plots.drawing import DEFAULT, INTERVAL_WORDS, Drawing, Options
from tomeval.plots.families import MOST_TOGETHER, pages, row_panels
from tomeval.plots.settings import in_style
from tomeval.plots.style import COLOURS, add_head, point_style
from tomeval.runs.results import Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NAME = "fitted"
REGRET, TOM = "ΔFunctional/T (fitted), payoff units", "ToM %"
_COLUMNS = (*SHOWN.values(), "tom_percent")
_RANGE = "0.72"
_LOOKS: dict[str, dict[str, Any]] = {
    SEAT: point_style(0) | {"markersize": 4.5},
    PARTNER: point_style(0) | {"markersize": 4.5, "markeredgecolor": COLOURS[0], "mfc": "white"},
}


class _Row(NamedTuple):
    """What is drawn of one seat: regret, its least and most, ToM %, each with its interval."""

    title: str
    seat: str
    mean: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]

    @classmethod
    def of(cls, side: Side) -> _Row:
        found = side.estimate(_COLUMNS)
        ends = (tuple(map(float, end)) for end in (found.mean, found.low, found.high))
        return cls(f"{side.who} against {side.other}", side.seat, *ends)


def fitted_pairings(run: Run, options: Options = DEFAULT) -> list[Drawing]:
    """Draw both seats of every pairing, a picture per game, label set and horizon."""
    tasks: dict[tuple[str, ...], list[_Row]] = {}
    for side in sides(run):
        if side.played.episodes:
            said = side.cell.columns
            task: tuple[str, ...] = (
                f"{said['game']}",
                f"({said['labels']})",
                f"T = {said['horizon']}",
            )
            tasks.setdefault(task, []).append(_Row.of(side))
    drawings = []
    for task, rows in tasks.items():
        title = f"{task[0]} {task[1]}, {task[2]}"
        parts = list(pages(rows, MOST_TOGETHER))
        for place, part in enumerate(parts, 1):
            stem = "_".join((NAME, *(word.strip("()").replace("T = ", "T") for word in task)))
            drawings.append(
                Drawing(
                    NAME,
                    stem + (f"_{place}" if len(parts) > 1 else ""),
                    pairings_figure(title, part, options),
                    f"Regret against fitted partners, and ToM %: {title}",
                    _caption(title),
                    _describe(part),
                )
            )
    return drawings


def _caption(title: str) -> str:
    return (
        f"{title}: every row is one player against another, in the seat that its mark says. Left: "
        "an estimate of regret per step against the best reply to the machine of short memory that "
        "fits the other player best, with its 95 % interval, which holds the uncertainty of the "
        "fit. Grey: where that would hang on what the other did too seldom, the games do not "
        "determine the regret; it lies between the least and the most that fit them, with their "
        "intervals. Right: share of the other's actions that were predicted; "
        f"{INTERVAL_WORDS['auto']}."
    )


def _describe(rows: Sequence[_Row]) -> str:
    parts = []
    for row in rows:
        regret = f"from {number(row.mean[1])} to {number(row.mean[2])}, not determined"
        if np.isfinite(row.mean[0]):
            regret = number(row.mean[0])
            if np.isfinite(row.low[0]):
                regret += f" ({between(row.low[0], row.high[0])})"
        elif not np.isfinite(row.mean[1]):
            regret = "not known"
        tom = f", ToM % {number(row.mean[3])}" if np.isfinite(row.mean[3]) else ""
        parts.append(f"{row.title} ({row.seat}): {regret}{tom}")
    return f"{REGRET}, and {TOM}. {'; '.join(parts)}."


@in_style
def pairings_figure(title: str, rows: Sequence[_Row], options: Options) -> Figure:
    """Draw two panels that share their rows: the estimate of regret, and ToM %."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    figure, (left, right) = row_panels(
        [REGRET, TOM],
        [row.title for row in rows],
        "regret: less is better; ToM %: more is better",
        options,
        columns=2,
        row_height=0.17,
    )
    for place, row in enumerate(rows):
        if np.isfinite(row.mean[1]) and not np.isfinite(row.mean[0]):
            width = row.mean[2] - row.mean[1]
            left.barh(place, width, left=row.mean[1], height=0.42, color=_RANGE, lw=0, zorder=2)
            left.plot([row.low[1], row.high[2]], [place] * 2, color=_RANGE, lw=1.4, zorder=2)
        _point(left, place, row, 0)
        _point(right, place, row, 3)
    left.axvline(0, color="0.6", lw=0.6, zorder=1)
    left.use_sticky_edges = False
    left.margins(x=0.06)
    right.set_xlim(-4, 104)
    handles = [
        *(
            Line2D([], [], label=f"the {seat}'s seat", **look)
            for seat, look in _LOOKS.items()
            if any(row.seat == seat for row in rows)
        ),
        Patch(color=_RANGE, label="not determined: from the least to the most"),
    ]
    add_head(figure, title, handles)
    return figure


def _point(axes: Axes, place: int, row: _Row, index: int) -> None:
    """Draw one estimate with its interval, if it has a value."""
    if not np.isfinite(row.mean[index]):
        return
    if np.isfinite(row.low[index]):
        ends = [row.low[index], row.high[index]]
        axes.plot(ends, [place, place], color=COLOURS[0], lw=1.4, zorder=3)
    axes.plot(row.mean[index], place, zorder=4, **_LOOKS[row.seat])
