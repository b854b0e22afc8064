"""Interception by turn, as Alice predicts it and as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tomeval.domains.decrypto.figures.groups import INTERVALS, by_player
from tomeval.domains.decrypto.measures import CHANCE, turn_share
from tomeval.domains.decrypto.played import NONE, Played
from tomeval.plots.drawing import DEFAULT, Drawing, Options
from tomeval.plots.style import add_legend, fold, in_style, line_style, new_figure
from tomeval.runs.results import Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SERIES = {
    "predicted": "predicted_eve",
    "predicted, reminded": "predicted_eve_reminded",
    "actual": "interception_per_turn",
}
"""The lines of a panel, with the share of turns that each one shows."""


@in_style
def perspective_by_turn(run: Run, options: Options = DEFAULT) -> list[Drawing]:
    """Draw by turn how often Alice says that Eve will be right, and how often Eve is.

    A panel per Alice, over all Bobs and Eves she was asked about. In the first turn Eve can only
    guess: the mark at 1/24.
    """
    groups = by_player(run, "encoder", lambda p: bool((p.predicted["eve"] != NONE).any()))
    if not groups:
        return []
    columns = min(options.fits(1, 3), len(groups))
    rows = -(-len(groups) // columns)
    width = min(options.width, 0.8 + 2.4 * columns)
    figure, axes = new_figure(width, 2.1 * rows, rows, columns)
    told: list[str] = []
    handles: dict[str, Any] = {}
    for axis, (name, played) in zip(axes, groups.items(), strict=False):
        told.append(_turn_lines(axis, name, played))
        for handle in axis.get_legend_handles_labels()[0]:
            handles.setdefault(str(handle.get_label()), handle)
    for axis in axes[len(groups) :]:
        axis.set_visible(False)
    add_legend(figure, list(handles.values()), handlelength=3)
    title = "Interception, as Alice predicts it and as it is"
    caption = f"{title}, by turn; {INTERVALS}. Bar at turn 1: chance, 1/24."
    return [Drawing("perspective", "perspective_by_turn", figure, title, caption, "; ".join(told))]


def _turn_lines(axis: Axes, name: str, played: Played) -> str:
    """Draw one panel's lines and return them in words."""
    turns = sorted(set(played.turn.tolist()))
    told: list[str] = []
    for label, measure in SERIES.items():
        shares = [turn_share(played, measure, played.turn == turn) for turn in turns]
        if not any(share.items for share in shares):
            continue
        mean, low, high = (100 * np.array([share[end] for share in shares]) for end in range(3))
        style = line_style(len(told))
        axis.plot(turns, mean, label=label, marker="o", ms=3, lw=1.2, **style)
        axis.fill_between(turns, low, high, color=style["color"], alpha=0.15, lw=0)
        told.append(f"{label} " + ", ".join(f"{value:.0f}" for value in mean))
    axis.plot([0.7, 1.3], [100 * CHANCE] * 2, color="0.2", lw=2, label="chance in turn 1")
    axis.set_ylim(-3, 103)
    axis.set_xticks(turns)
    axis.set_xlabel("turn")
    axis.set_ylabel("Eve right (% of games)")
    axis.set_title(f"Alice: {fold(name, 30)}")
    return f"{name}: " + "; ".join(told)
