"""Interception by turn, as Alice predicts it and as it is: rows of a table, drawn."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tomeval.games.decrypto.measures import CHANCE
from tomeval.games.decrypto.tables import Row, table_rows
from tomeval.plots.dots import Ends
from tomeval.plots.drawing import DEFAULT, Drawing, Options, sample_words
from tomeval.plots.families import all_words
from tomeval.plots.style import add_head, fold, in_style, line_style, new_figure
from tomeval.runs.results import Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INTERVALS = "95 % intervals over games"

SERIES = {
    "predicted": "predicted_eve",
    "predicted, reminded": "predicted_eve_reminded",
    "actual": "interception",
}
"""The lines of a panel, with the column that each one shows."""


def _ends(row: Row, name: str) -> Ends:
    column = f"{name}_percent"
    return row[column], row[f"{column}_ci95_low"], row[f"{column}_ci95_high"]


@in_style
def perspective_by_turn(run: Run, options: Options = DEFAULT) -> list[Drawing]:
    """Draw by turn how often Alice says that Eve will be right, and how often Eve is.

    A panel per Alice, over all Bobs and Eves she was asked about. In the first turn Eve can only
    guess: the mark at 1/24.
    """
    groups: dict[str, list[Row]] = {}
    for row in table_rows("turns", run, ["encoder"]):
        groups.setdefault(row["encoder"], []).append(row)
    predicted = f"{SERIES['predicted']}_percent"
    groups = {
        name: rows
        for name, rows in groups.items()
        if not all(math.isnan(row[predicted]) for row in rows)
    }
    if not groups:
        return []
    columns = min(options.fits(2, 3), len(groups))
    rows = -(-len(groups) // columns)
    cells = [cell for cell in run.cells if len(cell.episodes)]
    figure, axes = new_figure(options.width, 2.1 * rows, rows, columns, len(groups))
    told: list[str] = []
    handles: dict[str, Any] = {}
    for axis, (name, of_turns) in zip(axes, groups.items(), strict=True):
        told.append(_turn_lines(axis, name, of_turns))
        for handle in axis.get_legend_handles_labels()[0]:
            handles.setdefault(str(handle.get_label()), handle)
    title = "Interception, as Alice predicts it and as it is"
    among = all_words(cells)
    add_head(
        figure, f"{title}: {among}" if among else title, list(handles.values()), handlelength=3
    )
    caption = (
        f"{title}, by turn, {among}, {sample_words(cells, 'games')}; {INTERVALS}. Bar at turn 1: "
        "chance, 1/24."
    )
    return [Drawing("perspective", "perspective", figure, title, caption, "; ".join(told))]


def _turn_lines(axis: Axes, name: str, rows: Sequence[Row]) -> str:
    """Draw one panel's lines and return them in words."""
    turns = [row["turn"] for row in rows]
    told: list[str] = []
    for label, measure in SERIES.items():
        mean, low, high = zip(*(_ends(row, measure) for row in rows), strict=True)
        if all(map(math.isnan, mean)):
            continue
        style = line_style(len(told))
        axis.plot(turns, mean, label=label, marker="o", ms=3, lw=1.2, **style)
        axis.fill_between(turns, low, high, color=style["color"], alpha=0.15, lw=0)
        told.append(f"{label} " + ", ".join(f"{value:.0f}" for value in mean))
    axis.plot([0.7, 1.3], [100 * CHANCE] * 2, color="0.2", lw=2, label="chance in turn 1")
    axis.set_ylim(-3, 103)
    axis.set_xticks(turns)
    axis.set_xlabel("turn")
    axis.set_ylabel("Eve right (% of games)")
    axis.set_title(fold(f"Alice: {name}", 24))
    return f"{name}: " + "; ".join(told)
