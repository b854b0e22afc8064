"""Where regret comes from: bars of belief, response and foresight, which add up to it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from tomeval.core.numbers import number
from tomeval.games.matrix.measures import MEASURES
from tomeval.games.matrix.results import matrix_cell
from tomeval.plots.drawing import (
    DEFAULT,
    Drawing,
    Options,
    axis_name,
    better_side,
    has_values,
    interval_words,
    measured,
    sample_words,
    with_interval,
)
from tomeval.plots.families import MOST_TOGETHER, Page, family_pages, row_panels, sheets, tasks
from tomeval.plots.style import COLOURS, add_head, in_style
from tomeval.runs.cell import RunCell
from tomeval.runs.results import Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PARTS = {
    "delta_tom_best_response_per_step": ("belief", COLOURS[0], ""),
    "response_gap_per_step": ("response", COLOURS[5], "//////"),
    "foresight_gap_per_step": ("foresight", "#FFFFFF", ""),
}
TOTAL = "delta_functional_per_step"


def decomposition(run: Run, options: Options = DEFAULT) -> list[Drawing]:
    """Draw the parts of ΔFunctional/T as bars, a row per subject and a panel per task."""
    from tomeval.comparing.decomposition import decompose

    drawings: list[Drawing] = []
    if TOTAL not in run.metric_names:  # no partner is known
        return drawings
    split = decompose(run, reference=options.reference)
    shares = {  # a row per cell, in the run's order
        cell: 100 * float(split.share[row, 0, 0]) for row, cell in enumerate(run.cells)
    }
    whole = [
        cell
        for members in tasks(run.cells).values()
        if any(has_values(cell, [*PARTS]) for cell in members)
        and all(matrix_cell(cell).adds_up for cell in members)
        for cell in members
    ]
    for family in sheets(whole, MOST_TOGETHER):
        for page in family_pages(family):
            parts = []
            for title, members in family.panels:
                said = "; ".join(_words(cell, shares, options) for _, cell in page.rows(members))
                parts.append(f"{title}: {said}")
            cells = [cell for _, members in family.panels for cell in members]
            drawings.append(
                Drawing(
                    "decomposition",
                    "_".join(filter(None, ("decomposition", family.stem))) + page.suffix,
                    decomposition_figure(page, options),
                    f"Parts of ΔFunctional/T: {family.title}{page.words}",
                    f"{family.title}: ΔFunctional/T (diamond) is the sum of three parts: belief, "
                    "what acting on one's own predictions costs; response, what not acting on them "
                    "costs; foresight, what one's moves did to the partner's later moves. Negative "
                    "parts count to the left of 0: foresight is negative where giving up a step's "
                    f"best move paid off later. Means over {sample_words(cells)}; thin lines: "
                    f"{interval_words(options, of=' of the sum')}.",
                    f"Belief, response, foresight and their sum. {'. '.join(parts)}.",
                )
            )
    return drawings


def _words(cell: RunCell, shares: Mapping[RunCell, float], options: Options) -> str:
    """Say a cell's parts and their sum, and the share of belief if there is one."""
    estimate = measured(cell, [*PARTS, TOTAL], options)
    parts = ", ".join(number(float(value)) for value in estimate.mean[:3])
    said = f"{cell.title} {parts}, sum {with_interval(estimate, 3)}"
    share = shares[cell]
    return said if np.isnan(share) else f"{said}, belief {number(share, 0)} % of it"


@in_style
def decomposition_figure(page: Page, options: Options) -> Figure:
    """Draw bars that add up: positive parts to the right of 0, negative ones to the left."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    titles = [title for title, _ in page.family.panels]
    figure, panels = row_panels(
        titles,
        page.subjects,
        f"parts of {axis_name(MEASURES[TOTAL])}{better_side(MEASURES[TOTAL])}",
        options,
        row_height=0.155,
    )
    for axes, (_, cells) in zip(panels, page.family.panels, strict=True):
        for row, cell in page.rows(cells):
            _bar(axes, row, cell, options)
        axes.use_sticky_edges = False
        axes.margins(x=0.04)
        axes.axvline(0, color="0.2", lw=0.6, zorder=3)
    handles = [
        Patch(facecolor=colour, hatch=hatch, edgecolor="0.15", lw=0.5, label=name)
        for name, colour, hatch in PARTS.values()
    ]
    total = Line2D(
        [], [], marker="D", color="black", lw=0.9, markersize=3.5, markeredgecolor="white",
        markeredgewidth=0.5, label="sum: ΔFunctional/T",
    )  # fmt: skip
    add_head(figure, page.family.title + page.words, [*handles, total])
    return figure


def _bar(axes: Axes, row: int, cell: RunCell, options: Options) -> None:
    """Draw one subject's bar; nothing where the parts have no value."""
    estimate = measured(cell, [*PARTS, TOTAL], options)
    if np.isnan(estimate.mean).any():
        return
    ends = {True: 0.0, False: 0.0}
    for value, (_, colour, hatch) in zip(estimate.mean[:3].tolist(), PARTS.values(), strict=True):
        start = ends[value > 0]
        axes.barh(
            row, value, left=start, height=0.66, facecolor=colour, hatch=hatch,
            edgecolor="0.15", lw=0.5, zorder=2,
        )  # fmt: skip
        ends[value > 0] = start + value
    if np.isfinite(estimate.low[3]):
        axes.plot([estimate.low[3], estimate.high[3]], [row, row], color="black", lw=0.9, zorder=4)
    axes.plot(
        estimate.mean[3], row, marker="D", color="black", markersize=3.5,
        markeredgecolor="white", markeredgewidth=0.5, zorder=5,
    )  # fmt: skip
