"""Reasoning consistency: what the text expects beside the probe, the action and the partner."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tomeval.core.numbers import number
from tomeval.extensions.reasoning.measures import AGREES, FOLLOWED, MEASURES, NAME, READ, RIGHT
from tomeval.extensions.reasoning.tables import reasoning_rows
from tomeval.plots.dots import Ends, Panel, Series, dots_figure, ends_of
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
from tomeval.plots.families import MOST_ABREAST, Page, family_pages, sheets
from tomeval.plots.style import COLOURS, MARKERS
from tomeval.runs.cell import RunCell
from tomeval.runs.results import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHOWN = {
    AGREES: "agreement_by_chance_percent",
    FOLLOWED: "following_by_chance_percent",
    RIGHT: "",
}
"""The measures that are drawn, with the column of what chance alone would give."""

_BY_NAME = {measure.name: measure for measure in MEASURES}
_SERIES = [
    Series(label, {"color": COLOURS[k], "marker": marker, "markersize": 4.5})
    for k, name in enumerate(SHOWN)
    for label, marker in (
        (_BY_NAME[name].heading, MARKERS[k]),
        (f"{'same' if name == AGREES else 'followed'} by chance", "|"),
    )
]
"""Each measure, and after it the same by chance."""


def consistency(run: Run, options: Options = DEFAULT) -> list[Drawing]:
    """Draw how often the text's expectation is the prediction, is acted on, and is right."""
    cells = [cell for cell in run.cells if has_values(cell, [AGREES]) or has_values(cell, [RIGHT])]
    told = [cell.number for cell in run.cells if has_values(cell, [READ])]
    chances = dict(zip(told, reasoning_rows(run), strict=True)) if cells else {}
    drawings = []
    for page in (page for family in sheets(cells) for page in family_pages(family)):
        shown = [cell for _, members in page.family.panels for _, cell in page.rows(members)]
        title = page.family.title
        drawings.append(
            Drawing(
                NAME,
                "_".join(filter(None, (NAME, page.family.stem))) + page.suffix,
                _figure(page, chances, options),
                f"Reasoning consistency: {title}{page.words}",
                f"What the reasoning written before an action expects of the partner, {title}: "
                "how often the literal probe's answer is the same, how often the action is a best "
                "response to it, and how often the partner did it; of the steps on which an "
                "expectation could be read. Upright ticks: what independent draws with the same "
                f"shares would give. {sample_words(shown).capitalize()}, {SHARE_INTERVALS}.",
                _describe(shown, options),
            )
        )
    return drawings


def _describe(cells: Sequence[RunCell], options: Options) -> str:
    parts = []
    for cell in cells:
        values = measured(cell, [*SHOWN, READ], options)
        said = [f"{_BY_NAME[n].words} {with_interval(values, i)}" for i, n in enumerate(SHOWN)]
        parts.append(f"{cell.name}: {', '.join(said)}; read {number(values.mean[-1])} %")
    return f"{'; '.join(parts)}."


def _figure(page: Page, chances: Mapping[int, Mapping[str, Any]], options: Options) -> Figure:
    """Draw a panel per task with a row per subject."""
    panels = []
    for title, cells in page.family.panels:
        marks: dict[tuple[int, int], Ends] = {}
        for row, cell in page.rows(cells):
            for k, (name, column) in enumerate(SHOWN.items()):
                marks[row, 2 * k] = ends_of(measured(cell, [name], options))
                if column and cell.number in chances:
                    marks[row, 2 * k + 1] = (chances[cell.number][column], math.nan, math.nan)
        panels.append(Panel(title, marks))
    axis = "share of the steps with an expectation in the reasoning (%)"
    return dots_figure(
        f"{page.family.title}{page.words}",
        panels,
        page.subjects,
        axis,
        _SERIES,
        options,
        row_height=0.4,
        gap=0.15,
        columns=2 if len(panels) == 4 else MOST_ABREAST,
    )
