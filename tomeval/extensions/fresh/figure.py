"""Famous games beside their twins: a line per player, from what it was to what it became."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tomeval.core.numbers import number
from tomeval.domains.matrix.measures import MEASURES as KNOWN_MEASURES
from tomeval.extensions.fresh.memory import ANY, MEASURES, REGRET, Line, lines, pairs
from tomeval.extensions.fresh.tables import verdicts, who
from tomeval.plots.drawing import DEFAULT, Drawing, Options, axis_name
from tomeval.plots.settings import in_style
from tomeval.plots.style import add_head, line_style, new_figure, point_style
from tomeval.runs.results import Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SIDE = {-1: "less is better", 0: "", 1: "more is better"}


def memory(run: Run, options: Options = DEFAULT) -> list[Drawing]:
    """Draw every player's means in famous games and, by disguise, in their twins."""
    paired = pairs([run])
    shown = [line for line in lines(paired) if line.game == "all" and np.isfinite(line.famous)]
    kinds = list(dict.fromkeys(line.disguised for line in shown if line.disguised != ANY)) or [ANY]
    words = "; ".join(
        f"{who(line.player.values())}, {line.disguised}: "
        f"{KNOWN_MEASURES[MEASURES[line.measure]].heading} "
        f"{number(line.famous)} in famous games, {number(line.twin)} in twins"
        for line in shown
    )
    caption = ". ".join(verdicts(paired)) + (
        ". Means over the famous games (left in each panel) and over their twins (right), a line "
        "per player and a column per disguise; regret of twins in the famous games' payoffs. Bars: "
        "95 % interval of the paired difference, drawn at the twin. A rising line in the upper row "
        "is a player that does worse where the game is disguised."
    )
    made = _figure(shown, kinds, options)
    return [Drawing("memory", "memory", made, "Famous games and their twins", caption, words)]


@in_style
def _figure(shown: list[Line], kinds: list[str], options: Options) -> Figure:
    """Draw a row per measure and a column per disguise."""
    from matplotlib.lines import Line2D

    players = list(dict.fromkeys(who(line.player.values()) for line in shown))
    measures = sorted({line.measure for line in shown})
    size = (options.width, 0.5 + 1.6 * len(measures))
    figure, panels = new_figure(*size, len(measures), len(kinds), sharex=True, sharey="row")
    grid = [panels[k * len(kinds) : (k + 1) * len(kinds)] for k in range(len(measures))]
    for row, measure in zip(grid, measures, strict=True):
        known = KNOWN_MEASURES[MEASURES[measure]]
        row[0].set_ylabel(f"{axis_name(known)}\n{_SIDE[known.better]}")
        for axes, kind in zip(row, kinds, strict=True):
            _panel(axes, shown, players, measure, kind)
    for axes, kind in zip(grid[0], kinds, strict=True):
        axes.set_title(kind)
    handles = [Line2D([], [], label=player, **_look(k)) for k, player in enumerate(players)]
    add_head(figure, "Famous games and their twins", handles)
    return figure


def _look(place: int) -> dict[str, Any]:
    """Return how the lines of a player are drawn."""
    return {**point_style(place), **line_style(place), "markersize": 4.0, "lw": 1.1}


def _panel(axes: Axes, shown: list[Line], players: list[str], measure: int, kind: str) -> None:
    """Draw the lines of one measure and disguise."""
    wide = 0.12 * (len(players) - 1)
    for index, player in enumerate(players):
        for line in shown:
            if (who(line.player.values()), line.measure, line.disguised) != (player, measure, kind):
                continue
            at = 1 + (0.12 * index - wide / 2)
            axes.plot([0, at], [line.famous, line.twin], **_look(index))
            if np.isfinite(line.effect.low):
                ends = [line.famous + line.effect.low, line.famous + line.effect.high]
                axes.plot([at, at], ends, color=_look(index)["color"], lw=0.9)
    axes.set_xticks([0, 1], ["famous", "twin"])
    axes.set_xlim(-0.25, 1.4)
    if MEASURES[measure] == REGRET:
        axes.axhline(0, color="0.2", lw=0.6)
