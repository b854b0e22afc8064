"""Belief probes of Eve, and Alice's predictions of her listeners: rows of tables, drawn."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tomeval.games.decrypto.measures import CHANCE, IN_VIEW
from tomeval.games.decrypto.tables import Row, table_rows
from tomeval.plots.dots import Ends, Panel, Series, dots_figure
from tomeval.plots.drawing import DEFAULT, Drawing, Options, sample_words
from tomeval.plots.families import all_words
from tomeval.plots.style import add_head, fold, in_style, line_style, new_figure, point_style
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

BELIEFS = {
    "weak_rc": "weak RC",
    "strong_rc": "strong RC",
    "weak_fb": "weak FB",
    "strong_fb": "strong FB",
    "consistent": "B = C",
}
PREDICTIONS = {
    "tom_eve": "Alice predicts Eve",
    "tom_eve_reminded": "Alice predicts Eve, reminded",
    "tom_bob": "Alice predicts Bob",
}
_OWN = "Eve's beliefs about her own and another's beliefs, her earlier answer "
_ABOUT = (
    "share of the turns on which she does not know the keywords. RC: representational change, FB: "
    "false belief; weak: the answer is not the true keywords, strong: it is her own earlier "
    "answer; B = C: she answers for herself and for another alike."
)
PROBES = {
    "beliefs": (_OWN + "not in view", "interceptor", BELIEFS, _ABOUT),
    "beliefs_in_view": (
        _OWN + "in view",
        "interceptor",
        {name + IN_VIEW: label for name, label in BELIEFS.items()},
        _ABOUT,
    ),
    "predictions": (
        "Accuracy of Alice's predictions (ToM %)",
        "encoder",
        PREDICTIONS,
        "share of the turns with a readable prediction.",
    ),
}
"""By file: the title, whose probes they are, the measures with their words, and what they are."""


def _ends(row: Row, name: str) -> Ends:
    column = f"{name}_percent"
    return row[column], row[f"{column}_ci95_low"], row[f"{column}_ci95_high"]


def _whole(axes: Axes, number: int) -> None:
    axes.set_xlim(-3, 103)


def probe_rates(run: Run, options: Options = DEFAULT) -> list[Drawing]:
    """Draw Eve's belief probes and the accuracy of Alice's predictions, a mark per player."""
    cells = [cell for cell in run.cells if len(cell.episodes)]
    told = f"{all_words(cells)}, {sample_words(cells, 'games')}"
    drawings = []
    for ending, (title, seat, words, about) in PROBES.items():
        table = "perspective" if seat == "encoder" else "beliefs"
        known = {
            row[seat]: [_ends(row, name) for name in words]
            for row in table_rows(table, run, [seat])
            if not all(math.isnan(row[f"{name}_percent"]) for name in words)
        }
        if not known:
            continue
        marks = {
            (row, player): ends
            for player, of_player in enumerate(known.values())
            for row, ends in enumerate(of_player)
        }
        figure = dots_figure(
            title,
            [Panel("", marks)],
            list(words.values()),
            "share of turns (%)",
            [Series(name, point_style(index)) for index, name in enumerate(known)],
            options,
            row_height=0.12 + 0.1 * len(known),
            gap=0.7 / len(known),
            finish=_whole,
        )
        said = "; ".join(
            f"{name}, {what}: {mean:.0f} %"
            for name, of_player in known.items()
            for what, (mean, *_) in zip(words.values(), of_player, strict=True)
        )
        caption = f"{title} ({told}; {INTERVALS}): {about}"
        drawings.append(Drawing("probes", f"probes_{ending}", figure, title, caption, said))
    return drawings


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
