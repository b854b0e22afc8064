"""Label bias: which labels and which option positions a subject chooses and predicts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tomeval.core.numbers import number
from tomeval.domains.matrix.label_shares import Shares, label_shares
from tomeval.domains.matrix.played import FloatArray
from tomeval.domains.matrix.results import MatrixRunCell, matrix_cell
from tomeval.plots.drawing import DEFAULT, INTERVAL_WORDS, Drawing, Options
from tomeval.plots.families import pages, tasks
from tomeval.plots.rows import MOST_ROWS, row_panels
from tomeval.plots.style import COLOURS, MARKERS, add_legend, in_style
from tomeval.runs.results import Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CAPTION = (
    "Share of steps on which each label was chosen (left) and predicted (right), a row per "
    "subject with {interval}. Dashed: equal shares. Upright ticks: what to expect instead. For "
    "choices they are the mean of the probabilities that the subject stated, where it stated any; "
    "for predictions, how often the partner truly played the label."
)
POSITIONS = (
    " By position: the same by the place of the option in the question; the ticks are what the "
    "subject's shares by label alone would give, so that a dot away from its tick is a preference "
    "for the place."
)
NO_POSITIONS = (
    " The options stood in the same order in all episodes, so place and label cannot be told "
    "apart; 'option_order = \"shuffled\"' does."
)


def label_bias(run: Run, options: Options = DEFAULT) -> list[Drawing]:
    """Draw how often each label and position is chosen and predicted, a figure per task."""
    drawings = []
    for task, found in tasks(run.cells).items():
        cells = [matrix_cell(cell) for cell in found]
        shares = {cell.number: label_shares(run.store, cell) for cell in cells}
        parts = list(pages(cells, MOST_ROWS))
        for index, page in enumerate(parts):
            more = len(parts) > 1
            placed = any(shares[cell.number]["chosen"].by_position is not None for cell in page)
            models = any(cell.definition["model"] for cell in page)
            caption = CAPTION.format(interval=INTERVAL_WORDS[options.interval])
            caption += POSITIONS if placed else NO_POSITIONS if models else ""
            drawings.append(
                Drawing(
                    "label_bias",
                    f"label_bias_{task.stem}" + f"_{index + 1}" * more,
                    label_figure(page, shares, str(task), options),
                    f"Label bias: {task}" + f", page {index + 1} of {len(parts)}" * more,
                    caption,
                    _describe(page, shares, placed),
                )
            )
    return drawings


def _describe(
    cells: Sequence[MatrixRunCell], shares: dict[int, dict[str, Shares]], placed: bool
) -> str:
    """Say every subject's shares in percent."""
    said = []
    for cell in cells:
        found = shares[cell.number]
        words = []
        for form, labels in (("chosen", cell.labels.own), ("predicted", cell.labels.partner)):
            if form not in found:
                words.append("predicted –, as it was not asked")
                continue
            mean = 100 * found[form].by_label.mean(axis=0)
            each = (f"{label} {number(v, 0)}" for label, v in zip(labels, mean, strict=True))
            words.append(f"{form} {', '.join(each)}")
            by_position = found[form].by_position
            if placed and by_position is not None:
                at = ", ".join(number(100 * float(v), 0) for v in by_position.mean(axis=0))
                words.append(f"{form} by position {at}")
        said.append(f"{cell.title}: {'; '.join(words)}")
    return f"Shares in percent. {'. '.join(said)}."


@in_style
def label_figure(
    cells: Sequence[MatrixRunCell],
    shares: dict[int, dict[str, Shares]],
    title: str,
    options: Options = DEFAULT,
) -> Figure:
    """Draw the shares of one task: two panels by label, and two by position if there are any."""
    forms = dict.fromkeys(form for cell in cells for form in shares[cell.number])
    placed = [
        (form, "position")
        for form in forms
        if any(
            form in shares[cell.number] and shares[cell.number][form].by_position is not None
            for cell in cells
        )
    ]
    panels = [(form, "label") for form in forms] + placed
    most = max(cells[0].game.n, cells[0].game.m)
    figure, all_axes = row_panels(
        [f"{form}, by {by}" for form, by in panels],
        [cell.title for cell in cells],
        "% of steps",
        options,
        columns=2,
        row_height=0.07 + 0.05 * most,
    )
    for axes, (form, by) in zip(all_axes, panels, strict=True):
        count = cells[0].game.n if form == "chosen" else cells[0].game.m
        axes.axvline(100 / count, color="0.4", lw=0.8, ls=(0, (4, 2)), zorder=1)
        for row, cell in enumerate(cells):
            found = shares[cell.number].get(form)
            if found is None:
                continue
            if by == "label":
                _marks(axes, row, found.by_label, found.expected_by_label, cell, options)
            elif found.by_position is not None:
                _marks(axes, row, found.by_position, found.expected_by_position, cell, options)
        axes.set_xlim(-4, 104)
    add_legend(figure, _handles(cells[0], bool(placed)), top=True, title=title)
    return figure


def _marks(
    axes: Axes,
    row: int,
    values: FloatArray,
    expected: FloatArray | None,
    cell: MatrixRunCell,
    options: Options,
) -> None:
    """Draw one subject's shares, one below the other within its row."""
    found = cell.mean(100 * values, options.interval)
    count = values.shape[1]
    for index in range(count):
        place = row + 0.6 * ((index + 0.5) / count - 0.5)
        colour = COLOURS[index % len(COLOURS)]
        if np.isfinite(found.low[index]):
            ends = np.clip([found.low[index], found.high[index]], 0, 100)
            axes.plot(ends, [place, place], color=colour, lw=1.0, zorder=3)
        if expected is not None:
            axes.plot(
                100 * expected[index], place, marker="|", color="0.1", markersize=6,
                markeredgewidth=1.1, zorder=4,
            )  # fmt: skip
        axes.plot(
            found.mean[index], place, marker=MARKERS[index % len(MARKERS)], color=colour,
            markersize=3.6, markeredgecolor="white", markeredgewidth=0.3, zorder=5,
        )  # fmt: skip


def _handles(cell: MatrixRunCell, placed: bool) -> list[Any]:
    """Return the legend: what every mark stands for."""
    from matplotlib.lines import Line2D

    handles = []
    for index in range(max(cell.game.n, cell.game.m)):
        names = dict.fromkeys(
            side[index] for side in (cell.labels.own, cell.labels.partner) if index < len(side)
        )
        label = " / ".join(names) + f"; position {index + 1}" * placed
        style: dict[str, Any] = {"ls": "none", "markersize": 4.5, "label": label}
        style |= {"marker": MARKERS[index % len(MARKERS)], "color": COLOURS[index % len(COLOURS)]}
        handles.append(Line2D([], [], **style))
    handles.append(
        Line2D([], [], ls="none", marker="|", color="0.1", ms=7, mew=1.1, label="expected")
    )
    handles.append(Line2D([], [], color="0.4", lw=0.8, ls=(0, (4, 2)), label="equal shares"))
    return handles
