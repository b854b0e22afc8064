"""Players against players: the estimate of regret beside ToM %, a row per seat of every pairing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tomeval.core.numbers import between, number
from tomeval.domains.matrix.storing import PARTNER, SEAT
from tomeval.extensions.fitted.tables import REGRETS, sides
from tomeval.plots.dots import Ends, Panel, Series, dots_figure, ends_of
from tomeval.plots.drawing import DEFAULT, INTERVAL_WORDS, Drawing, Options
from tomeval.plots.families import MOST_TOGETHER, pages
from tomeval.plots.style import COLOURS, point_style
from tomeval.runs.results import Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NAME = "fitted"
REGRET, TOM = "ΔFunctional/T (fitted), payoff units", "ToM %"
_RANGE = "0.72"
_HOLLOW: dict[str, Any] = {"markeredgecolor": COLOURS[0], "mfc": "white"}
_SEATS = {
    SEAT: Series(f"the {SEAT}'s seat", point_style(0) | {"markersize": 4.5}),
    PARTNER: Series(f"the {PARTNER}'s seat", point_style(0) | {"markersize": 4.5} | _HOLLOW),
}


class _Row(NamedTuple):
    """What is drawn of one seat, each with its interval."""

    title: str
    seat: str
    regret: Ends
    least: Ends
    most: Ends
    tom: Ends


def fitted_pairings(run: Run, options: Options = DEFAULT) -> list[Drawing]:
    """Draw both seats of every pairing, a picture per game, label set and horizon."""
    tasks: dict[tuple[Any, ...], list[_Row]] = {}
    for side in sides(run):
        if side.played.episodes:
            values = side.estimate((*REGRETS, "tom_percent"))
            row = _Row(
                f"{side.who} against {side.other}",
                side.seat,
                *(ends_of(values, index) for index in range(4)),
            )
            task = tuple(side.cell.columns[name] for name in ("game", "labels", "horizon"))
            tasks.setdefault(task, []).append(row)
    drawings = []
    for (game, labels, horizon), rows in tasks.items():
        title = f"{game} ({labels}), T = {horizon}"
        parts = list(pages(rows, MOST_TOGETHER))
        for place, part in enumerate(parts, 1):
            stem = f"{NAME}_{game}_{labels}_T{horizon}"
            drawings.append(
                Drawing(
                    NAME,
                    stem + (f"_{place}" if len(parts) > 1 else ""),
                    _figure(title, part, options),
                    f"Regret against fitted partners, and ToM %: {title}",
                    f"{title}: every row is one player against another, in the seat that its mark "
                    "says. Left: an estimate of regret per step against the best reply to the "
                    "machine of short memory that fits the other player best, with its 95 % "
                    "interval, which holds the uncertainty of the fit. Grey: where that would hang "
                    "on what the other did too seldom, the games do not determine the regret; it "
                    "lies between the least and the most that fit them, with their intervals. "
                    "Right: share of the other's actions that were predicted; "
                    f"{INTERVAL_WORDS['auto']}.",
                    f"{REGRET}, and {TOM}. {'; '.join(map(_words, part))}.",
                )
            )
    return drawings


def _words(row: _Row) -> str:
    """Say what is drawn of a seat."""
    mean, low, high = row.regret
    regret = "not known"
    if np.isfinite(mean):
        regret = number(mean) + (f" ({between(low, high)})" if np.isfinite(low) else "")
    elif np.isfinite(row.least[0]):
        regret = f"from {number(row.least[0])} to {number(row.most[0])}, not determined"
    tom = f", ToM % {number(row.tom[0])}" if np.isfinite(row.tom[0]) else ""
    return f"{row.title} ({row.seat}): {regret}{tom}"


def _figure(title: str, rows: Sequence[_Row], options: Options) -> Figure:
    """Draw two panels that share their rows: the estimate of regret, and ToM %."""
    from matplotlib.patches import Patch

    seats = list(_SEATS)

    def ranges(axes: Axes, place: int) -> None:
        if place:
            axes.set_xlim(-4, 104)
            return
        for y, row in enumerate(rows):
            if np.isfinite(row.least[0]) and not np.isfinite(row.regret[0]):
                width = row.most[0] - row.least[0]
                axes.barh(y, width, left=row.least[0], height=0.42, color=_RANGE, lw=0, zorder=2)
                axes.plot([row.least[1], row.most[2]], [y] * 2, color=_RANGE, lw=1.4, zorder=2)
        axes.axvline(0, color="0.6", lw=0.6, zorder=1)
        axes.use_sticky_edges = False
        axes.margins(x=0.06)

    panels = [
        Panel(name, {(y, seats.index(row.seat)): ends for y, (row, ends) in enumerate(shown)})
        for name, shown in (
            (REGRET, [(row, row.regret) for row in rows]),
            (TOM, [(row, row.tom) for row in rows]),
        )
    ]
    return dots_figure(
        title,
        panels,
        [row.title for row in rows],
        "regret: less is better; ToM %: more is better",
        list(_SEATS.values()),
        options,
        row_height=0.17,
        gap=0.0,
        columns=2,
        finish=ranges,
        handles=[Patch(color=_RANGE, label="not determined: from the least to the most")],
    )
