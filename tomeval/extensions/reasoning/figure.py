"""Reasoning consistency: what the text expects beside the probe, the action and the partner."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tomeval.core.numbers import number
from tomeval.extensions.reasoning.measures import AGREES, FOLLOWED, MEASURES, NAME, READ, RIGHT
from tomeval.extensions.reasoning.tables import reasoning_rows
from tomeval.plots.drawing import (
    DEFAULT,
    SHARE_INTERVALS,
    Drawing,
    Options,
    has_values,
    measured,
    sample_words,
    with_interval,
)
from tomeval.plots.families import MOST_ABREAST, Page, family_pages, row_panels, sheets
from tomeval.plots.settings import in_style
from tomeval.plots.style import COLOURS, MARKERS, add_head
from tomeval.runs.cell import RunCell
from tomeval.runs.results import Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SHOWN = {
    AGREES: "agreement_by_chance_percent",
    FOLLOWED: "following_by_chance_percent",
    RIGHT: "",
}
"""The measures that are drawn, with the column of what chance alone would give."""

_BY_NAME = {measure.name: measure for measure in MEASURES}

Chances = dict[int, dict[str, Any]]


def consistency(run: Run, options: Options = DEFAULT) -> list[Drawing]:
    """Draw how often the text's expectation is the prediction, is acted on, and is right."""
    cells = [cell for cell in run.cells if has_values(cell, [AGREES]) or has_values(cell, [RIGHT])]
    if not cells:
        return []
    rows = reasoning_rows(run)
    told = [cell for cell in run.cells if has_values(cell, [READ])]
    chances = {cell.number: row for cell, row in zip(told, rows, strict=True)}
    drawings = []
    for family in sheets(cells):
        for page in family_pages(family):
            shown = [cell for _, members in family.panels for _, cell in page.rows(members)]
            drawings.append(
                Drawing(
                    NAME,
                    "_".join(filter(None, (NAME, family.stem))) + page.suffix,
                    consistency_figure(page, chances, options),
                    f"Reasoning consistency: {family.title}{page.words}",
                    _caption(family.title, shown),
                    _describe(shown, options),
                )
            )
    return drawings


def _caption(title: str, cells: Sequence[RunCell]) -> str:
    return (
        f"What the reasoning written before an action expects of the partner, {title}: how often "
        "the literal probe's answer is the same, how often the action is a best response to it, "
        "and how often the partner did it; of the steps on which an expectation could be read. "
        "Upright ticks: what independent draws with the same shares would give. "
        f"{sample_words(cells).capitalize()}, {SHARE_INTERVALS}."
    )


def _describe(cells: Sequence[RunCell], options: Options) -> str:
    parts = []
    for cell in cells:
        found = measured(cell, [*SHOWN, READ], options)
        said = [f"{_BY_NAME[name].words} {with_interval(found, i)}" for i, name in enumerate(SHOWN)]
        parts.append(f"{cell.name}: {', '.join(said)}; read {number(found.mean[-1])} %")
    return f"{'; '.join(parts)}."


@in_style
def consistency_figure(page: Page, chances: Chances, options: Options = DEFAULT) -> Figure:
    """Draw a panel per task with a row per subject and three dots in each."""
    from matplotlib.lines import Line2D

    family = page.family
    figure, panels = row_panels(
        [title for title, _ in family.panels],
        page.subjects,
        "share of the steps with an expectation in the reasoning (%)",
        options,
        columns=2 if len(family.panels) == 4 else MOST_ABREAST,
        row_height=0.3,
    )
    for axes, (_, cells) in zip(panels, family.panels, strict=True):
        axes.set_xlim(-3, 103)
        for row, cell in page.rows(cells):
            _marks(axes, row, cell, chances.get(cell.number, {}), options)
    handles: list[Any] = [
        Line2D([], [], label=_BY_NAME[name].heading, **_look(index))
        for index, name in enumerate(SHOWN)
    ]
    handles.append(Line2D([], [], color="0.25", marker="|", markersize=7, ls="", label="by chance"))
    add_head(figure, f"{family.title}{page.words}", handles)
    return figure


def _look(index: int) -> dict[str, Any]:
    return {"color": COLOURS[index], "marker": MARKERS[index], "ls": "", "markersize": 4.5}


def _marks(axes: Axes, row: int, cell: RunCell, chance: dict[str, Any], options: Options) -> None:
    """Draw the dots of one cell, one below the other within its row."""
    for index, (name, by_chance) in enumerate(SHOWN.items()):
        found = measured(cell, [name], options)
        mean, low, high = (float(part[0]) for part in (found.mean, found.low, found.high))
        y = row + (index - 1) * 0.26
        if mean != mean:
            continue
        if low == low:
            axes.plot([low, high], [y, y], color=COLOURS[index], lw=0.9)
        axes.plot(mean, y, **_look(index))
        if by_chance and chance:
            axes.plot(chance[by_chance], y, color="0.25", marker="|", markersize=7, ls="")
